"""Words of cache lines in a comparison: those of each thread, and those at which threads meet."""

from __future__ import annotations

import pytest
from made import MAIN, Made, waits, works
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.per_unit import Place
from threadmark.kinds.explain.analysis.sharing import Sharing
from threadmark.kinds.explain.knowledge import knowledge

A, B = 101, 102
APART = 0x1000  # bytes between two lines


@pytest.mark.parametrize(("met", "certain"), [(0, True), (1, True), (7, False)])
def test_words_may_be_different_by_chance_where_threads_meet_at_words_of_other_lines(
    met: int, certain: bool
) -> None:
    """Threads use words of their own on twelve lines, and one word together on `met` others."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for number, tid in enumerate((A, B)):
        made.thread(tid, works(), "main")
        for line in range(1, 13 + met):
            own = 8 * number if line < 13 else 0
            made.sample(tid, "add worker", 4, ax=line * APART + own)
    made.operands[made.stack("add worker")] = Operand("ax", plain=True, writes=True)
    use = Sharing(*made.read(), knowledge()).use(Place("add"))
    assert (use.category, use.certain) == ("false_sharing", certain)

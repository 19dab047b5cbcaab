"""Tasks that a program hands out itself, with the futures of the C++ library. No runtime shows
that they are too small."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.frames import Frame, is_of_library
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.roles import most_common

_MUCH = 0.4  # of the samples
_FEWEST = 50  # samples
_FUTURES = re.compile(
    r"std::(__\w+::)?(__future_base|packaged_task|__packaged_task|promise|(shared_)?future\b"
    r"|__create_task_state|__assoc_)"
)
_MATHS = ("libm.", "libm-")


def too_small(recording: Recording, names: Names) -> Cause | None:
    """The cause of tasks whose making, handing out and awaiting takes nearly as long as their work.
    In functions that use futures, the time within the library counts as such."""
    calls: dict[str, Counter[int]] = defaultdict(Counter)  # stacks in the library, by own function
    uses: set[str] = set()
    where: dict[str, str] = {}
    samples = Counter(each.stack for each in recording.samples if recording.counts(each.tid))
    for stack, count in samples.items():
        inner, own = _split(names.frames(stack, True))
        if own is None or not inner or any(each.module.startswith(_MATHS) for each in inner):
            continue
        calls[own.name][stack] += count
        where.setdefault(own.name, own.where)
        if any(_FUTURES.match(each.name) for each in inner):
            uses.add(own.name)
    spent = Counter({name: calls[name].total() for name in uses})
    total = samples.total()
    share = spent.total() / max(1, total)
    if total < _FEWEST or share < _MUCH:
        return None
    name = most_common(spent)
    shown = name.partition("::{lambda")[0]
    words = (
        "the tasks that the program hands out are so small that making them, handing them out and "
        f"awaiting them takes {share / max(0.01, 1 - share):.2g} times as long as their work; or "
        "the work itself is in functions of the library"
    )
    ns = share * sum(each.run_ns for each in recording.threads.values())
    made = Cause("task_overhead", shown, where[name], words, certain=False, ns=ns)
    made.seen = spent.total()
    for each in uses:
        made.samples.update(calls[each])
    return made


def _split(frames: Sequence[Frame]) -> tuple[Sequence[Frame], Frame | None]:
    """The innermost frames of libraries, and the function of the program that calls them."""
    at = next((i for i, each in enumerate(frames) if not is_of_library(each)), len(frames))
    return frames[:at], frames[at] if at < len(frames) else None

"""The test of `compare --fail-above` on an outcome of compare(); pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from threadmark.judge.comparison import Outcome, Pair, Skipped
from threadmark.judge.ratios import LEVEL
from threadmark.model.cell import Cell
from threadmark.model.errors import LabError

_CAUSES = 3  # more of them would hide the sentence


@dataclass(frozen=True)
class Gate:
    """The pairs in which A is too slow, the cells in which A failed and B did not, and the number
    of pairs and cells without an answer. `share` is the allowed excess (0.05 = 5 %)."""

    share: float
    slower: tuple[Pair, ...]
    failed: tuple[Skipped, ...]
    unanswered: int

    @property
    def closed(self) -> bool:
        """Whether the comparison fails."""
        return bool(self.slower or self.failed)

    @property
    def words(self) -> list[str]:
        """A sentence for each of the three, with the names of the programs."""
        slower, failed = (pair.a for pair in self.slower), (each.cell for each in self.failed)
        more = f"slower by more than {100 * self.share:g} %"
        return [
            _counted(len(self.slower), f"pair is {more}", f"pairs are {more}", slower),
            _counted(
                len(self.failed),
                "cell of A failed where B has a time",
                "cells of A failed where B has a time",
                failed,
            ),
            _counted(self.unanswered, "pair has no answer", "pairs have no answer", ()),
        ]


def gate(outcome: Outcome, share: float) -> Gate:
    """The pairs in which A takes more than `share` longer than B, or fails.

    The intervals of the pairs share the error of LEVEL (Bonferroni). If A exceeds that share in no
    pair, a comparison has a pair in `slower` with a probability of at most (1 - LEVEL) / 2.
    LabError when no pair can answer and no cell failed.
    """
    answered = [pair for pair in outcome.pairs if pair.comparison.different is not None]
    failed = tuple(each for each in outcome.skipped if each.failed)
    if not outcome.pairs and not failed:
        causes = Counter(each.why for each in outcome.skipped).most_common(_CAUSES)
        why = " ".join(f"{cause}." for cause, _ in causes)
        raise LabError(
            "Nothing could be compared, so --fail-above cannot be answered; name other sides or "
            f"programs. {why}"
        )
    if not answered and not failed:
        raise LabError(
            "No pair has enough rounds, so --fail-above cannot be answered; "
            "measure both sides in one run of the quick profile."
        )
    level = 1 - (1 - LEVEL) / max(1, len(answered))
    slower = tuple(pair for pair in answered if pair.comparison.is_slower_by(share, level))
    unanswered = len(outcome.pairs) - len(answered) + len(outcome.skipped) - len(failed)
    return Gate(share, slower, failed, unanswered)


def _counted(number: int, one: str, many: str, cells: Iterable[Cell]) -> str:
    names = sorted({cell.program for cell in cells})
    of = f" ({', '.join(names)})" if names else ""
    return f"{number} {one if number == 1 else many}{of}."

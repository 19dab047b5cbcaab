"""The answers of compare() for two copies of one cell: its rate of errors, and the smallest
difference that it sees on this machine.

A pair of copies takes ROUNDS rounds, each in a random order like those of a run. Under a random
order a time of one copy is equally likely above and below that of the other, whatever the noise. So
Student's t errs in about 5 % of the pairs; rare long samples make it err less, because they widen
the intervals (Efron, J. Am. Stat. Assoc. 64, 1969).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from threadmark.judge.estimates import geometric_mean
from threadmark.judge.ratios import LEVEL, percent
from threadmark.machine.examination import Complaint
from threadmark.model.cell import Row, Status
from threadmark.model.errors import LabError

ROUNDS = 6  # samples per side, as in the quick profile
TRIES = 10  # processes; one must be undisturbed
POWER = 0.8  # the probability of seeing the smallest difference
FEWEST_PAIRS = 20  # fewer do not show the difference seen in four of five


@dataclass(frozen=True)
class Noise:
    """The answers of the comparison for pairs of equals. A pair counts alone; a comparison of many
    pairs sees a little less than `smallest`, because the pairs share their knowledge of the
    noise."""

    cell: str
    pairs: int
    false_alarms: int
    # The difference (0.02 = 2 %) seen with probability POWER in this cell, its sides measured back
    # to back. Other cells, such as those of several threads, have their own noise. None: too few
    # pairs.
    smallest: float | None

    @property
    def rate(self) -> float:
        """False alarms per pair."""
        return self.false_alarms / self.pairs

    @property
    def expected(self) -> tuple[int, int]:
        """Fewest and most false alarms that the rule predicts: binomial, 95 %."""
        low, high = stats.binom.ppf((0.025, 0.975), self.pairs, 1 - LEVEL)
        return int(low), int(high)

    def complaints(self) -> list[Complaint]:
        """The complaint if there are more false alarms than the rule predicts."""
        if self.false_alarms <= self.expected[1]:
            return []
        remedy = (
            "intervals are too narrow here: repeat with more --pairs, and if it stays, trust "
            f"only differences of several times {self._smallest()}, and report it"
        )
        return [Complaint(self._counted, remedy)]

    @property
    def words(self) -> list[str]:
        """The findings, complaint or not."""
        found = [f"false alarms: {self._counted} ({self.cell})"]
        if self.false_alarms < self.expected[0]:
            found.append(
                "fewer than predicted: rare long samples widen the intervals, which hides small "
                "differences but invents none; end other programs or measure later to see more"
            )
        if self.smallest is not None:
            found.append(
                f"smallest difference seen with {100 * POWER:.0f} % probability: "
                f"{self._smallest()} (of this serial cell, on one thread, in pairs back to back)"
            )
        return found

    @property
    def _counted(self) -> str:
        low, high = self.expected
        return (
            f"{self.false_alarms} of {self.pairs} pairs of equals look different, and the rule "
            f"predicts {low} to {high}"
        )

    def _smallest(self) -> str:
        return "the interval" if self.smallest is None else percent(self.smallest)


def noise(
    measure: Callable[[], float],
    cell: str,
    pairs: int,
    seen: Callable[[int], None] = lambda _: None,
) -> Noise:
    """Compare two copies of one cell `pairs` times; `measure` starts a process and gives its time,
    `seen` gets the number of pairs measured so far."""
    draw = random.Random(1)
    limits = []
    alarms = 0
    for done in range(pairs):
        seen(done)
        found = geometric_mean([_round(measure, draw) for _ in range(ROUNDS)])
        alarms += found.excludes(1.0)
        # The comparison sees a copy that takes (1 + d) times as long as slower if d is above the
        # first, and a copy that takes 1 / (1 + d) as long as faster if d is above the second.
        limits += [1 / found.low, found.high]
    smallest = None
    if pairs >= FEWEST_PAIRS:
        smallest = float(np.quantile(limits, POWER, method="higher")) - 1
    return Noise(cell, pairs, alarms, smallest)


def sample(attempt: Callable[[], Row]) -> float:
    """The time of an undisturbed process, in ns, because `compare` does not use others either.
    LabError if a process fails or TRIES in a row are disturbed."""
    for _ in range(TRIES):
        row = attempt()
        if row.status is not Status.OK or row.sample_ns is None:
            raise LabError(f"{row.cell.program} cannot be measured: {row.reason}.")
        if not row.disturbed:
            return row.sample_ns
    raise LabError(
        f"{TRIES} processes of {row.cell.program} in a row were disturbed ({row.disturbed}); end "
        "other programs, measure later, or give --pairs 0 to judge the machine alone."
    )


def _round(measure: Callable[[], float], draw: random.Random) -> float:
    """a / b of one round."""
    first, second = measure(), measure()
    return first / second if draw.random() < 0.5 else second / first

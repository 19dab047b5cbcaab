"""Which settings of a program gain, from pairs of runs that come in bit by bit; pure.

An arm is one setting with one number of threads. All arms of a try together claim a gain that is
none with a probability of at most ERROR, however often they are looked at: arm and look have a part
of it each (Bonferroni). Half of it is for the end, the rest for the looks before, of which the k-th
has a part of 1 / (k (k + 1)). An arm is left out early only where that cannot make a claim: it has
passed a look of its own, or it is said to gain nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from scipy import stats

from threadmark.judge import pairs
from threadmark.judge.estimates import Interval, Spread

ERROR = 0.02
WORTH = 0.02  # a gain below is none: nobody keeps a setting for it
PRECISE = 0.02  # half an interval; a gain or loss need not be known better
_AT_END = 0.5  # of ERROR
_GROWTH = 1.5  # rounds between two looks
_EXPECTED, _SPREAD = 0.1, 0.3  # logarithms of gains that programs have of a fix
Arm = TypeVar("Arm", bound=Hashable)


class Finding(StrEnum):
    """What is known of an arm."""

    GAIN = "gain"
    LOSS = "loss"
    NONE = "none"  # no gain of WORTH
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Judgement:
    """`ratio`: how many times as fast, with limits that hold for all arms together. `settled`: more
    pairs would not change the finding, or make it no more useful."""

    finding: Finding
    ratio: Interval
    pairs: int
    settled: bool


class Trial(Generic[Arm]):
    """`logs` are of each arm, in the order of the rounds: the logarithm of time without / time with
    the setting. `family` is how many arms there are or will be. `rounds` are those that the logs of
    an arm are of, if not all from the first one on."""

    def __init__(
        self,
        logs: Mapping[Arm, Sequence[float]],
        family: int = 0,
        rounds: Mapping[Arm, Sequence[int]] | None = None,
    ) -> None:
        self._logs = logs
        self._rounds = rounds or {arm: range(1, len(each) + 1) for arm, each in logs.items()}
        self._family = max(family, len(logs), 1)
        self._final = error_at_end(self._family)
        self._spreads: dict[int, Spread] = {}

    def open(self) -> list[Arm]:
        """The arms that are to be measured further."""
        return [arm for arm in self._logs if not self._settled(arm)]

    def judge(self) -> dict[Arm, Judgement]:
        """What is known of each arm after all of its pairs."""
        return {arm: self._judged(arm) for arm in self._logs}

    def noise(self, arm: Arm) -> Interval:
        """What the pairs of an arm alone say, which has the same setting on both sides."""
        logs = self._logs.get(arm, ())
        return pairs.interval(logs, self._final, self._common(arm, len(logs)))

    def _judged(self, arm: Arm) -> Judgement:
        ratio = self.noise(arm)
        settled = self._settled(arm)
        if settled in (Finding.NONE, Finding.LOSS):  # it was left out, so it claims nothing
            finding = Finding.LOSS if ratio.high < 1 else Finding.NONE
        elif ratio.low > 1:
            finding = Finding.GAIN if ratio.high > 1 + WORTH else Finding.NONE
        elif ratio.high < 1:
            finding = Finding.LOSS
        else:
            finding = Finding.NONE if ratio.high <= 1 + WORTH else Finding.UNCLEAR
        return Judgement(finding, ratio, len(self._logs[arm]), settled is not None)

    def _settled(self, arm: Arm) -> Finding | None:
        """Why an arm needs no more pairs, as the first look that said so."""
        logs = self._logs[arm]
        for count, error in looks_with_errors(len(logs), self._family):
            ratio = pairs.interval(logs[:count], error, self._common(arm, count))
            if ratio.high <= 1 + WORTH:
                return Finding.LOSS if ratio.high < 1 else Finding.NONE
            if ratio.low > 1 and ratio.half_width <= PRECISE:
                return Finding.GAIN
        return None

    def _common(self, arm: Arm, count: int) -> Spread:
        """Of all pairs that there were after the round of the arm's last of `count`. No pair that
        comes later changes it, so what a look said holds."""
        if not count:
            return Spread()
        last = self._rounds[arm][count - 1]
        if last not in self._spreads:
            every = (
                logs[: bisect_right(self._rounds[each], last)] for each, logs in self._logs.items()
            )
            self._spreads[last] = pairs.pooled(every)
        return self._spreads[last]


def promises(logs: Mapping[Arm, Sequence[float]]) -> dict[Arm, float]:
    """What each arm may gain, as a logarithm: the mean of its pairs, drawn the more towards what is
    expected before any, the more the pairs of all differ. Arms come likeliest first, so the first
    are expected to gain _EXPECTED and the last nothing. One of which no pair ended well promises
    all."""
    common = pairs.pooled(logs.values())
    precision = common.variance / _SPREAD**2  # of what is expected, in pairs
    found = {}
    for place, (arm, each) in enumerate(logs.items()):
        expected = _EXPECTED * (1 - place / len(logs))
        mean = (precision * expected + sum(each)) / (precision + len(each)) if each else math.inf
        found[arm] = mean
    return found


def looks_with_errors(most: int, claims: int) -> Iterator[tuple[int, float]]:
    """After how many rounds there is a look, and how rarely it may be wrong about each of so many
    claims that share ERROR."""
    for number, count in enumerate(looks(most), 1):
        yield count, ERROR * (1 - _AT_END) / (number * (number + 1)) / claims


def chance_of_failures(failed: int, runs: int, failed_else: int, runs_else: int) -> float:
    """How rarely so many of all failures or more are among these runs, where each run fails as
    rarely as another (Fisher's exact test, one-sided)."""
    return float(stats.hypergeom.sf(failed - 1, runs + runs_else, failed + failed_else, runs))


def error_at_end(claims: int) -> float:
    """How rarely the end may be wrong about each of so many claims."""
    return ERROR * _AT_END / claims


def looks(most: int) -> Iterator[int]:
    """After how many rounds the arms are looked at: 4, 6, 9, 14, 21, ..."""
    count = float(pairs.FEWEST)
    while round(count) <= most:
        yield round(count)
        count *= _GROWTH

"""Finds the settings of a program that gain, from pairs of runs that arrive one after another;
pure.

An arm is one setting with one number of threads. All arms of a try together claim a false gain with
a probability of at most ERROR, however many looks there are: each arm and each look has a part of
it (Bonferroni). Half of ERROR is for the end, the rest for the earlier looks; the k-th look has a
part of 1 / (k (k + 1)). The trial leaves an arm out early only if that cannot make a claim: the arm
has passed a look of its own, or its finding is no gain.
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
WORTH = 0.02  # a smaller gain is none: no user keeps a setting for it
PRECISE = 0.02  # half an interval; more precision is not needed
_AT_END = 0.5  # of ERROR
_GROWTH = 1.5  # rounds between two looks
_EXPECTED, _SPREAD = 0.1, 0.3  # logarithms of gains that fixes give programs
Arm = TypeVar("Arm", bound=Hashable)


class Finding(StrEnum):
    """The finding on an arm."""

    GAIN = "gain"
    LOSS = "loss"
    NONE = "none"  # no gain of WORTH
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Judgement:
    """`ratio`: the speed with the setting over that without, with limits that hold for all arms
    together. `settled`: more pairs would not change the finding, or not make it more useful."""

    finding: Finding
    ratio: Interval
    pairs: int
    settled: bool


class Trial(Generic[Arm]):
    """`logs` has for each arm, in the order of the rounds, the logarithm of time without / time
    with the setting. `family` is the number of arms that there are or will be. `rounds` names the
    rounds of an arm's logs, if these are not all from the first on."""

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
        """The arms that need more pairs."""
        return [arm for arm in self._logs if not self._settled(arm)]

    def judge(self) -> dict[Arm, Judgement]:
        """The finding on each arm after all of its pairs."""
        return {arm: self._judged(arm) for arm in self._logs}

    def noise(self, arm: Arm) -> Interval:
        """The interval of an arm's own pairs, for an arm with the same setting on both sides."""
        logs = self._logs.get(arm, ())
        return pairs.interval(logs, self._final, self._common(arm, len(logs)))

    def _judged(self, arm: Arm) -> Judgement:
        ratio = self.noise(arm)
        settled = self._settled(arm)
        if settled in (Finding.NONE, Finding.LOSS):  # it was left out, so it makes no claim
            finding = Finding.LOSS if ratio.high < 1 else Finding.NONE
        elif ratio.low > 1:
            finding = Finding.GAIN if ratio.high > 1 + WORTH else Finding.NONE
        elif ratio.high < 1:
            finding = Finding.LOSS
        else:
            finding = Finding.NONE if ratio.high <= 1 + WORTH else Finding.UNCLEAR
        return Judgement(finding, ratio, len(self._logs[arm]), settled is not None)

    def _settled(self, arm: Arm) -> Finding | None:
        """The finding of the first look after which an arm needed no more pairs."""
        logs = self._logs[arm]
        for count, error in looks_with_errors(len(logs), self._family):
            ratio = pairs.interval(logs[:count], error, self._common(arm, count))
            if ratio.high <= 1 + WORTH:
                return Finding.LOSS if ratio.high < 1 else Finding.NONE
            if ratio.low > 1 and ratio.half_width <= PRECISE:
                return Finding.GAIN
        return None

    def _common(self, arm: Arm, count: int) -> Spread:
        """The spread of all pairs up to the round of the arm's `count`-th pair. Later pairs do not
        change it, so the result of a look stays."""
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
    """The possible gain of each arm, as a logarithm: the mean of its pairs, drawn towards the prior
    expectation, the more so the more the pairs of all arms differ. Arms come likeliest first, so
    the first are expected to gain _EXPECTED and the last nothing. An arm without a pair that ended
    well promises an infinite gain."""
    common = pairs.pooled(logs.values())
    precision = common.variance / _SPREAD**2  # of the expectation, in pairs
    found = {}
    for place, (arm, each) in enumerate(logs.items()):
        expected = _EXPECTED * (1 - place / len(logs))
        mean = (precision * expected + sum(each)) / (precision + len(each)) if each else math.inf
        found[arm] = mean
    return found


def looks_with_errors(most: int, claims: int) -> Iterator[tuple[int, float]]:
    """The number of rounds before each look, and the look's probability of error for each of
    `claims` claims that share ERROR."""
    for number, count in enumerate(looks(most), 1):
        yield count, ERROR * (1 - _AT_END) / (number * (number + 1)) / claims


def chance_of_failures(failed: int, runs: int, failed_else: int, runs_else: int) -> float:
    """The probability that so many of all failures or more are among these runs if all runs fail
    equally rarely (Fisher's exact test, one-sided)."""
    return float(stats.hypergeom.sf(failed - 1, runs + runs_else, failed + failed_else, runs))


def error_at_end(claims: int) -> float:
    """The probability of error at the end for each of `claims` claims."""
    return ERROR * _AT_END / claims


def looks(most: int) -> Iterator[int]:
    """The numbers of rounds after which there is a look at the arms: 4, 6, 9, 14, 21, ..."""
    count = float(pairs.FEWEST)
    while round(count) <= most:
        yield round(count)
        count *= _GROWTH

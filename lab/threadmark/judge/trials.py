"""Which settings of a program gain, from pairs of runs that come in bit by bit; pure.

An arm is one setting with one number of threads. All arms of a try together claim a gain that is
none with a probability of at most ERROR, however often they are looked at: arm and look have a part
of it each (Bonferroni). Half of it is for the end, the rest for the looks before, of which the k-th
has a part of 1 / (k (k + 1)). An arm is left out early only where that cannot make a claim: it has
passed a look of its own, or it is said to gain nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from threadmark.judge import pairs
from threadmark.judge.estimates import Interval, Spread

ERROR = 0.02
WORTH = 0.02  # a gain below is none: nobody keeps a setting for it
PRECISE = 0.02  # half an interval; a gain or loss need not be known better
_AT_END = 0.5  # of ERROR
_GROWTH = 1.5  # rounds between two looks
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
    the setting. `family` is how many arms there are or will be."""

    def __init__(self, logs: Mapping[Arm, Sequence[float]], family: int = 0) -> None:
        self._logs = logs
        self._family = max(family, len(logs), 1)
        self._final = ERROR * _AT_END / self._family
        self._spreads: dict[int, Spread] = {}

    def open(self) -> list[Arm]:
        """The arms that are to be measured further."""
        return [arm for arm, logs in self._logs.items() if not self._settled(logs)]

    def judge(self) -> dict[Arm, Judgement]:
        """What is known of each arm now; to be asked once, or as often as nothing new came."""
        return {arm: self._judged(logs) for arm, logs in self._logs.items()}

    def noise(self, arm: Arm) -> Interval:
        """What the pairs of an arm alone say, which has the same setting on both sides."""
        logs = self._logs.get(arm, ())
        return pairs.interval(logs, self._final, self._common(len(logs)))

    def _judged(self, logs: Sequence[float]) -> Judgement:
        ratio = pairs.interval(logs, self._final, self._common(len(logs)))
        settled = self._settled(logs)
        if settled in (Finding.NONE, Finding.LOSS):  # it was left out, so it claims nothing
            finding = Finding.LOSS if ratio.high < 1 else Finding.NONE
        elif ratio.low > 1:
            finding = Finding.GAIN if ratio.high > 1 + WORTH else Finding.NONE
        elif ratio.high < 1:
            finding = Finding.LOSS
        else:
            finding = Finding.NONE if ratio.high <= 1 + WORTH else Finding.UNCLEAR
        return Judgement(finding, ratio, len(logs), settled is not None)

    def _settled(self, logs: Sequence[float]) -> Finding | None:
        """Why an arm needs no more pairs, as the first look said that said so."""
        for number, count in enumerate(looks(len(logs)), 1):
            error = ERROR * (1 - _AT_END) / (number * (number + 1)) / self._family
            ratio = pairs.interval(logs[:count], error, self._common(count))
            if ratio.high <= 1 + WORTH:
                return Finding.LOSS if ratio.high < 1 else Finding.NONE
            if ratio.low > 1 and ratio.half_width <= PRECISE:
                return Finding.GAIN
        return None

    def _common(self, count: int) -> Spread:
        """Of the first `count` rounds."""
        if count not in self._spreads:
            every = (logs[:count] for logs in self._logs.values())
            self._spreads[count] = pairs.pooled(every)
        return self._spreads[count]


def looks(most: int) -> Iterator[int]:
    """After how many rounds the arms are looked at: 4, 6, 9, 14, 21, ..."""
    count = float(pairs.FEWEST)
    while round(count) <= most:
        yield round(count)
        count *= _GROWTH

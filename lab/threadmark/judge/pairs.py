"""The gain of one of two settings of a program over the other, from pairs of neighbouring runs;
pure.

A pair is a run of each setting, one right after the other in a random order, and counts as the
logarithm of the ratio of their times. If both settings are alike, either run is equally likely to
be the slower one. Whatever the noise is, the logarithms are then symmetric around 0, and interval()
relies on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from threadmark.judge.estimates import Interval, Spread

FEWEST = 4  # pairs; fewer give no interval
_EXACT = 60  # pairs up to which the distribution of the signed ranks is counted out
_ODD = 0.01  # probability of equals having a variance so far above the common one
_LARGEST = 700.0  # exp() of more than 709 overflows


def pooled(groups: Iterable[Sequence[float]]) -> Spread:
    """The variance of the pairs of several settings around their own setting's mean, with its
    degrees of freedom."""
    squares = freedom = 0.0
    for group in groups:
        if len(group) > 1:
            squares += len(group) * float(np.var(group))
            freedom += len(group) - 1
    return Spread(squares / freedom, freedom) if freedom else Spread()


def interval(logs: Sequence[float], error: float, common: Spread = Spread()) -> Interval:
    """The median ratio of the pairs, and its limits. Each limit is wrong with a probability of at
    most `error`. `common` is the pooled() of all settings of the same program.

    The limits are the narrower of two pairs of limits, each of half the error: of Student's t,
    which needs few pairs, and of the signed ranks (Hodges & Lehmann, Ann. Math. Stat. 34, 1963),
    which rare slow runs do not widen. Student's t takes the common variance, or that of these pairs
    if it is larger. If that is larger than chance explains, its own degrees of freedom count.
    """
    if len(logs) == 0:
        return Interval(0.0, 1.0, math.inf)
    values = np.asarray(logs, dtype=np.float64)
    middle = _walsh(values)
    centre = float(np.median(middle))
    if values.size < FEWEST:
        return Interval(0.0, math.exp(centre), math.inf)
    first, second = _of_means(values, error / 2, common), _of_ranks(middle, values.size, error / 2)
    low, high = max(first[0], second[0]), min(first[1], second[1])
    if not low <= centre <= high:  # the two limits are of different things: means, and medians
        low, high = second
    return Interval(math.exp(max(low, -_LARGEST)), math.exp(centre), math.exp(min(high, _LARGEST)))


def _walsh(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each two values, and of each value with itself, in order."""
    first, second = np.triu_indices(values.size)
    return np.sort((values[first] + values[second]) / 2)


def _of_means(values: NDArray[np.float64], error: float, common: Spread) -> tuple[float, float]:
    variance, freedom = float(values.var(ddof=1)), float(values.size - 1)
    if common.weight > freedom:
        odd = float(special.fdtri(freedom, common.weight, 1 - _ODD))
        if variance <= odd * common.variance:
            variance, freedom = max(variance, common.variance), common.weight
    if variance <= 0:
        return -math.inf, math.inf
    reach = float(special.stdtrit(freedom, 1 - error)) * math.sqrt(variance / values.size)
    centre = float(values.mean())
    return centre - reach, centre + reach


def _of_ranks(middle: NDArray[np.float64], count: int, error: float) -> tuple[float, float]:
    place = _place(count, error)
    if place < 1:
        return -math.inf, math.inf
    return float(middle[place - 1]), float(middle[-place])


@lru_cache(maxsize=4096)
def _place(count: int, error: float) -> int:
    """The largest k for which the sum of the positive ranks is below k with a probability of at
    most `error`; 0 if no k has so low a probability."""
    most = count * (count + 1) // 2
    if count > _EXACT:
        deviation = math.sqrt(most * (2 * count + 1) / 12)
        return max(0, math.floor(most / 2 + deviation * float(special.ndtri(error))))
    ways = np.zeros(most + 1)
    ways[0] = 1.0
    for rank in range(1, count + 1):
        ways[rank:] = (ways[rank:] + ways[:-rank]) / 2
        ways[:rank] /= 2
    return int(np.searchsorted(np.cumsum(ways), error, side="right"))

"""Statistics of samples: pure functions, each with its reference. Times are positive numbers in any
one unit.

A sample is one process. Everything works on ranks or logarithms, because times are skewed and
effects multiply. Invalid input (empty, negative, not finite) is a ValueError, because it is a bug
of the caller.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

FEWEST_CELLS = 20  # the fewest cells that show how variances spread
MOST_WEIGHT = 100.0  # most samples that other cells' variances count as


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence limits; `low` may be 0 and `high` infinite when nothing is
    known."""

    low: float
    estimate: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether `value` lies outside."""
        return not self.low <= value <= self.high

    def scaled(self, factor: float) -> Interval:
        """The interval of `factor` (> 0) times the quantity."""
        return Interval(self.low * factor, self.estimate * factor, self.high * factor)

    @property
    def half_width(self) -> float:
        """Distance to the farther limit relative to the estimate; infinite when that is 0 or
        unbounded."""
        if self.estimate == 0:
            return math.inf
        return max(self.high - self.estimate, self.estimate - self.low) / self.estimate


def _checked(samples: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError("samples must be a list of at least one number")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("samples must be finite and not negative")
    return values


def _positive(samples: Sequence[float]) -> NDArray[np.float64]:
    values = _checked(samples)
    if values.min() == 0:
        raise ValueError("ratios and their times must be positive")
    return values


def median(samples: Sequence[float]) -> float:
    """The middle sample, the mean of the two middle ones for an even count."""
    return float(np.median(_checked(samples)))


def _students_reach(values: NDArray[np.float64], level: float) -> float:
    """The distance from their mean to Student's limits of the population's mean."""
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return float(stats.t.ppf((1 + level) / 2, values.size - 1)) * error


def median_interval(samples: Sequence[float], level: float = 0.95) -> Interval:
    """Confidence interval of the median, of coverage >= `level` if there are enough samples.

    From the order statistics x(k), x(n+1-k) with the largest k for which 2 P(Bin(n, 1/2) < k) <= 1
    - level (Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2). At 95 % that needs
    n >= 6. Below that: Student's t on the logarithms (exact for log-normal times), which is wide,
    as it must be. A single sample, and 2 to 5 samples that are all equal or contain a 0, show no
    spread: [0, inf].
    """
    values = np.sort(_checked(samples))
    estimate = float(np.median(values))
    k = int(stats.binom.ppf((1 - level) / 2, values.size, 0.5))
    if k >= 1:
        return Interval(float(values[k - 1]), estimate, float(values[-k]))
    if values.size == 1 or values[0] == values[-1] or values[0] == 0:
        return Interval(0.0, estimate, math.inf)
    logs = np.log(values)
    reach = _students_reach(logs, level)
    centre = float(logs.mean())  # log(median) and mean of the logs differ: keep the estimate inside
    return Interval(
        min(estimate, math.exp(centre - reach)),
        estimate,
        max(estimate, math.exp(min(centre + reach, 700.0))),
    )


@dataclass(frozen=True)
class Spread:
    """The spread of the samples of one machine, estimated from many cells: the variance of the
    logarithm of a sample, and the degrees of freedom of this estimate for one cell."""

    variance: float = 0.0
    weight: float = 0.0


def common_spread(cells: Iterable[Sequence[float]]) -> Spread:
    """The common spread of cells of positive samples; of weight 0 when too few cells show it.

    Each cell has a variance of its own, drawn from a scaled inverse chi-square, whose two
    parameters are fitted to the moments of the logarithms of the variances seen (Smyth, Stat. Appl.
    Genet. Mol. Biol. 3, article 3, 2004, section 6.2).
    """
    told = [cell for cell in cells if len(cell) > 1 and min(cell) < max(cell)]
    if len(told) < FEWEST_CELLS:
        return Spread()
    counts, _, squares = _moments(told)
    return _common(counts, squares)


def _moments(
    cells: Sequence[Sequence[float]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The number of logarithms of each cell, their mean, and the sum of squares around it."""
    counts = np.array([len(cell) for cell in cells], dtype=np.float64)
    logs = np.log(_positive([value for cell in cells for value in cell]))
    starts = np.concatenate(([0], np.cumsum(counts[:-1]))).astype(int)
    means = np.add.reduceat(logs, starts) / counts
    squares = np.add.reduceat((logs - np.repeat(means, counts.astype(int))) ** 2, starts)
    return counts, means, squares


def _common(counts: NDArray[np.float64], squares: NDArray[np.float64]) -> Spread:
    freedom = counts - 1
    seen = np.log(squares / freedom) - special.digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(seen.var(ddof=1) - special.polygamma(1, freedom / 2).mean())
    weight = MOST_WEIGHT
    if excess > special.polygamma(1, MOST_WEIGHT / 2):
        weight = 2 * optimize.brentq(
            lambda x: special.polygamma(1, x) - excess, 1e-6, MOST_WEIGHT / 2
        )
    centre = float(seen.mean() + special.digamma(weight / 2) - math.log(weight / 2))
    return Spread(math.exp(centre), weight)


def paired_ratio(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Median of a[i] / b[i] over rounds i, with the interval of a median (the sign test turned
    round).

    A disturbance that is common to a round cancels. There is no bootstrap, because over six rounds
    it covers 90 %, not 95.
    """
    x, y = _paired(a, b)
    return median_interval(list(x / y), level)


def _paired(
    a: Sequence[float], b: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = _checked(a), _checked(b)
    if x.size != y.size:
        raise ValueError("paired samples must be equally many")
    if min(x.min(), y.min()) == 0:
        raise ValueError("paired times must be positive")
    return x, y


def geometric_mean(
    values: Sequence[float], level: float = 0.95, spread: Spread = Spread()
) -> Interval:
    """Geometric mean of positive ratios with Student's t on their logarithms.

    The mean to use for ratios, because it does not depend on which side is the base (Fleming &
    Wallace, CACM 29, 1986). The variance is shrunk towards `spread`, weighted with degrees of
    freedom (Smyth 2004). If no variance is known, as with a single value, it is [0, inf].
    """
    return geometric_means([values], level, spread)[0]


def geometric_means(
    groups: Sequence[Sequence[float]], level: float = 0.95, spread: Spread = Spread()
) -> list[Interval]:
    """geometric_mean() of each group, none of which is empty."""
    found = []
    for count, centre, squares in zip(*_moments(groups), strict=True) if groups else ():
        estimate, freedom = math.exp(centre), spread.weight + count - 1
        if freedom == 0:
            found.append(Interval(0.0, estimate, math.inf))
            continue
        error = math.sqrt((spread.weight * spread.variance + squares) / freedom / count)
        reach = min(float(special.stdtrit(freedom, (1 + level) / 2)) * error, 700.0)
        found.append(Interval(estimate * math.exp(-reach), estimate, estimate * math.exp(reach)))
    return found

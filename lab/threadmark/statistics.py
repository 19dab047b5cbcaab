"""Statistics of samples: pure functions, each with its reference. Times are positive numbers in any
one unit.

A sample is one process. Everything works on ranks or logarithms, because times are skewed and
effects multiply. Input that means nothing (empty, negative, not finite) is a ValueError: it is a
bug of the caller.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

FEWEST_SAMPLES = 6  # the fewest for which a distribution-free 95 % interval of the median exists
FEWEST_FREE = 30  # degrees of freedom, without which no slope is told
FEWEST_CELLS = 20  # the fewest whose variances tell how variances spread
MOST_WEIGHT = 100.0  # most samples that what others tell of a cell's variance is worth


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


def median(samples: Sequence[float]) -> float:
    """The middle sample, the mean of the two middle ones for an even count."""
    return float(np.median(_checked(samples)))


def _students_reach(values: NDArray[np.float64], level: float) -> float:
    """How far from their mean Student's t puts the limits of that of the population."""
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return float(stats.t.ppf((1 + level) / 2, values.size - 1)) * error


def median_interval(samples: Sequence[float], level: float = 0.95) -> Interval:
    """Confidence interval of the median, of coverage >= `level` where the samples can give it.

    From the order statistics x(k), x(n+1-k) with the largest k for which 2 P(Bin(n, 1/2) < k) <= 1
    - level (Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2). At 95 % that needs
    n >= 6. Below it: Student's t on the logarithms (exact for log-normal times), which is wide, as
    it must be; a single sample, and 2 to 5 samples that are all equal or contain a 0, tell nothing
    of the spread: [0, inf].
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


def _quotient(a: Interval, b: Interval) -> Interval:
    estimate = a.estimate / b.estimate if b.estimate > 0 else math.inf
    low = 0.0 if math.isinf(b.high) or b.high == 0 else a.low / b.high
    high = math.inf if b.low == 0 else a.high / b.low
    return Interval(low, estimate, high)


def conservative_ratio(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """median(a) / median(b) with the quotient of the two medians' own intervals: too wide on
    purpose.

    Two 95 % intervals part by chance in well under 1 % of cases (Goldstein & Healy, J. R. Stat.
    Soc. A 158, 1995).
    """
    return _quotient(median_interval(a, level), median_interval(b, level))


@dataclass(frozen=True)
class Spread:
    """How the samples of one machine spread, as many cells tell together: the variance of a
    sample's logarithm, and how many degrees of freedom of a cell's own variance that is worth.
    `shared` is a variance of a ratio's logarithm that more samples do not lessen."""

    variance: float = 0.0
    weight: float = 0.0
    shared: float = 0.0


def common_spread(cells: Iterable[Sequence[float]]) -> Spread:
    """The spread that cells have in common; of weight 0 when too few of them tell of it.

    Each cell has a variance of its own, drawn from a scaled inverse chi-square, whose two
    parameters are fitted to the moments of the logarithms of the variances seen (Smyth, Stat. Appl.
    Genet. Mol. Biol. 3, article 3, 2004, section 6.2).
    """
    spreads = [
        (float(logs.var(ddof=1)), logs.size - 1)
        for cell in cells
        if len(cell) > 1 and min(cell) > 0 and np.ptp(logs := np.log(_checked(cell))) > 0
    ]
    if len(spreads) < FEWEST_CELLS:
        return Spread()
    variances, freedom = np.array(spreads).T
    seen = np.log(variances) - special.digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(seen.var(ddof=1) - special.polygamma(1, freedom / 2).mean())
    weight = MOST_WEIGHT
    if excess > special.polygamma(1, MOST_WEIGHT / 2):
        weight = 2 * optimize.brentq(
            lambda x: special.polygamma(1, x) - excess, 1e-6, MOST_WEIGHT / 2
        )
    centre = float(seen.mean() + special.digamma(weight / 2) - math.log(weight / 2))
    return Spread(math.exp(centre), weight)


def ratio_of_medians(
    a: Sequence[float], b: Sequence[float], level: float = 0.95, spread: Spread = Spread()
) -> Interval:
    """median(a) / median(b) with Welch's interval on the logarithms (Biometrika 34, 1947).

    It is narrower than ranks or a bootstrap and covers. `spread` is what the machine's other cells
    tell of the variances: each is the mean of that and of its own, weighted with degrees of freedom
    (Smyth 2004), which also makes one sample of a side enough. Where no variance is known it is
    conservative_ratio(). Times that are corrected to a mean are compared by their means.
    """
    x, y = _checked(a), _checked(b)
    if min(x.min(), y.min()) == 0 or (spread.weight == 0 and min(x.size, y.size) < 2):
        return conservative_ratio(a, b, level)
    logs = np.log(x), np.log(y)
    squares, freedom = 0.0, 0.0
    for side in logs:
        known = spread.weight + side.size - 1
        sum_of_squares = spread.weight * spread.variance + side.size * float(side.var())
        square = sum_of_squares / known / side.size
        squares += square
        freedom += square**2 / known
    if squares == 0:
        return conservative_ratio(a, b, level)
    squares += spread.shared
    reach = float(stats.t.ppf((1 + level) / 2, squares**2 / freedom)) * math.sqrt(squares)
    centre = float(logs[0].mean() - logs[1].mean())
    low, high = math.exp(max(centre - reach, -700.0)), math.exp(min(centre + reach, 700.0))
    estimate = math.exp(centre) if spread.shared else median(a) / median(b)
    return Interval(min(estimate, low), estimate, max(estimate, high))


def paired_ratio(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Median of a[i] / b[i] over rounds i, with the interval of a median (the sign test turned
    round).

    What is common to a round cancels. No bootstrap: over six rounds it covers 90 %, not 95.
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


def common_slope(groups: Iterable[Sequence[tuple[float, float]]]) -> float | None:
    """The slope of y over x that groups of points (x, y) with intercepts of their own have in
    common; None where they have not FEWEST_FREE points more than groups, or x never differs.

    The median of the slopes between two points of a group, weighted with their distance in x, and
    of n points with 1/n: it makes the sum of |differences of residuals| least, which a few wild
    points do not move (Jaeckel, Ann. Math. Stat. 43, 1972).
    """
    told = [group for group in groups if len(group) > 1]
    steps = [
        (x - u, y - v, abs(x - u) / len(group))
        for group in told
        for (x, y), (u, v) in combinations(group, 2)
        if x != u
    ]
    if not steps or sum(len(group) - 1 for group in told) < FEWEST_FREE:
        return None
    dx, dy, weights = np.array(steps).T
    order = np.argsort(dy / dx)
    below = np.cumsum(weights[order])
    return float((dy / dx)[order][np.searchsorted(below, below[-1] / 2)])


def geometric_mean(values: Sequence[float], level: float = 0.95) -> Interval:
    """Geometric mean of positive ratios with Student's t on their logarithms; one value alone is
    [0, inf].

    The mean to use for ratios, as it does not depend on which side is the base (Fleming & Wallace,
    CACM 29, 1986).
    """
    x = _checked(values)
    if x.min() == 0:
        raise ValueError("a geometric mean needs positive values")
    logs = np.log(x)
    estimate = math.exp(float(logs.mean()))
    if x.size == 1:
        return Interval(0.0, estimate, math.inf)
    reach = min(_students_reach(logs, level), 700.0)  # exp() of more than 709 overflows
    return Interval(estimate * math.exp(-reach), estimate, estimate * math.exp(reach))

"""Intervals of time(A) / time(B) from one logarithm of a time per round, and their meaning; pure.

Swapping A and B gives the reciprocal of the estimate and of each limit, because everything is
computed on logarithms. The variances are moderated: `spread` is the common variance of the pairs of
a comparison (statistics.common_spread), and a pair's own variance is averaged with it, weighted
with degrees of freedom (Smyth, Stat. Appl. Genet. Mol. Biol. 3, article 3, 2004). A spread of
weight 0 gives the ordinary intervals of Student and Welch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from threadmark.judge.estimates import Interval, Spread
from threadmark.judge.evidence import FEWEST_ROUNDS
from threadmark.judge.verdict import short_factor

LEVEL = 0.95
# The change of the ratio of two executables by code layout alone, in 95 of 100 pairs. Measured with
# `bars/layout/layout.py --layouts 12 --rounds 10` on 2026-11-23, two virtual processors of an AMD
# EPYC, g++ 12.2: the standard deviation between layouts is 1.40 % over 14 programs, and 1.96 x
# sqrt(2) x that is 3.9 %. 95 % of the pairs seen differ by less than 2.6 %, with clang 19 (--rounds
# 8) by less than 3.5 %; layouts of fib and pyramids differ by up to 12 %.
LAYOUT = 0.04
_LARGEST = 700.0  # exp() of more than 709 overflows


def between_runs(
    a: Sequence[float],
    b: Sequence[float],
    spread: Spread = Spread(),
    drift: float = 0.0,
    level: float = LEVEL,
) -> Interval:
    """The ratio of A to B that share no round, by Welch's t (Biometrika 34, 1947).

    `a` and `b` are logarithms of times. The limits allow for a `drift` (0.05 = 5 %) of the machine
    between the two runs.
    """
    squares = weighted = 0.0
    for side in (np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)):
        variance, freedom = _moderated(side, spread)
        square = variance / side.size
        squares += square
        weighted += square**2 / freedom if freedom else math.inf
    total = squares**2 / weighted if weighted else math.inf  # no variance at all
    centre = float(np.mean(a)) - float(np.mean(b))
    if total == 0 or math.isnan(total):
        return Interval(0.0, math.exp(centre), math.inf)
    error = math.sqrt(squares)
    reach = float(stats.t.ppf((1 + level) / 2, total)) * error + math.log1p(drift)
    low, high = centre - reach, centre + reach
    return Interval(math.exp(max(low, -_LARGEST)), math.exp(centre), math.exp(min(high, _LARGEST)))


def _moderated(values: NDArray[np.float64], spread: Spread) -> tuple[float, float]:
    """The variance of one of `values`, and its degrees of freedom."""
    freedom = spread.weight + values.size - 1
    own = values.size * float(values.var())
    return (spread.weight * spread.variance + own) / freedom if freedom else 0.0, freedom


@dataclass(frozen=True)
class Comparison:
    """Time(A) / time(B): a ratio above 1 means that A is slower."""

    at: Callable[[float], Interval]  # the ratio with its interval of a level
    rounds: tuple[int, int]  # of A and of B that count; the same within one run
    layout: float = 0.0  # possible effect of code layout alone; 0 for one executable
    drift: float | None = None  # allowed for between two runs; None within one run

    @cached_property
    def ratio(self) -> Interval:
        """The ratio with its interval of the usual level."""
        return self.at(LEVEL)

    @property
    def different(self) -> bool | None:
        """Whether the interval excludes 1; None when there are too few rounds."""
        return self.ratio.excludes(1.0) if min(self.rounds) >= FEWEST_ROUNDS else None

    @property
    def exceeds_layout(self) -> bool:
        """Whether the times differ by more than code layout alone can explain."""
        least = 1 + self.layout
        return bool(self.different) and (self.ratio.low > least or self.ratio.high < 1 / least)

    def is_slower_by(self, share: float, level: float = LEVEL) -> bool:
        """Whether A takes more than `share` (0.05 = 5 %) longer than B over the whole interval of
        `level`, and more than code layout alone can explain."""
        least = (1 + share) * (1 + self.layout)
        return self.different is not None and self.at(level).low > least

    @property
    def within(self) -> float:
        """The largest possible distance of the ratio from 1 (0.05 = 5 %): the same for A / B and B
        / A."""
        return max(self.ratio.high, 1 / self.ratio.low if self.ratio.low else math.inf) - 1

    @property
    def words(self) -> str:
        """The answer for people."""
        ratio = self.ratio.estimate
        if self.different is None:
            return f"too few rounds ({min(self.rounds)} of {FEWEST_ROUNDS})"
        if not self.different:
            if self.drift and max(self.ratio.low, 1 / self.ratio.high) * (1 + self.drift) > 1:
                return f"within drift ({percent(self.drift)})"
            return f"not distinguishable (within {percent(self.within)})"
        if 0.5 < ratio < 2:
            said = f"A takes {percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'}"
        else:
            side = "slower" if ratio > 1 else "faster"
            said = f"A x{short_factor(max(ratio, 1 / ratio))} {side}"
        return said if self.exceeds_layout else f"{said} (layout: up to {percent(self.layout)})"


def percent(share: float) -> str:
    """0.0312 as '3.1 %', 0.31 as '31 %'; a factor if percent are hard to read."""
    if share >= 1:
        return f"a factor of {short_factor(1 + share)}"
    return f"{100 * share:.{1 if share < 0.0995 else 0}f} %"

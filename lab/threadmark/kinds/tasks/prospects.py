"""The effect of more rounds on the verdicts of a run, for its schedule. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from threadmark.judge.evidence import FEWEST_ROUNDS
from threadmark.measure.known import Prospect

if TYPE_CHECKING:
    from threadmark.judge.estimates import Interval


def uncertainty(samples_ns: Sequence[float]) -> float:
    """Half width of the 95 % interval of the median, relative to the median."""
    from threadmark.judge.estimates import median_interval

    return median_interval(samples_ns).half_width


# A verdict that is definite at this level gets no more rounds while others lack some. The level is
# higher than that of the verdicts, because there is a look after each round (Haybittle 1971, Peto
# 1976).
_SURE = 0.99


def prospects(cases: Sequence[tuple[Sequence[float], int]]) -> list[Prospect]:
    """The effect of more rounds on the verdict of each (speed-ups in rounds, threads), by the
    estimates and the spread of all of them.

    Each number of threads is judged as if it were the only one. The error of a mean falls with the
    square root of the number of rounds.
    """
    from threadmark.judge.estimates import common_spread, geometric_means
    from threadmark.judge.verdict import limits

    groups = [speedups for speedups, _ in cases]
    spread = common_spread(groups)
    usual, strict = (geometric_means(groups, level, spread) for level in (0.95, _SURE))

    def needed(found: Interval, rounds: int, threads: int) -> float:
        away = min(abs(math.log(found.estimate / each)) for each in limits(found.estimate, threads))
        if not math.isfinite(found.high) or away == 0:
            return math.inf
        return max(FEWEST_ROUNDS, rounds * (math.log(found.high / found.estimate) / away) ** 2)

    return [
        Prospect(needed(at, n, threads), needed(beyond, n, threads) <= n)
        for at, beyond, n, threads in zip(
            usual, strict, map(len, groups), (threads for _, threads in cases), strict=True
        )
    ]

"""Corrects times for processors that others slowed, by the yardstick beside each repeat.

Who uses the other half of a core, such as another guest of the same host, slows a program without a
trace in any counter of the system. A program therefore times a fixed computation before and after
each repeat. How far times follow it is an exponent that all cells of a run with as many threads
have in common, told by how samples of one cell differ (analysis of covariance: Fisher, Statistical
Methods for Research Workers, 4th ed., section 49.1).

Times are brought to the yardstick that is usual for their compiler, backend and number of threads,
not to the fastest: whatever a backend, its idle threads or a clock that falls with many threads do
to the yardstick belongs to what is measured, and is in none of the ratios that the correction
changes. It takes from the spread of times, and on average nothing from the times.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean, median

from threadmark.cell import Cell, Row
from threadmark.executable import CONTENTION

_FEWEST_CELLS = 10  # with fewer to tell what is usual, the correction would gain little
_MUCH = 1.1  # a correction by more is told of


@dataclass(frozen=True)
class Scale:
    """How times of one compiler, backend and number of threads are corrected: multiplied by
    (usual_ns / yardstick) to the power of exponent."""

    platform: str
    backend: str
    threads: int
    usual_ns: float  # geometric mean of their yardsticks
    exponent: float  # from 0, times do not follow the yardstick, to 1
    error: float  # variance of the logarithm of corrected times that is that of usual_ns

    def factor(self, row: Row) -> float:
        """By how much others made the time of `row`, one of those, longer than usual."""
        time_ns = _yardstick_ns(row)
        return (time_ns / self.usual_ns) ** self.exponent if time_ns else 1.0


def scales(rows: Iterable[Row]) -> list[Scale]:
    """What a run tells of its yardsticks; nothing where it has too few cells or samples.

    By what counts as evidence: disturbed rows have another yardstick than the times that are
    corrected. What slows processors lasts, and is common to all cells of a round: the rounds are
    the sample that `error` is from (cluster-robust variance: Liang & Zeger, Biometrika 73, 1986).
    """
    groups: dict[tuple[str, str, int], dict[Cell, list[tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    rounds: dict[tuple[str, str, int], dict[int, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        if not row.disturbed and row.sample_ns and (time_ns := _yardstick_ns(row)):
            group, log = _group(row.cell), math.log(time_ns)
            groups[group][row.cell].append((log, math.log(row.sample_ns)))
            rounds[group][row.round].append(log)
    if not groups:
        return []
    from threadmark.statistics import common_slope  # brings numpy: not before the first round

    by_threads: dict[int, list[list[tuple[float, float]]]] = defaultdict(list)
    for (_, _, threads), cells in groups.items():
        by_threads[threads] += cells.values()
    powers = {n: min(1.0, max(0.0, common_slope(x) or 0.0)) for n, x in by_threads.items()}
    found = []
    for group, cells in sorted(groups.items()):
        logs, count = list(rounds[group].values()), len(rounds[group])
        if (power := powers[group[2]]) and len(cells) >= _FEWEST_CELLS and count > 1:
            usual, of = fmean(chain(*logs)), sum(map(len, logs))
            apart = sum(sum(log - usual for log in each) ** 2 for each in logs)
            error = power**2 * apart / of**2 * count / (count - 1)
            found.append(Scale(*group, math.exp(usual), power, error))
    return found


def shared(found: Iterable[Scale]) -> float:
    """The largest variance that a quotient of corrected times has from two of `found`."""
    return 2 * max((scale.error for scale in found), default=0.0)


def corrected(rows: Sequence[Row], found: Iterable[Scale]) -> list[Row]:
    """The rows of a run with the times of usual processors, by what scales() tells of all."""
    return [
        row
        if factor == 1 or row.sample_ns is None
        else replace(row, sample_ns=row.sample_ns / factor)
        for row, factor in zip(rows, _factors(rows, found), strict=True)
    ]


def note(rows: Sequence[Row]) -> list[str]:
    """What a run is to say of it; nothing where nothing was corrected."""
    found = scales(rows)
    if not found:
        return []
    timed = [row for row in rows if row.sample_ns]
    much = sum(max(x, 1 / x) > _MUCH for x in _factors(timed, found)) / len(timed)
    powers = sorted({(scale.threads, f"{scale.exponent:.2f}") for scale in found})
    said = ", ".join(f"{power} with {n} thread{'s' * (n > 1)}" for n, power in powers)
    return [
        f"Times are corrected for what others took of the processors, {100 * much:.0f} % of the "
        f"samples by more than 10 % (yardstick to the power of {said})."
    ]


def _factors(rows: Sequence[Row], found: Iterable[Scale]) -> list[float]:
    by_group = {(scale.platform, scale.backend, scale.threads): scale for scale in found}
    known = [(row, by_group.get(_group(row.cell))) for row in rows]
    return [scale.factor(row) if scale else 1.0 for row, scale in known]


def _group(cell: Cell) -> tuple[str, str, int]:
    return cell.platform, cell.backend, cell.threads


def _yardstick_ns(row: Row) -> float | None:
    """Of the measured repeats; None for rows without one. The catalogue uses its own by itself."""
    if row.cell.backend == CONTENTION:
        return None
    times = [each.get("yardstick_ns") for each in row.repeats if each.get("warmup") is False]
    known = [float(each) for each in times if each and 1 <= each <= 1e9]  # others mean nothing
    return median(known) if known else None

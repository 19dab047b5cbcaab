"""Corrects times for processors that others slowed, by the yardstick beside each repeat.

Who uses the other half of a core, such as another guest of the same host, slows a program without a
trace in any counter of the system. A program therefore times a fixed computation on each of its
processors before and after each repeat. How far samples of one cell follow it is an exponent that
all cells of a run have in common (analysis of covariance: Fisher, Statistical Methods for Research
Workers, 4th ed., section 49.1); the yardstick knows nothing of what is measured, so that nothing is
left out or changed because of its own time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from threadmark.cell import Row
from threadmark.executable import CONTENTION

_FASTEST = 0.05  # share of the yardsticks that count as those of undisturbed processors
_SLOWED = 1.1  # a processor that takes so much longer is told of


def corrected(rows: Iterable[Row]) -> list[Row]:
    """The rows of one run with the times of undisturbed processors: divided by slowed() to the
    power of exponent()."""
    rows = list(rows)
    factors = slowed(rows)
    power = exponent(rows, factors)
    return [
        row if row.sample_ns is None else replace(row, sample_ns=row.sample_ns / factor**power)
        for row, factor in zip(rows, factors, strict=True)
    ]


def slowed(rows: Sequence[Row]) -> list[float]:
    """By how much others slowed the processors of each row of a run; 1 where it is not known.

    Undisturbed are the fastest of those with as many threads: more of them may be slower by nature.
    """
    found = [_yardstick_ns(row) for row in rows]
    alike = defaultdict(list)
    for row, time_ns in zip(rows, found, strict=True):
        if time_ns:
            alike[row.cell.platform, row.cell.threads].append(time_ns)
    usual = {key: sorted(times)[int(_FASTEST * len(times))] for key, times in alike.items()}
    return [
        max(1.0, time_ns / usual[row.cell.platform, row.cell.threads]) if time_ns else 1.0
        for row, time_ns in zip(rows, found, strict=True)
    ]


def exponent(rows: Sequence[Row], factors: Sequence[float]) -> float:
    """How far times follow the yardstick: from 0, not at all or not known, to 1."""
    if max(factors, default=1.0) == 1:
        return 0.0
    from threadmark.statistics import common_slope  # brings numpy: not before the first round

    cells = defaultdict(list)
    for row, factor in zip(rows, factors, strict=True):
        if row.sample_ns:
            cells[row.cell].append((math.log(factor), math.log(row.sample_ns)))
    return min(1.0, max(0.0, common_slope(cells.values()) or 0.0))


def note(rows: Sequence[Row]) -> list[str]:
    """What a run is to say of it; nothing where nothing was corrected."""
    factors = slowed(rows)
    power = exponent(rows, factors)
    timed = [factor for row, factor in zip(rows, factors, strict=True) if row.sample_ns]
    share = sum(factor > _SLOWED for factor in timed) / max(1, len(timed))
    if power == 0 or share == 0:
        return []
    return [
        f"Others slowed the processors by more than 10 % in {100 * share:.0f} % of the samples; "
        f"times are corrected for it (yardstick to the power of {power:.2f})."
    ]


def _yardstick_ns(row: Row) -> float | None:
    """Of the measured repeats; None for rows without one. The catalogue uses its own by itself."""
    if row.sample_ns is None or row.cell.backend == CONTENTION:
        return None
    times = [each.get("yardstick_ns") for each in row.repeats if each.get("warmup") is False]
    known = [float(each) for each in times if each]
    return median(known) if known else None

"""Selects the rows that are evidence, and computes their ratios round by round. Pure; the schedule
and every judge use it, so that all of them count the same rows.

A round measures all cells of a problem side by side. A disturbance that slows the machine for a
while slows both sides of a ratio within a round, and cancels.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import TypeVar

from threadmark.model.cell import Row, Status

# Both sides must have been undisturbed in so many rounds, else the verdict is unclear. With two an
# interval is nine standard deviations wide on each side, and one slow round decides it; with three
# it is 2.5 standard deviations wide.
FEWEST_ROUNDS = 3
SLOWED = 1.1  # a yardstick this many times the usual one: the processor was slower
_Key = TypeVar("_Key")


def evidence(rows: Iterable[Row]) -> list[Row]:
    """The rows with a time that were not disturbed."""
    return [row for row in rows if row.status is Status.OK and row.sample_ns and not row.disturbed]


def by_round(rows: Iterable[Row]) -> dict[int, float]:
    """means_by_round() of the times of the evidence."""
    return means_by_round((row.round, row.sample_ns or 1.0) for row in evidence(rows))


def means_by_round(values: Iterable[tuple[int, float]]) -> dict[int, float]:
    """Mean logarithm of the (round, value) in each round. The repeats of one round are one sample,
    because they were measured side by side."""
    logs: dict[int, list[float]] = defaultdict(list)
    for number, value in values:
        logs[number].append(math.log(value))
    return {number: fmean(each) for number, each in sorted(logs.items())}


def round_ratios(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """a / b in each round that both have, in the order of the rounds; see means_by_round()."""
    return [math.exp(a[number] - b[number]) for number in a if number in b]


def fastest(samples: Mapping[_Key, Sequence[float]]) -> _Key | None:
    """The key whose samples have the lowest median, among the keys with at least half as many
    samples as any: of two similar keys, the key with few samples would be the lowest by chance.
    None if there are no samples."""
    most = max(map(len, samples.values()), default=0)
    enough = {key: values for key, values in samples.items() if values and 2 * len(values) >= most}
    return min(enough, key=lambda key: median(enough[key]), default=None)


def slowed(rows: Sequence[Row]) -> list[Row]:
    """The rows of a cell's evidence whose yardstick is SLOWED times the cell's median one.

    Another guest on the same core can slow a virtual processor without appearing in any counter. No
    verdict rests on these rows; they show how sensitive a verdict is.
    """
    known = [(row, time_ns) for row in evidence(rows) if (time_ns := _yardstick_ns(row))]
    usual_ns = median([time_ns for _, time_ns in known]) if known else 0.0
    return [row for row, time_ns in known if time_ns > SLOWED * usual_ns]


def _yardstick_ns(row: Row) -> float | None:
    """The yardstick of the measured repeats; None for rows without one."""
    times = [each.get("yardstick_ns") for each in row.repeats if each.get("warmup") is False]
    known = [float(each) for each in times if each and 1 <= each <= 1e9]  # others are invalid
    return median(known) if known else None

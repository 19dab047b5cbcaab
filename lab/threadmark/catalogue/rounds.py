"""From the windows of one process to its speed-up: which rounds count, and what they say. Pure.

A round is a window of each thread alone and one of all together, so that a processor that is slow
for a while slows both sides of its ratio. A round in which a thread waited for its processor, in
which the threads did not run side by side, or in which a fixed computation beside each window says
that the processors were faster in one of the two, is left out while enough others remain.
"""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadmark.cell import Row

DELAYED = 0.05  # share of a window that a thread may wait for a processor
OVERLAPPING = 0.8  # least share of a window during which all threads must run
UNEVEN = 0.1  # by which the fixed computation may take longer beside one window than the other
FEWEST_CLEAN = 3

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Rounds:
    """The rounds of one process that count at one number of threads, each with its two windows."""

    together: tuple[Line, ...]
    alone: tuple[Line, ...]  # of the same rounds
    clean: bool  # otherwise all even rounds are here, as too few are clean
    even: bool  # otherwise all are here: the processors kept changing their speed

    @property
    def ratios(self) -> list[float]:
        """Speed-up in each round."""
        return [
            float(p["threads"]) * float(p["per_second"]) / float(one["per_second"])
            for p, one in zip(self.together, self.alone, strict=True)
        ]

    @property
    def speedup(self) -> float:
        """The process's sample."""
        return plain.median(self.ratios)

    @property
    def per_second(self) -> float:
        """Operations per second of one thread."""
        return plain.median(float(each["per_second"]) for each in self.together)

    @property
    def fairness(self) -> float:
        """The slowest thread's speed by the fastest one's."""
        return plain.median(
            float(each["slowest_per_second"]) / float(each["fastest_per_second"])
            for each in self.together
        )

    @property
    def overlap(self) -> float:
        """Share of a window during which all threads ran."""
        return plain.median(float(each["overlap"]) for each in self.together)


def rounds(together: Sequence[Line], alone: Sequence[Line], callers: tuple[int, int]) -> Rounds:
    """The rounds that count, of the lines at one number of threads and on one thread.

    `callers`: how many threads' windows a line of each stands for. ValueError for lines that do not
    pair up.
    """
    first, second = _measured(together), _measured(alone)
    if not first or first.keys() != second.keys():
        raise ValueError("the rounds of the two sides do not pair up")
    fewest = min(FEWEST_CLEAN, len(first))
    even = [r for r in first if _even(first[r], second[r])]
    good = [r for r in even if _clean(first[r], callers[0]) and _clean(second[r], callers[1])]
    used = next((some for some in (good, even) if len(some) >= fewest), list(first))
    return Rounds(
        tuple(first[r] for r in used),
        tuple(second[r] for r in used),
        clean=len(good) >= fewest,
        even=len(even) >= fewest,
    )


def of_rows(row: Row, alone: Row) -> Rounds:
    """The rounds of a stored process: its row at some number of threads, and that on one."""
    return rounds(row.repeats, alone.repeats, (row.facts["callers"], alone.facts["callers"]))


def _measured(lines: Sequence[Line]) -> dict[int, Line]:
    return {int(each["repeat"]): each for each in lines if each.get("warmup") is False}


def _even(together: Line, alone: Line) -> bool:
    # Lines of a store from before there was a yardstick have none: then nothing is known.
    ratio = float(together.get("yardstick_ns", 1)) / float(alone.get("yardstick_ns", 1))
    return abs(math.log(ratio)) <= UNEVEN


def _clean(line: Line, callers: int) -> bool:
    waited = float(line["run_delay_ns"]) / (float(line["wall_ns"]) * callers)
    return waited <= DELAYED and float(line["overlap"]) >= OVERLAPPING

"""From the windows of one process to its speed-up: the rounds that count, and their figures. Pure.

A round is a window of each thread alone and a window of all together, so a processor that is slow
for a while slows both sides of the ratio. A fixed computation beside each window, the yardstick,
shows how fast the processors were in it. When all cores run, their clock may be lower, and two
threads of one core share its units: then the yardstick takes longer in every window of all threads
than in windows of one thread, by a ratio that is usual for the run and the number of threads. A
round is left out while enough others remain if its ratio differs, if a thread waited for its
processor in it, or if the threads did not run side by side.
"""

from __future__ import annotations

import math
import statistics as plain
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadmark.model.cell import Row

DELAYED = 0.05  # share of a window that a thread may wait for a processor
OVERLAPPING = 0.8  # least share of a window during which all threads must run
UNEVEN = 0.1  # logarithm by which the yardstick's ratio in a round may differ from the usual one
FEWEST_CLEAN = 3
FEWEST_USUAL = 5  # processes for the usual ratio

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Rounds:
    """The rounds of one process that count at one number of threads, each with its two windows."""

    together: tuple[Line, ...]
    alone: tuple[Line, ...]  # of the same rounds
    clean: bool  # else all even rounds are here, because too few are clean
    even: bool  # else all are here: the processors kept changing speed

    @property
    def ratios(self) -> list[float]:
        """Speed-up in each round."""
        return [
            float(p["threads"]) * float(p["per_second"]) / float(one["per_second"])
            for p, one in zip(self.together, self.alone, strict=True)
        ]

    @property
    def slowings(self) -> list[float]:
        """The ratio of the yardstick's time in the window of all threads to its time alone, in each
        round."""
        return [_slowing(p, one) for p, one in zip(self.together, self.alone, strict=True)]

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
        """The slowest thread's speed by the fastest thread's."""
        return plain.median(
            float(each["slowest_per_second"]) / float(each["fastest_per_second"])
            for each in self.together
        )

    @property
    def overlap(self) -> float:
        """Share of a window during which all threads ran."""
        return plain.median(float(each["overlap"]) for each in self.together)


def rounds(
    together: Sequence[Line], alone: Sequence[Line], callers: tuple[int, int], usual: float
) -> Rounds:
    """The rounds that count, of the lines at one number of threads and on one thread.

    `callers`: the number of threads whose windows a line of each stands for. `usual`: the
    yardstick's time together by its time alone, see Usual. ValueError for lines that do not pair
    up.
    """
    first, second = _paired(together, alone)
    fewest = min(FEWEST_CLEAN, len(first))
    even = [r for r in first if abs(math.log(_slowing(first[r], second[r]) / usual)) <= UNEVEN]
    good = [r for r in even if _clean(first[r], callers[0]) and _clean(second[r], callers[1])]
    used = next((some for some in (good, even) if len(some) >= fewest), list(first))
    return Rounds(
        tuple(first[r] for r in used),
        tuple(second[r] for r in used),
        clean=len(good) >= fewest,
        even=len(even) >= fewest,
    )


def of_rows(row: Row, alone: Row) -> Rounds:
    """The rounds of a stored process: its row at some number of threads, and its row on one."""
    callers = row.facts["callers"], alone.facts["callers"]
    return rounds(row.repeats, alone.repeats, callers, row.facts.get("usual_slowing", 1.0))


class Usual:
    """The usual slowing: the yardstick's time in windows of all threads by its time in windows of
    one, by number of threads and callers. It is the median over the processes of the run so far,
    and over the rounds of each; while there are few processes, a process's own median.

    A neighbour slows a core in both windows of a round, so it changes the ratio of few rounds,
    however long it stays. A change in the ratio of most processes is a property of the machine.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], list[float]] = defaultdict(list)

    def slowing(
        self, threads: int, callers: int, together: Sequence[Line], alone: Sequence[Line]
    ) -> float:
        """The reference for the rounds of a new process, given by its lines."""
        seen = self._seen[threads, callers]
        return plain.median(seen) if len(seen) >= FEWEST_USUAL else _own(together, alone)

    def learn(self, rows: Iterable[Row]) -> None:
        """Learn from a process that ended well, by its rows in order of threads."""
        alone, *others = rows
        for row in others:
            key = row.cell.threads, int(row.facts["callers"])
            self._seen[key].append(_own(row.repeats, alone.repeats))


def _own(together: Sequence[Line], alone: Sequence[Line]) -> float:
    first, second = _paired(together, alone)
    return plain.median(_slowing(first[r], second[r]) for r in first)


def _paired(
    together: Sequence[Line], alone: Sequence[Line]
) -> tuple[dict[int, Line], dict[int, Line]]:
    first, second = _measured(together), _measured(alone)
    if not first or first.keys() != second.keys():
        raise ValueError("the rounds of the two sides do not pair up")
    return first, second


def _measured(lines: Sequence[Line]) -> dict[int, Line]:
    return {int(each["repeat"]): each for each in lines if each.get("warmup") is False}


def _slowing(together: Line, alone: Line) -> float:
    # Lines of an older store have no yardstick: the slowing is then not known.
    return float(together.get("yardstick_ns", 1)) / float(alone.get("yardstick_ns", 1))


def _clean(line: Line, callers: int) -> bool:
    waited = float(line["run_delay_ns"]) / (float(line["wall_ns"]) * callers)
    return waited <= DELAYED and float(line["overlap"]) >= OVERLAPPING

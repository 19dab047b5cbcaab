"""From the end of a process of the catalogue to its rows: one for each number of threads.

This module decides whether the process counts, because it knows the other load of the processors.
These mark a process: fewer than three clean rounds beside other processes, processors that slowed
together otherwise than is usual in the run, or threads that did not run side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from threadmark.kinds.catalogue.rounds import OVERLAPPING, Rounds, Usual, rounds
from threadmark.machine import load
from threadmark.machine.limits import Limits
from threadmark.measure import outcome
from threadmark.measure.outcome import Attempt
from threadmark.measure.process import Ending
from threadmark.model.cell import Row, Status

_FIGURES = (
    "wall_ns", "operations", "per_second", "slowest_per_second", "fastest_per_second",
    "yardstick_ns",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """The measurement that a process must make. `use` is the way's, see ARCHITECTURE.md."""

    threads: tuple[int, ...]
    use: str

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of threads of its lines. One thread comes first and is always measured."""
        return tuple(sorted({1, *self.threads}))

    def callers(self, threads: int) -> int:
        """The number of threads whose windows a line stands for: alone they take turns."""
        if self.use != "threads":
            return 1
        return max(self.counts) if threads == 1 else threads


def judge(
    asked: Asked, attempt: Attempt, ending: Ending, limits: Limits, usual: Usual
) -> list[Row]:
    """The rows of this process, in order of threads; `usual` also learns from it."""
    whole = outcome.judge(replace(attempt, repeats=None), ending, limits)
    lines = {p: _lines(whole, p) for p in asked.counts}
    if whole.status is Status.OK and (fault := _fault(whole, lines)):
        whole = replace(whole, status=Status.CRASHED, reason=fault, disturbed="")
    found = []
    for threads in asked.counts:
        row = replace(
            whole,
            cell=replace(whole.cell, threads=threads),
            repeats=lines[threads],
            sample_ns=None,
            facts={**whole.facts, "callers": asked.callers(threads)},
        )
        if whole.status is Status.OK:
            callers = asked.callers(threads)
            slowing = usual.slowing(threads, callers, lines[threads], lines[1])
            used = rounds(lines[threads], lines[1], (callers, asked.callers(1)), slowing)
            row = replace(
                row,
                sample_ns=1e9 / (threads * used.per_second),
                disturbed=_disturbance(row, used, ending, len(attempt.cpus)),
                facts={**row.facts, "usual_slowing": slowing},
            )
        found.append(row)
    if whole.status is Status.OK:
        usual.learn(found)
    return found


def _lines(row: Row, threads: int) -> tuple[dict[str, Any], ...]:
    return tuple(each for each in row.repeats if each.get("threads") == threads)


def _fault(row: Row, lines: dict[int, tuple[dict[str, Any], ...]]) -> str:
    """The fault of the lines of a process that ended well; empty if there is none."""
    if sum(map(len, lines.values())) != len(row.repeats):
        return "measured a number of threads that nobody asked for"
    numbers = {p: [each.get("repeat") for each in found] for p, found in lines.items()}
    for threads, found in numbers.items():
        if sorted(map(str, found)) != sorted(map(str, numbers[1])) or len(set(found)) < len(found):
            return f"made other rounds on {threads} threads than on one"
    for each in row.repeats:
        if not _is_count(each.get("repeat")) or any(not each.get(name) for name in _FIGURES):
            return "gave a figure that is no positive number"
        if not all(name in each for name in ("overlap", "run_delay_ns")):
            return "left the overlap or the delay of its threads out"
    return ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _disturbance(row: Row, used: Rounds, ending: Ending, cpus: int) -> str:
    """The reason for which the process does not count; empty if it does."""
    callers = int(row.facts["callers"])
    if not used.clean:
        seen = load.disturbance(ending.load, ending.wall_s, used.together, callers)
        if seen:
            return seen
    # More threads than processors take turns, as requested.
    if callers > cpus:
        return ""
    if not used.even:
        return "its processors slowed together otherwise than is usual in this run"
    if used.overlap < OVERLAPPING:
        return f"its threads ran side by side for {100 * used.overlap:.0f} % of a window only"
    return ""

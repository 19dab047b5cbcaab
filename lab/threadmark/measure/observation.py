"""The observation of an ended process for a schedule."""

from __future__ import annotations

from dataclasses import dataclass

from threadmark.judge.evidence import evidence
from threadmark.model.cell import Cell, Row, Status


@dataclass(frozen=True)
class Observation:
    """A process of a cell.

    `value` is the quantity whose spread and ratios decide verdicts: a time, or a speed-up.
    `time_ns` is the time of a repeat, which sets limits and the number of repeats.
    """

    cell: Cell
    round: int
    status: Status
    cost_s: float  # seconds from the start to the end of the process
    value: float | None  # None if the process failed or was disturbed
    time_ns: float | None  # None if the process failed, or its repeats have a fixed length
    disturbed: bool


def observation(row: Row) -> Observation:
    """The observation of a process with one row, whose sample is a time."""
    return Observation(
        row.cell,
        row.round,
        row.status,
        cost_s(row),
        row.sample_ns if evidence([row]) else None,
        row.sample_ns,
        bool(row.disturbed),
    )


def cost_s(row: Row) -> float:
    """Seconds that the process of a row took."""
    return float(row.facts.get("wall_s", 0.0))

"""Cell, Row, Run: the measured unit, its result, and the whole. All modules of the lab use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from threadmark.model.places import DEFAULT_STORE

_NAMED = 20  # more names than this hide a message; the matrix marks each such cell


class Status(StrEnum):
    """The end of one process of a cell. Anything but `ok` carries a reason and no sample."""

    OK = "ok"
    WRONG = "wrong"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    OUT_OF_MEMORY = "out_of_memory"
    UNAVAILABLE = "unavailable"
    DROPPED = "dropped"  # not measured because the time budget of the run was used up

    @property
    def ran(self) -> bool:
        """Whether there was a process."""
        return self not in (Status.UNAVAILABLE, Status.DROPPED)


@dataclass(frozen=True, order=True)
class Cell:
    """One point of the experiment. Rows of one cell are samples of the same thing."""

    program: str
    size: str  # smoke | quick | full | custom (when `arguments` is not empty)
    backend: str
    variant: str
    platform: str
    allocator: str
    threads: int
    arguments: tuple[tuple[str, str], ...] = ()  # overrides of the program's parameters, sorted

    @property
    def problem(self) -> tuple[object, ...]:
        """The common fields of cells with the same serial time."""
        return self.program, self.size, self.arguments, self.platform, self.allocator

    @property
    def column(self) -> tuple[object, ...]:
        """The common fields of the cells of one verdict."""
        return *self.problem, self.backend, self.variant


@dataclass(frozen=True)
class Row:
    """The result of one process of a cell; the unit of sampling."""

    cell: Cell
    round: int
    status: Status
    reason: str = ""  # one sentence, empty only for ok
    sample_ns: float | None = None  # median of the process's measured repeats; None unless ok
    repeats: tuple[dict[str, Any], ...] = ()  # the executable's own JSON lines, warm-ups included
    command: tuple[str, ...] = ()  # exactly what was executed
    started_at: str = ""  # UTC, ISO 8601
    disturbed: str = ""  # why threads may not have run at the same time; empty: no sign
    facts: dict[str, Any] = field(default_factory=dict)  # exit code, limits, rss, steal, load, ...


@dataclass(frozen=True)
class Run:
    """One `run` (or `import`): its request, its machine, and whether it ended."""

    id: int
    started_at: str
    finished_at: str  # empty while it runs or when it was killed
    profile: str
    seed: int
    request: dict[str, Any]  # the options as given, enough for --resume
    machine: dict[str, Any]  # processor, topology, kernel, limits, tool versions, commit
    notes: tuple[str, ...] = ()  # dropped or unavailable cells, in sentences


@dataclass(frozen=True)
class Stored:
    """All data of a run in the store: its rows in the order of measuring, and the descriptions of
    its executables, each with `platform_name` added."""

    run: Run
    rows: Sequence[Row]
    descriptions: Sequence[dict[str, Any]]
    documents: Mapping[str, Any] = field(default_factory=dict)  # of a kind without cells, by name
    store: Path = DEFAULT_STORE  # its path


def columns(cells: Sequence[Cell]) -> str:
    """'fib tbb:futures x1 x2, sort ...': each column of the matrix once, in order."""
    threads: dict[str, list[str]] = {}
    for cell in sorted(cells):
        other = "" if cell.allocator == "glibc" else f" {cell.allocator}"
        column = f"{cell.program} {cell.backend}:{cell.variant} {cell.platform}{other}"
        threads.setdefault(column, []).append(f"x{cell.threads}")
    shown = [f"{column} {' '.join(each)}" for column, each in threads.items()]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more


DEFAULT = "glibc"

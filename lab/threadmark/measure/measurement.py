"""Measures a selection process by process; each row is in the store before the next starts."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from threadmark.judge.evidence import SLOWED, evidence, slowed
from threadmark.machine import host
from threadmark.machine.limits import Limits
from threadmark.machine.preload import library_path, surroundings
from threadmark.machine.processes import MARK
from threadmark.measure.cage import Cage
from threadmark.measure.observation import Observation
from threadmark.measure.outcome import Attempt
from threadmark.measure.process import Ending, TimeLimits, execute
from threadmark.measure.schedule import Schedule, Task
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError
from threadmark.model.executable import Executable
from threadmark.model.request import Request, Selection
from threadmark.setup import allocators
from threadmark.store.store import Store

# Runs the process of a task, and returns its rows.
Runner = Callable[[Task], Sequence[Row]]


class Watcher(Protocol):
    """Shows the progress of a measurement."""

    def before(self, cell: Cell, done: int, total: int, left_s: float) -> None:
        """`cell` is about to run; `done` of `total` processes have ended."""

    def after(self, cell: Cell, status: Status) -> None:
        """A process of `cell` ended in this way."""


class Attempts:
    """Starts single processes of cells."""

    def __init__(self, request: Request, cells: Mapping[Cell, Executable], cage: Cage) -> None:
        self._request = request
        self._cells = cells
        self._cage = cage
        self._order = host.processors()
        names = {cell.allocator for cell in cells}
        self._settings = {name: allocators.setting(name)[0] for name in names}

    def run(
        self,
        task: Task,
        argv: Sequence[str],
        under: Sequence[str] = (),
        heard: Callable[[bytes], None] | None = None,
    ) -> tuple[Attempt, Ending, Limits]:
        """Run `argv` for a cell to its end, as the command that ends the line `under`. `heard` gets
        the output. LabError if the executable was rebuilt."""
        cell = task.cell
        executable = self._cells[cell]
        if executable.changed():
            raise LabError(
                f"{executable.path} was rebuilt while it is measured; the earlier measurements are "
                "kept, start a new run for the rest."
            )
        cpus = host.cpus_for(cell.threads, host.turned(cell.threads, self._order, task.round))
        chosen = surroundings(executable.path) | self._settings[cell.allocator]
        environment = self._cage.environment(chosen)
        seen = {name: value for name, value in environment.items() if name != MARK}
        prefix = ["taskset", "-c", ",".join(map(str, cpus))]
        prefix += ["env", "-i", *(f"{name}={value}" for name, value in seen.items())]
        attempt = Attempt(
            cell=cell,
            round=task.round,
            command=(*prefix, *argv),
            environment=seen,
            cpus=cpus,
            repeat_limit_s=task.repeat_limit_s,
            repeats=task.repeats,
            started_at=_now(),
        )
        ending = execute(
            [*under, *argv],
            cage=self._cage,
            cpus=cpus,
            # A program prints a line at its start, after the warm-up, after each repeat and at its
            # end. The limit of the whole is for programs that print more than that.
            limits=TimeLimits((3 + task.repeats) * task.repeat_limit_s, task.repeat_limit_s),
            environment=environment,
            heard=heard,
        )
        return attempt, ending, self._cage.limits


class Measurement:
    """One run in progress."""

    def __init__(self, store: Store, run_id: int, request: Request, selection: Selection) -> None:
        self.store = store
        self.run_id = run_id
        self.request = request
        self.selection = selection

    def start(self) -> None:
        """Keep the descriptions of the executables, and a row for each cell that cannot be
        measured."""
        for executable in self.selection.executables:
            self.store.add_description(self.run_id, executable.platform, executable.description)
        executables = {each.path.name: each for each in self.selection.cells.values()}
        needy = sorted(name for name, each in executables.items() if library_path(each.path))
        if needy:
            more = f" and {len(needy) - 3} more" if len(needy) > 3 else ""
            note = f"LD_LIBRARY_PATH was passed to {', '.join(needy[:3])}{more}, because"
            self.store.add_note(self.run_id, f"{note} a library is not found without it.")
        now = _now()
        self.store.append_all(
            self.run_id,
            [
                Row(cell, 0, Status.UNAVAILABLE, reason, started_at=now)
                for cell, reason in self.selection.unavailable.items()
            ],
        )

    def measure(
        self,
        schedule: Schedule,
        run: Runner,
        observe: Callable[[Sequence[Row]], Observation],
        watcher: Watcher,
        spent_s: float,
    ) -> None:
        """Run the schedule, and keep the rows of each process before the next starts. `spent_s` was
        spent before the interruption of the run."""
        start = time.monotonic() - spent_s
        while task := schedule.next(time.monotonic() - start):
            left_s = schedule.remaining_s(time.monotonic() - start)
            watcher.before(task.cell, *schedule.progress(), left_s)
            rows = run(task)
            self.store.append_all(self.run_id, rows)
            schedule.record(observe(rows))
            watcher.after(task.cell, rows[0].status)

    def finish(self, schedule: Schedule) -> None:
        """Note the omissions and close the run."""
        self.store.append_all(
            self.run_id,
            [Row(cell, 0, Status.DROPPED, why) for cell, why in schedule.dropped().items()],
        )
        for sentence in [*self._remarks(), *schedule.notes()]:
            self.store.add_note(self.run_id, sentence)
        self.store.finish(self.run_id)

    def _remarks(self) -> list[str]:
        """The disturbance of the machine, in a sentence."""
        cells: dict[Cell, list[Row]] = defaultdict(list)
        for row in self.store.rows(self.run_id):
            cells[row.cell].append(row)
        timed = sum(row.sample_ns is not None for rows in cells.values() for row in rows)
        marked = timed - sum(len(evidence(rows)) for rows in cells.values())
        slow = sum(len(slowed(rows)) for rows in cells.values())
        if not timed:
            return []
        return [
            f"Other processes or the hypervisor disturbed {100 * marked / timed:.1f} % of the "
            f"samples, which count for nothing; {100 * slow / timed:.1f} % more ran on a processor "
            f"that was slower than usual by {100 * (SLOWED - 1):.0f} % or more."
        ]


def fingerprint(cells: dict[Cell, Executable]) -> dict[str, str]:
    """The identity that a resumed run must keep: executable -> its SHA-256."""
    return {f"{each.platform}/{each.path.name}": each.digest for each in cells.values()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

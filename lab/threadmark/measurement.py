"""Measures a selection process by process; each row is in the store before the next starts."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from threadmark import allocators, machine
from threadmark.cell import Cell, Row, Status
from threadmark.errors import LabError
from threadmark.evidence import FEWEST_ROUNDS, SLOWED, evidence, slowed
from threadmark.executable import Executable
from threadmark.known import Prospect
from threadmark.limits import Cage, Limits
from threadmark.loader import library_path, surroundings
from threadmark.outcome import Attempt, judge
from threadmark.process import Ending, TimeLimits, execute
from threadmark.processes import MARK
from threadmark.progress import Progress
from threadmark.schedule import Schedule, Task
from threadmark.selection import Request, Selection
from threadmark.store import Store

if TYPE_CHECKING:
    from threadmark.statistics import Interval

# Runs the process of a task, keeps what it left, and returns what the schedule is to know of it.
Take = Callable[[Task], Row]


def uncertainty(samples_ns: Sequence[float]) -> float:
    """Half width of the 95 % interval of the median, relative to the median."""
    from threadmark.statistics import median_interval  # brings scipy: not before the first round

    return median_interval(samples_ns).half_width


# A verdict that is definite at this level gets no more rounds while others lack some. It is higher
# than that of the verdicts, because it is asked after each round (Haybittle 1971, Peto 1976).
_SURE = 0.99


def prospects(cases: Sequence[tuple[Sequence[float], int]]) -> list[Prospect]:
    """What more rounds would do to the verdict of each (speed-ups in rounds, threads), by the
    estimates and the spread of all of them.

    Each number of threads is judged as if it were the only one. The error of a mean falls with the
    square root of the number of rounds.
    """
    from threadmark.statistics import common_spread, geometric_means  # brings scipy too
    from threadmark.verdict import limits

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


class Attempts:
    """Starts single processes of cells."""

    def __init__(self, request: Request, cells: Mapping[Cell, Executable], cage: Cage) -> None:
        self._request = request
        self._cells = cells
        self._cage = cage
        self._order = machine.processors()
        names = {cell.allocator for cell in cells}
        self._settings = {name: allocators.setting(name)[0] for name in names}

    def __call__(self, task: Task) -> Row:
        """Run one process of a cell to its end. LabError when its executable was built anew."""
        return judge(*self.run(task, arguments(self._cells[task.cell], task, self._request)))

    def run(self, task: Task, argv: Sequence[str]) -> tuple[Attempt, Ending, Limits]:
        """Run `argv` for a cell to its end. LabError when its executable was built anew."""
        cell = task.cell
        executable = self._cells[cell]
        if executable.changed():
            raise LabError(
                f"{executable.path} was built anew while it is measured; what was measured before "
                "is kept, start a new run for the rest."
            )
        cpus = machine.cpus_for(cell.threads, machine.turned(cell.threads, self._order, task.round))
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
            argv,
            cage=self._cage,
            cpus=cpus,
            # A program prints a line at its start, after the warm-up, after each repeat and at its
            # end: the limit as a whole is for one that prints more than that.
            limits=TimeLimits((3 + task.repeats) * task.repeat_limit_s, task.repeat_limit_s),
            environment=environment,
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
        """Keep what the executables say, and a row for each cell that cannot be measured."""
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

    def taker(self, cage: Cage) -> Take:
        """What runs one process and keeps its row."""
        attempts = Attempts(self.request, self.selection.cells, cage)

        def take(task: Task) -> Row:
            row = attempts(task)
            self.store.append(self.run_id, row)
            return row

        return take

    def measure(self, schedule: Schedule, take: Take, progress: Progress, spent_s: float) -> None:
        """Run what the schedule says; `spent_s` was spent before the run was interrupted."""
        start = time.monotonic() - spent_s
        while task := schedule.next(time.monotonic() - start):
            left_s = schedule.remaining_s(time.monotonic() - start)
            progress.before(task.cell, *schedule.progress(), left_s)
            row = take(task)
            schedule.record(row)
            progress.after(row)

    def finish(self, schedule: Schedule) -> None:
        """Say what was left out and close the run."""
        self.store.append_all(
            self.run_id,
            [Row(cell, 0, Status.DROPPED, why) for cell, why in schedule.dropped().items()],
        )
        for sentence in [*self._remarks(), *schedule.notes()]:
            self.store.add_note(self.run_id, sentence)
        self.store.finish(self.run_id)

    def _remarks(self) -> list[str]:
        """How much the machine was disturbed, in a sentence."""
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


def arguments(executable: Executable, task: Task, request: Request) -> list[str]:
    """The command line of one process."""
    cell = task.cell
    line = [str(executable.path), "--run", "--threads", str(cell.threads)]
    line += ["--variant", cell.variant, "--size", request.size, "--seed", str(request.seed)]
    line += ["--warmup", "1", "--repeats", str(task.repeats)]
    for name, value in cell.arguments:
        line += ["--arg", f"{name}={value}"]
    return line


def fingerprint(cells: dict[Cell, Executable]) -> dict[str, str]:
    """What must be the same for a run to go on: executable -> SHA-256 of it."""
    return {f"{each.platform}/{each.path.name}": each.digest for each in cells.values()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

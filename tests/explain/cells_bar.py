#!/usr/bin/env python3
"""Explains fields of a quick matrix that do not scale, and compares their shares with the
harness's.

The script compares the time without a processor with the harness's run_delay. It compares the time
of the runtime with the number of tasks times the cost of a task that the harness measures. The exit
status is 1 if a bar is missed. After Control-C the script prints the results so far.
Usage: tests/explain/cells_bar.py [--only PATTERN] [--build FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
from threadmark.kinds.explain import subject
from threadmark.machine import host
from threadmark.machine.limits import default_limits
from threadmark.measure import outcome
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Attempts
from threadmark.measure.schedule import Task
from threadmark.model.cell import Cell
from threadmark.model.cell_name import cell_name
from threadmark.model.errors import LabError
from threadmark.model.executable import Executable
from threadmark.model.places import BUILD
from threadmark.setup import discovery

PLATFORM = "gcc-libstdc++"
# Fields that are slower than serial or do not scale on most machines: small tasks, or many threads.
FIELDS = (
    ("fib", "tbb", "futures"), ("fib", "tbb", "fork_join"),
    ("fib", "openmp", "futures"), ("fib", "openmp", "fork_join"),
    ("fib", "boost_fiber", "futures"), ("fib", "tmk", "optional"),
    ("uts", "openmp", "futures"), ("uts", "tbb", "futures"), ("uts", "boost_fiber", "futures"),
    ("nqueens", "boost_fiber", "futures"), ("nqueens", "openmp", "futures"),
    ("sparselu", "std_async", "optional"),
)  # fmt: skip
# Backends whose cost is shown but not held to the bar: the program brings its own scheduler, which
# explain cannot tell from the program's work.
_OWN_SCHEDULER = ("boost_fiber",)
_SERIAL = "plain"
_OFF = 0.10  # of thread time
_OFF_COST = 0.30  # of tasks x cost
_LEAST = 0.05  # of thread time: the bar needs at least this much management
_SECONDS = 0.5  # of the serial form


@dataclass(frozen=True)
class Row:
    """One field. Shares are of thread time. `cost` is the runtime's time divided by tasks x
    cost."""

    name: str
    cause: str
    ready: float
    ready_measured: float | None  # None: the harness lacks it for threads that have ended
    managed: float
    cost: float | None  # None: the runtime manages hardly anything
    problem: str = ""
    held: bool = True  # whether `cost` must hold the bar

    @property
    def faults(self) -> list[str]:
        found = [self.problem] if self.problem else []
        if self.ready_measured is not None and abs(self.ready - self.ready_measured) > _OFF:
            found.append("READY")
        if self.held and self.cost is not None and abs(self.cost - 1) > _OFF_COST:
            found.append("COST")
        return found


class Bar:
    """Measures fields with the executables of one build."""

    def __init__(self, executables: Sequence[Executable], cage: Cage, store: Path) -> None:
        self._there = {(each.program, each.backend): each for each in executables}
        self._cage = cage
        self._store = store
        self._serial: dict[str, float] = {}

    def row(self, program: str, backend: str, variant: str) -> Row:
        threads = max(2, min(4, host.cores(host.processors())))
        cell = Cell(program, "quick", backend, variant, PLATFORM, "glibc", threads)
        name = cell_name(cell)
        try:
            executable = self._there[program, backend]
            made = subject.of_executable(cell, executable)
            _, found = subject.explain(made, self._cage, self._store)
            return self._judged(name, found, self._serial_ns(cell))
        except KeyError:
            return Row(name, "", 0, None, 0, None, "is not built")
        except LabError as error:
            return Row(name, "", 0, None, 0, None, str(error))

    def _judged(self, name: str, found: dict[str, Any], serial_ns: float) -> Row:
        cell, states = found["cell"], found["states"]
        managed = states["runtime"] + states["runtime_idle"]
        ready_measured = cell["run_delay_ns"] / (cell["wall_ns"] * cell["threads"])
        # A pool may have more threads than work at one time, so shares are of P threads' time.
        of_threads = found["thread_s"] / (found["wall_s"] * cell["threads"])
        ended = found["threads"] > 4 * cell["threads"] or cell["backend"] == "std_async"
        # The harness's cost of a task: processor time beyond that of the serial form.
        cost_ns = (cell["cpu_ns"] - serial_ns) / cell["tasks"]
        ran = found["tasks"]["cost_ns"] if "tasks" in found else 0.0
        counts = managed >= _LEAST and cost_ns > 0
        return Row(
            name,
            found["causes"][0]["category"],
            states["runnable"] * of_threads,
            None if ended else ready_measured,
            managed,
            ran / cost_ns if counts else None,
            held=cell["backend"] not in _OWN_SCHEDULER,
        )

    def _serial_ns(self, cell: Cell) -> float:
        """The processor time of a repeat of the serial form."""
        if cell.program not in self._serial:
            serial = replace(cell, backend="serial", variant=_SERIAL, threads=1)
            made = subject.of_executable(serial, self._there[cell.program, "serial"])
            attempts = Attempts(made.request, {serial: made.executable}, self._cage)
            argv = made.kind.steady(made.request, serial, made.executable, _SECONDS)
            attempt, ending, limits = attempts.run(Task(serial, 0, 1, 60.0), argv)
            row = outcome.judge(replace(attempt, repeats=None), ending, limits)
            times = [float(e["cpu_ns"]) for e in row.repeats if e.get("warmup") is False]
            self._serial[cell.program] = statistics.median(times)
        return self._serial[cell.program]


def table(rows: Sequence[Row]) -> str:
    """One line for each row."""
    lines = [("field", "first cause", "ready", "measured", "managed", "by tasks x cost", "missed")]
    for row in rows:
        measured, cost = row.ready_measured, row.cost
        lines.append((
            row.name,
            row.cause or "-",
            f"{row.ready:.0%}",
            "-" if measured is None else f"{measured:.0%}",
            f"{row.managed:.0%}",
            "-" if cost is None else f"{cost:.2f}",
            ", ".join(row.faults),
        ))  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _measured(build: Path, pattern: str, into: list[Row]) -> Iterator[Row]:
    executables = discovery.find([PLATFORM], build)
    with tempfile.TemporaryDirectory() as folder, Cage(default_limits()) as cage:
        bar = Bar(executables, cage, Path(folder) / "s.db")
        for program, backend, variant in FIELDS:
            if fnmatch.fnmatch(f"{program}/{backend}:{variant}", pattern):
                into.append(bar.row(program, backend, variant))
                yield into[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--only", default="*", help="fields that match this pattern")
    parser.add_argument("--build", type=Path, default=BUILD)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[Row] = []
    try:
        for row in _measured(options.build, options.only, rows):
            print(f"{row.name}: {', '.join(row.faults) or 'held'}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("Interrupted; this is what was measured.", file=sys.stderr)
    print(json.dumps([asdict(row) for row in rows], indent=2) if options.json else table(rows))
    return int(not rows or any(row.faults for row in rows))


if __name__ == "__main__":
    sys.exit(main())

"""A cell of the matrix or of the catalogue as the subject of an explanation. It runs as the lab
runs it, under the recorder, for as long as the analysis needs."""

from __future__ import annotations

import shlex
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from threadmark.kinds import registry
from threadmark.kinds.cells import CellKind
from threadmark.kinds.explain import probe
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.repeats import only_repeats
from threadmark.kinds.explain.invocation import answered, kept, say, temporary
from threadmark.machine.limits import default_limits
from threadmark.measure import outcome
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Attempts
from threadmark.measure.schedule import Task
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.cell_name import cell_name, parse
from threadmark.model.errors import LabError
from threadmark.model.executable import Executable
from threadmark.model.names import check_name
from threadmark.model.request import Request
from threadmark.setup import allocators, discovery, preparation

SECONDS = 2.0  # of repeats; recording begins up to 0.2 s after the first of them
_PATIENCE_S = {"smoke": 60.0, "quick": 60.0, "full": 900.0}  # by size, for a repeat or the input


@dataclass(frozen=True)
class Subject:
    """A cell that can be run."""

    kind: CellKind
    request: Request
    cell: Cell
    executable: Executable


def perform(text: str, store: Path, *, install: bool, as_json: bool) -> int:
    """Explain the cell of that name and print the answer; returns the exit status."""
    subject = named(text, Console(stderr=True), install=install)
    probe.recorder()  # it is built before a processor is needed
    with Cage(default_limits()) as cage:
        number, found = explain(subject, cage, store)
    say(number, found, store, as_json=as_json)
    return 0


def named(text: str, console: Console, *, install: bool) -> Subject:
    """The cell of that name, with its executable built. LabError if there is none."""
    cell = parse(text)
    known = discovery.sources()
    check_name("program", cell.program, known)
    check_name("backend", cell.backend, known[cell.program])
    if missing := allocators.setting(cell.allocator)[1]:
        raise LabError(f"{cell.allocator} is not available here: {missing}")
    most = default_limits()
    if cell.threads > most.threads:
        raise LabError(
            f"{cell.threads} threads are more than this machine allows, which is {most.threads} "
            f"({most.thread_source}); name fewer."
        )
    executable = _built(cell, console, install=install)
    return of_executable(cell, executable)


def of_executable(cell: Cell, executable: Executable, seed: int = 1) -> Subject:
    """The cell as a subject. LabError if the executable has no such cell."""
    if executable.fault:
        raise LabError(f"{executable.path} cannot be used: it {executable.fault}")
    kinds = (each for each in registry.every() if isinstance(each, CellKind))
    kind = next(each for each in kinds if each.measures(executable))
    request = Request(
        programs=(cell.program,),
        backends=(cell.backend,),
        variants=(cell.variant,),
        platforms=(cell.platform,),
        allocators=(cell.allocator,),
        threads=(cell.threads,),
        size=cell.size if cell.size in _PATIENCE_S else "quick",
        arguments=tuple(f"{name}={value}" for name, value in cell.arguments),
        seed=seed,
    )
    selection = kind.select(request, [executable], ())
    if cell in selection.cells:
        return Subject(kind, request, cell, executable)
    if reason := next(iter(selection.unavailable.values()), ""):
        raise LabError(f"{cell_name(cell)} is not available: {reason}")
    raise LabError(
        f"{cell.backend}:{cell.variant} of {cell.program} uses one thread only; write 1 in the "
        f"place of {cell.threads}."
    )


def explain(
    subject: Subject, cage: Cage, store: Path, of: int | None = None
) -> tuple[int, dict[str, Any]]:
    """Record a process of it and keep the analysis; returns the number of that run and its
    document. `of` is the run that measured the cell. LabError if the process does not end well.
    """
    with temporary(store) as path:
        row = _recorded(subject, cage, path)
        whole = probe.load(path)
        repeats = _repeats(row, whole)
        recording = _cut(subject, repeats, whole)
        about = {"cell": _about(row.cell, repeats, recording)}
        request = {"cell": cell_name(subject.cell)} | ({} if of is None else {"of": of})
        number, found = answered(recording, path, store, about, request)
        kept(path, store, number)
    return number, found


def _built(cell: Cell, console: Console, *, install: bool) -> Executable:
    name = f"{cell.program}.{cell.backend}"
    preparation.chosen((cell.platform,))
    try:
        ready = preparation.prepare((cell.platform,), console, install=install, targets=(name,))
    except LabError:
        absent = discovery.absences(cell.platform)
        if why := next((each.reason for each in absent if each.backend == cell.backend), ""):
            raise LabError(f"{cell.backend} is not available on {cell.platform}: {why}") from None
        raise
    for each in ready.executables:
        if each.path.name == name:
            return each
    raise LabError(f"{name} was not built for {cell.platform}; run ./threadmark setup, then again.")


def _recorded(subject: Subject, cage: Cage, path: Path) -> Row:
    cell = subject.cell
    attempts = Attempts(subject.request, {cell: subject.executable}, cage)
    argv = subject.kind.steady(subject.request, cell, subject.executable, SECONDS)
    task = Task(cell, 0, 1, _PATIENCE_S[subject.request.size])
    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder) / "warm"

        def heard(output: bytes) -> None:
            if b'"warmup":true' in output.replace(b" ", b""):
                warm.touch()

        under = [str(probe.recorder()), "-o", str(path)]
        under += ["--ready", f"test -e {shlex.quote(str(warm))}", "--"]
        attempt, ending, limits = attempts.run(task, argv, under, heard)
    row = outcome.judge(replace(attempt, repeats=None), ending, limits)
    if row.status is not Status.OK:
        raise LabError(f"{cell_name(cell)} cannot be explained: {row.status}, {row.reason}")
    return row


def _repeats(row: Row, whole: Recording) -> list[dict[str, Any]]:
    """The repeats that count, less those that had begun before the recording, if others are
    left."""
    counted = [each for each in row.repeats if each.get("warmup") is False]
    return [each for each in counted if each["began_ns"] >= whole.began_ns] or counted


def _cut(subject: Subject, repeats: Sequence[dict[str, Any]], whole: Recording) -> Recording:
    """The recording of the repeats, without the harness's work between them."""
    several = len({each.tid for each in whole.threads.values()}) > 1
    harness = {whole.pid} if several and not subject.kind.first_thread_works else set()
    return only_repeats(whole, [(e["began_ns"], e["ended_ns"]) for e in repeats], harness)


def _about(cell: Cell, repeats: Sequence[dict[str, Any]], recording: Recording) -> dict[str, Any]:
    """The cell, the means of its executable's values for these repeats, and the number of tasks in
    their recording."""
    figures = ("wall_ns", "cpu_ns", "run_delay_ns", "tasks", "operations")
    said = {
        name: statistics.fmean(each[name] for each in repeats)
        for name in figures
        if all(name in each for each in repeats)
    }
    repeated_ns = sum(each["ended_ns"] - each["began_ns"] for each in repeats)
    share = recording.wall_ns / max(1, repeated_ns)
    tasks = round(share * sum(each.get("tasks", 0) for each in repeats))
    about = {"name": cell_name(cell), "repeats": len(repeats), "tasks_recorded": tasks}
    return {**asdict(cell), "arguments": dict(cell.arguments), **about, **said}

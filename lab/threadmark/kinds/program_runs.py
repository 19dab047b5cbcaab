"""One run of a program of the user's own, as a row of a run of this lab."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath

from threadmark.fixes.fix import Setting
from threadmark.fixes.starting import start
from threadmark.measure import program
from threadmark.measure.cage import Cage
from threadmark.model.cell import Cell, Row
from threadmark.model.workload import Workload, progress_pattern, signal_number


def cell_of(workload: Workload, variant: str, threads: int) -> Cell:
    """The cell of such a run; 0 threads stand for the program's own choice."""
    name = PurePath(workload.words[0]).name
    return Cell(name, "custom", "program", variant, "", "", threads)


def one_run(
    workload: Workload,
    cell: Cell,
    number: int,
    limit_s: float,
    under: tuple[Mapping[str, str], Setting],
    cage: Cage,
) -> Row:
    """Run the program once in a round, in an environment and with a setting, which only the program
    gets. LabError if --prepare is at fault."""
    given, setting = under
    command, environment, own = start(workload, setting, cell.threads, given)
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    result = program.run(_job(workload, command, own), environment, cage, limit_s)
    nanoseconds = None if result.seconds is None else 1e9 * result.seconds
    return Row(
        cell,
        number,
        result.status,
        result.reason,
        nanoseconds,
        command=command,
        started_at=started,
        facts=dict(result.facts),
    )


def _job(workload: Workload, command: tuple[str, ...], own: Mapping[str, str]) -> program.Job:
    return program.Job(
        command,
        variables=own,
        prepare=workload.prepare,
        ready=workload.ready,
        load=workload.load,
        stop=signal_number(workload.stop),
        check=workload.check,
        metric=workload.metric,
        progress=progress_pattern(workload.progress) if workload.progress else None,
    )

"""`threadmark students`: the writers of tmk-students in turns. `tmk-students bench` starts it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.model.effort import parse_seconds
from threadmark.model.errors import LabError
from threadmark.model.request import Request
from threadmark.options import (
    DEFAULT_STORE,
    FAIL_ON,
    BudgetOption,
    FailOnOption,
    JsonOption,
    Measuring,
    Names,
    StoreOption,
    listed,
)

_SIZES = "5000,50000,500000,5000000"
_MOST_RUNS = 1000


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(students)


@Parameter(name="*")
@dataclass(frozen=True)
class Compared:
    """What is compared.

    Parameters
    ----------
    runs
        Processes of each writer and number of students.
    sizes
        Numbers of students, separated by commas. Writers that flush each line write at most
        500,000.
    writers
        Only these writers, separated by spaces or commas, and those that do the same on one thread.
    threads
        Threads of the writer fast; the default is one for each processor.
    exercises
        Exercises of each student.
    block
        Students in a block.
    seed
        Seed of the files.
    """

    runs: int = 20
    sizes: str = _SIZES
    writers: Names = ()
    threads: Annotated[int | None, Parameter(show_default=False)] = None
    exercises: int = 10
    block: int = 500
    seed: int = 1


@Parameter(name="*")
@dataclass(frozen=True)
class Way:
    """How it is done.

    Parameters
    ----------
    tool
        The program; build/apps/bin/tmk-students.
    out
        The folder for the table as CSV and for the pages.
    folder
        Each process writes its files into a new folder of this one, which is then removed; the
        default is that of --out.
    budget
        Time for measuring, such as 90s or 10m. When it is exceeded, the costliest cells get fewer
        processes or none.
    record
        --no-record leaves out the records of the writers with threads.
    order_seed
        Seed of the order of measuring; by default each run draws one and stores it.
    resume
        Go on with the newest unfinished run of the store.
    report
        --no-report writes no pages.
    dry_run
        List the cells; measure nothing.
    """

    tool: Annotated[Path | None, Parameter(show_default=False)] = None
    out: Path = Path()
    folder: Annotated[Path | None, Parameter(show_default=False)] = None
    budget: BudgetOption = ""
    record: Annotated[bool, Parameter(show_default=False)] = True
    order_seed: Annotated[int | None, Parameter(show_default=False)] = None
    resume: Annotated[bool, Parameter(negative="", show_default=False)] = False
    report: Annotated[bool, Parameter(show_default=False)] = True
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False
    fail_on: FailOnOption = FAIL_ON
    store: StoreOption = DEFAULT_STORE
    json: JsonOption = False


def students(*, compared: Compared = Compared(), way: Way = Way()) -> int:
    """Compare the writers of tmk-students: time, threads, and what the threads gain.

    All writers write the same files, one process after the other in a random order, and each
    process is checked. Afterwards a process of each writer with threads is recorded, and its page
    shows its threads over time. `tmk-students bench` is this command.

    Exit status: 0 when the run came to its end; 1 when a process crashed or wrote other bytes; 2
    when the request or the machine does not allow it; 130 after Ctrl-C, which shows what is known,
    and 143 after SIGTERM.
    """
    from threadmark.kinds.students.comparing_writers import Results, perform

    options = Measuring(
        resume=way.resume,
        report=way.report,
        dry_run=way.dry_run,
        fail_on=way.fail_on,
        store=way.store,
        json=way.json,
    )
    results = Results(way.out.absolute(), way.record and way.report)
    given = compared != Compared() or bool(way.budget) or way.folder is not None
    return perform(_request(compared, way), options, results, given=given)


def check(name: str, value: int, most: int) -> None:
    """LabError for an impossible number."""
    if not 1 <= value <= most:
        raise LabError(f"{name} goes from 1 to {most}; change it.")


def _request(compared: Compared, way: Way) -> Request:
    from threadmark.kinds.students.kind import PROFILE
    from threadmark.kinds.students.selection import Asked, parse_sizes
    from threadmark.kinds.students.tool import DEFAULT_TOOL
    from threadmark.machine import host

    threads = len(host.processors()) if compared.threads is None else compared.threads
    most = {"--runs": (compared.runs, _MOST_RUNS), "--threads": (threads, 256)}
    most |= {"--exercises": (compared.exercises, 10_000), "--block": (compared.block, 1_000_000)}
    for name, (value, limit) in most.items():
        check(name, value, limit)
    asked = Asked(
        parse_sizes(compared.sizes),
        compared.exercises,
        compared.block,
        compared.runs,
        str((way.folder or way.out).absolute()),
    )
    return Request(
        variants=listed(compared.writers),
        threads=(threads,),
        size="custom",
        arguments=asked.arguments(),
        profile=PROFILE,
        seed=compared.seed,
        order_seed=way.order_seed,
        budget_s=parse_seconds(way.budget) if way.budget else None,
        executables=str((way.tool or DEFAULT_TOOL).absolute()),
    )

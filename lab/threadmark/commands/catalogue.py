"""`threadmark catalogue`: which parts of the standard library serialise threads, and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

from threadmark.commands.run import Names, options_given
from threadmark.errors import LabError
from threadmark.options import DEFAULT_STORE, InstallOption, JsonOption, StoreOption
from threadmark.selection import Request

NOT_VALID = 1  # exit status: measured and stored, but the calibration failed


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(catalogue)


def catalogue(
    *,
    programs: Names = (),
    variants: Names = (),
    platforms: Names = (),
    allocators: Names = (),
    threads: str | None = None,
    size: Literal["smoke", "quick", "full"] = "quick",
    executables: Path | None = None,
    order_seed: Annotated[int | None, Parameter(show_default=False)] = None,
    budget: float | None = None,
    resume: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    report: Annotated[bool, Parameter(show_default=False)] = True,
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    install: InstallOption = True,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    """Measure operations that look independent on one thread and on several; say which scale.

    Everything that is needed is set up and built first. Each process measures one way of writing
    one operation, alone and together in turns. A way gets 5 processes, and 9, 15 or 21 while its
    verdict is unclear.

    Exit status: 0 when the run came to its end, also with cells that were dropped, refused, out of
    memory, out of time or unavailable; 1 when the calibration failed on a platform (the run is not
    valid there and every verdict on it is unclear), or a process crashed or gave a wrong answer
    (the rows are kept); 2 when the request or the machine does not allow it; 130 after Ctrl-C and
    143 after SIGTERM.

    Parameters
    ----------
    programs
        Only these contention programs; ./threadmark list names them. The calibration always runs.
    variants
        Only these ways of writing the operation.
    platforms
        Only these platforms: compiler and standard library.
    allocators
        glibc, glibc-no-tcache, glibc-one-arena, glibc-no-tcache-one-arena, jemalloc, mimalloc,
        tcmalloc, tbbmalloc. Unless some are named, all of them for the usual way of programs about
        memory, and glibc for everything else.
    threads
        Thread counts such as 1,2,4; the default is 1, 2, 4, ... up to the number of physical cores.
        Verdicts are on the largest count that has a core for each thread; larger counts are
        measured and drawn, and decide nothing.
    size
        smoke: does everything run? quick: windows of 0.5 ms. full: of 2 ms, and no budget.
    executables
        Measure what lies in this folder as PLATFORM/bin/PROGRAM.threads; set up and build nothing.
    order_seed
        Seed of the order of measuring; by default each run draws one and stores it.
    budget
        Seconds for measuring; when it is used up, processes are dropped first, then whole
        cells. Quick has 340.
    resume
        Go on with the newest unfinished catalogue of the store; with --dry-run list what is left.
    report
        --no-report leaves the HTML report out; ./threadmark report makes it later.
    dry_run
        List the cells and the time expected; measure nothing.
    """
    from rich.console import Console

    from threadmark.catalogue.profiles import PROFILES
    from threadmark.catalogue.session import CatalogueSession
    from threadmark.machine import cores, processors
    from threadmark.profile import CATALOGUE, parse_threads, thread_counts

    chosen = PROFILES[size]
    counts = parse_threads(threads) if threads else thread_counts(chosen, cores(processors()))
    if max(counts) > 1024:
        raise LabError("A contention program takes up to 1024 threads; change --threads.")
    request = Request(
        programs=programs,
        variants=variants,
        platforms=platforms,
        allocators=tuple(dict.fromkeys(allocators)),
        threads=counts,
        size=size,
        profile=CATALOGUE,
        order_seed=order_seed,
        executables=str(executables.absolute()) if executables else "",
        budget_s=budget if budget is not None else chosen.budget_s,
    )
    request.check()
    console = Console(stderr=True)
    session = CatalogueSession(
        request, store, console, as_json=json, report=report, install=install
    )
    if resume:
        session.resume(given=options_given(), dry_run=dry_run)
    elif dry_run:
        session.dry_run()
    else:
        session.run()
    return session.status if session.valid else NOT_VALID

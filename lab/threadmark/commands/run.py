"""`threadmark run`: set up, build, measure, show the matrix, write the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

from threadmark.options import DEFAULT_STORE, InstallOption, JsonOption, StoreOption
from threadmark.profile import PROFILES, Profile, parse_threads, thread_counts, time_budget_s
from threadmark.selection import Request

Names = Annotated[
    tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)
]


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(run)


def run(
    *,
    programs: Names = (),
    backends: Names = (),
    variants: Names = (),
    platforms: Names = (),
    allocators: Names = ("glibc",),
    threads: str | None = None,
    size: Literal["smoke", "quick", "full"] | None = None,
    profile: Literal["smoke", "quick", "full", "paper"] = "quick",
    arg: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    executables: Path | None = None,
    seed: int = 1,
    order_seed: Annotated[int | None, Parameter(show_default=False)] = None,
    budget: float | None = None,
    resume: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    report: Annotated[bool, Parameter(show_default=False)] = True,
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    install: InstallOption = True,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    """Measure how programs scale on backends; print the matrix and write the report.

    Everything that is needed is set up and built first. Without options the quick profile measures
    all programs, backends, variants and platforms in six minutes on two cores, twelve on more.

    Exit status: 0 when the run came to its end, also with cells that were dropped, refused, out of
    memory, out of time or unavailable; 1 when a process crashed or gave a wrong answer (the rows
    are kept); 2 when the request or the machine does not allow it; 130 after Ctrl-C and 143 after
    SIGTERM.

    Parameters
    ----------
    programs
        Only these programs, separated by spaces; ./threadmark list names them.
    backends
        Only these backends; serial always runs, as the base of every speed-up.
    variants
        Only these ways of launching, such as futures, fork_join, async. Quick leaves the policies
        async and deferred out unless they are named here: optional is what a plain async gives.
    platforms
        Only these platforms: compiler and standard library.
    allocators
        glibc, jemalloc, mimalloc, tcmalloc, tbbmalloc, or glibc set otherwise: glibc-no-tcache,
        glibc-one-arena, glibc-no-tcache-one-arena; the default is glibc alone.
    threads
        Thread counts such as 1,2,4 or 1-4; the default is 1 (not in quick), 2, 4, ... up to the
        number of physical cores.
    size
        Size of the problems; the default is that of the profile.
    profile
        smoke: does everything run? quick: a verdict in minutes. full: the paper's sizes.
        paper: five samples, 900 s limit.
    arg
        A parameter of a program as name=value or program.name=value; may be repeated.
    executables
        Measure what lies in this folder as PLATFORM/bin/PROGRAM.BACKEND; set up and build nothing.
    seed
        Seed of the programs' inputs.
    order_seed
        Seed of the order of measuring; by default each run draws one and stores it.
    budget
        Seconds for measuring. Where they do not suffice, cells get fewer samples, down to three,
        and then whole columns are left out. Quick has 340, and three fifths of that more for each
        further number of threads above one, at most twice that.
    resume
        Go on with the newest unfinished run of the store; with --dry-run list what is left of it.
    report
        --no-report leaves the HTML report out; ./threadmark report makes it later.
    dry_run
        List the cells and the time expected; measure nothing.
    """
    from rich.console import Console

    from threadmark.session import Session

    chosen = PROFILES[profile]
    counts = _threads(threads, chosen)
    request = Request(
        programs=programs,
        backends=backends,
        variants=variants,
        platforms=platforms,
        allocators=tuple(dict.fromkeys(allocators)),
        threads=counts,
        size=size or chosen.size,
        arguments=arg,
        profile=profile,
        seed=seed,
        order_seed=order_seed,
        executables=str(executables.absolute()) if executables else "",
        budget_s=budget if budget is not None else time_budget_s(chosen, counts),
    )
    request.check()
    console = Console(stderr=True)
    session = Session(request, store, console, as_json=json, report=report, install=install)
    if resume:
        session.resume(given=options_given(), dry_run=dry_run)
    elif dry_run:
        session.dry_run()
    else:
        session.run()
    return session.status


def _threads(text: str | None, profile: Profile) -> tuple[int, ...]:
    from threadmark.machine import cores, processors

    return parse_threads(text) if text else thread_counts(profile, cores(processors()))


def options_given() -> bool:
    """Whether the command line chooses anything itself, which --resume then must agree with."""
    words = sys.argv[2:]
    names = {each.partition("=")[0] for each in words if each.startswith("--")}
    how = {"--resume", "--store", "--json", "--dry-run", "--report", "--no-report"}
    how |= {"--install", "--no-install"}
    return bool(names - how)

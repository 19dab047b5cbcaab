"""`threadmark run`: set up, build, measure, show the matrix, write the report."""

from __future__ import annotations

from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

from threadmark.kinds.tasks.profiles import PROFILES
from threadmark.model.effort import time_budget_s
from threadmark.model.request import Request
from threadmark.options import Measuring, Names, listed


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(run)


def run(
    *,
    measuring: Measuring = Measuring(),
    backends: Names = (),
    allocators: Names = ("glibc",),
    size: Literal["smoke", "quick", "full"] | None = None,
    profile: Literal["smoke", "quick", "full", "paper"] = "quick",
    arg: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    seed: int = 1,
) -> int:
    """Measure how programs scale on backends; print the matrix and write the report.

    Everything that is needed is set up and built first. Without options the quick profile measures
    all programs, backends, variants and platforms in six minutes on two cores, twelve on more.
    sat_mapping and sat_shapes take minutes to build, so they run only where --programs names them.

    Exit status: 0 when the run came to its end, also with cells that were dropped, refused, out of
    memory, out of time or unavailable; 1 when a process crashed or gave a wrong answer, or ended
    as --fail-on says (the rows are kept); 2 when the request or the machine does not allow it; 130
    after Ctrl-C and 143 after SIGTERM.

    Parameters
    ----------
    backends
        Only these backends; serial always runs, as the base of every speed-up.
    allocators
        glibc, jemalloc, mimalloc, tcmalloc, tbbmalloc, or glibc set otherwise: glibc-no-tcache,
        glibc-one-arena, glibc-no-tcache-one-arena; the default is glibc alone.
    size
        Size of the problems; the default is that of the profile.
    profile
        smoke only checks that everything runs. quick gives verdicts in minutes, and leaves out the
        policies async and deferred unless --variants names them. full has the paper's sizes. paper
        takes five samples and has a limit of 900 s.
    arg
        A parameter of a program as name=value or program.name=value; may be repeated.
    seed
        Seed of the programs' inputs.
    """
    from threadmark.kinds.session import perform, thread_counts
    from threadmark.kinds.tasks.kind import KIND

    chosen = PROFILES[profile]
    counts = thread_counts(measuring, chosen)
    request = Request(
        backends=listed(backends),
        allocators=listed(allocators),
        threads=counts,
        size=size or chosen.size,
        arguments=arg,
        profile=profile,
        seed=seed,
        budget_s=time_budget_s(chosen, counts),
    )
    return perform(KIND, measuring, request)

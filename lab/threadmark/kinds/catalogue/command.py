"""`threadmark catalogue`: which parts of the standard library serialise threads, and the remedy."""

from __future__ import annotations

from typing import Literal

import cyclopts

from threadmark.kinds.catalogue.profiles import CATALOGUE, PROFILES
from threadmark.model.errors import LabError
from threadmark.model.request import Request
from threadmark.options import Measuring, Names, listed


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(catalogue)


def catalogue(
    *,
    measuring: Measuring = Measuring(),
    allocators: Names = (),
    profile: Literal["smoke", "quick", "full"] = "quick",
) -> int:
    """Measure operations that look independent on one thread and on several; say which scale.

    Everything that is needed is set up and built first. Each process measures one way of writing
    one operation, alone and together in turns. A way gets 5 processes, and 9, 15 or 21 while its
    verdict is unclear. The calibration always runs.

    Verdicts are on the largest number of threads that has a core for each thread; larger numbers
    are measured and drawn, and decide nothing.

    Exit status: 0 when the run came to its end, also with cells that were dropped, refused, out of
    memory, out of time or unavailable; 1 when the calibration failed on a platform (the run is not
    valid there and every verdict on it is unclear), or a process crashed, gave a wrong answer,
    or ended as --fail-on says (the rows are kept); 2 when the request or the machine does not allow
    it; 130 after Ctrl-C and 143 after SIGTERM.

    Parameters
    ----------
    allocators
        glibc, glibc-no-tcache, glibc-one-arena, glibc-no-tcache-one-arena, jemalloc, mimalloc,
        tcmalloc, tbbmalloc. By default a program about memory runs its usual variant with each of
        them, and everything else runs with glibc.
    profile
        smoke only checks that everything runs. quick measures in windows of 0.5 ms. full measures
        in windows of 2 ms and has no budget.
    """
    from threadmark.kinds.catalogue.kind import KIND
    from threadmark.kinds.session import perform, thread_counts

    chosen = PROFILES[profile]
    counts = thread_counts(measuring, chosen)
    if max(counts) > 1024:
        raise LabError("A contention program takes up to 1024 threads; change --threads.")
    request = Request(
        allocators=listed(allocators),
        threads=counts,
        size=profile,
        profile=CATALOGUE,
        budget_s=chosen.budget_s,
    )
    return perform(KIND, measuring, request)

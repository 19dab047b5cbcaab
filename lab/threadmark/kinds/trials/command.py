"""`threadmark try`: run a program under each fix that needs no edit, and say which gain."""

from __future__ import annotations

from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption, WorkloadOptions


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(try_, name="try", usage="threadmark try [OPTIONS] -- PROGRAM [ARGUMENTS]")


def try_(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
    workload: WorkloadOptions = WorkloadOptions(),
    only: Annotated[str, Parameter(show_default=False)] = "",
    budget: Annotated[str, Parameter(show_default=False)] = "",
    build: Annotated[str, Parameter(show_default=False)] = "",
    explain: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    r"""Run a program as it is and under each fix that needs no edit, in pairs, and say which gain.

    `./threadmark try -- ./prog arguments` tries other allocators, settings of glibc, the locale,
    affinity, mutexes that spin, larger buffers and more. It prints the lines that keep those that
    help. `./threadmark try --threads 1,2 -- ./prog {threads}` answers for each number of threads. A
    server is measured by its load: `./threadmark try --ready "curl -fs localhost:8080" --load "wrk
    -d 2 http://localhost:8080" --metric "awk '/Requests.sec/ {print \$2}'" -- ./server`.

    Ctrl-C shows what is known. ./threadmark show prints the stored answer again.

    Exit status: 0 when there is an answer, also that nothing helps; 2 when the request, the machine
    or the program as it is does not allow one; 130 after Ctrl-C.

    Parameters
    ----------
    only
        Only these fixes, separated by commas; an answer without --only names all fixes.
    budget
        Time for measuring, such as 90s or 10m; the default is 3m.
    build
        A shell command that builds the program, for fixes that are compiler flags. It runs in
        copies of this folder, which stays as it is. {flags} in it becomes the flags; without it the
        compilers on PATH add them. {out} becomes the file to write, if that is outside this folder.
    explain
        Explain the program, try the fixes for its causes first, and explain it with the best fix.
    """
    from threadmark.kinds.trials.trying import BUDGET_S, Asked, perform
    from threadmark.model.effort import parse_seconds

    asked = Asked(
        tuple(filter(None, (each.strip() for each in only.split(",")))),
        parse_seconds(budget) if budget else BUDGET_S,
        explain,
        json,
        build,
    )
    return perform(workload.of(words), asked, store)

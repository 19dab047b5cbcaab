"""`threadmark check`: the tests, and format, types, tidiness and sanitizers beside them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.options import InstallOption, Names, listed

if TYPE_CHECKING:
    from threadmark.setup.checks import Level


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(check)


def check(
    *,
    only: Names = (),
    all_: Annotated[bool, Parameter(name="--all", negative="")] = False,
    install: InstallOption = True,
) -> int:
    """Run everything that must hold before a change is taken.

    Parameters
    ----------
    only
        Only the checks of these names, separated by spaces or commas.
    all_
        Everything, however long it takes.
    """
    from threadmark.setup.checks import Level

    return perform(Level.ALL if all_ or only else Level.CHECK, listed(only), install=install)


def perform(level: Level, only: tuple[str, ...], *, install: bool) -> int:
    """Run the checks up to `level`; the last line has the number that passed. Returns the exit
    status."""
    from rich.console import Console

    from threadmark.model.names import check_name
    from threadmark.setup import checks, packages, preparation
    from threadmark.setup.counting import Count

    known = {each.name: each for each in checks.checks()}
    for name in only:
        check_name("check", name, known)
    wanted = [known[name] for name in only] or [c for c in known.values() if c.level <= level]
    absent = (
        preparation.bring(Console(stderr=True), tests=True)
        if install
        else packages.missing(tests=True)
    )
    for need in absent:
        print(preparation.absence(need))
    total, failed = Count(), []
    for each in wanted:
        print(f"== {each.name}", flush=True)
        begin = time.monotonic()
        found = checks.run(each, environment=checks.environment())
        print(f"-- {each.name} took {time.monotonic() - begin:.0f} s", flush=True)
        total += found
        if found.failed:
            failed.append(each.name)
    for name in failed:
        print(f"{name} failed; run only this again: ./threadmark check --only {name}")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if failed else 0

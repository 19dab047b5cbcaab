"""`threadmark setup`: install the packages that may be installed, and list the absent ones with
their users."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.options import InstallOption, JsonOption, Names, listed
from threadmark.present.plain import document, write_json


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(setup)


def setup(
    *,
    platforms: Names = (),
    apps: Annotated[bool, Parameter(negative="")] = False,
    install: InstallOption = True,
    json: JsonOption = False,
) -> int:
    """Install what is missing, for measuring and for the tests; asks nothing.

    As root or with password-less sudo packages come from apt; otherwise headers are unpacked into a
    folder of this checkout. A package that cannot be installed disables only the backend or
    platform that needs it.

    Parameters
    ----------
    platforms
        Optional platforms whose toolchain is large (about 100 MB) and comes only where it is named.
    apps
        Build the applications too, with the compiler that CMake finds, into build/apps/bin.
    """
    from rich.console import Console

    from threadmark.setup import build, packages, preparation
    from threadmark.setup.platforms import platforms as all_platforms

    console = Console(stderr=True)
    named = preparation.chosen(listed(platforms))
    small = [each for each in all_platforms() if each.private and not each.private.wheels]
    private = list(dict.fromkeys([*named, *small]))
    if install:
        absent = preparation.bring(console, tests=True, again=True)
        without = preparation.unpack(console, private)
    else:
        absent = packages.missing(tests=True)
        without = {each.name: "" for each in private if each.private and not each.private.present()}
    refusals = packages.refusals()
    rows = [
        {
            "missing": each.name,
            "costs": each.cost,
            "refusal": refusals.get(each.name, ""),
            "command": packages.remedy(each),
        }
        for each in absent
    ] + [
        {
            "missing": f"the library of {name}",
            "costs": f"platform {name}",
            "refusal": why,
            "command": f"./threadmark setup --platforms {name}",
        }
        for name, why in without.items()
    ]
    failure = build.build(build.APPS, tests=False, report=lambda _: None) if apps else ""
    if failure:
        print(f"The applications are left out: {failure}", file=sys.stderr)
    if json:
        fields = {"present": packages.present(), "absent": rows, "log": str(packages.LOG)}
        write_json(document("setup", fields))
    elif not rows:
        print("Everything is there.")
    else:
        _show(rows, install=install)
    return 1 if failure else 0


def _show(rows: Sequence[Mapping[str, str]], *, install: bool) -> None:
    """The missing packages, as a table."""
    from rich.console import Console
    from rich.table import Table

    from threadmark.setup import packages

    table = Table("missing", "needed for", "why it was not installed", "what brings it")
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)
    if install:
        print(f"The output of apt-get is in {packages.LOG}")

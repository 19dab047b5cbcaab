"""`threadmark setup`: install what may be installed, and say what is absent and what needs it."""

from __future__ import annotations

import cyclopts

from threadmark.options import InstallOption, JsonOption, Names
from threadmark.present.plain import document, write_json


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(setup)


def setup(
    *, platforms: Names = (), install: InstallOption = True, json: JsonOption = False
) -> None:
    """Install what is missing, for measuring and for the tests; asks nothing.

    As root or with password-less sudo packages come from apt; otherwise headers are unpacked into a
    folder of this checkout. A package that cannot be installed disables only the backend or
    platform that needs it.

    Parameters
    ----------
    platforms
        Optional platforms whose toolchain is large (about 100 MB) and comes only where it is named.
    """
    from rich.console import Console
    from rich.table import Table

    from threadmark.setup import packages, preparation
    from threadmark.setup.platforms import platforms as all_platforms

    console = Console(stderr=True)
    named = preparation.chosen(platforms)
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
    if json:
        fields = {"present": packages.present(), "absent": rows, "log": str(packages.LOG)}
        write_json(document("setup", fields))
        return
    if not rows:
        print("Everything is there.")
        return
    table = Table("missing", "needed for", "why it was not installed", "what brings it")
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)
    if install:
        print(f"The output of apt-get is in {packages.LOG}")

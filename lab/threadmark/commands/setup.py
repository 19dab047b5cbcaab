"""`threadmark setup`: install what may be installed, and say what is absent and what that costs."""

from __future__ import annotations

import cyclopts

from threadmark.options import JsonOption
from threadmark.output import write_json


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(setup)


def setup(*, json: JsonOption = False) -> None:
    """Install what is missing, for measuring and for the tests; asks nothing.

    As root or with password-less sudo packages come from apt; otherwise headers are unpacked into a
    folder of this checkout. What cannot be had costs only its backend or platform.
    """
    from rich.console import Console
    from rich.table import Table

    from threadmark import packages, preparation

    absent = preparation.bring(Console(stderr=True), tests=True, again=True)
    refusals = packages.refusals()
    rows = [
        {
            "missing": each.name,
            "costs": each.cost,
            "refusal": refusals.get(each.name, ""),
            "command": packages.remedy(each),
        }
        for each in absent
    ]
    if json:
        document = {"present": packages.present(), "absent": rows, "log": str(packages.LOG)}
        write_json(document)
        return
    if not absent:
        print("Everything is there.")
        return
    table = Table("missing", "what that costs", "why it was not installed", "what brings it")
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)
    print(f"What apt-get said is in {packages.LOG}")

"""`threadmark report`: a run as one HTML file that opens without a network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.errors import LabError
from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption
from threadmark.output import document, write_json
from threadmark.places import report_path


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(report)


def report(
    run: Annotated[str, Parameter(help="Number, or 'last': the last that was measured.")] = "last",
    *,
    output: Annotated[
        Path | None,
        Parameter(
            help="File to write; default: report-N.html beside the store, report-NAME-N.html for "
            "a store NAME.db of your own. A name that ends in .svg gets the matrix alone, as a "
            "picture."
        ),
    ] = None,
    force: Annotated[
        bool, Parameter(negative="", help="Replace a file of that name that is no report.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write the report of a run: verdicts, curves, heat maps, failures, commands to repeat cells.

    An older report is replaced; any other file, a picture too, only with --force.
    """
    from threadmark.profile import CATALOGUE
    from threadmark.reports import catalogue, figure, html
    from threadmark.store import Store

    with Store.open(store, create=False) as opened:
        number = opened.run(run).id
        path = output or report_path(store, number)
        if path.exists() and not force and not _is_report(path):
            raise LabError(f"{path} is not a report; name another file or add --force.")
        picture, of_catalogue = path.suffix == ".svg", opened.run(number).profile == CATALOGUE
        if picture and of_catalogue:
            raise LabError("A catalogue has no picture; name an .html file with --output.")
        page = catalogue if of_catalogue else html
        size = (figure if picture else page).write(opened, number, path)
    if json:
        write_json(document("report", {"run": number, "report": str(path), "bytes": size}))
    else:
        sys.stdout.write(f"Report of run {number}: {path} ({size / 1e6:.1f} MB)\n")


def _is_report(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return b"<title>Threadmark: run " in file.read(4096)

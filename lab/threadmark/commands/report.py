"""`threadmark report`: a run as one HTML file that opens without a network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.model.errors import LabError
from threadmark.model.places import report_path
from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption
from threadmark.present.plain import document, write_json


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(report, usage="threadmark report [OPTIONS] [RUN]")


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
    """Write the report of a run of any command, an HTML page of its answer or verdicts.

    A matrix has curves, heat maps, failures, and commands to repeat cells.

    An older report is replaced; any other file, a picture too, only with --force. A store is never
    replaced.
    """
    from threadmark.kinds import registry
    from threadmark.present import files
    from threadmark.store.store import Store

    with Store.open(store, create=False) as opened:
        stored = opened.load(run)
    number = stored.run.id
    path = output or report_path(store, number)
    if path.is_file() and not force and not _is_report(path):
        raise LabError(f"{path} is not a report; name another file or add --force.")
    kind = registry.kind_of(stored)
    draw = kind.picture if path.suffix == ".svg" else kind.page
    size = files.write_atomically(path, draw(stored, kind.judge(stored)), "--output")
    if json:
        write_json(document("report", {"run": number, "report": str(path), "bytes": size}))
    else:
        sys.stdout.write(f"Report of run {number}: {path} ({size / 1e6:.1f} MB)\n")


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        return b"<title>Threadmark: run " in file.read(4096)

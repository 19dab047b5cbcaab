"""`threadmark export`: a run as CSV, JSON, Google Benchmark JSON or a summary to publish."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts import Parameter

from threadmark.errors import LabError
from threadmark.options import DEFAULT_STORE, StoreOption

Format = Literal["csv", "json", "google-benchmark", "summary"]


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(export)


def export(
    run: Annotated[str, Parameter(help="Number, or 'last': the last that was measured.")] = "last",
    *,
    form: Annotated[
        Format | None, Parameter(name="--format", help="Default: by the ending of --output.")
    ] = None,
    output: Annotated[Path | None, Parameter(help="File to write; default: stdout.")] = None,
    force: Annotated[bool, Parameter(negative="", help="Replace a file that exists.")] = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write a stored run for other tools; google-benchmark is what its compare.py reads.

    A summary is JSON without single repeats: verdicts, intervals and numbers of processes.

    A file that exists is replaced only with --force, and then at once: never half-written.
    """
    from threadmark import exchange, summary
    from threadmark.store import Store

    chosen = form or _by_ending(output)
    if output is not None and output.exists() and not force:
        raise LabError(f"{output} exists; name another file or add --force to replace it.")
    with Store.open(store, create=False) as opened:
        found = opened.run(run)
        rows = opened.rows(found.id)
        if chosen == "csv":
            text = exchange.to_csv(found, rows)
        elif chosen == "json":
            text = exchange.to_json(found, rows, opened.descriptions(found.id))
        elif chosen == "summary":
            text = summary.to_summary(found, rows, opened.descriptions(found.id))
        else:
            text = exchange.to_google_benchmark(found, rows)
    if output is None:
        sys.stdout.write(text)
    else:
        exchange.write_atomically(output, text)
        sys.stderr.write(f"Run {found.id} as {chosen}: {output}\n")


def _by_ending(output: Path | None) -> Format:
    if output is None:
        return "csv"
    endings: dict[str, Format] = {".csv": "csv", ".json": "json"}
    if output.suffix not in endings:
        raise LabError(
            f"'{output.name}' does not say the format; add --format csv, json, google-benchmark or "
            "summary."
        )
    return endings[output.suffix]

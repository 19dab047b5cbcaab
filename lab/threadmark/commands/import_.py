"""`threadmark import`: published results as a run of the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.model.places import hint
from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption
from threadmark.present.plain import document, write_json


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(import_, name="import")


def import_(
    path: Annotated[Path, Parameter(help="INNCABS' results_2014-09.csv.")],
    *,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Read the results that INNCABS published into a new run."""
    from threadmark.judge.table2 import PAPER
    from threadmark.model.effort import IMPORTED
    from threadmark.store import inncabs_csv
    from threadmark.store.store import Store

    rows = inncabs_csv.read(path)  # read all before touching the store
    machine = {
        "processor": "4 x Intel Xeon E5-4650, 32 cores, 64 hardware threads",
        "source": "github.com/PeterTh/inncabs, results; medians of five repeats",
        "file": path.name,
    }
    with Store.open(store, create=True) as opened, opened.at_once():
        number = opened.start_run(IMPORTED, 0, {"import": path.name}, machine)
        opened.append_all(number, rows)
        opened.add_note(number, f"Imported from {path.name}: published medians, no samples.")
        opened.finish(number)
    known = len({row.cell.program for row in rows} & PAPER.keys())
    missing = sum(row.sample_ns is None for row in rows)
    if json:
        write_json(document("import", {"run": number, "rows": len(rows), "missing": missing}))
    else:
        sys.stdout.write(
            f"Run {number}: {len(rows)} published medians ({missing} missing) of {known} of the "
            f"{len(PAPER)} programs; {hint(store, 'show', number, '--table2')} judges them.\n"
        )

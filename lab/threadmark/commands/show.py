"""`threadmark show`: the matrix of a run, the catalogue, or INNCABS' Table II by one rule."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.model.errors import LabError
from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption
from threadmark.present.plain import document, write_json

if TYPE_CHECKING:
    from threadmark.model.cell import Row
    from threadmark.store.store import Store


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(show, usage="threadmark show [OPTIONS] [RUN]")


def show(
    run: Annotated[str, Parameter(help="Number, or 'last': the last that was measured.")] = "last",
    *,
    table2: Annotated[
        bool, Parameter(negative="", help="Rebuild Table II of the INNCABS paper from an import.")
    ] = False,
    function: Annotated[
        str | None,
        Parameter(help="Callers and callees of a function in a run of explain, and its waits."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show a stored run of any command: its answer or verdicts, what failed and why, and notes.

    With --json: the run, its verdicts and every row with its status.

    For a run of explain, show prints the answer as it was stored. The record is kept, and explain
    answers for other parts of it:
    `./threadmark explain results/explain-7.tmr --thread "io*" --from 0.5 --to 2`.
    """
    from rich.console import Console

    from threadmark.kinds import registry
    from threadmark.present.terminal import print_table
    from threadmark.store.store import Store

    with Store.open(store, create=False) as opened:
        if table2:
            _table2(opened, run, as_json=json)
            return
        stored = opened.load(run)
    kind = registry.kind_of(stored)
    if function is not None:
        detail = kind.function(stored, function)
        if json:
            write_json(document("function", detail.record()))
        else:
            print_table(Console(), detail.lines)
        return
    found = kind.judge(stored)
    if json:
        sys.stdout.write(kind.json(stored, found))
    else:
        print_table(Console(), partial(kind.table, stored, found))


def _table2(opened: Store, run: str, *, as_json: bool) -> None:
    from dataclasses import asdict

    from rich.console import Console

    from threadmark.judge import plausibility, table2
    from threadmark.present import table2_text

    rows = _published(opened, run)
    entries, doubts = table2.table(rows), plausibility.doubts(rows)
    if as_json:
        fields = {
            "agreeing": sum(not e.why for e in entries),
            "cells": [asdict(e) for e in entries],
            "doubts": [asdict(d) for d in doubts],
        }
        write_json(document("table2", fields))
    else:
        table2_text.render(entries, doubts, Console())


def _published(opened: Store, run: str) -> list[Row]:
    """The rows of the import named by `run`; for 'last' the newest import."""
    from threadmark.judge.findings import is_published

    numbers = [r.id for r in reversed(opened.runs())] if run == "last" else [opened.run(run).id]
    for number in numbers:
        rows = opened.rows(number)
        if rows and all(map(is_published, rows)):
            return rows
    which = "no run" if run == "last" else f"not run {run}"
    raise LabError(
        f"Table II needs INNCABS' own results, and {which} of this store was imported from them; "
        "first ./threadmark import results_2014-09.csv."
    )

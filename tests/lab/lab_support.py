"""Helpers of the lab's tests beside fixtures: the command line, a cell, and a check for live
processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from threadmark.machine.processes import start_time
from threadmark.model.cell import Cell, Row
from threadmark.model.places import ROOT
from threadmark.store.store import Store

Attempt = Callable[..., Row]

LAB = (sys.executable, "-P", "-m", "threadmark")


def lab_environment() -> dict[str, str]:
    """The environment in which Python finds the lab."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "lab")}


def store_again(path: Path) -> None:
    """Add a copy of the first run of a store."""
    with Store.open(path, create=False) as store:
        first = store.load(1)
        run = first.run
        number = store.start_run(run.profile, run.seed, run.request, run.machine)
        for each in first.descriptions:
            store.add_description(number, each["platform_name"], each)
        for name, document in first.documents.items():
            store.add_document(number, name, document)
        store.append_all(number, first.rows)
        store.finish(number)


def alive(pid: int) -> bool:
    """Whether a process still runs. A zombie, for which nobody has waited yet, does not."""
    return bool(start_time(pid))


def cell(**changes: object) -> Cell:
    """A cell with these fields; the others do not matter."""
    values: dict[str, object] = {
        "program": "fib",
        "size": "quick",
        "backend": "tbb",
        "variant": "futures",
        "platform": "gcc",
        "allocator": "glibc",
        "threads": 1,
    }
    return Cell(**(values | changes))  # type: ignore[arg-type]

"""What the tests of the lab use beside fixtures: its command line, a cell, and who is alive."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from threadmark.machine.processes import start_time
from threadmark.model.cell import Cell, Row
from threadmark.model.places import ROOT

Attempt = Callable[..., Row]

LAB = (sys.executable, "-P", "-m", "threadmark")


def lab_environment() -> dict[str, str]:
    """So that Python finds the lab."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "lab")}


def alive(pid: int) -> bool:
    """Whether a process still runs; one that nobody has waited for does not."""
    return bool(start_time(pid))


def cell(**changes: object) -> Cell:
    """A cell; what is not given does not matter."""
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

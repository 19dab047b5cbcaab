"""Options that several commands share, and where things are when nothing is said."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

ROOT = Path(__file__).resolve().parents[2]  # the checkout
BUILD = ROOT / "build"
DEFAULT_STORE = ROOT / "results/threadmark.db"

StoreOption = Annotated[
    Path,
    Parameter(
        name="--store",
        help="SQLite file that holds the runs.",
        show_default=lambda _: "results/threadmark.db",
    ),
]
JsonOption = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON on stdout instead of text.")
]

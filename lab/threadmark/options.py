"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from threadmark.places import BUILD, DEFAULT_STORE, ROOT

__all__ = ["BUILD", "DEFAULT_STORE", "ROOT", "InstallOption", "JsonOption", "StoreOption"]

StoreOption = Annotated[
    Path,
    Parameter(
        name="--store",
        help="SQLite file that holds the runs.",
        show_default=lambda _: "results/threadmark.db",
    ),
]
JsonOption = Annotated[
    bool,
    Parameter(
        name="--json", negative="", show_default=False, help="Print JSON on stdout instead of text."
    ),
]
InstallOption = Annotated[
    bool,
    Parameter(
        name="--install",
        show_default=False,
        help="--no-install installs nothing; what is missing is named with the command for it.",
    ),
]

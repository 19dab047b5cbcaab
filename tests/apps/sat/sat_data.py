"""Finds real SAT files: beside this checkout, or below THREADMARK_DATA."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("THREADMARK_DATA", ROOT.parent / "shared/data")) / "sat"
REAL = sorted(FOLDER.glob("*.sat"))

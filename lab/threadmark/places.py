"""Where things are when nothing is said."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the checkout
BUILD = ROOT / "build"
DEFAULT_STORE = ROOT / "results/threadmark.db"

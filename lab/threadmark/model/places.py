"""Where things are when nothing is said."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]  # the checkout
BUILD = ROOT / "build"
DEFAULT_STORE = ROOT / "results/threadmark.db"


def report_path(store: Path, run_id: int) -> Path:
    """Where the report of a run goes: beside its store, whose name tells stores of a folder apart
    unless it is the usual one."""
    name = "" if store.name == DEFAULT_STORE.name else f"{store.name.removesuffix('.db')}-"
    return store.with_name(f"report-{name}{run_id}.html")

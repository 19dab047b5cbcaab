"""Runs tmk-sat."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Sat = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def sat(application: Sat) -> Sat:
    return application


@pytest.fixture
def generated(sat: Sat, tmp_path: Path) -> Path:
    """A file with one solid of each sort and some more solids."""
    path = tmp_path / "generated.sat"
    done = sat("generate", "-o", path, "--entities", 3000, "--seed", 5)
    assert (done.returncode, done.stderr) == (0, "")
    return path

"""Runs tmk-sat. THREADMARK_APPS_BIN names the folder of the applications."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# As the tests build it, and as ./threadmark setup --apps does.
PLACES = (ROOT / "build/gcc-libstdc++/apps/bin", ROOT / "build/apps/bin")

Sat = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def executable() -> Path:
    given = os.environ.get("THREADMARK_APPS_BIN")
    folders = [Path(given)] if given else PLACES
    paths = [folder / "tmk-sat" for folder in folders]
    found = next((path for path in paths if path.exists()), None)
    if found is None:
        pytest.skip(f"{paths[0]} is not built; run ./threadmark setup --apps")
    return found.resolve()


@pytest.fixture
def sat(executable: Path, tmp_path: Path) -> Sat:
    """sat(*words): one process to its end, in a folder of this test."""

    def run(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [executable, *map(str, words)],
            check=False,
            cwd=tmp_path,
            timeout=60,
            **{"capture_output": True, "text": True, **options},  # type: ignore[call-overload]
        )

    return run


@pytest.fixture
def refused(sat: Sat, tmp_path: Path) -> Callable[..., str]:
    """refused(status, *words): the one sentence with which it is refused; no file is left."""

    def refuse(status: int, *words: object, **options: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        done = sat(*words, **options)
        assert (done.returncode, done.stdout) == (status, ""), done
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("tmk-sat: ")
        assert done.stderr.endswith(".\n")
        assert sorted(tmp_path.rglob("*")) == before
        return done.stderr

    return refuse


@pytest.fixture
def generated(sat: Sat, tmp_path: Path) -> Path:
    """A file with one solid of each sort and some more."""
    path = tmp_path / "generated.sat"
    done = sat("generate", "-o", path, "--entities", 3000, "--seed", 5)
    assert (done.returncode, done.stderr) == (0, "")
    return path

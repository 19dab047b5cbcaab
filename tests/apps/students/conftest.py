"""Runs tmk-students. THREADMARK_APPS_BIN names the folder of the applications."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# As the tests build it, and as ./threadmark setup --apps does.
PLACES = (ROOT / "build/gcc-libstdc++/apps/bin", ROOT / "build/apps/bin")

Students = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def executable() -> Path:
    given = os.environ.get("THREADMARK_APPS_BIN")
    folders = [Path(given)] if given else PLACES
    paths = [folder / "tmk-students" for folder in folders]
    found = next((path for path in paths if path.exists()), None)
    if found is None:
        pytest.skip(f"{paths[0]} is not built; run ./threadmark setup --apps")
    return found.resolve()


@pytest.fixture
def students(executable: Path, tmp_path: Path) -> Students:
    """students(*words): one process to its end, in a folder of this test."""

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
def refused(students: Students, tmp_path: Path) -> Callable[..., str]:
    """refused(status, *words): the one sentence with which it is refused; no file is left."""

    def refuse(status: int, *words: object, **options: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        done = students(*words, **options)
        assert (done.returncode, done.stdout) == (status, ""), done
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("tmk-students: ")
        assert done.stderr.endswith(".\n")
        assert sorted(tmp_path.rglob("*")) == before
        return done.stderr

    return refuse

"""Runs an application: tmk-NAME for the tests in the folder NAME. THREADMARK_APPS_BIN names the
folder of the executables."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import mounting
import pytest

ROOT = Path(__file__).resolve().parents[2]
# The folders of the build of the tests and of ./threadmark setup --apps.
PLACES = (ROOT / "build/gcc-libstdc++/apps/bin", ROOT / "build/apps/bin")

Application = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def executable(request: pytest.FixtureRequest, executable_of: Callable[[str], Path]) -> Path:
    return executable_of(request.path.parent.name)


@pytest.fixture
def executable_of() -> Callable[[str], Path]:
    """The executable of an application, by the application's name."""
    return _executable


def _executable(application: str) -> Path:
    name = f"tmk-{application}"
    given = os.environ.get("THREADMARK_APPS_BIN")
    folders = [Path(given)] if given else PLACES
    paths = [folder / name for folder in folders]
    found = next((path for path in paths if path.exists()), None)
    if found is None:
        pytest.skip(f"{paths[0]} is not built; run ./threadmark setup --apps")
    return found.resolve()


@pytest.fixture
def application(executable: Path, tmp_path: Path) -> Application:
    """application(*words): run one process to its end, in a folder of this test."""

    def run(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [executable, *map(str, words)],
            check=False,
            cwd=tmp_path,
            timeout=300,
            **{"capture_output": True, "text": True, **options},  # type: ignore[call-overload]
        )

    return run


@pytest.fixture
def refused(executable: Path, application: Application, tmp_path: Path) -> Callable[..., str]:
    """refused(status, *words): the one sentence of a refused command, which leaves no file."""

    def refuse(status: int, *words: object, **options: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        done = application(*words, **options)
        assert (done.returncode, done.stdout) == (status, ""), done
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith(f"{executable.name}: ")
        assert done.stderr.endswith(".\n")
        assert sorted(tmp_path.rglob("*")) == before
        return done.stderr

    return refuse


@pytest.fixture
def refused_by_a_full_disk(executable: Path) -> Callable[..., str]:
    """refused_by_a_full_disk(folder, *words): the one sentence with which the process ends if the
    folder is a file system of 256 KiB. The process leaves no file there."""

    def run(folder: Path, *words: object) -> str:
        line = " ".join(map(str, (executable, *words)))
        script = (
            f"mount -t tmpfs -o size=256k none {folder} || exit {mounting.REFUSED}\n"
            f"{line}\nstatus=$?\nls -A {folder}\nexit $status\n"
        )
        done = mounting.run(script)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert done.stderr.count("\n") == 1
        return done.stderr

    return run

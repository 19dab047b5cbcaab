"""Runs built programs. THREADMARK_BIN names their folder, THREADMARK_DATA the published inputs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("THREADMARK_BIN", ROOT / "build/gcc-libstdc++/bin"))
DATA = Path(os.environ.get("THREADMARK_DATA", ROOT.parent / "shared/data"))


@dataclass(frozen=True)
class Result:
    status: int  # of the process
    lines: list[dict[str, Any]]
    stderr: str

    @property
    def repeats(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == "repeat"]

    @property
    def last(self) -> dict[str, Any]:
        """The last repeat."""
        return self.repeats[-1]


Run = Callable[..., Result]


@pytest.fixture
def executable() -> Callable[[str, str], Path]:
    """executable(program, backend): the path of its executable."""

    def find(program: str, backend: str) -> Path:
        path = BIN / f"{program}.{backend}"
        if not path.exists():
            pytest.skip(f"{path} is not built; set THREADMARK_BIN or build it")
        return path

    return find


@pytest.fixture
def run(executable: Callable[[str, str], Path]) -> Run:
    """run(program, backend="serial", *args): one process at size smoke without a warm-up,
    unless args say otherwise."""

    def run_program(program: str, backend: str = "serial", *args: str) -> Result:
        command = [
            executable(program, backend),
            "--run",
            *([] if "--size" in args else ["--size", "smoke"]),
            *([] if "--warmup" in args else ["--warmup", "0"]),
            *args,
        ]
        done = subprocess.run(command, capture_output=True, timeout=300, check=False)
        lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        return Result(done.returncode, lines, done.stderr.decode(errors="replace"))

    return run_program


@pytest.fixture
def data() -> Callable[[str], Path]:
    """data("inncabs/input/..."): a published file, which the repository does not hold."""

    def find(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"{path} is absent; set THREADMARK_DATA to the folder of published data")
        return path

    return find


@pytest.fixture
def refused(run: Run, tmp_path: Path) -> Callable[..., str]:
    """refused(program, text, *args): the one sentence with which the program refuses a file."""

    def refuse(program: str, text: str | bytes, *args: str) -> str:
        path = tmp_path / "input"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        result = run(program, "serial", "--arg", f"input={path}", *args)
        assert result.status == 2, result
        assert result.lines == []
        assert result.stderr.count("\n") == 1, result.stderr
        return result.stderr

    return refuse

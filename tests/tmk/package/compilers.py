"""The compilers that tmk supports, and commands whose output a test reads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[3]
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")


@dataclass(frozen=True)
class Platform:
    """A compiler with its standard library."""

    compiler: str
    flags: tuple[str, ...] = ()

    def command(self, *arguments: str | Path, standard: str = "20") -> list[str]:
        line = [self.compiler, *self.flags, f"-std=c++{standard}", *WARNINGS, "-pthread"]
        return [*line, *map(str, arguments)]


PLATFORMS = (Platform("g++"), Platform("clang++-19", ("-stdlib=libc++",)))


def run(
    line: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


def succeed(
    line: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> str:
    done = run(line, cwd=cwd, environment=environment)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def symbols(program: Path) -> str:
    return succeed(["nm", "-C", program])

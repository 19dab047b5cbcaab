"""The files of this checkout that formatters and linters look at."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from threadmark.model.places import ROOT

_FOLDERS = ("lab", "tests", "bars", "apps", "include", "tools")
_SCRIPTS = ("figures", "recorder_archive", "reference", "single_header", "tidy")  # without .py


def cpp() -> list[str]:
    """Every source in C or C++."""
    return _files(("*.cpp", "*.hpp", "*.c"))


def python() -> list[str]:
    """Folders with Python, and scripts whose names do not end in .py."""
    return [*_FOLDERS, *(f"tools/{each}" for each in _SCRIPTS)]


def _files(patterns: Sequence[str]) -> list[str]:
    """Tracked and new files, but nothing that git ignores, such as a build."""
    line = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    done = subprocess.run(line, check=False, cwd=ROOT, capture_output=True, text=True)
    return [each for each in done.stdout.splitlines() if (ROOT / each).exists()]

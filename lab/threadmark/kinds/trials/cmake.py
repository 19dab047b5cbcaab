"""Folders that CMake has configured, in a copy of the tree. They name the place of the original, so
each is configured anew in its new place, with the same choices."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from threadmark.kinds.trials.compilers import Wrapped

_CACHE = "CMakeCache.txt"
_COMPILER = re.compile(r"^(CMAKE_(?:C|CXX)_COMPILER:[A-Z]+=)(.+)$", re.MULTILINE)
_MADE = ("build.ninja", "Makefile", "cmake_install.cmake")


def moved(copy: Path, original: Path, wrapped: Wrapped | None) -> Iterator[tuple[Path, list[str]]]:
    """Folders of a copy with the command that configures each; the compilers are the `wrapped`
    ones. The files that CMake derived from the original are gone when the caller asks for the next
    folder."""
    folders = sorted(path.parent for path in copy.rglob(_CACHE))
    for folder in folders:
        cache = folder / _CACHE
        text = cache.read_text(encoding="utf-8", errors="surrogateescape")
        text = text.replace(str(original), str(copy))
        text = _COMPILER.sub(lambda found: found[1] + _compiler(found[2], wrapped), text)
        cache.write_text(text, encoding="utf-8", errors="surrogateescape")
        shutil.rmtree(folder / "CMakeFiles", ignore_errors=True)
        for name in _MADE:
            (folder / name).unlink(missing_ok=True)
    for folder in folders:
        # A folder inside another is a part of it, and the outer one configures it.
        if not any(each in folder.parents for each in folders):
            yield folder, ["cmake", "."]


def _compiler(path: str, wrapped: Wrapped | None) -> str:
    script = wrapped.names.get(Path(path).name) if wrapped else None
    return str(script) if script else path

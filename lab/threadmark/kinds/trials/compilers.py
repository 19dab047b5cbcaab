"""Compilers with additional flags: scripts before them on PATH.

Most builds find their compiler by its name, by CC or by CXX, and few take flags in another way: a
Makefile overrides CXXFLAGS, and CMake reads it once.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from threadmark.fixes.fix import Flags

_NAME = re.compile(r"(?:[\w.+]+-)*(cc|c\+\+|gcc|g\+\+|clang|clang\+\+)(?:-\d[\d.]*)?")
_CACHES = ("ccache", "distcc", "icecc", "sccache")  # they look for a compiler on PATH themselves
_VARIABLES = ("CC", "CXX")
_SCRIPT = """#!/bin/sh
# A compiler with more flags, of one build of ./threadmark try.
cxx={cxx} std={std}
for word; do
  case $word in
    -c|-o*) : >> {seen} ;;
    -std=*++2?*) std= ;;
    *.s|*.S|*.sx) cxx=no ;;
    *.c) [ {driver} = yes ] || cxx=no ;;
    *.cc|*.cp|*.cpp|*.cxx|*.c++|*.C|*.CPP) cxx=yes ;;
  esac
done
[ "$cxx" = yes ] && exec {real} "$@" {every} {flags} $std
exec {real} "$@" {every}
"""


class Wrapped:
    """The compilers of this machine with flags, in `place`."""

    def __init__(self, place: Path, flags: Flags) -> None:
        self._place = place
        self._seen = place / "seen"
        self.names: dict[str, Path] = {}  # of a compiler -> its script
        place.mkdir()
        standard = [each for each in flags.cxx if each.startswith("-std=")]
        others = [each for each in flags.cxx if each not in standard]
        for name, real in _compilers():
            driver = "yes" if "++" in name else "no"
            script = place / name
            script.write_text(
                _SCRIPT.format(
                    cxx=driver,
                    driver=driver,
                    std=shlex.quote(" ".join(standard)),
                    seen=shlex.quote(str(self._seen)),
                    real=shlex.quote(real),
                    every=shlex.join(flags.every),
                    flags=shlex.join(others),
                ),
                encoding="utf-8",
                errors="surrogateescape",
            )
            script.chmod(0o755)
            self.names[name] = script

    @property
    def called(self) -> bool:
        """Whether a wrapped compiler has compiled or linked a file."""
        return self._seen.exists()

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """The environment by which a build finds the compilers."""
        found = {**given, "CCACHE_DISABLE": "1"}
        found["PATH"] = f"{self._place}{os.pathsep}{given.get('PATH', os.defpath)}"
        for variable in _VARIABLES:
            words = shlex.split(found.get(variable, ""))
            # A compiler by its path. A word before it is a cache, which would see no flags.
            known = [self.names[name] for each in words if (name := Path(each).name) in self.names]
            if known:
                rest = words[
                    next(i for i, w in enumerate(words) if Path(w).name in self.names) + 1 :
                ]
                found[variable] = shlex.join([str(known[0]), *rest])
        return found


def _compilers() -> list[tuple[str, str]]:
    """Names and paths of the compilers on PATH."""
    found: dict[str, str] = {}
    for folder in map(Path, os.get_exec_path()):
        try:
            paths = sorted(folder.iterdir())
        except OSError:
            continue
        for path in paths:
            is_cache = path.resolve().name.startswith(_CACHES)
            if _NAME.fullmatch(path.name) and os.access(path, os.X_OK) and not is_cache:
                found.setdefault(path.name, str(path.absolute()))
    return list(found.items())

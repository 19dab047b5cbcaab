"""Allocators: the C library's own, its other settings, and allocators that replace it by
preloading.

Each is a few environment variables, so that every program can be measured with every allocator.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from threadmark.machine.preload import preloadable
from threadmark.model.cell import DEFAULT
from threadmark.model.names import check_name
from threadmark.model.places import ROOT
from threadmark.setup import apt

# Allocator -> (names of its library, the Debian package that brings it).
_LIBRARIES = {
    "jemalloc": (("libjemalloc.so.2", "libjemalloc.so.1"), "libjemalloc2"),
    "mimalloc": (("libmimalloc.so.3", "libmimalloc.so.2"), "libmimalloc2.0"),
    "tcmalloc": (("libtcmalloc_minimal.so.4", "libtcmalloc.so.4"), "libtcmalloc-minimal4"),
    "tbbmalloc": (("libtbbmalloc_proxy.so.2",), "libtbbmalloc2"),
}
# Libraries of the Python environment that another library there needs, without a path of its own to
# them.
_COMPANIONS = {"libtbbmalloc_proxy.so.2": "libtbbmalloc.so.2"}
# Settings of glibc's malloc: without the caches of threads each call takes the lock of an arena;
# with one arena all threads take the same lock.
_TUNABLES = {
    "glibc-no-tcache": "glibc.malloc.tcache_count=0",
    "glibc-one-arena": "glibc.malloc.arena_max=1",
    "glibc-no-tcache-one-arena": "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1",
}
NAMES = (DEFAULT, *_TUNABLES, *_LIBRARIES)
_ENVIRONMENT = ROOT / ".venv/lib"  # oneTBB's libraries come with the Python environment


def setting(name: str) -> tuple[dict[str, str], str]:
    """(environment variables that choose it, reason for its absence): one of them is empty, both
    are for `glibc`. LabError for a name that is no allocator.
    """
    check_name("allocator", name, NAMES)
    if name in _TUNABLES:
        if not _is_glibc():
            return {}, "this C library is not glibc, so it has no GLIBC_TUNABLES"
        return {"GLIBC_TUNABLES": _TUNABLES[name]}, ""
    preload, reason = library(name)
    return {"LD_PRELOAD": preload} if preload else {}, reason


def absent(names: Iterable[str]) -> dict[str, str]:
    """The absent allocators among `names`, with the reason. LabError for an unknown name."""
    found = {name: setting(name)[1] for name in names}
    return {name: reason for name, reason in found.items() if reason}


def package(name: str) -> str:
    """The Debian package with a library. LabError for a name without one."""
    check_name("allocator", name, _LIBRARIES)
    return _LIBRARIES[name][1]


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except ValueError:
        return False


def library(name: str) -> tuple[str, str]:
    """(value for LD_PRELOAD, reason for having none): one of them is empty, both are for glibc's
    own.

    LabError for a name that is no allocator.
    """
    check_name("allocator", name, NAMES)
    if name not in _LIBRARIES:
        return "", ""
    files, package = _LIBRARIES[name]
    known = _loader_cache()
    for file in files:
        names = [file, *filter(None, [_COMPANIONS.get(file)])]
        own = [_ENVIRONMENT / name for name in names]
        if all(each.exists() for each in own):
            return ":".join(map(preloadable, own)), ""
        if file in known:
            return preloadable(Path(known[file])), ""
    return "", f"{files[0]} is not installed; run: {apt.install_command([package])}"


def _loader_cache() -> dict[str, str]:
    """Library -> path, from the cache of the dynamic loader."""
    for ldconfig in ("/sbin/ldconfig", "ldconfig"):
        try:
            done = subprocess.run([ldconfig, "-p"], check=False, capture_output=True, text=True)
        except OSError:
            continue
        result: dict[str, str] = {}
        for line in done.stdout.splitlines():
            name, arrow, path = line.strip().partition(" => ")
            if arrow and Path(path).exists():
                result.setdefault(name.split()[0], path)
        return result
    return {}

"""Allocators that can replace the C library's by preloading, and where they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

from threadmark import apt
from threadmark.places import ROOT
from threadmark.selection import check_name

DEFAULT = "glibc"
# Allocator -> (names of its library, the Debian package that brings it).
_LIBRARIES = {
    "jemalloc": (("libjemalloc.so.2", "libjemalloc.so.1"), "libjemalloc2"),
    "mimalloc": (("libmimalloc.so.3", "libmimalloc.so.2"), "libmimalloc2.0"),
    "tcmalloc": (("libtcmalloc_minimal.so.4", "libtcmalloc.so.4"), "libtcmalloc-minimal4"),
    "tbbmalloc": (("libtbbmalloc_proxy.so.2",), "libtbbmalloc2"),
}
# What a library of the Python environment needs from there; it does not say where to look for it.
_COMPANIONS = {"libtbbmalloc_proxy.so.2": "libtbbmalloc.so.2"}
NAMES = (DEFAULT, *_LIBRARIES)
_ENVIRONMENT = ROOT / ".venv/lib"  # oneTBB's libraries come with the Python environment


def library(name: str) -> tuple[str, str]:
    """(value for LD_PRELOAD, why there is none): one of them is empty, both are for `glibc`.

    LabError for a name that is no allocator.
    """
    check_name("allocator", name, NAMES)
    if name == DEFAULT:
        return "", ""
    files, package = _LIBRARIES[name]
    known = _loader_cache()
    for file in files:
        names = [file, *filter(None, [_COMPANIONS.get(file)])]
        own = [_ENVIRONMENT / name for name in names]
        if all(each.exists() for each in own):
            return ":".join(map(str, own)), ""
        if file in known:
            return known[file], ""
    return "", f"{files[0]} is not installed; run: {apt.install_command([package])}"


def _loader_cache() -> dict[str, str]:
    """Library -> path, as the dynamic loader knows them."""
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

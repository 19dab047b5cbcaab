"""What the system must have, as data: how it is found, what its absence costs, what brings it.

Everything is found by its files, which is instant and also sees what did not come from apt.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from threadmark import apt
from threadmark.places import ROOT

DEPS = ROOT / ".deps"  # where packages are unpacked for a user who may not install
_TRIED = DEPS / "tried.json"
LOG = ROOT / "build/setup.log"


@dataclass(frozen=True)
class Need:
    """One thing from outside. `files` are globs below /; a bare name is looked up in PATH.

    `unpack` says that the package also works unpacked into a private folder.
    """

    name: str
    files: tuple[str, ...]
    packages: tuple[str, ...]
    cost: str
    unpack: bool = False
    tests_only: bool = False

    def present(self) -> bool:
        """Whether each of the files is there."""
        return all(self._found(each) for each in self.files)

    def _found(self, pattern: str) -> bool:
        if "/" not in pattern:
            return shutil.which(pattern) is not None
        places = (Path("/"), DEPS) if self.unpack else (Path("/"),)
        return any(next(place.glob(pattern), None) is not None for place in places)


_LLVM = "usr/lib/llvm-19"
NEEDS = (
    Need("g++", ("g++",), ("g++",), "platform gcc-libstdc++"),
    Need("cmake", ("cmake",), ("cmake",), "everything: nothing can be built"),
    Need(
        "nlohmann-json",
        ("usr/include/nlohmann/json.hpp",),
        ("nlohmann-json3-dev",),
        "everything: programs print JSON with it",
        unpack=True,
    ),
    Need(
        "CLI11",
        ("usr/include/CLI/CLI.hpp",),
        ("libcli11-dev",),
        "everything: programs read their options with it",
        unpack=True,
    ),
    Need(
        "clang 19 with libc++",
        ("clang++-19", f"{_LLVM}/include/c++/v1/vector", f"{_LLVM}/lib/libc++abi*"),
        ("clang-19", "libc++-19-dev", "libc++abi-19-dev"),
        "platform clang-libc++",
    ),
    Need(
        "OpenMP for clang",
        (f"{_LLVM}/lib/libomp.so", f"{_LLVM}/lib/clang/19/include/omp.h"),
        ("libomp-19-dev",),
        "backend openmp on clang-libc++",
    ),
    Need(
        "Boost.Fiber",
        ("usr/lib/*/libboost_fiber.so",),
        ("libboost-fiber1.81-dev",),
        "backend boost_fiber",
    ),
    Need("jemalloc", ("usr/lib/*/libjemalloc.so.2",), ("libjemalloc2",), "allocator jemalloc"),
    Need("mimalloc", ("usr/lib/*/libmimalloc.so.*",), ("libmimalloc2.0",), "allocator mimalloc"),
    Need(
        "tcmalloc",
        ("usr/lib/*/libtcmalloc_minimal.so.4",),
        ("libtcmalloc-minimal4",),
        "allocator tcmalloc",
    ),
    Need(
        "GoogleTest",
        ("usr/src/googletest/CMakeLists.txt",),
        ("googletest",),
        "the tests in C++",
        unpack=True,
        tests_only=True,
    ),
    Need(
        "sanitizers of clang 19",
        (f"{_LLVM}/lib/clang/19/lib/linux/libclang_rt.tsan*", f"{_LLVM}/bin/llvm-symbolizer"),
        ("libclang-rt-19-dev", "llvm-19"),
        "the checks asan and tsan",
        tests_only=True,
    ),
    Need(
        "Chromium",
        ("chromium", "chromedriver"),
        ("chromium", "chromium-driver"),
        "the tests of the report in a browser",
        tests_only=True,
    ),
)


def missing(*, tests: bool) -> list[Need]:
    """What is absent; with `tests` also of what only tests need."""
    return [each for each in NEEDS if (tests or not each.tests_only) and not each.present()]


def present() -> list[str]:
    """The names of what is there; what a build was configured for."""
    return [each.name for each in NEEDS if each.present()]


def bring(*, tests: bool, again: bool) -> list[Need]:
    """Install what is absent and may be installed; returns what is still absent.

    Without `again` nothing is tried that was already tried in vain.
    """
    absent = missing(tests=tests)
    names = [each.name for each in absent]
    if not absent or (not again and set(names) <= set(_tried())):
        return absent
    LOG.parent.mkdir(parents=True, exist_ok=True)
    prefix = apt.privilege()
    wanted = [package for each in absent for package in each.packages]
    if prefix is not None and not apt.install(wanted, prefix, LOG):
        for each in absent:  # one name that is unknown here must not cost the others
            apt.install(each.packages, prefix, LOG)
    for each in missing(tests=tests):
        if each.unpack:
            apt.unpack(each.packages, DEPS, LOG)
    absent = missing(tests=tests)
    DEPS.mkdir(exist_ok=True)
    _TRIED.write_text(json.dumps([each.name for each in absent]), encoding="utf-8")
    return absent


def _tried() -> list[str]:
    try:
        found = json.loads(_TRIED.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [str(each) for each in found] if isinstance(found, list) else []

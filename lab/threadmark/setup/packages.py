"""The needs of the lab on the system, as data: their files, the cost of their absence, and their
packages.

A need is found by its files, which is instant and also sees installations without apt.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from threadmark.model.places import ROOT
from threadmark.setup import apt, lock

DEPS = ROOT / ".deps"  # for unpacked packages, if the user may not install
SYSTEM = Path("/")
LOG = ROOT / "build/setup.log"
Report = Callable[[str], None]  # gets one sentence about an installation


@dataclass(frozen=True)
class Need:
    """One need. `files` are globs below /; `|` separates alternatives; a bare name is looked up in
    PATH.

    `unpack`: the package also works unpacked into a private folder.
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
        places = (SYSTEM, DEPS) if self.unpack else (SYSTEM,)
        globs = [place.glob(each) for place in places for each in pattern.split("|")]
        return any(next(each, None) is not None for each in globs)


_LLVM = "usr/lib/llvm-19"
NEEDS = (
    Need("g++", ("g++",), ("g++",), "platform gcc-libstdc++"),
    Need("cmake", ("cmake",), ("cmake",), "every program, because CMake builds them"),
    Need(
        "nlohmann-json",
        ("usr/include/nlohmann/json.hpp",),
        ("nlohmann-json3-dev",),
        "every program, because programs print JSON with it",
        unpack=True,
    ),
    Need(
        "CLI11",
        ("usr/include/CLI/CLI.hpp",),
        ("libcli11-dev",),
        "every program, because programs read their options with it",
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
        # The library's own name has no version, and Debian's other Boost is too old for us.
        ("usr/lib/*/cmake/boost_fiber-1.8[1-9]*|usr/lib/*/cmake/boost_fiber-1.9*",),
        ("libboost-fiber1.81-dev",),
        "backend boost_fiber",
    ),
    Need("fmt", ("usr/include/fmt/format.h",), ("libfmt-dev",), "stream_format:fmt", unpack=True),
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
    # Measuring does not use the nodes; setup and check install their needs.
    Need(
        "ZeroMQ",
        ("usr/include/zmq.h", "usr/include/zmq.hpp", "usr/lib/*/libzmq.so"),
        ("libzmq3-dev", "cppzmq-dev"),
        "the nodes of tmk-students",
        tests_only=True,
    ),
    Need(
        "LMDB",
        ("usr/include/lmdb.h", "usr/lib/*/liblmdb.so"),
        ("liblmdb-dev",),
        "the nodes of tmk-students",
        tests_only=True,
    ),
    Need(
        "Open CASCADE",
        (
            "usr/include/opencascade/STEPControl_Writer.hxx",
            "usr/include/opencascade/HLRBRep_PolyAlgo.hxx",
            "usr/lib/*/libTKRWMesh.so",
        ),
        ("libocct-modeling-algorithms-dev", "libocct-data-exchange-dev"),
        "the shapes of tmk-sat",
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
    """The absent needs; with `tests` also those of tests only."""
    return [each for each in NEEDS if (tests or not each.tests_only) and not each.present()]


def present() -> list[str]:
    """The names of the present needs, for which a build was configured."""
    return [each.name for each in NEEDS if each.present()]


def bring(*, tests: bool, again: bool, report: Report) -> list[Need]:
    """Install the absent needs that may be installed; returns those that are still absent.

    The function calls `report` before each installation. Without `again` it skips packages that
    apt-get refused before.
    """
    with lock.exclusive():
        known = {} if again else refusals()
        wanted = [each for each in missing(tests=tests) if each.name not in known]
        if wanted:
            LOG.parent.mkdir(parents=True, exist_ok=True)
            found = {**refusals(), **dict.fromkeys((each.name for each in wanted), "")}
            found |= _install(wanted, report)
            unpacked = [each for each in wanted if each.unpack and not each.present()]
            if unpacked and apt.available():
                report(f"Unpacking into {DEPS}: {', '.join(_packages(unpacked))}.")
            for each in unpacked:
                found[each.name] = apt.unpack(each.packages, DEPS, LOG).refusal
            DEPS.mkdir(exist_ok=True)
            lasting = {name: why for name, why in found.items() if why}
            _tried().write_text(json.dumps(lasting), encoding="utf-8")
        return missing(tests=tests)


def refusals() -> dict[str, str]:
    """Need -> the reason for which apt-get refused it and would again."""
    try:
        found = json.loads(_tried().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(why) for name, why in found.items()} if isinstance(found, dict) else {}


def remedy(need: Need) -> str:
    """The command that installs the need."""
    unpacked = need.unpack and apt.available() and apt.privilege() is None
    return "./threadmark setup" if unpacked else apt.install_command(need.packages)


def _tried() -> Path:
    return DEPS / "tried.json"


def _packages(needs: Sequence[Need]) -> list[str]:
    return [package for each in needs for package in each.packages]


def _install(needs: Sequence[Need], report: Report) -> dict[str, str]:
    """Install as much as possible; returns the refused needs, with the reason."""
    prefix = apt.privilege()
    if prefix is None:
        return {}
    all_at_once = _packages(needs)
    report(f"Installing by {apt.means(prefix)}: {', '.join(all_at_once)}.")
    if apt.install(all_at_once, prefix, LOG).done:
        return {}
    fresh = apt.update(prefix, LOG)
    if apt.install(all_at_once, prefix, LOG).done:
        return {}
    # A need that is unknown here, or that another package forbids, must not cost the others.
    results = {each.name: apt.install(each.packages, prefix, LOG, fresh=fresh) for each in needs}
    return {name: each.refusal for name, each in results.items()}

"""Checks of this checkout, as data; `test` and `check` run them one by one.

A check is one line here. Each is a command.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path

from threadmark.model.places import BUILD, ROOT
from threadmark.setup import build, packages, platforms, source_files
from threadmark.setup.counting import Count, count

# Tests that need no processor of their own, because they neither record nor measure a program.
_PARALLEL = (
    "tests/analysis",
    "tests/apps",
    "tests/explain/analysis",
    "tests/explain/test_members.py",
    "tests/explain/test_page.py",
    "tests/explain/test_planted.py",
    "tests/explain/test_symbols.py",
    "tests/lab/test_build.py",
    "tests/lab/test_command_line.py",
    "tests/lab/test_loader.py",
    "tests/lab/test_private.py",
    "tests/lab/test_schemas.py",
    "tests/lab/test_start.py",
    "tests/lab/test_students.py",
    "tests/programs",
    "tests/simulation",
    "tests/tmk",
    "tests/tools",
    "tests/try",
)


class Level(IntEnum):
    """The command that runs a check: each level includes those before it."""

    TEST = 0
    CHECK = 1
    ALL = 2


@dataclass(frozen=True)
class Check:
    """One check. `preset` is built first, then one target that no test needs of each preset in
    `also`. `lacks` gives the reason for which the check cannot run here; then it is skipped."""

    name: str
    level: Level
    command: Callable[[], Sequence[str]]
    preset: str = ""
    lacks: Callable[[], str] = lambda: ""
    also: Callable[[], Sequence[tuple[str, str]]] = tuple  # (preset, target)


def checks() -> list[Check]:
    """All checks in the order of running: the ones that fail soonest come first."""
    python = [sys.executable, "-P", "-m"]
    # Tests that share a build, such as those of one compiler, stay together.
    beside = ["-n", _jobs(), "--dist", "loadgroup"]
    found = [
        Check(
            "format-cpp",
            Level.CHECK,
            lambda: ["clang-format", "-n", "-Werror", "--ferror-limit=1", *source_files.cpp()],
        ),
        Check(
            "format-python",
            Level.CHECK,
            lambda: ["ruff", "format", "--check", *source_files.python()],
        ),
        Check("lint-python", Level.CHECK, lambda: ["ruff", "check", *source_files.python()]),
        Check("types", Level.CHECK, lambda: [*python, "mypy", "lab/threadmark"]),
        Check("tidy", Level.CHECK, lambda: [sys.executable, str(ROOT / "tools/tidy")]),
        Check("docs", Level.CHECK, lambda: [*python, "threadmark", "docs"]),
    ]
    for platform in platforms.platforms():
        if platform.optional:  # it only builds programs, and others may not have it
            continue
        found.append(
            Check(
                f"cpp-{platform.name}",
                Level.TEST,
                _ctest(platform.name),
                preset=platform.name,
                lacks=_lack(platform),
            )
        )
    package = "tests/tmk/package"  # builds the examples from an installed copy: minutes
    model = "tests/tmk/model"  # explores the runtime's interleavings: minutes
    readers = "tests/explain/readers"  # Go builds its pprof: a minute
    quick = [f"--ignore={each}" for each in (package, model, readers)]
    others = [f"--ignore={each}" for each in _PARALLEL]
    found += [
        Check(
            "python-parallel",
            Level.TEST,
            lambda: [*python, "pytest", *_PARALLEL, *quick, *beside],
        ),
        # One test at a time, because many record or measure a program.
        Check("python", Level.TEST, lambda: [*python, "pytest", *quick, *others]),
        Check("package", Level.CHECK, lambda: [*python, "pytest", package, *beside]),
        Check("model", Level.CHECK, lambda: [*python, "pytest", model]),
    ]
    found.append(Check("explain-readers", Level.ALL, lambda: [*python, "pytest", readers]))
    found += _random_programs()
    for name in ("tasks", "catalogue"):
        script = str(ROOT / f"tests/simulation/{name}.py")
        command = partial(lambda path: [sys.executable, path], script)
        found.append(Check(f"simulation-{name}", Level.ALL, command))
    gcc = next((each for each in platforms.platforms() if not each.optional), None)
    preset = gcc.name if gcc else ""
    for script in ("bars", "bounds", "catalogue_bar", "cells_bar", "distribution"):
        path = str(ROOT / f"tests/explain/{script}.py")
        command = partial(lambda path: [sys.executable, path], path)
        name = f"explain-{script.removesuffix('_bar')}"
        also = _planted if script == "bars" else tuple
        found.append(Check(name, Level.ALL, command, preset, _lack(gcc), also))
    found += _measurements(gcc)
    sanitized = next((each for each in platforms.platforms() if "clang" in each.compiler), None)
    # The schedulers of other libraries give false reports under ThreadSanitizer, but none under
    # AddressSanitizer.
    for name in ("asan", "tsan", "asan-all", "tsan-all"):
        level = Level.ALL if name.endswith("-all") else Level.CHECK
        found.append(
            Check(
                name,
                level,
                _ctest(name),
                preset=name,
                lacks=_lack(sanitized, "sanitizers of clang 19"),
            )
        )
    for reader in ("record", "sat"):
        script = str(ROOT / "tests/fuzz/long.py")
        fuzz = [sys.executable, script, str(BUILD / "asan"), reader, "1e7"]
        command = partial(lambda given: given, fuzz)
        lacks = _lack(sanitized, "sanitizers of clang 19")
        found.append(Check(f"fuzz-{reader}", Level.ALL, command, "asan", lacks))
    return found


def _planted() -> Sequence[tuple[str, str]]:
    """The planted programs of every platform; those of g++ are built with its tests."""
    usual = [each for each in platforms.platforms() if not each.optional and not each.missing()]
    return [(each.name, "planted") for each in usual]


def _measurements(gcc: platforms.Platform | None) -> list[Check]:
    """Programs that measure bars, which take minutes to an hour each."""
    preset = gcc.name if gcc else ""
    found = []
    odd, of_build = "tests/probe/odd/harmless.py", ["--build", str(BUILD / preset)]
    for name, script, options in (
        ("harmless", odd, ["--runs", "10000", "--calls", "1000000"]),
        ("harmless-without-perf", odd, ["--runs", "3000", "--calls", "1000000", "--without-perf"]),
        ("costs", "tests/explain/costs/costs.py", []),
    ):
        line = [sys.executable, str(ROOT / script), *of_build, *options]
        command = partial(lambda given: given, line)
        found.append(Check(f"explain-{name}", Level.ALL, command, preset, _lack(gcc)))
    in_full = {
        "wheel": "tests/wheel.py",
        "conan": "tests/tmk/conan/consume.py",
        "pages": "tests/pages.py",
    }
    for name, path in in_full.items():
        command = partial(lambda path: [sys.executable, path], str(ROOT / path))
        found.append(Check(name, Level.ALL, command))
    for name, script in (("bars", "try_bars"), ("bounds", "bound_bars")):
        line = [sys.executable, str(ROOT / f"tests/try/{script}.py")]
        found.append(Check(f"try-{name}", Level.ALL, partial(lambda given: given, line)))
    for name in ("nothing", "gain", "gates"):
        line = [sys.executable, str(ROOT / "tests/try/live_bars.py"), name]
        command = partial(lambda given: given, line)
        found.append(Check(f"try-{name}", Level.ALL, command))
    scripts = ("students/bars", "students/kills", "sat/bars", "sat/shapes_bars", "sat/oracles")
    for each in scripts:
        line = [sys.executable, str(ROOT / f"tests/apps/{each}.py")]
        line += ["--bin", str(BUILD / preset / "apps/bin")]
        if each == "sat/bars":
            line += ["--bin", str(BUILD / "clang-libc++/apps/bin"), "--big", "5"]
        command = partial(lambda given: given, line)
        name = each.replace("/", "-").replace("_", "-")
        found.append(Check(name, Level.ALL, command, preset, _lack(gcc)))
    for engine, absent in (("duckdb", _lack(gcc)), ("spark", partial(_lack_of_java, _lack(gcc)))):
        line = [sys.executable, str(ROOT / "tests/apps/students/engines.py"), engine]
        line += ["--bin", str(BUILD / preset / "apps/bin")]
        command = partial(lambda given: given, line)
        found.append(Check(f"students-{engine}", Level.ALL, command, preset, absent))
    return found


def _random_programs() -> list[Check]:
    """Random programs with seeds drawn anew, each on the threads of drive.py."""
    known = platforms.platforms()
    clang = next((each for each in known if "clang" in each.compiler), None)
    builds = [(each.name, 10_000, _lack(each)) for each in known if not each.optional]
    builds += [(each, 1_000, _lack(clang, "sanitizers of clang 19")) for each in ("asan", "tsan")]
    found = []
    for name, programs, lacks in builds:
        line = [sys.executable, str(ROOT / "tests/tmk/random/drive.py"), str(BUILD / name / "bin")]
        line += ["--count", str(programs), "--jobs", _jobs()]
        command = partial(lambda given: given, line)
        found.append(Check(f"random-{name}", Level.ALL, command, preset=name, lacks=lacks))
    return found


def run(check: Check, *, environment: dict[str, str]) -> Count:
    """Run one check; its output goes to stdout as it comes."""
    reason = check.lacks()
    if reason:
        print(f"{check.name}: skipped, {reason}", flush=True)
        return Count(skipped=1)
    builds = [(check.preset, ())] if check.preset else []
    for preset, targets in [*builds, *((each, (target,)) for each, target in check.also())]:
        failure = build.build(preset, tests=True, report=lambda _: None, targets=targets)
        if failure:
            print(failure, flush=True)
            return Count(failed=1)
    command = list(check.command())
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
    )
    assert process.stdout is not None
    lines = []
    try:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
        status = process.wait()
    finally:
        if process.poll() is None:  # interrupted
            process.terminate()
            process.wait()
    return count(lines, status)


def environment() -> dict[str, str]:
    """The environment for the tools of a check: those of our own Python environment come first."""
    own = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": f"{own}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "MYPYPATH": str(ROOT / "lab"),
        "PYTHONPATH": str(ROOT / "lab"),
    }


def _ctest(preset: str) -> Callable[[], Sequence[str]]:
    folder = str(BUILD / preset)
    return lambda: ["ctest", "--test-dir", folder, "--output-on-failure", "-j", _jobs()]


def _jobs() -> str:
    return str(len(os.sched_getaffinity(0)))


def _lack(platform: platforms.Platform | None, *needs: str) -> Callable[[], str]:
    """The reason for the absence of a platform, GoogleTest or another need of a check."""

    def reason() -> str:
        if platform is None:
            return "there is no platform with clang"
        absent = [
            each for each in packages.missing(tests=True) if each.name in ("GoogleTest", *needs)
        ]
        if absent:
            return f"{absent[0].name} is missing; run: ./threadmark setup"
        return platform.missing()

    return reason


def _lack_of_java(first: Callable[[], str]) -> str:
    """The reason for which Spark cannot run here."""
    if reason := first():
        return reason
    if shutil.which("java") is None:
        return "java is missing; run: apt-get install openjdk-17-jre-headless"
    return ""

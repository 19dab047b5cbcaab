"""Checks of this checkout, as data: what `test` and `check` run, one by one, and how they count.

A check is one line here. Each is a command; its own summary is understood where it is pytest's or
ctest's, else it counts as one.
"""

from __future__ import annotations

import os
import re
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


class Level(IntEnum):
    """Which command runs a check: each includes those before it."""

    TEST = 0
    CHECK = 1
    ALL = 2


@dataclass(frozen=True)
class Count:
    """Tests by how they ended."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )


@dataclass(frozen=True)
class Check:
    """`preset` is built first. `lacks` says why the check cannot run here; then it is skipped."""

    name: str
    level: Level
    command: Callable[[], Sequence[str]]
    preset: str = ""
    lacks: Callable[[], str] = lambda: ""


def checks() -> list[Check]:
    """All of them, in the order in which they run: what fails soonest comes first."""
    python = [sys.executable, "-P", "-m"]
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
        if platform.optional:  # it builds programs alone, and others may not have it
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
    found += [
        Check("python", Level.TEST, lambda: [*python, "pytest", *quick]),
        Check("package", Level.CHECK, lambda: [*python, "pytest", package]),
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
        found.append(Check(name, Level.ALL, command, preset, _lack(gcc)))
    found += _measurements(gcc)
    sanitized = next((each for each in platforms.platforms() if "clang" in each.compiler), None)
    # The schedulers of others give false reports under ThreadSanitizer, none under the other.
    sanitizers = (("asan", Level.CHECK), ("tsan", Level.CHECK), ("asan-all", Level.ALL))
    for name, level in sanitizers:
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


def _measurements(gcc: platforms.Platform | None) -> list[Check]:
    """Programs that measure bars, which take minutes to an hour each."""
    preset = gcc.name if gcc else ""
    found = []
    of_build = ["--build", str(BUILD / preset)]
    for name, script, options in (
        ("harmless", "tests/probe/odd/harmless.py", ["--runs", "10000", "--calls", "1000000"]),
        ("costs", "tests/explain/costs/costs.py", []),
    ):
        line = [sys.executable, str(ROOT / script), *of_build, *options]
        command = partial(lambda given: given, line)
        found.append(Check(f"explain-{name}", Level.ALL, command, preset, _lack(gcc)))
    for name, path in (("wheel", "tests/wheel.py"), ("conan", "tests/tmk/conan/consume.py")):
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
    jobs = str(len(os.sched_getaffinity(0)))
    found = []
    for name, count, lacks in builds:
        line = [sys.executable, str(ROOT / "tests/tmk/random/drive.py"), str(BUILD / name / "bin")]
        line += ["--count", str(count), "--jobs", jobs]
        command = partial(lambda given: given, line)
        found.append(Check(f"random-{name}", Level.ALL, command, preset=name, lacks=lacks))
    return found


def run(check: Check, *, environment: dict[str, str]) -> Count:
    """Run one check; its output goes to stdout as it comes."""
    reason = check.lacks()
    if reason:
        print(f"{check.name}: skipped, {reason}", flush=True)
        return Count(skipped=1)
    if check.preset:
        failure = build.build(check.preset, tests=True, report=lambda _: None)
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


def count(lines: Sequence[str], status: int) -> Count:
    """Tests in the output of pytest or ctest; one for anything else. `status` has the last word:
    a tool that failed without naming a failed test counts as one failure."""
    found = _pytest(lines) or _ctest_count(lines)
    if found is None:
        return Count(passed=1) if status == 0 else Count(failed=1)
    if status != 0 and not found.failed:
        return found + Count(failed=1)
    return found


def environment() -> dict[str, str]:
    """For the tools of a check: those of our own Python environment come first."""
    own = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": f"{own}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "MYPYPATH": str(ROOT / "lab"),
    }


def _ctest(preset: str) -> Callable[[], Sequence[str]]:
    jobs = str(len(os.sched_getaffinity(0)))
    folder = str(BUILD / preset)
    return lambda: ["ctest", "--test-dir", folder, "--output-on-failure", "-j", jobs]


def _lack(platform: platforms.Platform | None, *needs: str) -> Callable[[], str]:
    """Why a platform, GoogleTest or something else that a check needs is not there."""

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
    """Why Spark cannot be asked here."""
    if reason := first():
        return reason
    if shutil.which("java") is None:
        return "java is missing; run: apt-get install openjdk-17-jre-headless"
    return ""


_PYTEST = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected)")


def _pytest(lines: Sequence[str]) -> Count | None:
    """From the last line, such as '3 failed, 10 passed, 1 skipped in 2.31s'."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    if not re.search(r" in [\d.]+s", last):
        return None
    seen = {name.rstrip("s"): int(number) for number, name in _PYTEST.findall(last)}
    return Count(
        seen.get("passed", 0) + seen.get("xpassed", 0) + seen.get("xfailed", 0),
        seen.get("failed", 0) + seen.get("error", 0),
        seen.get("skipped", 0),
    )


def _ctest_count(lines: Sequence[str]) -> Count | None:
    """From '100% tests passed, 0 tests failed out of 42' and the lines of skipped tests."""
    for line in lines:
        match = re.search(r"(\d+) tests failed out of (\d+)", line)
        if match:
            failed, total = int(match[1]), int(match[2])
            skipped = sum("***Skipped" in each or "(Disabled)" in each for each in lines)
            return Count(total - failed - skipped, failed, skipped)
    return None

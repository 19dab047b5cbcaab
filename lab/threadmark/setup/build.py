"""Builds a preset with CMake and ninja. A failed build costs its platform, not the run."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from threadmark.model.errors import LabError
from threadmark.model.places import BUILD, ROOT
from threadmark.setup import lock, packages
from threadmark.setup.platforms import Platform

_STEP = re.compile(r"\[(\d+)/(\d+)\] ")
# CMake gives the place in one line and the reason in the next paragraph.
_ERROR = re.compile(
    r"CMake Error at .*:\n\s*(.+(?:\n.+)*)"
    r"|(.*(?:error:|No space left|Permission denied|Read-only file system).*)"
)

Report = Callable[[str], None]

# Projects that are built like a preset, but are no platform: the applications; the recorder and its
# agent, which need no package.
APPS, PROBE = "apps", "probe"


def build(preset: str, *, tests: bool, report: Report, targets: Sequence[str] = ()) -> str:
    """Configure if needed and build `targets`, by default all; returns the reason of a failure in
    one sentence, or an empty text.

    LabError when nothing at all could be built here: no CMake, full disk, read-only folder.
    """
    with lock.exclusive():
        return _build(preset, tests=tests, report=report, targets=targets)


def _build(preset: str, *, tests: bool, report: Report, targets: Sequence[str]) -> str:
    folder = BUILD / preset
    log = BUILD / f"{preset}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stamp = folder / "configured"
        wanted = _configuration(preset, tests)
        known = stamp.read_text(encoding="ascii").split() if stamp.exists() else []
        with log.open("w", encoding="utf-8") as out:
            if wanted not in known or not (folder / "build.ninja").exists():
                report(f"{preset}: configuring")
                if not _run(_configure(preset, tests), out, report, preset):
                    return _failure(preset, log)
                # A build with tests also serves a request without tests.
                both = {wanted, _configuration(preset, tests=False)}
                stamp.write_text("\n".join(both), encoding="ascii")
            line = [_ninja(), "-C", str(folder), "-k", "0", "-j", _jobs(), *targets]
            if not _run(line, out, report, preset):
                return _failure(preset, log)
            # A run must not measure programs that were removed or renamed.
            _run([_ninja(), "-C", str(folder), "-t", "cleandead"], out, report, preset)
    except OSError as error:
        raise LabError(
            f"{folder} cannot be written ({error.strerror}); give space and write permission."
        ) from error
    return ""


def build_platforms(
    platforms: Sequence[Platform], *, tests: bool, report: Report, targets: Sequence[str] = ()
) -> dict[str, str]:
    """Build `targets` of each platform, by default all; returns the platforms that failed, with the
    reason.

    LabError if all failed.
    """
    failed = {}
    for each in platforms:
        configured = (BUILD / each.name / "build.ninja").exists()
        reason = "" if configured else each.missing()
        reason = reason or build(each.name, tests=tests, report=report, targets=targets)
        if reason:
            failed[each.name] = reason
    if len(failed) == len(platforms):
        raise LabError("Nothing can be built: " + "; ".join(failed.values()))
    return failed


def _configuration(preset: str, tests: bool) -> str:
    """A value that changes when a library came or went, so that CMake looks again."""
    inputs = [preset, tests, packages.present(), (ROOT / "CMakePresets.json").read_text("utf-8")]
    lock = ROOT / ".venv/requirements.lock"
    inputs.append(lock.read_text("utf-8") if lock.exists() else "")
    inputs.append(_has_apps())
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _configure(preset: str, tests: bool) -> list[str]:
    places = [str(ROOT / ".venv"), str(packages.DEPS / "usr")]
    if preset in (APPS, PROBE):
        line = ["cmake", "-S", str(ROOT / preset), "-B", str(BUILD / preset), "-G", "Ninja"]
        line.append("-DCMAKE_BUILD_TYPE=Release")
    else:
        line = ["cmake", "-S", str(ROOT), "--preset", preset]
        # The option is always given, because CMake keeps the last value.
        line.append(f"-DTHREADMARK_APPS={'ON' if _has_apps() else 'OFF'}")
    line.append(f"-DCMAKE_MAKE_PROGRAM={_ninja()}")
    line.append(f"-DCMAKE_PREFIX_PATH={';'.join(places)}")
    return [*line, "-DTHREADMARK_TESTS=ON"] if tests else line


def _has_apps() -> bool:
    """Whether the applications were built: their contention programs come with them."""
    return (BUILD / APPS / "configured").exists()


def _ninja() -> str:
    own = Path(sys.executable).parent / "ninja"
    return str(own) if own.exists() else "ninja"


def _jobs() -> str:
    return str(len(os.sched_getaffinity(0)))


def _run(line: Sequence[str], out: IO[str], report: Report, preset: str) -> bool:
    """Run one tool, its output going to the log and its steps to `report`."""
    try:
        process = subprocess.Popen(
            line,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C.UTF-8", "NINJA_STATUS": "[%f/%t] "},
        )
    except FileNotFoundError as error:
        raise LabError(f"{line[0]} is not installed; run: apt-get install cmake") from error
    try:
        assert process.stdout is not None
        for text in process.stdout:
            out.write(text)
            step = _STEP.match(text)
            if step:
                report(f"{preset}: built {step[1]} of {step[2]}")
        return process.wait() == 0
    finally:
        out.flush()  # because _failure reads the log
        if process.poll() is None:  # interrupted
            process.terminate()  # ninja takes its compilers with it
            process.wait()


def _failure(preset: str, log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    if "No space left on device" in text:
        raise LabError(
            f"The disk is full while {preset} is built; free some space and start again."
        )
    found = _ERROR.search(text)
    first = " ".join((found[1] or found[2]).split()) if found else "it gave no reason"
    return f"the build of {preset} failed: {first[:200].rstrip('.')}; all of it is in {log}"

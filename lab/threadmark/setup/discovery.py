"""Executables: the built ones, their descriptions, and the reasons for absences.

Descriptions are cached beside the executables, so that a later start runs none of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from threadmark.machine.preload import surroundings
from threadmark.model.executable import CONTENTION, Absence, Executable, stamp_of
from threadmark.model.places import BUILD, ROOT

_DESCRIBE_S = 10


def find(platforms: Iterable[str], build: Path = BUILD) -> list[Executable]:
    """All executables of these platforms, by name."""
    return [each for name in platforms for each in _of_platform(name, build / name)]


def sources(root: Path = ROOT) -> dict[str, set[str]]:
    """Program -> the backends that it can be built with, if they are present."""
    bench = root / "bench"
    backends = {each.stem for each in bench.glob("backends/*.hpp")}
    found = {each.stem: backends for each in bench.glob("programs/tasks/*.cpp")}
    return found | {each.stem: {CONTENTION} for each in bench.glob("programs/library/*.cpp")}


def on_request(root: Path = ROOT) -> set[str]:
    """The programs that a run builds and measures only if they are named, because their needs take
    minutes to build. Their first line has a mark."""
    found = root.glob("bench/programs/tasks/*.cpp")
    return {each.stem for each in found if each.read_text("utf-8").startswith("// needs: ")}


def targets(programs: Iterable[str], root: Path = ROOT) -> tuple[str, ...]:
    """The build targets for a run of these programs, if they are more than the usual ones."""
    asked = sorted(on_request(root).intersection(programs))
    return ("all", *asked) if asked else ()


def absences(platform: str, build: Path = BUILD) -> list[Absence]:
    """The backends that the build left out."""
    try:
        listed = json.loads((build / platform / "backends.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [
        Absence(platform, str(each["backend"]), str(each["reason"]))
        for each in listed
        if isinstance(each, dict) and each.get("available") is False
    ]


def _of_platform(platform: str, folder: Path) -> list[Executable]:
    cache_file = folder / "describe-cache.json"
    known = _load_cache(cache_file)
    fresh: dict[str, dict[str, Any]] = {}
    result = []
    for path in sorted((folder / "bin").glob("*.*")):
        program, _, backend = path.name.partition(".")
        if not os.access(path, os.X_OK) or not path.is_file() or not program or not backend:
            continue
        entry = known.get(path.name)
        stamp = stamp_of(path)
        # A fault may come from the environment, such as a library that is present by now.
        if entry is None or entry.get("stamp") != list(stamp) or entry.get("fault"):
            said, fault = _describe(path, program, backend)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            entry = {"stamp": list(stamp), "digest": digest, "is": said, "fault": fault}
        fresh[path.name] = entry
        details = (entry["digest"], stamp, entry["is"], entry["fault"])
        result.append(Executable(path, platform, program, backend, *details))
    if fresh != known:
        _save_cache(cache_file, fresh)
    return result


def _describe(path: Path, program: str, backend: str) -> tuple[dict[str, Any], str]:
    """The description of the executable, or the reason for which it is unusable."""
    from threadmark.setup import description

    try:
        done = subprocess.run(
            [str(path), "--describe"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_DESCRIBE_S,
            env=surroundings(path),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, f"--describe failed: {error}"
    if done.returncode != 0:
        return {}, f"--describe ended with {done.returncode}; build it again"
    return description.read(done.stdout, program, backend)


def _load_cache(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _save_cache(path: Path, entries: dict[str, dict[str, Any]]) -> None:
    # This is only a cache: a read-only build folder just costs the next start some time.
    with contextlib.suppress(OSError):
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(entries), encoding="utf-8")
        partial.replace(path)

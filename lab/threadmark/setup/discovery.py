"""Executables: what was built, what each says of itself, and why something is not there.

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
from threadmark.model.places import BUILD

CONTRACT = 1  # ARCHITECTURE.md, "What an executable says"
_DESCRIBE_S = 10
_TEXTS = (
    "summary", "structure", "granularity", "synchronisation", "origin", "backend_version",
    "operation",
)  # fmt: skip
USES = ("threads", "alone", "whole")


def find(platforms: Iterable[str], build: Path = BUILD) -> list[Executable]:
    """All executables of these platforms, by name."""
    return [each for name in platforms for each in _of_platform(name, build / name)]


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
        # A fault may be one of the environment, such as a library that is found by now.
        if entry is None or entry.get("stamp") != list(stamp) or entry.get("fault"):
            description, fault = _describe(path, program, backend)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            entry = {"stamp": list(stamp), "digest": digest, "is": description, "fault": fault}
        fresh[path.name] = entry
        details = (entry["digest"], stamp, entry["is"], entry["fault"])
        result.append(Executable(path, platform, program, backend, *details))
    if fresh != known:
        _save_cache(cache_file, fresh)
    return result


def _describe(path: Path, program: str, backend: str) -> tuple[dict[str, Any], str]:
    """What the executable says of itself, or why that is of no use."""
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
    try:
        said = json.loads(done.stdout)
        fault = _fault(said, program, backend)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return {}, f"--describe does not print the agreed JSON ({error!r}); build it again"
    return ({}, fault) if fault else (said, "")


def _fault(said: dict[str, Any], program: str, backend: str) -> str:
    """What is wrong with a description; raises for what does not even have the right shape."""
    if said["contract"] != CONTRACT:
        return f"speaks contract {said['contract']}, the lab speaks {CONTRACT}; build it again"
    if (said["program"], said["backend"]) != (program, backend):
        return f"is {said['program']}.{said['backend']} by its own account; build it again"
    if not all(isinstance(said.get(name, ""), str) for name in _TEXTS) or not said["variants"]:
        return "describes itself without variants or with texts that are none; build it again"
    for variant in said["variants"]:
        if not isinstance(variant["name"], str) or not isinstance(variant["parallel"], bool):
            return "has a variant without name or 'parallel'; build it again"
    if (said.get("kind") == "contention") != (backend == CONTENTION):
        return f"is of kind {said.get('kind')!r}, which its name denies; build it again"
    if backend == CONTENTION and (wrong := _no_way(said)):
        return f"{wrong}; build it again"
    for parameter in said.get("parameters", []):
        sizes = [int(parameter["sizes"][size]) for size in ("smoke", "quick", "full")]
        if not all(int(parameter["min"]) <= size <= int(parameter["max"]) for size in sizes):
            return f"has a size outside the range of its parameter {parameter['name']}"
    return ""


def _no_way(said: dict[str, Any]) -> str:
    """What is wrong with the ways of a contention program; empty if nothing is."""
    for way in said["variants"]:
        if not all(isinstance(way[name], str) for name in ("meaning", "use", "lacks")):
            return f"has a way {way['name']!r} with texts that are none"
        if way["use"] not in USES or not isinstance(way["remedy"], bool):
            return f"has a way {way['name']!r} of an unknown use"
    if said["variants"][0]["remedy"]:
        return "has a remedy before its usual way"
    return "" if isinstance(said.get("allocates", False), bool) else "has 'allocates' that is none"


def _load_cache(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _save_cache(path: Path, entries: dict[str, dict[str, Any]]) -> None:
    # Only a cache: a read-only build folder costs the next start some time, no more.
    with contextlib.suppress(OSError):
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(entries), encoding="utf-8")
        partial.replace(path)

#!/usr/bin/env python3
"""Joins the students' files by DuckDB or by Spark, and compares the checksums with those of merge.

Usage: engines.py duckdb|spark [--bin FOLDER] [--students N]

The engine's packages come by pip from its lock file into .deps, once.
The exit status is 1 if a checksum differs, 2 if the program or the engine is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kills
import records

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "apps/students/engines"


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "no file"


def packages(engine: str) -> Path:
    """The folder with the packages of the engine's lock file, installed if they are absent or
    others. Ends the process with status 2 if they cannot be installed."""
    sys.path.insert(0, str(ROOT / "lab"))
    from threadmark.model.errors import LabError
    from threadmark.setup import python_environment

    folder = ROOT / ".deps" / engine
    try:
        python_environment.unpack_lock(SCRIPTS / f"{engine}.lock", folder)
    except LabError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    return folder


def differs(executable: Path, folder: Path, engine: str, points: int) -> bool:
    """Whether the engine's result, or its list, differs from that of merge; prints the
    checksums."""
    merged, joined = folder / "merged", folder / "joined"
    kills.run(
        executable, ["merge", "--in", str(folder), "-o", str(merged), "--points", str(points)]
    )
    script = SCRIPTS / f"{engine}_join.py"
    environment = {**os.environ, "PYTHONPATH": str(packages(engine))}
    command = [sys.executable, script, folder, joined, str(points)]
    start = time.monotonic()
    subprocess.run(command, check=True, env=environment)
    took_s = time.monotonic() - start
    found = False
    for right, path in ((merged, joined), (kills.listed(merged), kills.listed(joined))):
        same = checksum(right) == checksum(path)
        found |= not same
        print(f"{'as merge' if same else 'DIFFERS '}: {path.name} {checksum(path)}")
        right.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    print(f"{engine} took {took_s:.1f} s with {points} points at most", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=("duckdb", "spark"))
    parser.add_argument("--bin", type=Path, default=ROOT / "build/apps/bin")
    parser.add_argument("--students", type=int, default=100_000)
    given = parser.parse_args()
    executable = (given.bin / "tmk-students").resolve()
    if not executable.exists():
        print(f"{executable} is not built; run ./threadmark setup --apps", file=sys.stderr)
        return 2
    packages(given.engine)
    found = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = ["generate", "-s", str(given.students), "-e", "10", "--seed", "7", "--out", name]
        kills.run(executable, words)
        if given.engine != "spark":  # Spark takes long to start
            found |= differs(executable, folder, given.engine, 5)
        for each in records.FILES:  # from here on some students are incomplete
            kills.thin(folder / each, random.Random(each))
        found |= differs(executable, folder, given.engine, 3)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares volume and area of the solids of real files with those of independent readers.

Usage: oracles.py [ezdxf|cq_acis] [--python INTERPRETER] [--bin FOLDER]

pip installs ezdxf from its lock file into .deps, once. cq-acis needs an Open CASCADE of its own,
VTK and more, 1.8 GB in all: name an interpreter that has it. The script lists each body that the
reader does not read, with the reader's reason. The exit status is 1 if a volume or an area differs,
2 if something is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from sat_data import REAL, ROOT

HERE = Path(__file__).parent / "oracles"
MOST = 1e-3  # the largest relative difference


def packages() -> Path:
    """The folder with ezdxf, installed if it is absent or another version. Ends the process with
    status 2 if ezdxf cannot be installed."""
    sys.path.insert(0, str(ROOT / "lab"))
    from threadmark.model.errors import LabError
    from threadmark.setup import python_environment

    folder = ROOT / ".deps/ezdxf"
    try:
        python_environment.unpack_lock(HERE / "ezdxf.lock", folder)
    except LabError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    return folder


def ours(executable: Path, path: Path, out: Path) -> list[dict[str, Any]]:
    line = [executable, "convert", path, out, "--partial", "--bodies"]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    rows = re.findall(
        r"body \d+: volume (\S+) area (\S+) solids (\d+) sheets (\d+) free edges (\d+)$",
        done.stdout,
        re.MULTILINE,
    )
    return [
        {"volume": float(v), "area": float(a), "solid": int(n) > 0 and s == f == "0"}
        for v, a, n, s, f in rows
    ]


def theirs(line: list[str], path: Path, environment: dict[str, str]) -> list[dict[str, Any]] | str:
    """The reader's volume and area of each body, or the reason for which it does not read the
    file."""
    done = subprocess.run(
        [*line, str(path)], check=False, capture_output=True, text=True, env=environment
    )
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["no reason"])[-1]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def scale(path: Path) -> float:
    """The millimetres in a unit of the file."""
    match = re.match(rb"\s*[^\n]*\n[^\n]*\n\s*(\S+)", path.read_bytes())
    value = float(match[1]) if match else 1.0
    return value if value > 0 else 1.0


def differences(unit: float, mine: dict[str, Any], other: dict[str, Any]) -> list[str]:
    found = []
    for what, power in (("volume", 3), ("area", 2)):
        value = other[what] * unit**power
        if not abs(mine[what] - value) <= MOST * abs(value):
            found.append(f"{what} is {mine[what]:.9g} and not {value:.9g}")
    return found


def compare(mine: dict[str, Any], other: dict[str, Any], unit: float) -> tuple[str, str]:
    """The outcome of the comparison, and its reason or its differences."""
    if "why" in other:
        return "not read", other["why"]
    wrong = differences(unit, mine, other)
    return ("different", ", ".join(wrong)) if wrong else ("equal", "")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("reader", nargs="?", default="ezdxf", choices=("ezdxf", "cq_acis"))
    parser.add_argument("--python", type=Path)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/apps/bin")
    given = parser.parse_args()
    executable = given.bin / "tmk-sat"
    if not executable.exists():
        print(f"{executable} is not built; run ./threadmark setup --apps", file=sys.stderr)
        return 2
    if not REAL:
        print("There are no real files.")
        return 0
    environment = dict(os.environ)
    if given.python is None:
        if given.reader != "ezdxf":
            print("--python must name an interpreter that has cq-acis", file=sys.stderr)
            return 2
        environment["PYTHONPATH"] = str(packages())
    line = [str(given.python or sys.executable), str(HERE / f"read_{given.reader}.py")]
    counts: Counter[str] = Counter()
    said: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for path in REAL:
            bodies = ours(executable, path, Path(scratch) / "real.brep")
            others = theirs(line, path, environment)
            if isinstance(others, str) or len(others) != len(bodies):
                why = others if isinstance(others, str) else f"it has {len(others)} bodies"
                others = [{"why": why}] * len(bodies)
            unit = scale(path) if given.reader == "ezdxf" else 1.0  # cq-acis gives millimetres
            for mine, other in zip(bodies, others, strict=True):
                if mine["solid"]:
                    how, what = compare(mine, other, unit)
                    counts[how] += 1
                    said[f"{how}: {path.name}: {what}"] += how != "equal"
    for sentence, times in sorted(said.items()):
        if times:
            print(f"{times:4} {sentence}")
    print(
        f"{given.reader}: of {counts.total()} closed solids {counts['equal']} have its volume and "
        f"area within {MOST:g}, {counts['different']} have others, {counts['not read']} it does "
        "not read"
    )
    return 1 if counts["different"] or not counts["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())

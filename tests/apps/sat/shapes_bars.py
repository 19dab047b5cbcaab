#!/usr/bin/env python3
"""Measures the bars of tmk-sat convert: faces of real files, generated solids, and two threads.

Usage: shapes_bars.py [--bin FOLDER] [--folder DIR] [--runs N]

The exit status is 1 if a bar is not reached. Without real files the script skips their bars.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sat_data import REAL, ROOT

from bars import ended

Bars = dict[str, bool]


@dataclass(frozen=True)
class Counts:
    """The counts that convert prints for a file."""

    faces: int
    made: int
    valid: int
    free_edges: int
    text: str


def convert(executable: Path, path: Path, out: Path, *options: str) -> Counts:
    line = [executable, "convert", path, out, "--partial", *options]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    counts = re.search(r"^faces +(\d+), made (\d+), valid (\d+)$", done.stdout, re.MULTILINE)
    free = re.search(r"^free edges +(\d+) ", done.stdout, re.MULTILINE)
    if counts is None or free is None:
        raise SystemExit(f"{path}: {done.stderr or done.stdout}")
    faces, made, valid = map(int, counts.groups())
    return Counts(faces, made, valid, int(free[1]), done.stdout)


def real_files(executable: Path, folder: Path) -> Bars:
    """Convert every real file; prints the counts of each, and each face that is lost with the
    reason."""
    if not REAL:
        print("There are no real files.")
        return {}
    total = [0, 0, 0, 0]
    print(f"{'':66}{'faces':>7}{'made':>7}{'valid':>7}{'free':>7}")
    for path in REAL:
        counts = convert(executable, path, folder / "real.brep")
        numbers = [counts.faces, counts.made, counts.valid, counts.free_edges]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        print(f"{path.name[:65]:66}" + "".join(f"{each:7}" for each in numbers))
        for sentence in re.findall(r"^  (line .*)$", counts.text, re.MULTILINE):
            print(f"    {sentence}")
    print(f"{'all':66}" + "".join(f"{each:7}" for each in total))
    share = total[2] / total[0]
    return {
        f"{share:.2%} of the faces of real files are valid, at least 98 %": share >= 0.98,
        f"{total[3]} edges of solids are free, none": total[3] == 0,
    }


def generated_solids(executable: Path, folder: Path) -> Bars:
    """Compare volume and area with the formulas of the generator."""
    path = folder / "solids.sat"
    line = [executable, "generate", "-o", path, "--entities", "20000", "--measures"]
    done = subprocess.run([*line, "--seed", "3"], check=True, capture_output=True, text=True)
    exact = {
        int(number): (float(volume), None if area == "unknown" else float(area))
        for number, volume, area in re.findall(r"body (\d+): volume (\S+) area (\S+)", done.stdout)
    }
    counts = convert(executable, path, folder / "solids.brep", "--bodies")
    worst = 0.0
    rows = re.findall(r"body (\d+): volume (\S+) area (\S+) solids 1 ", counts.text)
    for number, volume, area in rows:
        exact_volume, exact_area = exact[int(number)]
        worst = max(worst, abs(float(volume) / exact_volume - 1))
        if exact_area is not None:
            worst = max(worst, abs(float(area) / exact_area - 1))
    return {
        f"{counts.valid} of {counts.faces} generated faces are valid": counts.valid == counts.faces,
        f"{len(rows)} of {len(exact)} generated solids are solids": len(rows) == len(exact),
        f"volume and area are within {worst:.1e}, at most 1e-6": worst <= 1e-6,
    }


def two_threads(executable: Path, folder: Path, runs: int) -> Bars:
    """Time the steps of the shapes with one thread and with two, in turns."""
    path = folder / "many.sat"
    line = [executable, "generate", "-o", path, "--entities", "40000", "--seed", "4"]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    times: dict[int, list[float]] = {1: [], 2: []}
    steps: dict[int, str] = {}
    for _ in range(runs):
        for threads, measured in times.items():
            options = ("--threads", str(threads), "--times")
            counts = convert(executable, path, folder / "many.brep", *options)
            found = re.search(r"^shapes +([\d.]+) ms: (.*)$", counts.text, re.MULTILINE)
            assert found
            measured.append(float(found[1]))
            steps[threads] = found[2]
    for threads, all_times in times.items():
        median = statistics.median(all_times)
        print(f"{threads} threads: median {median:.1f} ms; the last run: {steps[threads]}")
    ratios = [one / two for one, two in zip(times[1], times[2], strict=True)]
    speed_up = statistics.median(ratios)
    return {
        f"two threads are {speed_up:.2f} x faster on {counts.faces} faces, at least 1.7": speed_up
        >= 1.7
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=ROOT / "build/apps/bin")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    executable = given.bin / "tmk-sat"
    if not executable.exists():
        print(f"{executable} is not built; run ./threadmark setup --apps", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        reached = real_files(executable, folder)
        reached |= generated_solids(executable, folder)
        reached |= two_threads(executable, folder, given.runs)
    return ended(reached)


if __name__ == "__main__":
    sys.exit(main())

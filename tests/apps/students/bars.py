#!/usr/bin/env python3
"""Measures the bars of tmk-students generate and merge, interleaved, each run into a new folder.

Usage: bars.py [--bin FOLDER] [--folder DIR] [--runs N] [--block N]

The exit status is 1 if a bar is not reached.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parents[3]
WAYS: Mapping[str, tuple[str, ...]] = {
    "limit, 1 thread": ("limit", "--threads", "1"),
    "limit, 2 threads": ("limit", "--threads", "2"),
    "fast, 1 thread": ("generate", "--threads", "1"),
    "fast, 2 threads": ("generate", "--threads", "2"),
} | {each: ("generate", "--writer", each) for each in records.WRITERS if each != "fast"}


def took_ms(executable: Path, words: tuple[str, ...]) -> float:
    """The time that one process prints."""
    done = subprocess.run([executable, *words], check=True, stdout=subprocess.PIPE, text=True)
    found = re.search(r"took ([\d.]+) ms", done.stdout)
    assert found
    return float(found[1])


def time_ms(executable: Path, words: tuple[str, ...], folder: Path) -> float:
    """The time that a run into a new folder prints."""
    out = Path(tempfile.mkdtemp(dir=folder))
    try:
        return took_ms(executable, (*words, "--seed", "7", "--out", str(out)))
    finally:
        shutil.rmtree(out)


def memory_mib(given: argparse.Namespace, students: int) -> float:
    """The most memory that `fast` holds at one time with two threads."""
    out = Path(tempfile.mkdtemp(dir=given.folder))
    line = [given.bin / "tmk-students", "generate", "-v", "-s", str(students), "-e", "10"]
    line += ["-b", str(given.block), "--threads", "2", "--out", out]
    try:
        done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True)
    finally:
        shutil.rmtree(out)
    found = re.search(r"memory: ([\d.]+) MiB", done.stdout)
    assert found
    return float(found[1])


def medians(
    given: argparse.Namespace, students: int, ways: list[str], runs: int
) -> dict[str, float]:
    """The median time of each way in ms; prints them with the extremes."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    plan = ("-s", str(students), "-e", "10", "-b", str(given.block))
    executable = given.bin / "tmk-students"
    for _ in range(runs):
        for way in ways:
            times[way].append(time_ms(executable, (*WAYS[way], *plan), given.folder))
    print(f"\n{students} students, 10 exercises, blocks of {given.block}, median of {runs} runs")
    for way, all_ms in times.items():
        low, high = min(all_ms), max(all_ms)
        print(f"{way:18}{statistics.median(all_ms):10.2f} ms  ({low:.2f} to {high:.2f})")
    return {way: statistics.median(all_ms) for way, all_ms in times.items()}


def pipeline_ms(given: argparse.Namespace) -> float:
    """The median time that four nodes take to join the files of 50,000 students."""
    executable = given.bin / "tmk-students"
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        words = ("generate", "-s", "50000", "-e", "10", "--seed", "7", "--out", name)
        subprocess.run([executable, *words], check=True, stdout=subprocess.DEVNULL)
        joined = ("pipeline", "--in", name, "-o", f"{name}/result")
        times = [took_ms(executable, joined) for _ in range(max(5, given.runs // 2))]
    median = statistics.median(times)
    print(f"\npipeline of 50,000 students{median:10.2f} ms  ({min(times):.2f} to {max(times):.2f})")
    return median


def merge_rates(given: argparse.Namespace, students: int, runs: int) -> dict[int, float]:
    """Median students per second and core, by the number of threads; prints them with the
    extremes."""
    executable = given.bin / "tmk-students"
    times: dict[int, list[float]] = {1: [], 2: []}
    source = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        plan = ("-s", str(students), "-e", "10", "-b", str(given.block))
        subprocess.run(
            [executable, "generate", *plan, "--seed", "7", "--out", source],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(runs):
            for threads, all_ms in times.items():
                words = ("merge", "--in", str(source), "--threads", str(threads), "-o")
                all_ms.append(took_ms(executable, (*words, str(source / f"{len(all_ms)}.txt"))))
                (source / f"{len(all_ms) - 1}.txt").unlink()
    finally:
        shutil.rmtree(source)
    print(f"\nmerge, {students} students, 10 exercises, median of {runs} runs")
    rates = {}
    for threads, all_ms in times.items():
        middle = statistics.median(all_ms)
        rates[threads] = students / middle * 1000 / threads
        print(
            f"{threads} thread{'s' if threads > 1 else ' '}{middle:19.2f} ms"
            f"  ({min(all_ms):.2f} to {max(all_ms):.2f}), {rates[threads]:.0f} students/s and core"
        )
    return rates


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=ROOT / "build/apps/bin")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--block", type=int, default=500, help="students in a block")
    given = parser.parse_args()
    if not (given.bin / "tmk-students").exists():
        print(
            f"{given.bin}/tmk-students is not built; run ./threadmark setup --apps", file=sys.stderr
        )
        return 2
    small = medians(given, 50_000, list(WAYS), given.runs)
    scaled = [way for way in WAYS if way.startswith(("limit", "fast"))]
    large = medians(given, 5_000_000, scaled, max(5, given.runs // 2))
    pipeline = pipeline_ms(given)
    rates = [merge_rates(given, each, max(5, given.runs // 2)) for each in (1_000_000, 5_000_000)]
    slowest = min(each[1] for each in rates)
    fast, published = small["fast, 1 thread"], small["as_published"]
    speed_up = large["fast, 1 thread"] / large["fast, 2 threads"]
    of_limit = large["fast, 2 threads"] / large["limit, 2 threads"]
    few, many = (memory_mib(given, students) for students in (500_000, 5_000_000))
    most = few + 4 * 4_500_000 / 2**20
    bars = {
        f"fast takes {fast / small['limit, 1 thread']:.1f} x the limit, at most 5": (
            fast <= 5 * small["limit, 1 thread"]
        ),
        f"fast is {published / fast:.0f} x faster than as_published, at least 30": (
            published >= 30 * fast
        ),
        f"two threads are {speed_up:.2f} x faster than one, at least 1.6, or take"
        f" {of_limit:.1f} x the limit of two threads, at most 3": speed_up >= 1.6 or of_limit <= 3,
        f"the pipeline takes {pipeline:.0f} ms, at most 1000": pipeline <= 1000,
        f"as_published takes {published / small['sequential']:.1f} x sequential, at least 1": (
            published >= small["sequential"]
        ),
        f"merge joins {slowest / 1e6:.1f} million students a second on one core, at least 2": (
            slowest >= 2e6
        ),
        f"fast with two threads has {few:.1f} MiB for 500,000 students and {many:.1f} for"
        f" 5,000,000, at most {most:.1f}: 4 bytes for each more": many <= most,
    }
    print()
    for sentence, reached in bars.items():
        print(f"{'reached' if reached else 'MISSED '}: {sentence}")
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

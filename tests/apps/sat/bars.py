#!/usr/bin/env python3
"""Measures the bars of tmk-sat map on a generated file of 14 to 15 MB, interleaved.

Usage: bars.py [--bin FOLDER ...] [--folder DIR] [--runs N] [--big N]

Mapping makes linked objects from bytes in memory and the table of records, which framing makes. The
first build is held to the bars. Of other builds, such as one with another standard library, the
script prints the times. --big also measures a file of 1.5 GB, N times. The exit status is 1 if a
bar is not reached.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ENTITIES = 110_000
COPIES = 100  # copies of the bodies of that file in the file of 1.5 GB
SAME_RATE = 0.9  # the least share of the small file's rate: runs differ by the rest
FORMS = ("from_chars", "tmk_text", "spanstream", "streams_reused", "streams", "streams_imbue")
STEPS = ("framing", "pass 1", "pass 2", "mapping", "verifying")


@dataclass(frozen=True)
class Way:
    form: str
    threads: int
    counted: bool = False

    def __str__(self) -> str:
        words = f"{self.form}, {self.threads} thread{'s' if self.threads > 1 else ''}"
        return words + (", counted" if self.counted else "")


@dataclass
class Times:
    """Milliseconds of each step in each run, and the most memory as a multiple of the file."""

    steps: dict[str, list[float]]
    memory: list[float]

    def median(self, step: str) -> float:
        return statistics.median(self.steps[step])

    def speed_up(self, other: Times) -> float:
        """The speed-up of the mapping of `other` over this one, from pairs of runs made side by
        side."""
        both = zip(self.steps["mapping"], other.steps["mapping"], strict=True)
        return statistics.median(first / second for first, second in both)


def measure(executable: Path, path: Path, way: Way, times: Times) -> bool:
    """Make one run of one way; returns False if the build does not have the form."""
    line = [executable, "map", path, "--form", way.form, "--threads", str(way.threads)]
    line += ["--counted"] if way.counted else []
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    if done.returncode == 2:
        return False
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    for step in STEPS:
        found = re.search(rf"^{step} +([\d.]+) ms", done.stdout, re.MULTILINE)
        assert found
        times.steps[step].append(float(found[1]))
    found = re.search(r"([\d.]+) times the file", done.stdout)
    assert found
    times.memory.append(float(found[1]))
    return True


def all_ways() -> list[Way]:
    ways = [Way(form, threads) for form in FORMS for threads in (1, 2)]
    return ways + [Way("from_chars", threads, counted=True) for threads in (1, 2)]


def table(executable: Path, path: Path, runs: int, ways: Sequence[Way]) -> dict[Way, Times]:
    """Run all ways in turns; prints the medians, and the speed-up of two threads."""
    times = {way: Times({step: [] for step in STEPS}, []) for way in ways}
    for _ in range(runs):
        for way in list(times):
            if not measure(executable, path, way, times[way]):
                del times[way]
    size = path.stat().st_size
    print(f"{executable}: {size} bytes, median of {runs} runs, ms")
    print(" " * 30 + "".join(f"{step:>11}" for step in STEPS))
    for way, all_times in times.items():
        medians = "".join(f"{all_times.median(step):11.2f}" for step in STEPS)
        rate = size / all_times.median("mapping") / 1000
        one = times[Way(way.form, 1, way.counted)]
        beside = f"  x{one.speed_up(all_times):.2f}" if way.threads > 1 else ""
        print(f"{way!s:30}{medians}  {rate:7.1f} MB/s{beside}")
    return times


def bars(times: dict[Way, Times], size: int) -> dict[str, bool]:
    one, two = times[Way("from_chars", 1)], times[Way("from_chars", 2)]
    rate = size / one.median("mapping") / 1000
    speed_up = one.speed_up(two)
    text = times[Way("tmk_text", 1)].median("mapping") / one.median("mapping")
    memory = max(*one.memory, *two.memory)
    return {
        f"the file has {size / 1e6:.1f} MB, 14 to 15": 14e6 <= size <= 15e6,
        f"from_chars maps {rate:.0f} MB/s with one thread, at least 300": rate >= 300,
        f"two threads are {speed_up:.2f} x faster, at least 1.6": speed_up >= 1.6,
        f"memory is {memory:.2f} x the file, at most 4": memory <= 4,
        f"tmk_text takes {text:.2f} x from_chars, at most 1.3": text <= 1.3,
    }


def big_bars(executable: Path, small: Path, runs: int) -> dict[str, bool]:
    """The bars of the file of 1.5 GB, measured beside the small file in the same minutes."""
    big = small.with_name("big.sat")
    line = [executable, "replicate", small, str(COPIES), "-o", big]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    ways = [Way("from_chars", threads) for threads in (1, 2)]
    before = table(executable, small, 3 * runs, ways)
    times = table(executable, big, runs, ways)
    one, two = (times[way] for way in ways)
    size, speed_up = big.stat().st_size, one.speed_up(two)
    memory = max(*one.memory, *two.memory)
    shares = {
        step: size / small.stat().st_size * before[ways[0]].median(step) / one.median(step)
        for step in ("framing", "mapping")
    }
    return {
        f"the big file has {size / 1e9:.2f} GB, 1.4 to 1.6": 1.4e9 <= size <= 1.6e9,
        f"two threads are {speed_up:.2f} x faster on it, at least 1.8": speed_up >= 1.8,
        f"memory is {memory:.2f} x the file, at most 4": memory <= 4,
    } | {
        f"{step} has {share:.2f} of the rate of the small file, at least {SAME_RATE}": share
        >= SAME_RATE
        for step, share in shares.items()
    }


def ended(reached: dict[str, bool]) -> int:
    """Prints whether each bar is reached; returns the exit status."""
    print()
    for sentence, holds in reached.items():
        print(f"{'reached' if holds else 'MISSED '}: {sentence}")
    return 0 if all(reached.values()) else 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, action="append")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--big", type=int, default=0, metavar="N")
    given = parser.parse_args()
    executable, *others = [each / "tmk-sat" for each in given.bin or [ROOT / "build/apps/bin"]]
    if not executable.exists():
        print(f"{executable} is not built; run ./threadmark setup --apps", file=sys.stderr)
        return 2
    reached: dict[str, bool] = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "bars.sat"
        line = [executable, "generate", "-o", path, "--entities", str(ENTITIES)]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        if given.runs:
            times = table(executable, path, given.runs, all_ways())
            reached |= bars(times, path.stat().st_size)
            for other in filter(Path.exists, others):
                table(other, path, given.runs, all_ways())
        if given.big:
            reached |= big_bars(executable, path, given.big)
    return ended(reached)


if __name__ == "__main__":
    sys.exit(main())

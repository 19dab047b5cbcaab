#!/usr/bin/env python3
"""Measures the bars of tmk-sat map on a generated file of 14 to 15 MB, interleaved.

Usage: bars.py [--bin FOLDER] [--folder DIR] [--runs N]

Mapping is from bytes in memory and the table of records, which framing makes, to linked objects.
The exit status is 1 if a bar is not reached.
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

ROOT = Path(__file__).resolve().parents[3]
ENTITIES = 110_000
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


def measure(executable: Path, path: Path, way: Way, times: Times) -> bool:
    """One run of one way; False if the build does not have the form."""
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


def table(executable: Path, path: Path, runs: int) -> dict[Way, Times]:
    """All ways in turns; prints the medians."""
    ways = [Way(form, threads) for form in FORMS for threads in (1, 2)]
    ways += [Way("from_chars", threads, counted=True) for threads in (1, 2)]
    times = {way: Times({step: [] for step in STEPS}, []) for way in ways}
    for _ in range(runs):
        for way in list(times):
            if not measure(executable, path, way, times[way]):
                del times[way]
    size = path.stat().st_size
    print(f"{size} bytes, median of {runs} runs, ms\n{'':30}" + "".join(f"{s:>11}" for s in STEPS))
    for way, all_times in times.items():
        medians = "".join(f"{all_times.median(step):11.2f}" for step in STEPS)
        rate = size / all_times.median("mapping") / 1000
        print(f"{way!s:30}{medians}  {rate:7.1f} MB/s")
    return times


def bars(times: dict[Way, Times], size: int) -> dict[str, bool]:
    one, two = times[Way("from_chars", 1)], times[Way("from_chars", 2)]
    rate = size / one.median("mapping") / 1000
    # Runs side by side saw the same moment of the machine.
    both = zip(one.steps["mapping"], two.steps["mapping"], strict=True)
    speed_up = statistics.median(first / second for first, second in both)
    text = times[Way("tmk_text", 1)].median("mapping") / one.median("mapping")
    memory = max(*one.memory, *two.memory)
    return {
        f"the file has {size / 1e6:.1f} MB, 14 to 15": 14e6 <= size <= 15e6,
        f"from_chars maps {rate:.0f} MB/s with one thread, at least 300": rate >= 300,
        f"two threads are {speed_up:.2f} x faster, at least 1.6": speed_up >= 1.6,
        f"memory is {memory:.2f} x the file, at most 4": memory <= 4,
        f"tmk_text takes {text:.2f} x from_chars, at most 1.3": text <= 1.3,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=ROOT / "build/apps/bin")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--runs", type=int, default=11)
    given = parser.parse_args()
    executable = given.bin / "tmk-sat"
    if not executable.exists():
        print(f"{executable} is not built; run ./threadmark setup --apps", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "bars.sat"
        line = [executable, "generate", "-o", path, "--entities", str(ENTITIES)]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        times = table(executable, path, given.runs)
        reached = bars(times, path.stat().st_size)
    print()
    for sentence, holds in reached.items():
        print(f"{'reached' if holds else 'MISSED '}: {sentence}")
    return 0 if all(reached.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

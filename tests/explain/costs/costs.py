#!/usr/bin/env python3
"""Measures the cost of recording for a program, as a table, against the bars that explain must
keep.

A program runs alone, recorded, and under gprofng if that is installed, in turns. A figure is the
median of the ratios of the turns with its 95 % interval. Nothing else should run meanwhile. The
exit status is 1 if a bar is missed.
Usage: tests/explain/costs/costs.py [--pairs N] [--seconds S] [--size S] [--build FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "lab"))

from threadmark.judge.estimates import Interval, paired_ratio  # noqa: E402

WAITS = ("mutex", "mutex50", "mutex500", "condition", "semaphore", "futex")
MEGABYTE = 1e6
MOST_MEGABYTES = 20.0  # of a record, per minute
MOST_ANALYSIS_S = 10.0  # for the record of a minute


@dataclass(frozen=True)
class Subject:
    """One thing that the program does `times` times on each of its threads."""

    kind: str
    threads: int
    times: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.threads} thread{'s' if self.threads > 1 else ''}"


@dataclass(frozen=True)
class Sample:
    """The numbers that one process printed. `waits` counts the times that a thread gave up its
    processor."""

    ns: float
    operations: float
    waits: int

    @property
    def waits_per_second(self) -> float:
        return self.waits / (self.ns / 1e9)


@dataclass(frozen=True)
class Row:
    """One line of the table. A row without a limit only informs. `other` is gprofng's figure."""

    name: str
    figure: Interval
    unit: str
    limit: float | None = None
    other: Interval | None = None
    note: str = ""

    @property
    def held(self) -> bool:
        return self.limit is None or self.figure.estimate <= self.limit


class Bench:
    """The ways to run the program."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.subject = build / "explain/costs/subject"
        self.recorder = build / "probe/threadmark-record"
        self.record = folder / "record"
        self.experiment = folder / "of.er"
        self.gprofng = shutil.which("gprofng")

    @property
    def ways(self) -> list[str]:
        return ["alone", "recorded", *(["gprofng"] if self.gprofng else [])]

    def sample(self, subject: Subject, way: str = "alone", most_s: float = 0) -> Sample:
        """Run one process. The script fails if the process or a tool fails. `most_s`: seconds of
        the record, or 0."""
        line = [str(self.subject), subject.kind, str(subject.threads), str(subject.times)]
        if way == "recorded":
            part = ["--duration", f"{most_s:g}"] if most_s else []
            line = [str(self.recorder), "--follow", *part, "-o", str(self.record), "--", *line]
        if way == "gprofng":
            shutil.rmtree(self.experiment, ignore_errors=True)
            collect = [str(self.gprofng), "collect", "app", "-s", "on", "-o", str(self.experiment)]
            line = [*collect, *line]
        done = subprocess.run(line, check=False, capture_output=True, text=True)
        said = [each for each in done.stdout.splitlines() if each.startswith("{")]
        if done.returncode != 0 or not said:
            raise SystemExit(f"costs: {way}, {subject.name}: {done.stderr.strip() or 'no figures'}")
        found = json.loads(said[-1])
        return Sample(found["ns"], found["operations"], found["switches"])

    def sized(self, kind: str, threads: int, seconds: float) -> Subject:
        """The subject that takes about so long alone. The threads of a short run hardly meet, so a
        run of a second gives the size of a long run."""
        times = 50
        while True:
            subject = Subject(kind, threads, times)
            taken_s = self.sample(subject).ns / 1e9
            if (taken_s > seconds / 60 and taken_s > 0.05) or taken_s > seconds / 2:
                return Subject(kind, threads, max(1, int(times * seconds / taken_s)))
            times *= 4


def turns(
    bench: Bench, subjects: Sequence[Subject], pairs: int
) -> dict[tuple[Subject, str], list[float]]:
    """The times of each subject in each way, in turns. The first way changes from turn to turn."""
    found: dict[tuple[Subject, str], list[float]] = {}
    for turn in range(pairs):
        for subject in subjects:
            ways = bench.ways
            for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                found.setdefault((subject, way), []).append(bench.sample(subject, way).ns)
    return found


def highest_rate(
    bench: Bench, seconds: float, said: Callable[[str], None]
) -> tuple[Subject, float]:
    """The subject that waits most often, among those whose threads wait for each other."""
    best: tuple[float, Subject] | None = None
    for kind in WAITS:
        for threads in sorted({2, len(os.sched_getaffinity(0)), 8}):
            subject = bench.sized(kind, threads + threads % 2, seconds)
            rate = bench.sample(subject).waits_per_second
            said(f"{subject.name}: {rate:,.0f} waits a second")
            if best is None or rate > best[0]:
                best = (rate, subject)
    assert best is not None
    return best[1], best[0]


def ratios(bench: Bench, pairs: int, seconds: float, said: Callable[[str], None]) -> list[Row]:
    """The rows about time."""
    processors = max(2, len(os.sched_getaffinity(0)))
    one, all_of = (bench.sized("compute", threads, seconds) for threads in (1, processors))
    lock, threads = bench.sized("lock", 1, seconds), bench.sized("threads", 1, seconds)
    busiest, rate = highest_rate(bench, seconds, said)
    waits = [busiest] + [
        bench.sized(k, 2, seconds) for k in WAITS if (k, 2) != (busiest.kind, busiest.threads)
    ]
    times = turns(bench, [one, all_of, lock, threads, *waits], pairs)
    # The threads of this subject wake each other in several ways, each at its own rate. Few turns
    # meet few ways.
    for key, more in turns(bench, [busiest], 2 * pairs).items():
        times[key] += more

    def row(name: str, subject: Subject, limit: float | None, note: str = "") -> Row:
        alone = times[subject, "alone"]
        other = times.get((subject, "gprofng"))
        return Row(
            name,
            paired_ratio(times[subject, "recorded"], alone),
            "x",
            limit,
            paired_ratio(other, alone) if other else None,
            note,
        )

    def lost(way: str) -> Interval:
        """The ratio of time on all processors to time on one, relative to the program alone."""
        scaled = {
            each: [a / b for a, b in zip(times[all_of, each], times[one, each], strict=True)]
            for each in (way, "alone")
        }
        return paired_ratio(scaled[way], scaled["alone"])

    rows = [
        row(one.name, one, 1.03),
        row(all_of.name, all_of, 1.03),
        Row(
            f"scaling lost, {processors} threads over 1",
            lost("recorded"),
            "x",
            1.03,
            lost("gprofng") if "gprofng" in bench.ways else None,
        ),
        row("lock and unlock, nobody waits", lock, 1.3),
        row("start and end of a thread", threads, 1.2),
        row("most waits", busiest, 1.1, f"{busiest.name}: {rate:,.0f} waits a second alone"),
    ]
    return rows + [row(f"waits: {each.name}", each, None) for each in waits[1:]]


def sizes(bench: Bench, busiest: str, seconds: float) -> list[Row]:
    """The rows about a record of two threads: its size, and the time of its analysis."""
    rows = []
    for kind in dict.fromkeys(("compute", busiest, "mutex")):
        subject = bench.sized(kind, 2, seconds)
        # The recorded program takes longer than its size says. The record ends at the given length.
        minutes = min(bench.sample(subject, "recorded", seconds).ns / 1e9, seconds) / 60
        megabytes = bench.record.stat().st_size / MEGABYTE / minutes
        line = [str(ROOT / "threadmark"), "explain", "--json", "--store"]
        line += [str(bench.record.with_name("runs.db")), str(bench.record)]
        began = time.monotonic()
        done = subprocess.run(line, check=False, capture_output=True, text=True)
        taken_s = time.monotonic() - began
        if done.returncode != 0:
            raise SystemExit(f"costs: the analysis of {subject.name}: {done.stderr.strip()}")
        note = f"a record of {60 * minutes:.0f} s"
        name = f"{subject.name}: record"
        rows.append(
            Row(f"{name}, MB a minute", _exactly(megabytes), "", MOST_MEGABYTES, None, note)
        )
        rows.append(
            Row(f"{name}, s to analyse", _exactly(taken_s), "", MOST_ANALYSIS_S, None, note)
        )
    return rows


def _exactly(value: float) -> Interval:
    return Interval(value, value, value)


def table(rows: Sequence[Row]) -> str:
    """The rows for people."""
    width = max(len(row.name) for row in rows)
    lines = [f"{'':{width}}  {'recorded':>8}  {'95 % interval':<15}  {'bar':<7}  {'':<6}  gprofng"]
    for row in rows:
        within = f"{row.figure.low:.3f} .. {_high(row.figure)}" if row.unit else ""
        bar = "" if row.limit is None else f"<= {row.limit:g}"
        verdict = "" if row.limit is None else "held" if row.held else "MISSED"
        other = "" if row.other is None else f"{row.other.estimate:.3f}"
        line = (
            f"{row.name:{width}}  {row.figure.estimate:8.3f}  {within:<15}  {bar:<7}  {verdict:<6}"
        )
        lines.append(f"{line}  {other:<8} {row.note}".rstrip())
    return "\n".join(lines)


def _high(of: Interval) -> str:
    return f"{of.high:.3f}" if math.isfinite(of.high) else "?"


def as_json(rows: Sequence[Row], pairs: int) -> str:
    """The rows for programs; null for unknown figures."""
    listed = []
    for row in rows:
        high = row.figure.high if math.isfinite(row.figure.high) else None
        figures = {"figure": row.figure.estimate, "low": row.figure.low, "high": high}
        other = row.other.estimate if row.other else None
        judged = {"limit": row.limit, "held": row.held, "gprofng": other}
        listed.append({"what": row.name, "unit": row.unit, **figures, **judged, "note": row.note})
    document = {"schema": "threadmark.explain-costs", "version": 1, "pairs": pairs}
    return json.dumps({**document, "rows": listed}, indent=1)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=9, help="turns, 5 or more; else 9")
    parser.add_argument("--seconds", type=float, default=0.7, help="of one process")
    parser.add_argument("--size", type=float, default=60.0, help="seconds of records; 0: none")
    parser.add_argument("--build", type=Path, help="a folder build/PLATFORM; else the newest")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    options = parser.parse_args(arguments)
    built = sorted(
        (ROOT / "build").glob("*/explain/costs/subject"), key=lambda p: p.stat().st_mtime
    )
    build = options.build or (built[-1].parents[2] if built else None)
    if build is None or not (build / "explain/costs/subject").exists():
        print("costs: the program is not built; run: ./threadmark test", file=sys.stderr)
        return 2

    def said(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(build.resolve(), Path(folder))
        if not bench.gprofng:
            said("gprofng is not installed, so nothing stands beside the figures")
        rows = ratios(bench, options.pairs, options.seconds, said)
        if options.size > 0:
            busiest = next(row.note.partition(",")[0] for row in rows if row.name == "most waits")
            rows += sizes(bench, busiest, options.size)
    print(as_json(rows, options.pairs) if options.json else table(rows))
    return 0 if all(row.held for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares the bounds of explain with the gains of programs when their cause is removed.

The programs are the planted ones that the tests' build also built without the cause. Explain
compares one thread with two; with --one-run it explains one run with two threads. Both variants
run on 2 threads in turns, and the gain is the ratio of their medians. A bound belongs to the first
cause. So the script lists a program whose first cause is wrong but does not judge it: bars.py
counts it. Both variants run on one thread too. A gain on one thread is work that went away with the
cause. If the cause is that threads wait for each other, the script lists such a program but does
not judge it. The exit status is 1 if a bar is missed. After Control-C the script prints the results
so far.
Usage: tests/explain/bounds.py [--only PATTERN] [--build FOLDER] [--explain COMMAND] [--json]
                               [--one-run]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from expectation import Judgement

import bars
from bars import Bar, Subject

THREADS = "2"
FACTOR = 1.5  # between a bound and the gain, if the bound is of use
ALONE = 1.25  # gain on one thread; a larger gain is work that is no part of threads' waits
# Causes that are work of their own, which goes away on one thread too.
COSTS_ALONE = ("io", "kernel_memory", "thread_creation", "task_overhead", "sleep")
FEW = 3  # pairs of runs on one thread
Pair = tuple[float, float]  # seconds with the cause and without it


class RunError(Exception):
    """A timed program did not end with success."""


@dataclass(frozen=True)
class Gain:
    """The speed-up of a program without its cause. `noise` is two standard errors. `alone`: the
    speed-up on one thread."""

    times: float
    noise: float
    problem: str = ""
    alone: float = 1.0


@dataclass(frozen=True)
class Row:
    """A subject with its judgement and its gain."""

    subject: Subject
    judgement: Judgement
    gain: Gain

    @property
    def judged(self) -> bool:
        return self.judgement.category_right and not self.gain.problem and not self.leaves_out_work

    @property
    def leaves_out_work(self) -> bool:
        """Whether the gain is work although the cause is a wait."""
        return self.judgement.category not in COSTS_ALONE and self.gain.alone > ALONE

    @property
    def within(self) -> bool | None:
        """Whether the gain is at most the bound, within noise. None if there is no bound."""
        if self.judgement.bound is None:
            return None
        return self.gain.times <= self.judgement.bound + self.gain.noise

    @property
    def close(self) -> bool:
        bound = self.judgement.bound
        if bound is None:
            return False
        return max(bound, self.gain.times) <= FACTOR * min(bound, self.gain.times)


def compared(subject: Subject) -> Subject:
    """The subject, explained by a comparison."""
    return replace(subject, expected=replace(subject.expected, threads=f"1,{THREADS}"))


def without_cause(subject: Subject) -> Path:
    return subject.path.parent.parent / "without" / subject.path.name


def gain(pairs: Sequence[Pair]) -> Gain:
    """The gain of pairs of seconds, with the cause and without it."""
    times = statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)
    ratios = [with_cause / without for with_cause, without in pairs]
    middle = statistics.median(ratios)
    deviation = 1.4826 * statistics.median(abs(each - middle) for each in ratios)
    # A median of n normal values has 1.2533 times the standard error of their mean.
    return Gain(times, 2 * 1.2533 * deviation / math.sqrt(len(pairs)))


def seconds(program: Path, threads: str, amount: float, limit_s: float) -> float:
    begin = time.perf_counter()
    try:
        ended = subprocess.run(
            [program, threads, str(amount)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"{program} was not timed: {error}") from error
    if ended.returncode != 0:
        raise RunError(f"{program} ended with status {ended.returncode}")
    return time.perf_counter() - begin


def measure_gain(subject: Subject, count: int, amount: float, limit_s: float) -> Gain:
    """Time both variants in turns, after one warm-up run of each."""
    both = (subject.path, without_cause(subject))
    try:
        for each in both:
            seconds(each, THREADS, amount / 10, limit_s)
        pairs = [turn(both, THREADS, amount, limit_s) for _ in range(count)]
        alone = [turn(both, "1", amount / 2, limit_s) for _ in range(min(count, FEW))]
    except RunError as error:
        return Gain(math.nan, math.nan, str(error))
    return replace(gain(pairs), alone=gain(alone).times)


def turn(both: tuple[Path, Path], threads: str, amount: float, limit_s: float) -> Pair:
    return seconds(both[0], threads, amount, limit_s), seconds(both[1], threads, amount, limit_s)


def held(rows: Sequence[Row]) -> list[Bar]:
    judged = [row for row in rows if row.judged]
    within = [row.within for row in judged if row.within is not None]
    close = [row.close for row in judged]
    return [
        Bar("gain within the bound", bars.part(sum(within), len(within)), 0.95, True),
        Bar(f"bound within {FACTOR} x", bars.part(sum(close), len(close)), 0.80, True),
    ]


def remark(row: Row) -> str:
    if row.gain.problem or row.judgement.problem:
        return row.gain.problem or row.judgement.problem
    if not row.judgement.category_right:
        return f"not judged: the first cause is not {'|'.join(row.subject.expected.categories)}"
    if row.leaves_out_work:
        return f"not judged: {row.gain.alone:.1f} times as fast on one thread too"
    if row.within is False:
        return "GAINS MORE THAN THE BOUND"
    return "" if row.close else f"not within {FACTOR} x"


def table(rows: Sequence[Row]) -> str:
    lines = [
        ("program", "build", "first cause", "share", "bound", "gain", "noise", "alone", "remark")
    ]
    for row in rows:
        bound = row.judgement.bound
        lines.append(
            (
                row.subject.expected.program,
                row.subject.build,
                row.judgement.category or "-",
                f"{row.judgement.share:.0%}",
                "-" if bound is None else f"{bound:.2f}",
                f"{row.gain.times:.2f}",
                f"{row.gain.noise:.2f}",
                f"{row.gain.alone:.2f}",
                remark(row),
            )
        )
    return bars.in_columns(lines)


def as_json(rows: Sequence[Row], *, interrupted: bool) -> str:
    listed = [
        {
            "program": row.subject.expected.program,
            "build": row.subject.build,
            "category": row.judgement.category,
            "bound": row.judgement.bound,
            "gain": None if row.gain.problem else row.gain.times,
            "noise": None if row.gain.problem else row.gain.noise,
            "alone": None if row.gain.problem else row.gain.alone,
            "judged": row.judged,
            "remark": remark(row),
        }
        for row in rows
    ]
    document = {"schema": "threadmark.explain-bounds", "version": 1, "interrupted": interrupted}
    found = [{**asdict(bar), "held": bar.held} for bar in held(rows)]
    return json.dumps({**document, "rows": listed, "bars": found}, indent=1)


def measure(
    chosen: Sequence[Subject],
    explain: Callable[[Subject], Judgement],
    measured: Callable[[Subject], Gain],
) -> tuple[list[Row], bool]:
    """The rows of all subjects, and whether the user interrupted."""
    rows: list[Row] = []
    try:
        for number, subject in enumerate(chosen, 1):
            name = f"{subject.expected.program}, {subject.build}"
            print(f"{number} of {len(chosen)}: {name}", file=sys.stderr, flush=True)
            rows.append(Row(subject, explain(subject), measured(subject)))
    except KeyboardInterrupt:
        return rows, True
    return rows, False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    bars.add_options(parser)
    parser.add_argument("--pairs", type=int, default=5, help="runs of each variant")
    parser.add_argument("--seconds", type=float, default=0.7, help="what a timed run is to take")
    parser.add_argument("--one-run", action="store_true", help="explain no comparison")
    options = parser.parse_args(arguments)
    chosen = [each for each in bars.chosen(options) if each.debug and without_cause(each).exists()]
    if not chosen:
        print("bounds: no such programs are built; run: ./threadmark test", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        command = bars.command(options, folder)
        rows, interrupted = measure(
            chosen,
            lambda subject: bars.explain(
                subject if options.one_run else compared(subject), command, options.limit
            ),
            lambda subject: measure_gain(subject, options.pairs, options.seconds, options.limit),
        )
    if options.json:
        print(as_json(rows, interrupted=interrupted))
    else:
        print(f"{table(rows)}\n\n{bars.summary(held(rows))}")
        if interrupted:
            print(f"interrupted after {len(rows)} of {len(chosen)} programs")
    if interrupted:
        return 130
    return 0 if all(bar.held for bar in held(rows)) else 1


if __name__ == "__main__":
    sys.exit(main())

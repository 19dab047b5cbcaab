"""The bars of tmk: the limits, tmk's figures, and the cases in which it loses.

    bars.py BIN LATENCY BY_HAND [--pairs 9] [--json]
    cmake --build build/PLATFORM --target bars

Whatever is compared runs in turns (A B A B ...), one process per sample; a figure is the ratio of
the medians of at least nine pairs with its 95 % interval. Nothing else should run meanwhile. With
--json the table goes to stderr, and its rows go to stdout.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
from threadmark.judge import estimates
from threadmark.present import plain

SCALING = ("fib", "nqueens", "uts", "sort", "strassen", "pyramids", "sparselu", "alignment")
FINE = ("fib", "qap")  # whose tasks are shorter than 25 ns: a ratio to serial has little meaning
COARSE = ("alignment", "pyramids", "round", "sort", "sparselu", "strassen")
STEADY_NS = 0.3e9  # until the system of a virtual machine has given each thread a processor
RECURSIVE = ("fib", "fft", "health", "nqueens", "qap", "sort", "strassen", "uts")


@dataclass(frozen=True)
class Sample:
    """One process: the median of its repeats, the tasks of a repeat, the largest resident set."""

    wall_ns: float
    tasks: float
    rss_bytes: float


def run(executable: Path, *options: str, processors: int | None = None) -> str:
    """The output of a process that may use `processors` processors; its failure ends this
    program."""
    allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))[:processors]))
    command = ["taskset", "-c", allowed, str(executable), *options]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


class Suite:
    """The executables of one platform."""

    def __init__(self, folder: Path, by_hand: Path) -> None:
        self.folder = folder
        self.by_hand = by_hand
        described = run(folder / "fib.tbb", "--describe")
        self.full_fib = str(json.loads(described)["parameters"][0]["sizes"]["full"])
        self.first_ns: dict[tuple[str, ...], float] = {}

    def variants(self, program: str, backend: str) -> set[str]:
        """The ways in which the program can launch its tasks."""
        described = json.loads(run(self.folder / f"{program}.{backend}", "--describe"))
        return {each["name"] for each in described["variants"]}

    def programs(self) -> list[str]:
        """Those that launch tasks by futures; the applications' have a parallel loop alone."""
        names = sorted(each.stem for each in self.folder.glob("*.tmk"))
        return [each for each in names if "optional" in self.variants(each, "tmk")]

    def usual_fib(self, threads: int) -> Sample:
        """One process of fib as oneTBB's manual would have it, with no contract of ours."""
        printed = run(self.by_hand, str(threads), "7", self.full_fib, processors=threads)
        counted = [float(each) for each in printed.split()[3:]]  # the others take STEADY_NS
        return Sample(estimates.median(counted), math.nan, math.nan)

    def sample(self, program: str, backend: str, variant: str, threads: int) -> Sample:
        """Run one process at size full; a wrong answer or another failure ends the program.

        The process warms up for STEADY_NS and repeats for as long again. If one repeat takes ten
        times that, there is one repeat and no warm-up.
        """
        key = program, backend, variant, str(threads)
        if key not in self.first_ns:
            self.first_ns[key] = self.process(*key, 0, 1).wall_ns
        count = math.ceil(STEADY_NS / self.first_ns[key])
        warmup = 0 if self.first_ns[key] > 10 * STEADY_NS else count
        return self.process(*key, warmup, count)

    def process(
        self, program: str, backend: str, variant: str, threads: str, warmup: int, repeats: int
    ) -> Sample:
        """Run one process with `warmup` repeats before those that count."""
        options = ["--variant", variant, "--threads", threads]
        options += ["--warmup", str(warmup), "--repeats", str(repeats)]
        executable = self.folder / f"{program}.{backend}"
        printed = run(executable, "--run", "--size", "full", *options, processors=int(threads))
        lines = [json.loads(line) for line in printed.splitlines()]
        counted = [e for e in lines if e["event"] == "repeat" and not e["warmup"]]
        return Sample(
            estimates.median([float(each["wall_ns"]) for each in counted]),
            max(float(each.get("tasks", 0)) for each in counted),
            max(float(each["max_rss_bytes"]) for each in counted),
        )


def pairs(
    count: int, first: Callable[[], Sample], second: Callable[[], Sample]
) -> tuple[list[Sample], list[Sample]]:
    """`count` samples of each, in turns; which begins alternates too."""
    a, b = [], []
    for each in range(count):
        if each % 2:
            b.append(second())
            a.append(first())
        else:
            a.append(first())
            b.append(second())
    return a, b


def ratio(a: Sequence[Sample], b: Sequence[Sample]) -> estimates.Interval:
    """Mean of time of a / time of b of each turn, with its interval."""
    return estimates.geometric_mean([x.wall_ns / y.wall_ns for x, y in zip(a, b, strict=True)])


class Table:
    """The rows, printed as they come."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.rows: list[dict[str, str | float | bool | None]] = []
        self._print(f"{'what':<44} {'figure':>8}  {'bar':<8} {'':<8} 95 % interval")

    def row(
        self,
        what: str,
        figure: float | estimates.Interval,
        bar: str = "",
        met: bool | None = None,
        note: str = "",
    ) -> None:
        """One line; an interval is printed beside its estimate."""
        record: dict[str, str | float | bool | None] = {"what": what, "bar": bar, "met": met}
        if isinstance(figure, estimates.Interval):
            record |= {"low": figure.low, "high": figure.high}
            note, figure = f"{figure.low:.2f} .. {figure.high:.2f}", figure.estimate
        self.rows.append({**record, "figure": figure, "note": note})
        verdict = "" if met is None else "met" if met else "NOT MET"
        self._print(f"{what:<44} {figure:>8.2f}  {bar:<8} {verdict:<8} {note}")

    def _print(self, line: str) -> None:
        print(line, file=self.out, flush=True)


def tasks_per_second(table: Table, suite: Suite, count: int) -> None:
    """The cost of a task, against oneTBB as its users write it, without the context for
    cancellation that each call makes (half of its price, but exceptions then end the program), and
    with a handle for each task.
    """
    for program in FINE:
        for threads in (1, 2):

            def ours(p: str = program, t: int = threads) -> Sample:
                return suite.sample(p, "tmk", "optional", t)

            def theirs(form: str, p: str = program, t: int = threads) -> Sample:
                return suite.sample(p, "tbb", form, t)

            forms = {
                "parallel_invoke, no context": partial(theirs, "fork_join"),
                "a task_group's handle": partial(theirs, "futures"),
            }
            if program == "fib":
                forms = {"parallel_invoke": partial(suite.usual_fib, threads)} | forms
            for form, other in forms.items():
                a, b = pairs(count, ours, other)
                found = ratio(a, b)
                bar = "<= 0.20" if form == "parallel_invoke" else ""
                met = found.estimate <= 0.2 if bar else None
                table.row(f"{program} x{threads}: tmk / {form}", found, bar, met)
            per_task = estimates.median([s.wall_ns / s.tasks for s in a])
            bar = "<= 10" if program == "fib" and threads == 1 else ""
            met = per_task <= 10 if bar else None
            table.row(f"{program} x{threads}: ns per task", per_task, bar, met)


def scaling(table: Table, suite: Suite, count: int) -> None:
    """One thread against two."""
    for program in SCALING:
        a, b = pairs(
            count,
            lambda p=program: suite.sample(p, "tmk", "optional", 1),
            lambda p=program: suite.sample(p, "tmk", "optional", 2),
        )
        found = ratio(a, b)
        what = f"{program}: speed-up with 2 threads over 1"
        table.row(what, found, ">= 1.85", found.estimate >= 1.85)


def overhead(table: Table, suite: Suite, count: int) -> None:
    """One thread against the serial program, two threads if scaling() has none; memory."""
    for program in suite.programs():

        def against(
            variant: str, threads: int = 1, p: str = program
        ) -> tuple[list[Sample], list[Sample]]:
            return pairs(
                count,
                lambda: suite.sample(p, "tmk", "optional", threads),
                lambda: suite.sample(p, "serial", variant, 1),
            )

        a, b = against("plain")
        found = ratio(a, b)
        per_task = estimates.median([s.wall_ns for s in b]) / max(1.0, a[0].tasks)
        bar = 1.05 if program in COARSE else 1.5 if per_task >= 25 else None
        what = f"{program}: 1 thread / serial ({per_task:.0f} ns a task)"
        table.row(what, found, f"<= {bar}" if bar else "", found.estimate <= bar if bar else None)
        if program in RECURSIVE:
            memory = max(s.rss_bytes for s in a)
            allowed = 1.2 * max(s.rss_bytes for s in b) + 8 * 2**20
            what = f"{program}: peak memory / allowed"
            table.row(what, memory / allowed, "<= 1", memory <= allowed)
        if bar and program not in SCALING:
            two = ratio(*against("plain", threads=2))
            table.row(f"{program}: 2 threads / serial", two, "< 1", two.high < 1)
        if "locked" in suite.variants(program, "serial"):
            found = ratio(*against("locked"))
            table.row(f"{program}: 1 thread / locked serial", found)


def latency(table: Table, executable: Path) -> None:
    """Idle cost, and the first task after idle against a bare futex wake."""
    lines = [
        json.loads(subprocess.run([executable], stdout=subprocess.PIPE, check=True).stdout)
        for _ in range(5)
    ]
    wake = estimates.median([each["first_us"] / each["bare_us"] for each in lines])
    tail = estimates.median([each["first_p90_us"] / each["bare_p90_us"] for each in lines])
    idle = estimates.median([each["idle_cpu_ms_per_s"] for each in lines])
    what = "first task after idle / a futex wake"
    table.row(what, wake, "<= 1.3", wake <= 1.3, f"p90: {tail:.2f}")
    table.row("idle: ms of processor time per second", idle, "0", idle <= 0.05)


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(usage="bars.py BIN LATENCY BY_HAND [--pairs 9] [--json]")
    for name in ("bin", "latency", "by_hand"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    suite = Suite(options.bin, options.by_hand)
    table = Table(sys.stderr if options.json else sys.stdout)
    tasks_per_second(table, suite, options.pairs)
    latency(table, options.latency)
    overhead(table, suite, options.pairs)
    scaling(table, suite, options.pairs)
    if options.json:
        print(plain.dumps(plain.finite({"pairs": options.pairs, "rows": table.rows})))


if __name__ == "__main__":
    main()

"""The bars of tmk: what it must reach, what it reaches, and where it loses.

    bars.py BIN LATENCY BY_HAND [PAIRS]    or: cmake --build build/PLATFORM --target bars

Whatever is compared runs in turns (A B A B ...), one process per sample; a figure is the ratio of
the medians of at least nine pairs with its 95 % interval. Nothing else should run meanwhile.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
from threadmark import statistics

SCALING = ("fib", "nqueens", "uts", "sort", "strassen", "pyramids", "sparselu", "alignment")
FINE = ("fib", "qap")  # whose tasks are shorter than 25 ns: a ratio to serial says little
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
    """What a process prints that may use so many processors; its failure is ours."""
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

    def usual_fib(self, threads: int) -> Sample:
        """One process of fib as oneTBB's manual would have it, with no contract of ours."""
        printed = run(self.by_hand, str(threads), "7", self.full_fib, processors=threads)
        counted = [float(each) for each in printed.split()[3:]]  # the others take STEADY_NS
        return Sample(statistics.median(counted), math.nan, math.nan)

    def sample(self, program: str, backend: str, variant: str, threads: int) -> Sample:
        """Run one process at size full; a wrong answer or another failure ends the program.

        It warms up for STEADY_NS and repeats for as long again; where one repeat takes ten times
        that, it is one repeat and nothing before.
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
        """Run one process with so many repeats before those that count."""
        options = ["--variant", variant, "--threads", threads]
        options += ["--warmup", str(warmup), "--repeats", str(repeats)]
        executable = self.folder / f"{program}.{backend}"
        printed = run(executable, "--run", "--size", "full", *options, processors=int(threads))
        lines = [json.loads(line) for line in printed.splitlines()]
        counted = [e for e in lines if e["event"] == "repeat" and not e["warmup"]]
        return Sample(
            statistics.median([float(each["wall_ns"]) for each in counted]),
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


def ratio(a: Sequence[Sample], b: Sequence[Sample]) -> statistics.Interval:
    """Mean of time of a / time of b of each turn, with its interval."""
    return statistics.geometric_mean([x.wall_ns / y.wall_ns for x, y in zip(a, b, strict=True)])


def row(what: str, value: float, bar: str, met: bool | None, note: str = "") -> None:
    """One line of the table."""
    verdict = "" if met is None else "met" if met else "NOT MET"
    print(f"{what:<44} {value:>8.2f}  {bar:<8} {verdict:<8} {note}", flush=True)


def within(interval: statistics.Interval) -> str:
    """An interval as text."""
    return f"{interval.low:.2f} .. {interval.high:.2f}"


def tasks_per_second(suite: Suite, count: int) -> None:
    """What a task costs, against oneTBB as its users write it, without the context for cancellation
    that each call makes (half of its price, but exceptions then end the program), and with a handle
    for each task.
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
                row(f"{program} x{threads}: tmk / {form}", found.estimate, bar, met, within(found))
            per_task = statistics.median([s.wall_ns / s.tasks for s in a])
            bar = "<= 10" if program == "fib" and threads == 1 else ""
            row(
                f"{program} x{threads}: ns per task", per_task, bar, per_task <= 10 if bar else None
            )


def scaling(suite: Suite, count: int) -> None:
    """One thread against two."""
    for program in SCALING:
        a, b = pairs(
            count,
            lambda p=program: suite.sample(p, "tmk", "optional", 1),
            lambda p=program: suite.sample(p, "tmk", "optional", 2),
        )
        found = ratio(a, b)
        row(
            f"{program}: speed-up with 2 threads",
            found.estimate,
            ">= 1.85",
            found.estimate >= 1.85,
            within(found),
        )


def overhead(suite: Suite, programs: Sequence[str], count: int) -> None:
    """One thread against the serial program, two where scaling() has none; memory."""
    for program in programs:

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
        per_task = statistics.median([s.wall_ns for s in b]) / max(1.0, a[0].tasks)
        bar = 1.05 if program in COARSE else 1.5 if per_task >= 25 else None
        row(
            f"{program}: 1 thread / serial ({per_task:.0f} ns a task)",
            found.estimate,
            f"<= {bar}" if bar else "",
            found.estimate <= bar if bar else None,
            within(found),
        )
        if program in RECURSIVE:
            memory = max(s.rss_bytes for s in a)
            allowed = 1.2 * max(s.rss_bytes for s in b) + 8 * 2**20
            row(f"{program}: peak memory / allowed", memory / allowed, "<= 1", memory <= allowed)
        if bar and program not in SCALING:
            two = ratio(*against("plain", threads=2))
            row(f"{program}: 2 threads / serial", two.estimate, "< 1", two.high < 1, within(two))
        described = json.loads(run(suite.folder / f"{program}.serial", "--describe"))
        if any(each["name"] == "locked" for each in described["variants"]):
            found = ratio(*against("locked"))
            row(f"{program}: 1 thread / locked serial", found.estimate, "", None, within(found))


def latency(executable: Path) -> None:
    """Idle cost, and the first task after idle against a bare futex wake."""
    lines = [
        json.loads(subprocess.run([executable], stdout=subprocess.PIPE, check=True).stdout)
        for _ in range(5)
    ]
    wake = statistics.median([each["first_us"] / each["bare_us"] for each in lines])
    tail = statistics.median([each["first_p90_us"] / each["bare_p90_us"] for each in lines])
    idle = statistics.median([each["idle_cpu_ms_per_s"] for each in lines])
    row("first task after idle / a futex wake", wake, "<= 1.3", wake <= 1.3, f"p90: {tail:.2f}")
    row("idle: ms of processor time per second", idle, "0", idle <= 0.05)


def main() -> None:
    """See the module's docstring."""
    suite, executable = Suite(Path(sys.argv[1]), Path(sys.argv[3])), Path(sys.argv[2])
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 9
    programs = sorted(each.stem for each in suite.folder.glob("*.tmk"))
    print(f"{'what':<44} {'figure':>8}  {'bar':<8} {'':<8} 95 % interval")
    tasks_per_second(suite, count)
    latency(executable)
    overhead(suite, programs, count)
    scaling(suite, count)


if __name__ == "__main__":
    main()

"""Short parallel regions and fine recursions under tmk, held to their bars, as a table.

    regions.py REGIONS [--against REGIONS] [--pairs 9] [--again 60] [--json]
    cmake --build build/PLATFORM --target bars.regions

REGIONS is the executable. It has two halves of T us each, run one after the other and in parallel,
back to back and after 20 ms of idle; and fib, serial, by fork_join and by two asyncs a node. Each
figure is the median of so many processes, which run in turns; those of fib are ratios within turns.
With --against, an executable of other headers runs in turns with this one and has a column beside
it. Exit status 1 if a bar is not met. A run of one executable takes a minute and a half on two free
processors.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
from threadmark.judge import estimates
from threadmark.machine import load
from threadmark.present import plain

FIB = 36
PROCESSES = 3  # of the short regions: each has its own medians


@dataclass(frozen=True)
class Bar:
    """A figure and its bar; a figure without a limit is for comparison."""

    what: str
    limit: float | None = None
    at_least: bool = True

    def met(self, figure: float) -> bool | None:
        """None: there is no limit."""
        if self.limit is None:
            return None
        return figure >= self.limit if self.at_least else figure <= self.limit

    def text(self) -> str:
        """The bar in the words of the table."""
        if self.limit is None:
            return ""
        return f"{'>=' if self.at_least else '<='} {self.limit:g}"


BARS = (
    Bar("back to back 10 us: fork_join", 1.5),
    Bar("back to back 10 us: async"),
    Bar("back to back 10 us: two spinning threads"),
    Bar("back to back 100 us: fork_join", 1.9),
    Bar("back to back 100 us: async"),
    Bar("back to back 100 us: two spinning threads"),
    Bar("after idle 200 us: fork_join", 1.2),
    Bar("after idle 200 us: async"),
    Bar("after idle 1000 us: fork_join", 1.75),
    Bar("after idle 1000 us: async"),
    Bar("after idle 1000 us: burnt", 1.5, at_least=False),
    Bar("after idle 1000 us: burnt later", 0.02, at_least=False),
    Bar("fib fork x1 / serial", 2.0, at_least=False),
    Bar("fib fork x2 / serial"),
    Bar("fib async x1 / serial", 6.2, at_least=False),
    Bar("fib async x2 / serial"),
)
SHORT = (("back to back", "back", 10), ("back to back", "back", 100),
         ("after idle", "idle", 200), ("after idle", "idle", 1000))  # fmt: skip


class Runner:
    """Runs processes; those that others disturb are run again, up to a number of them."""

    def __init__(self, again: int) -> None:
        self.again = again
        self.disturbed = 0

    def printed(self, executable: Path, *words: str, threads: int = 2) -> dict[str, float]:
        """The figures that one process prints; its failure ends this program."""
        cpus = sorted(os.sched_getaffinity(0))
        command = ["taskset", "-c", ",".join(map(str, cpus[:threads])), str(executable), *words]
        while True:
            own = os.times()
            before, begun = load.read(cpus), time.monotonic()
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            wall_s, after, ended = time.monotonic() - begun, load.read(cpus), os.times()
            own_s = sum(ended[:4]) - sum(own[:4])
            seen = load.between(before, after, own_s)
            if load.disturbance(seen, wall_s, [], threads) == "":
                break
            if self.again == 0:
                self.disturbed += 1
                break
            self.again -= 1
        found: dict[str, float] = json.loads(done.stdout)
        return found


def measure(runner: Runner, executables: Sequence[Path], pairs: int) -> list[dict[str, float]]:
    """The figures of each executable, by their bar's name."""
    seen: list[dict[str, list[float]]] = [{} for _ in executables]
    for turn in range(max(pairs, PROCESSES)):
        for figures, executable in zip(seen, executables, strict=True):
            run = partial(runner.printed, executable)
            for name, word, us in SHORT if turn < PROCESSES else ():
                for form, figure in run(word, str(us)).items():
                    figures.setdefault(f"{name} {us} us: {form}", []).append(figure)
            if turn >= pairs:
                continue
            serial = run("fib", "serial", str(FIB), threads=1)["ms"]
            for form in ("fork", "async"):
                for threads in (1, 2):
                    ms = run("fib", form, str(FIB), threads=threads)["ms"]
                    figures.setdefault(f"fib {form} x{threads} / serial", []).append(ms / serial)
    return [{what: estimates.median(values) for what, values in each.items()} for each in seen]


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("executable", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--again", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    executables = [options.executable, *([options.against] if options.against else [])]
    runner = Runner(options.again)
    found = measure(runner, executables, options.pairs)
    rows, good = [], True
    out = sys.stderr if options.json else sys.stdout
    for bar in BARS:
        figures = [each[bar.what] for each in found]
        met = bar.met(figures[0])
        good = good and met is not False
        name = bar.what
        rows.append({"what": name, "figures": figures, "bar": bar.text(), "met": met})
        verdict = "" if met is None else "met" if met else "NOT MET"
        columns = "".join(f" {figure:>8.2f}" for figure in figures)
        print(f"{name:<48}{columns}  {bar.text():<8} {verdict}".rstrip(), file=out, flush=True)
    if runner.disturbed:
        print(f"other processes disturbed {runner.disturbed} processes", file=out)
    if options.json:
        print(plain.dumps(plain.finite({"pairs": options.pairs, "rows": rows})))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

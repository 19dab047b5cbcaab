"""The bars of try and gate on real runs of this machine, as counts; the machine must be free.

    ./threadmark check --only try-nothing try-gain try-gates
    PYTHONPATH=lab .venv/bin/python tests/try/live_bars.py nothing --tries 30 --budget 6

The exit status is 1 if a bar is missed. `nothing`: tries of eight fixes that do nothing, and the
number of tries that claim a gain. `gain`: tries of a fix that removes a tenth of the work beside
two that do nothing. `gates`: an unchanged program, one with a serial phase of 20 %, and one with a
lock held for 80 % of its work.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from threadmark.fixes import choosing
from threadmark.fixes.fix import Fix, Setting
from threadmark.kinds.trials.trying import Asked, perform
from threadmark.model.workload import Workload

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("shares.cpp")
NOTHING = 8
PLANTED = "less-work"
FALSE, FOUND, FALSE_FAILURES = 0.035, 0.95, 0.02  # shares of tries, like in try_bars.py
# Per cent serial, per cent under a lock, the demand, and the right status.
GATES = ((0, 0, "0.7@2", 0), (20, 0, "0.9@2", 1), (0, 80, "0.7@2", 1))


class Count(NamedTuple):
    """The counts after some tries, and whether they reach the bar."""

    said: str
    good: bool


def _fix(name: str, variable: str, value: str) -> Fix:
    return Fix(name, name, name, ("none",), "None.", lambda _: Setting({variable: value}))


@contextlib.contextmanager
def program() -> Iterator[Path]:
    """The path of the program."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "shares"
        line = ["g++", "-std=c++20", "-O2", "-pthread", str(SOURCE), "-o", str(made)]
        subprocess.run(line, check=True)
        yield made


def tried(path: Path, fixes: list[Fix], budget_s: float) -> tuple[list[str], int]:
    """The fixes for which a try claims a gain, and the number of its rounds."""
    choosing.every = lambda: fixes
    workload = Workload((str(path), "{threads}", "0", "0"), threads="2")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        perform(workload, Asked(budget_s=budget_s, as_json=True), path.with_name("s.db"))
    found = json.loads(said.getvalue())
    return [name for name in found["gains"] if " + " not in name], found["rounds"]


def nothing(path: Path, tries: int, budget_s: float) -> Iterator[Count]:
    """Try fixes that do nothing."""
    fixes = [_fix(f"nothing-{i}", f"THREADMARK_NOTHING_{i}", "1") for i in range(NOTHING)]
    false = 0
    for number in range(1, tries + 1):
        gains, rounds = tried(path, fixes, budget_s)
        false += bool(gains)
        said = f"{false} of {number} tries claim a gain ({rounds} rounds in the last)"
        yield Count(said, false <= max(1, FALSE * number))


def gain(path: Path, tries: int, budget_s: float) -> Iterator[Count]:
    """Try a fix that gains a tenth."""
    fixes = [_fix(PLANTED, "THREADMARK_WORK", "91")]
    fixes += [_fix(f"nothing-{i}", f"THREADMARK_NOTHING_{i}", "1") for i in range(2)]
    found = 0
    for number in range(1, tries + 1):
        gains, rounds = tried(path, fixes, budget_s)
        found += gains == [PLANTED]
        said = f"{found} of {number} tries find it alone ({rounds} rounds in the last)"
        yield Count(said, found >= FOUND * number)


def gates(path: Path, tries: int, budget_s: float) -> Iterator[Count]:
    """Run gates on the three programs, in turns."""
    statuses: dict[int, Counter[int]] = {at: Counter() for at in range(len(GATES))}
    for number in range(1, tries + 1):
        for at, (serial, locked, asked, _) in enumerate(GATES):
            line = [str(ROOT / "threadmark"), "gate", "--min-efficiency", asked, "--no-explain"]
            line += ["--budget", f"{budget_s:g}s", "--annotations", "none", "--store"]
            line += [str(path.with_name("g.db")), "--", str(path), "{threads}"]
            done = subprocess.run(
                [*line, str(serial), str(locked)], cwd=path.parent, check=False,
                capture_output=True, env={**os.environ, "THREADMARK_WORK": "300"},
            )  # fmt: skip
            statuses[at][done.returncode] += 1
        said = [
            f"{serial} % serial, {locked} % locked, {asked}: {statuses[at][right]} of {number} "
            f"right, {statuses[at][3]} not decidable"
            for at, (serial, locked, asked, right) in enumerate(GATES)
        ]
        caught = all(statuses[at][right] >= FOUND * number for at, (*_, right) in enumerate(GATES))
        false = statuses[0][1]
        yield Count("; ".join(said), caught and false <= max(1, FALSE_FAILURES * number))


SERIES: dict[str, Callable[[Path, int, float], Iterator[Count]]] = {
    "nothing": nothing, "gain": gain, "gates": gates
}  # fmt: skip


def main() -> int:
    """Print the counts after each try."""
    parser = argparse.ArgumentParser(description="the bars of try and gate on real runs")
    parser.add_argument("which", choices=sorted(SERIES))
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--budget", type=float, default=12.0, help="seconds for each")
    given = parser.parse_args()
    last = Count("", good=False)
    with program() as path:
        for last in SERIES[given.which](path, given.tries, given.budget):
            print(last.said, flush=True)
    return 0 if last.good else 1


if __name__ == "__main__":
    sys.exit(main())

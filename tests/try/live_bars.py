"""The bars of try and gate on real runs of this machine, as counts.

    PYTHONPATH=lab .venv/bin/python tests/try/live_bars.py nothing --tries 30 --budget 6
    PYTHONPATH=lab .venv/bin/python tests/try/live_bars.py gain --tries 10 --budget 20
    PYTHONPATH=lab .venv/bin/python tests/try/live_bars.py gates --tries 20 --budget 20

`nothing`: tries of eight fixes that do nothing, and how many of them claim a gain. `gain`: tries of
a fix that takes a tenth off the work beside two that do nothing. `gates`: an unchanged program, one
with a serial phase of 20 %, and one with a lock held for 80 % of its work.
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
from collections.abc import Iterator
from pathlib import Path

from threadmark.fixes import choosing
from threadmark.fixes.fix import Fix, Setting
from threadmark.kinds.trials.trying import Asked, perform
from threadmark.model.workload import Workload

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("shares.cpp")
NOTHING = 8
PLANTED = "less-work"
# Per cent serial, per cent under a lock, what is asked for, and the status that is right.
GATES = ((0, 0, "0.7@2", 0), (20, 0, "0.9@2", 1), (0, 80, "0.7@2", 1))


def _fix(name: str, variable: str, value: str) -> Fix:
    return Fix(name, name, name, ("none",), "None.", lambda _: Setting({variable: value}))


@contextlib.contextmanager
def program() -> Iterator[Path]:
    """Where the program is."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "shares"
        line = ["g++", "-std=c++20", "-O2", "-pthread", str(SOURCE), "-o", str(made)]
        subprocess.run(line, check=True)
        yield made


def tried(path: Path, fixes: list[Fix], budget_s: float) -> tuple[list[str], int]:
    """The fixes that a try says to gain, and how many rounds it had."""
    choosing.every = lambda: fixes
    workload = Workload((str(path), "{threads}", "0", "0"), threads="2")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        perform(workload, Asked(budget_s=budget_s, as_json=True), path.with_name("s.db"))
    found = json.loads(said.getvalue())
    return [name for name in found["gains"] if " + " not in name], found["rounds"]


def nothing(path: Path, tries: int, budget_s: float) -> Iterator[str]:
    """Tries of fixes that do nothing."""
    fixes = [_fix(f"nothing-{i}", f"THREADMARK_NOTHING_{i}", "1") for i in range(NOTHING)]
    false = 0
    for number in range(1, tries + 1):
        gains, rounds = tried(path, fixes, budget_s)
        false += bool(gains)
        yield f"{false} of {number} tries claim a gain ({rounds} rounds in the last)"


def gain(path: Path, tries: int, budget_s: float) -> Iterator[str]:
    """Tries of a fix that gains a tenth."""
    fixes = [_fix(PLANTED, "THREADMARK_WORK", "91")]
    fixes += [_fix(f"nothing-{i}", f"THREADMARK_NOTHING_{i}", "1") for i in range(2)]
    found = 0
    for number in range(1, tries + 1):
        gains, rounds = tried(path, fixes, budget_s)
        found += gains == [PLANTED]
        yield f"{found} of {number} tries find it alone ({rounds} rounds in the last)"


def gates(path: Path, tries: int, budget_s: float) -> Iterator[str]:
    """Gates on the three programs, in turns."""
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
        yield "; ".join(said)


def main() -> int:
    """Print how often each held, after each try."""
    parser = argparse.ArgumentParser(description="the bars of try and gate on real runs")
    parser.add_argument("which", choices=("nothing", "gain", "gates"))
    parser.add_argument("--tries", type=int, required=True)
    parser.add_argument("--budget", type=float, required=True, help="seconds for each")
    given = parser.parse_args()
    series = {"nothing": nothing, "gain": gain, "gates": gates}[given.which]
    with program() as path:
        for line in series(path, given.tries, given.budget):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

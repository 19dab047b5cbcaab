"""The bars of try and gate, as a table: on made-up noise, and on planted programs.

    ./threadmark check --only try-bars

Made-up noise: a try of eight fixes that do nothing claims a gain in at most 7 of 200 tries, and a
gain of 10 % is found in 95 of 100; a gate fails an unchanged program in at most 4 of 200 runs, and
catches a program that does not scale in 95 of 100. Planted programs: the comment at the top of each
names the fixes that help. The best fix that try finds must be one of them; if there are none, try
must find none. The exit status is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from noise import SERIES, claims, tried
from test_gate_command import Machine
from threadmark.kinds.gates import demands
from threadmark.kinds.gates.judgement import Verdict

ROOT = Path(__file__).resolve().parents[2]
PLANTED = Path(__file__).parent / "planted"

TRIES = 200
FALSE_GAINS = 7  # of TRIES
FOUND = 0.95
FALSE_FAILURES = 4  # of TRIES
_ROUNDS = 30  # of a program of 0.2 s in two minutes
_HARD = ("two modes", "two equal modes", "very heavy", "slow runs", "bursts")  # for a gain of 10 %


@dataclass(frozen=True)
class Bar:
    """A line of the table."""

    what: str
    reached: str
    wanted: str
    good: bool


def made_up() -> Iterator[Bar]:
    """The bars that need no machine."""
    for name, series in SERIES.items():
        rng = np.random.default_rng(1)
        false = sum(bool(claims(tried(series, rng, rounds=_ROUNDS))) for _ in range(TRIES))
        good = false <= FALSE_GAINS
        wanted = f"at most {FALSE_GAINS}"
        yield Bar(f"tries that claim a false gain, {name}", f"{false} of {TRIES}", wanted, good)
        found = sum(
            3 in claims(tried(series, rng, rounds=_ROUNDS, gains={3: 1.1})) for _ in range(TRIES)
        )
        wanted = "no bar" if name in _HARD else f"at least {FOUND * TRIES:.0f}"
        good = name in _HARD or found >= FOUND * TRIES
        yield Bar(f"gains of 10 % that are found, {name}", f"{found} of {TRIES}", wanted, good)
    for serial, text in ((0.0, "0.7@2"), (0.2, "0.9@2"), (0.8, "0.7@2")):
        asked = demands.efficiencies(text)
        runs = [Machine(serial, seed=1000 + at).judged(asked).verdict for at in range(TRIES)]
        failed = runs.count(Verdict.FAILED)
        what = f"gates that fail, {100 * serial:.0f} % serial, {text}"
        if serial == 0:
            wanted, good = f"at most {FALSE_FAILURES}", failed <= FALSE_FAILURES
        else:
            wanted, good = f"at least {FOUND * TRIES:.0f}", failed >= FOUND * TRIES
        yield Bar(what, f"{failed} of {TRIES}", wanted, good)


def planted(names: Sequence[str], budget_s: float) -> Iterator[Bar]:
    """The bars of real programs."""
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(PLANTED.glob("*.cpp")):
            if names and path.stem not in names:
                continue
            expected = expectation(path.read_text(encoding="utf-8"))
            yield _planted(built(path, expected, Path(folder)), expected, budget_s)


def _planted(program: Path, expected: dict[str, str], budget_s: float) -> Bar:
    threads = str(threads_of(expected["threads"] or "2"))
    line = [str(ROOT / "threadmark"), "try", "--store", f"{program}.db", "--json"]
    line += ["--budget", f"{budget_s:g}s", "--threads", threads, "--", str(program), "{threads}"]
    done = subprocess.run(
        line, check=True, cwd=program.parent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    found = json.loads(done.stdout)
    gains = {
        each["name"]: each["threads"][threads]["times_as_fast"]["estimate"]
        for each in found["fixes"]
        if each["name"] in found["gains"]
    }
    right = names_of(expected["fix"])
    single = [name for name in found["gains"] if " + " not in name]
    said = ", ".join(f"{name} x{gains[name]:.2f}" for name in found["gains"][:3]) or "none"
    good = bool(single and single[0] in right) if right else not single
    return Bar(f"planted {program.name}", said, expected["fix"], good)


def built(source: Path, expected: dict[str, str], folder: Path) -> Path:
    """Build the program of a source; returns its path."""
    program = folder / source.stem
    line = ["g++", "-std=c++20", "-O2", "-pthread", *expected["build"].split(), str(source)]
    subprocess.run([*line, "-o", str(program)], check=True)
    return program


def expectation(text: str) -> dict[str, str]:
    """The keys in the comment at the top of a planted program."""
    keys = "fix|threads|build|why|alone|also"
    found = dict(re.findall(rf"^// ({keys}): (.+)$", text, flags=re.MULTILINE))
    return {"threads": "", "build": "", "alone": "", "also": "", **found}


def names_of(fixes: str) -> set[str]:
    """'a | b' as a set; 'none' is none."""
    return set(filter(None, map(str.strip, fixes.split("|")))) - {"none"}


def threads_of(text: str) -> int:
    """'4', or '2 per processor' of the processors that a program may use here."""
    count, per, _ = text.partition(" per processor")
    return int(count) * (len(os.sched_getaffinity(0)) if per else 1)


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description="what try and gate must reach")
    parser.add_argument("--made-up", action="store_true", help="leave the planted programs out")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for a planted program")
    parser.add_argument("programs", nargs="*", help="only these planted programs")
    given = parser.parse_args()
    bars = [] if given.programs else [made_up()]
    bars += [] if given.made_up else [planted(given.programs, given.budget)]
    good = True
    for each in (bar for some in bars for bar in some):
        mark = "ok  " if each.good else "MISS"
        print(f"{mark} {each.what}: {each.reached} ({each.wanted})", flush=True)
        good = good and each.good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

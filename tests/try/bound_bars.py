"""Explain's bound beside the gain of the fix, for each planted program that a fix helps, as a
table.

    ./threadmark check --only try-bounds
    PYTHONPATH=lab .venv/bin/python tests/try/bound_bars.py --budget 30 locale stdio

If a fix removes the causes that it is for and nothing else (`alone` at the top of the program), its
bound must not be below its gain less the noise, in 95 % of the programs. For the other programs
`also` names the changes of the fix beside the causes. A fix for a wait that also gains on one
thread, where no thread waits, removes work beside the wait. Like tests/explain/bounds.py the script
lists such a fix and does not judge it. The exit status is 1 if the bar is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "explain"))
from bounds import ALONE, COSTS_ALONE
from try_bars import PLANTED, ROOT, built, expectation, names_of, threads_of

WITHIN = 0.95  # of the programs whose fix removes the cause alone


@dataclass(frozen=True)
class Line:
    """A row of the table. `within` is None if there is no bound, or no gain. `marked`: the program
    has the mark `alone`. `alone`: it has the mark, and one thread shows no further gain."""

    text: str
    alone: bool
    within: bool | None
    marked: bool = False


def lines(names: Sequence[str], budget_s: float) -> Iterator[Line]:
    """The rows of the planted programs that a fix helps."""
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(PLANTED.glob("*.cpp")):
            expected = expectation(path.read_text(encoding="utf-8"))
            if names_of(expected["fix"]) and (not names or path.stem in names):
                program = built(path, expected, Path(folder))
                count = str(threads_of(expected["threads"] or "2"))
                found = _tried(program, expected, count, budget_s)
                yield _line(program, expected, count, found)


def _tried(program: Path, expected: dict[str, str], count: str, budget_s: float) -> dict[str, Any]:
    line = [str(ROOT / "threadmark"), "try", "--explain", "--json", "--store", f"{program}.db"]
    line += ["--only", ",".join(sorted(names_of(expected["alone"] or expected["fix"])))]
    line += [
        "--budget",
        f"{budget_s:g}s",
        "--threads",
        f"1,{count}",
        "--",
        str(program),
        "{threads}",
    ]
    done = subprocess.run(line, check=False, cwd=program.parent, capture_output=True, text=True)
    if done.returncode != 0:  # for example, the program is too slow for the budget today
        return {
            "why": (done.stderr.splitlines() or [f"try ended with status {done.returncode}"])[-1]
        }
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _line(program: Path, expected: dict[str, str], count: str, found: dict[str, Any]) -> Line:
    alone, also = bool(expected["alone"]), expected["also"]
    if "why" in found:
        return Line(f"| {program.name} | {found['why']} | | | | |", alone, None)
    gains = (each for each in found["fixes"] if each["name"] in found["gains"])
    best = next((each for each in gains if count in each["threads"]), None)
    causes = found["explained"].get("about", [])
    if not causes:
        return Line(f"| {program.name} | explain says nothing | | | | |", alone, None)
    # The cause that the fix is for, else the first one.
    name = best["name"] if best else ""
    cause = next((each for each in causes if name in each["fixes"]), causes[0])
    words = cause["category"] + (f" ({cause['name']})" if cause["name"] else "")
    bound = best["bound"] if best else cause["bound"]
    said = f"| {program.name} | {words} | " + ("none" if bound is None else f"x{bound:.2f}")
    if best is None:
        return Line(f"{said} | no gain for sure | | {also} |", alone, None)
    ratio = best["threads"][count]["times_as_fast"]
    on_one = best["threads"].get("1")  # a fix may be only for more than one thread
    one_thread = on_one["times_as_fast"]["estimate"] if on_one else 0.0
    # With one thread of its own a program may still have a runtime with too many threads.
    if cause["category"] not in (*COSTS_ALONE, "run_queue") and one_thread > ALONE:
        alone, also = False, also or f"on one thread it gains x{one_thread:.2f}"
    said += f" | {name} x{ratio['estimate']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
    within = None if bound is None else bool(ratio["low"] <= bound)
    shown = {None: "no bound", True: "yes", False: "no"}[within]
    return Line(f"{said} | {shown} | {also} |", alone, within, bool(expected["alone"]))


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description="explain's bounds beside the gains of fixes")
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for each program")
    parser.add_argument("programs", nargs="*", help="only these planted programs")
    given = parser.parse_args()
    print("| program | cause | bound | gain of the fix | within | the fix changes also |")
    print("|---|---|---|---|---|---|", flush=True)
    found = []
    for each in lines(given.programs, given.budget):
        print(each.text, flush=True)
        found.append(each)
    judged = [each.within for each in found if each.alone and each.within is not None]
    good = sum(judged) >= WITHIN * len(judged)
    print(
        f"{sum(judged)} of {len(judged)} gains of fixes that take away the cause alone are within "
        f"their bound (bar: {100 * WITHIN:.0f} %)"
    )
    marked = [each.within for each in found if each.marked and each.within is not None]
    print(f"With those that gain on one thread too: {sum(marked)} of {len(marked)}.")
    return 0 if good and judged else 1


if __name__ == "__main__":
    sys.exit(main())

"""Run an executable of the suite at its real sizes and say what is wrong. Standard library only.

smoke.py runs EXECUTABLE    every variant at smoke size with two threads
smoke.py grows EXECUTABLE   `quick` takes longer than `smoke`: the work is not optimised away
smoke.py wrong EXECUTABLE ARGUMENT...    it finds its own answer wrong
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

WRONG = 3  # exit status of a program whose check refuses its answer
TIMES_LONGER = 1.5  # at least, from smoke to quick; sizes differ by far more


def lines(executable: str, *options: str) -> list[dict[str, Any]]:
    """What one process printed. Exits with a sentence when it did not end well."""
    command = [executable, *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(executable: str, variant: str, size: str, repeats: int) -> list[dict[str, Any]]:
    """The measured repeats, after checking that what was asked for is what ran."""
    first, *repeated, last = lines(
        executable,
        "--run",
        "--threads",
        "2",
        "--variant",
        variant,
        "--size",
        size,
        "--repeats",
        str(repeats),
    )
    asked = (executable.rsplit("/", 1)[-1], variant, size, 2)
    ran = (
        f"{first['program']}.{first['backend']}",
        first["variant"],
        first["size"],
        first["threads"],
    )
    if asked != ran:
        sys.exit(f"asked for {asked} but {ran} ran")
    measured = [line for line in repeated if not line["warmup"]]
    if last != {"event": "end", "status": "ok", "reason": ""} or len(measured) != repeats:
        sys.exit(f"{asked}: {len(measured)} repeats, then {last}")
    answers = {line["answer"] for line in repeated}
    if len(answers) != 1:
        sys.exit(f"{asked}: the answers differ between repeats: {answers}")
    return measured


def main() -> None:
    """See the module's docstring."""
    what, executable, *arguments = sys.argv[1:]
    if what == "wrong":
        status = subprocess.run([executable, *arguments], check=False).returncode
        if status != WRONG:
            sys.exit(f"{executable} ended with {status} instead of {WRONG}")
        return
    [description] = lines(executable, "--describe")
    variants = [variant["name"] for variant in description["variants"]]
    if what == "runs":
        for variant in variants:
            run(executable, variant, "smoke", repeats=2)
        return
    best = {
        size: min(line["wall_ns"] for line in run(executable, variants[0], size, repeats=3))
        for size in ("smoke", "quick")
    }
    print(best)
    if best["quick"] < TIMES_LONGER * best["smoke"]:
        sys.exit(f"{executable}: time does not grow with size: {best} ns")


if __name__ == "__main__":
    main()

"""Run an executable of the suite at its real sizes and report faults. Standard library only.

smoke.py runs EXECUTABLE    every variant at smoke size with two threads
smoke.py grows EXECUTABLE   `quick` takes longer than `smoke`: the work is not optimised away
smoke.py wrong EXECUTABLE ARGUMENT...    the program finds its own answer wrong
smoke.py contends EXECUTABLE    every variant of a contention program with one and two threads
smoke.py refuses EXECUTABLE    a contention program answers bad options with one sentence
smoke.py unthreaded EXECUTABLE    a contention program to which a thread is refused says so
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

USAGE = 2  # exit status of a program whose options make no sense
WRONG = 3  # exit status of a program whose check refuses its answer
REFUSED = 4  # exit status of a program to which a thread is refused
ROUNDING = 1 + 1e-9  # rounding may take a mean of equal numbers this far from them
TRIES = 20  # because other programs may have the processors
TIMES_LONGER = 1.5  # at least, from smoke to quick; sizes differ by far more
# Seconds after which a process is tried again, because a library is known to sleep for ever in it:
# the semaphore of libstdc++ 12 (GCC 104928).
PATIENCE_S = {("semaphore.threads", "shared"): 15}


def lines(executable: str, *options: str, patience_s: float | None = None) -> list[dict[str, Any]]:
    """The lines that one process printed. Exits with a sentence if the process failed.

    TimeoutExpired after `patience_s`.
    """
    command = [executable, *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=patience_s)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(
    executable: str, variant: str, size: str, repeats: int, form: str = ""
) -> list[dict[str, Any]]:
    """The measured repeats, after a check that the requested cell is the one that ran."""
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
        *(["--arg", f"form={form}"] if form else []),
    )
    asked = (executable.rsplit("/", 1)[-1], variant, size, 2, form)
    ran = (
        f"{first['program']}.{first['backend']}",
        first["variant"],
        first["size"],
        first["threads"],
        first["arguments"].get("form", "") if form else "",
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


def run_all(executable: str, variants: list[str], forms: list[dict[str, Any]]) -> None:
    """Run every variant in every form: all forms give one answer, and the program refuses the forms
    that this build lacks."""
    there = forms_there(forms)
    for variant in variants:
        answers = {run(executable, variant, "smoke", 2, form)[0]["answer"] for form in there}
        if len(answers) > 1:
            sys.exit(f"{executable} {variant}: the forms differ: {answers}")
    if not there:
        refuse(executable, "--run")
    for each in forms:
        if each["name"] not in there:
            refuse(executable, "--run", "--arg", f"form={each['name']}")


def forms_there(forms: list[dict[str, Any]]) -> list[str]:
    """The forms that this build has; one without a name if the program has no forms."""
    return [each["name"] for each in forms if not each["lacks"]] if forms else [""]


def described(executable: str) -> list[dict[str, Any]]:
    """The variants of a contention program, after a check of its description."""
    [description] = lines(executable, "--describe")
    program = executable.rsplit("/", 1)[-1].removesuffix(".threads")
    if (description["program"], description["kind"]) != (program, "contention"):
        sys.exit(f"{executable} says that it is {description}")
    variants: list[dict[str, Any]] = description["variants"]
    if variants[0]["remedy"]:
        sys.exit(f"{executable}: the first variant is the usual one, not a remedy")
    if len({variant["name"] for variant in variants}) != len(variants):
        sys.exit(f"{executable}: two variants have one name")
    for variant in variants:
        if not re.fullmatch("[a-z0-9_]+", variant["name"]) or not variant["meaning"]:
            sys.exit(f"{executable}: {variant} has no proper name or meaning")
    return variants


def contend(executable: str, variant: dict[str, Any]) -> bool:
    """Run a variant on all its numbers of threads. Returns whether its threads ran together."""
    alone = variant["use"] == "alone"
    counts = [1] if alone else [1, 2]
    threads = ",".join(map(str, counts))
    options = ["--run", "--threads", threads, "--variant", variant["name"], "--size", "smoke"]
    patience_s = PATIENCE_S.get((executable.rsplit("/", 1)[-1], variant["name"]))
    try:
        first, *repeated, last = lines(executable, *options, patience_s=patience_s)
    except subprocess.TimeoutExpired:
        return False
    asked = (executable.rsplit("/", 1)[-1], variant["name"], "smoke", counts[-1])
    ran = (
        f"{first['program']}.{first['backend']}",
        first["variant"],
        first["size"],
        first["threads"],
    )
    if asked != ran:
        sys.exit(f"asked for {asked} but {ran} ran")
    if last != {"event": "end", "status": "ok", "reason": ""}:
        sys.exit(f"{asked} ended with {last}")
    rounds: dict[int, list[int]] = {}
    for line in repeated:
        rounds.setdefault(line["repeat"], []).append(line["threads"])
        rates = [line[f"{which}per_second"] for which in ("slowest_", "", "fastest_")]
        if not (line["ok"] and 0 < rates[0] <= rates[1] * ROUNDING <= rates[2] * ROUNDING**2):
            sys.exit(f"{asked}: {line}")
        if line["warmup"] != (line["repeat"] == 0) or line["operations"] < 1:
            sys.exit(f"{asked}: {line}")
    if list(rounds) != list(range(len(rounds))) or len(rounds) < 3:
        sys.exit(f"{asked}: the rounds are {list(rounds)}")
    if any(sorted(each) != counts for each in rounds.values()):
        sys.exit(f"{asked}: the rounds have the numbers of threads {rounds}")
    return max(line["overlap"] for line in repeated if line["threads"] == counts[-1]) > 0


def steadily(executable: str) -> None:
    """With --seconds, only windows of all threads run: a thread alone would mislead a profiler."""
    usable = [each for each in described(executable) if not each["lacks"]]
    variant = next(each for each in usable if each["use"] != "alone")
    words = ("--run", "--threads", "1,2", "--seconds", "0.01", "--variant", variant["name"])
    start, *repeats, end = lines(executable, *words)
    threads = {each["threads"] for each in repeats}
    if (start["threads"], threads, end["status"]) != (2, {2}, "ok"):
        sys.exit(f"{executable} --seconds: {repeats} {end}")


def refuse(executable: str, *options: str) -> None:
    """Bad options end with 2, one sentence on stderr, and nothing on stdout."""
    done = subprocess.run([executable, *options], check=False, capture_output=True, text=True)
    if done.returncode != USAGE or done.stdout or done.stderr.count("\n") != 1:
        sys.exit(f"{executable} {options} ended with {done.returncode}: {done.stdout}{done.stderr}")


def refuse_all(executable: str) -> None:
    """Try every kind of option that a contention program must refuse, if it has such a variant."""
    refuse(executable)
    refuse(executable, "--describe", "--run")
    refuse(executable, "--run", "--variant", "none")
    refuse(executable, "--run", "--size", "huge")
    refuse(executable, "--run", "--cpus", "1000000")
    allowed = min(os.sched_getaffinity(0))
    refuse(executable, "--run", "--cpus", f"{allowed},{allowed}")
    refuse(executable, "--run", "--seconds", "0")
    for threads in ("0", "-1", "two", "1,0", "2000"):
        refuse(executable, "--run", "--threads", threads)
    for variant in described(executable):
        if variant["use"] == "alone":
            refuse(executable, "--run", "--variant", variant["name"], "--threads", "1,2")
        if variant["lacks"]:
            refuse(executable, "--run", "--variant", variant["name"])


def unthreaded(executable: str) -> None:
    """The program joins the threads that it had, and ends as ARCHITECTURE.md says."""
    command = [executable, "--run", "--threads", "4", "--size", "smoke"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    if (
        done.returncode != REFUSED
        or [line["event"] for line in events] != ["start", "end"]
        or events[-1]["status"] != "refused"
    ):
        sys.exit(f"{executable} ended with {done.returncode}: {done.stdout}{done.stderr}")


def main() -> None:
    """See the module's docstring."""
    what, executable, *arguments = sys.argv[1:]
    if what == "wrong":
        status = subprocess.run([executable, *arguments], check=False).returncode
        if status != WRONG:
            sys.exit(f"{executable} ended with {status} instead of {WRONG}")
        return
    if what == "contends":
        for variant in described(executable):
            # Windows are so short that a thread that waits for a processor can miss them.
            if not variant["lacks"] and not any(contend(executable, variant) for _ in range(TRIES)):
                sys.exit(f"{executable} {variant['name']}: its threads never ran together")
        steadily(executable)
        return
    if what == "refuses":
        refuse_all(executable)
        return
    if what == "unthreaded":
        unthreaded(executable)
        return
    [description] = lines(executable, "--describe")
    variants = [variant["name"] for variant in description["variants"]]
    if what == "runs":
        run_all(executable, variants, description.get("forms", []))
        return
    if not forms_there(description.get("forms", [])):
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

"""Runs random programs in processes of their own, with std and with tmk, and names those that fail.

A program has failed with tmk if its answer is not the one that it computes from its data alone, if
it dies, or if it takes longer than 10 s and 20 times as long as with std. The driver ends every
program that takes longer; each failure has the command that repeats it. Time in which the kernel
did not run the driver, or a runnable thread of the program, does not count: if threads poll with
sched_yield, Linux 6.18 starves others, its own kernel threads among them, for up to a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

LIMIT_S = 10.0
TIMES_STD = 20.0
LIMIT_OF_STD_S = 60.0
THREADS = (1, 2, 8)
LOOK_S = 0.5  # between two looks at the threads of a program
# The first report ends a program. With std only the time counts, because ThreadSanitizer does not
# see the compiled part of libstdc++ in set_value_at_thread_exit.
OF_STD = {"TSAN_OPTIONS": "report_bugs=0"}
OF_TMK = {
    "TSAN_OPTIONS": "halt_on_error=1:suppressions="
    + str(Path(__file__).parents[2] / "tsan_suppressions.txt")
}


running: set[int] = set()  # process groups of programs
interrupted = threading.Event()


@dataclass(frozen=True)
class Ended:
    """A process: `answer` if it ended well, `failure` otherwise."""

    seconds: float
    answer: str = ""
    failure: str = ""


def end(group: int) -> None:
    """Kill a program and the processes that it forked, if one of them is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def runnable_threads(group: int) -> dict[str, str]:
    """The processor time of each runnable thread of a process group, by its folder."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(process.name)) != group:
                continue
            for thread in (process / "task").iterdir():
                state = (thread / "stat").read_text().rpartition(") ")[2][:1]
                had = (thread / "schedstat").read_text().strip()
                if state == "R" and had != "0 0 0":  # a kernel without these counts gives zeros
                    found[str(thread)] = had
    return found


def output_within(limit_s: float, process: subprocess.Popen[str]) -> str | None:
    """The output of the program, or None if the driver ended it at its limit."""
    last = time.monotonic()
    end_at = last + limit_s
    had: dict[str, str] = {}
    while last < end_at:
        try:
            return process.communicate(timeout=LOOK_S)[0]
        except subprocess.TimeoutExpired:
            now, before, had = time.monotonic(), had, runnable_threads(process.pid)
            driver_starved = now - last > 2 * LOOK_S
            thread_starved = bool(had.items() & before.items())
            if driver_starved or thread_starved:
                end_at += now - last
            last = now
    end(process.pid)
    process.communicate()
    return None


def run(command: list[str], environment: dict[str, str], limit_s: float) -> Ended:
    """Run a program and the processes that it forks, no longer than the limit."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **environment},
        start_new_session=True,
    )
    running.add(process.pid)
    if interrupted.is_set():
        end(process.pid)
    try:
        output = output_within(limit_s, process)
    finally:
        running.discard(process.pid)
    if output is None:
        return Ended(time.monotonic() - began, failure=f"not at its end after {limit_s:.0f} s")
    seconds = time.monotonic() - began
    found = re.search(r"^right: answer (\w+)", output, re.MULTILINE)
    if process.returncode == 0 and found:
        return Ended(seconds, answer=found[1])
    how = f"status {process.returncode}"
    if process.returncode < 0:
        how = signal.Signals(-process.returncode).name
    return Ended(seconds, failure=f"{how}: {output.strip()[:3000] or 'no output'}")


def failures(
    folder: Path, seed: int, threads: tuple[int, ...], least_limit_s: float | None = None
) -> list[str]:
    """The failures of this seed, one entry for each way of running it."""
    options = ["--seed", str(seed)]
    std = run([str(folder / "random_programs.std"), *options], OF_STD, LIMIT_OF_STD_S)
    if std.failure:
        return [f"seed {seed}: {folder / 'random_programs.std'} --seed {seed}\n  {std.failure}"]
    limit_s = max(least_limit_s or LIMIT_S, TIMES_STD * std.seconds)
    found = []
    for number in threads:
        tmk = run(
            [str(folder / "random_programs.tmk"), *options],
            {**OF_TMK, "TMK_NUM_THREADS": str(number)},
            limit_s,
        )
        what = tmk.failure
        if not what and tmk.answer != std.answer:
            what = f"answer {tmk.answer}, with std {std.answer}"
        if what:
            command = f"TMK_NUM_THREADS={number} {folder / 'random_programs.tmk'} --seed {seed}"
            found.append(f"seed {seed}: {command}\n  {what} ({std.seconds:.2f} s with std)")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where random_programs.std and .tmk are")
    parser.add_argument("--first", type=int, help="seed; drawn and printed if not given")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--threads", type=int, action="append", help=f"of tmk; else {THREADS}")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds; else 10")
    chosen = parser.parse_args()
    first = random.SystemRandom().randrange(10**12) if chosen.first is None else chosen.first
    threads = tuple(chosen.threads or THREADS)
    print(f"random programs: seeds {first} to {first + chosen.count - 1}", flush=True)
    failed = 0
    with ThreadPoolExecutor(chosen.jobs) as executor:
        seeds = range(first, first + chosen.count)
        run_seed = partial(failures, chosen.folder, threads=threads, least_limit_s=chosen.limit)
        try:
            for found in executor.map(run_seed, seeds):
                failed += bool(found)
                for each in found:
                    print(each, flush=True)
        except KeyboardInterrupt:
            executor.shutdown(wait=False, cancel_futures=True)
            interrupted.set()
            for group in list(running):
                end(group)
            print("random programs: interrupted")
            return 130
    print(f"{chosen.count - failed} of {chosen.count} random programs passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

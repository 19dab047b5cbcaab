#!/usr/bin/env python3
"""Runs a fuzzer for many executions, one process for each processor, from different seeds.

Each process starts from the well-formed inputs and ends at its share of the executions. The exit
status is 1 if a process found a fault; the input is then in the folder of the fuzzer.
Usage: tests/fuzz/long.py BUILD NAME EXECUTIONS
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"


def main() -> int:
    build, name, executions = Path(sys.argv[1]).resolve(), sys.argv[2], int(float(sys.argv[3]))
    fuzzer = build / f"tests/bin/fuzz.{name}"
    if not fuzzer.exists():
        print(f"{fuzzer} is not built: fuzzing needs the preset asan and clang's libFuzzer")
        return 1
    jobs = len(os.sched_getaffinity(0))
    seeds = ",".join(map(str, sorted((SEEDS / name).iterdir())))
    limits = ["-max_len=1024", "-timeout=60", "-rss_limit_mb=2048", "-verbosity=0"]
    line = [str(fuzzer), f"-runs={-(-executions // jobs)}", *limits, "-print_final_stats=1"]
    line += [f"-seed_inputs={seeds}", f"-artifact_prefix={fuzzer}."]
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder) / str(job) for job in range(jobs)]
        running = []
        for job, log in enumerate(logs):
            with log.open("wb") as out:
                running.append(
                    subprocess.Popen([*line, f"-seed={job + 1}"], stdout=out, stderr=out)
                )
        try:
            statuses = [process.wait() for process in running]
        finally:
            for process in running:
                process.kill()
        done = 0
        for log, status in zip(logs, statuses, strict=True):
            text = log.read_text(encoding="utf-8", errors="replace")
            _, _, count = text.partition("number_of_executed_units:")
            done += int((count.split() or ["0"])[0])
            if status != 0:
                print(text[-4000:])
    print(f"{name}: {done:,} executions, {sum(map(bool, statuses))} processes found something")
    return 1 if any(statuses) or done < executions else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compares the gains that try finds for programs of the distribution with gains by hand, in a
table.

    PYTHONPATH=lab .venv/bin/python tests/try/real_programs.py --budget 40 xz pigz

By hand: twelve runs of the program as it is and twelve with the fix, in turns, by the line that try
gives, and the ratio of the medians. Each gain has a row; if there is none, the most promising fix
has one.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RUNS = 12
PORT = 7911
_READY_S = 10.0
# Words; for a server also the command that checks whether it is up, and its load. SIGINT ends a
# server.
PROGRAMS: dict[str, tuple[str, str, str]] = {
    "xz": ("xz -T{threads} -0 --block-size=1MiB -c input", "", ""),
    "pigz": ("pigz -p {threads} -6 -c input", "", ""),
    "sysbench-mutex": (
        "sysbench mutex --threads={threads} --mutex-num=1 --mutex-locks=150000 --mutex-loops=300 "
        "run", "", "",
    ),
    "sysbench-threads": (
        "sysbench threads --threads={threads} --thread-locks=1 --thread-yields=20 --events=1500 "
        "--time=0 run", "", "",
    ),
    "redis": (
        f"redis-server --port {PORT} --save '' --io-threads {{threads}}",
        f"redis-cli -p {PORT} ping",
        f"redis-benchmark -p {PORT} -q -n 15000 -c 32 -P 8 -d 512 -r 20000 -t set,get",
    ),
    "memcached": (
        f"memcached -u nobody -p {PORT} -t {{threads}} -m 256",
        f"memcping --servers=127.0.0.1:{PORT}",
        f"memcslap --servers=127.0.0.1:{PORT} --concurrency=4 --execute-number=4000 --test=set",
    ),
}  # fmt: skip


def tried(name: str, budget_s: float) -> dict[str, Any]:
    """The JSON of a try."""
    words, ready, load = PROGRAMS[name]
    line = [str(ROOT / "threadmark"), "try", "--store", "s.db", "--json", "--threads", "2"]
    line += ["--budget", f"{budget_s:g}s"]
    # sysbench prints its own times, and these differ in each run.
    line += ["--check", "true"] if name.startswith("sysbench") else []
    line += ["--ready", ready, "--load", load, "--stop", "INT"] if load else []
    done = subprocess.run([*line, "--", *shlex.split(words)], check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def by_hand(name: str, fixed: str) -> float:
    """The speed-up of the line with the fix, by a clock and a shell."""
    words, ready, load = PROGRAMS[name]
    plain = shlex.join(shlex.split(words.replace("{threads}", "2")))
    times: dict[str, list[float]] = {plain: [], fixed: []}
    for number in range(2 * RUNS):
        line = (plain, fixed)[number % 2]
        times[line].append(_served(line, ready, load) if load else _timed(line))
    return median(times[plain]) / median(times[fixed])


def _timed(line: str) -> float:
    began = time.monotonic()
    subprocess.run(line, shell=True, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def _served(line: str, ready: str, load: str) -> float:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(f"exec env {line}", shell=True, **quiet) as server:  # type: ignore[call-overload]
        until = time.monotonic() + _READY_S
        while subprocess.run(ready, shell=True, check=False, **quiet).returncode != 0:  # type: ignore[call-overload]
            if time.monotonic() > until:
                raise SystemExit(f"{line} is not ready")
            time.sleep(0.05)
        took = _timed(load)
        server.send_signal(signal.SIGINT)
    return took


def rows(name: str, budget_s: float) -> Iterator[str]:
    """The rows of the table."""
    found = tried(name, budget_s)
    fixes = [each for each in found["fixes"] if not each["parts"]]
    known = [each for each in fixes if each["threads"] and not each["broken"]]
    known = [each for each in known if each["threads"]["2"]["pairs"] >= 4]
    gains = [each for each in known if each["name"] in found["gains"]]
    seconds = found["as_is"]["2"]["seconds"]
    broken = ", ".join(each["name"] for each in fixes if each["broken"]) or "none"
    for each in gains or known[:1]:
        ratio = each["threads"]["2"]["times_as_fast"]
        hand = by_hand(name, each["keep"]["command"])
        yield (
            f"| {name} | {1e3 * seconds:.0f} ms | {len(known)} of {len(fixes)} | "
            f"{each['name']}{'' if gains else ', no gain for sure'} | "
            f"x{ratio['estimate']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) | "
            f"x{hand:.2f} | {broken} |"
        )


def main() -> int:
    """Print the rows of the table."""
    parser = argparse.ArgumentParser(description="try on programs of the distribution")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds for each")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sources = sorted(each.read_bytes() for each in (ROOT / "lab").rglob("*.py"))
        text = b"".join(sources)
        Path("input").write_bytes((text * (4_000_000 // len(text) + 1))[:4_000_000])
        for name in given.programs:
            if shutil.which(shlex.split(PROGRAMS[name][0])[0]) is None:
                print(f"| {name} | not installed |", flush=True)
                continue
            for each in rows(name, given.budget):
                print(each, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

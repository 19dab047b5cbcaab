#!/usr/bin/env python3
"""Runs programs of the distribution alone and explained, and compares their behaviour.

Their outputs must be the same except for numbers, and so must their exit status. The first cause
must be one that an expert expects, or not be certain. The script skips programs that are not
installed. The exit status is 1 if one of these does not hold. Servers run on the loopback device.
mariadbd needs a user and a database of its own, so docs/findings/distribution.md has it instead.
Usage: tests/explain/distribution.py [--only PATTERN] [--json]
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 120
_NUMBERS = re.compile(rb"[\d.,]+|0x[0-9a-f]+")
_SMALL = 12_000_000  # bytes of the input of a slow program
_LARGE = 60_000_000
_PORT = 21_311
_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
_SEQUENCES, _PLACES = 100, 350
_SERIAL = ("serial_dependency",)
# Causes of programs that have all that they can use.
_IDLE = ("none", "run_queue", "imbalance", "serial_dependency")


@dataclass(frozen=True)
class Program:
    """A command. In it `{small}` and `{large}` are files of text, and `{proteins}` is a file of
    sequences. `ready` and `load` make it a server; the load is a program that must be installed
    too."""

    command: str
    expected: tuple[str, ...]
    ready: str = ""
    load: str = ""


PROGRAMS = (
    Program("sysbench mutex --threads=2 --mutex-num=1 --mutex-locks=9000000 --mutex-loops=100 run",
            ("mutex",)),
    Program("sysbench memory --threads=2 --memory-total-size=9G run", _IDLE),
    Program("sysbench threads --threads=4 --thread-locks=1 --time=2 run", ("mutex",)),
    Program("stress-ng --mutex 1 --timeout 2", ("mutex",)),
    Program("stress-ng --malloc 1 --timeout 2", ("kernel_memory", "allocator")),
    Program("stress-ng --malloc 1 --malloc-pthreads 2 --timeout 2",
            ("kernel_memory", "allocator", "run_queue")),
    Program("stress-ng --futex 1 --timeout 2", ("mutex", "serial_dependency")),
    Program("stress-ng --vm 2 --vm-bytes 64M --timeout 2", ("kernel_memory", *_IDLE)),
    Program("pigz -p 2 -c {large}", _IDLE),
    Program("pbzip2 -p2 -c {large}", _IDLE),
    Program("xz -T2 -c --block-size=3000000 {small}", _IDLE),
    Program("zstd -q -T2 -9 -c {large}", _IDLE),
    Program("sort --parallel=2 -S 1G {large}", ("mutex",)),
    Program("lbzip2 -n 2 -c {large}", _IDLE),
    # Most work lies in libraries, or between the regions of a runtime whose threads spin.
    Program("gm convert -size 2000x2000 plasma:fractal -blur 0x5 ppm:/dev/null", _SERIAL),
    Program("clustalo --threads=2 -i {proteins} --iter=1 --full", _SERIAL),
    Program("fio --name=a --rw=randwrite --bs=4k --size=32M --numjobs=2 --thread --time_based "
            "--runtime=2 --directory=. --output=/dev/null", ("io",)),
    Program(f"memcached -u nobody -l 127.0.0.1 -p {_PORT} -t 2", ("io", *_IDLE),
            f"bash -c 'echo > /dev/tcp/127.0.0.1/{_PORT}'",
            f"memcslap --servers=127.0.0.1:{_PORT} --concurrency=8 --execute-number=20000"),
    Program(f"redis-server --port {_PORT + 1} --bind 127.0.0.1 --save ''", ("io", *_IDLE),
            f"redis-cli -p {_PORT + 1} ping",
            f"redis-benchmark -p {_PORT + 1} -c 20 -n 100000 -t set,get -q"),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """The results of one program."""

    command: str
    category: str = ""
    name: str = ""
    share: float = 0.0
    certain: bool = False
    unknown: float = 0.0
    wrong: str = ""
    missing: str = ""


def missing(program: Program) -> str:
    """The name of the missing program, or nothing."""
    words = [each.split()[0] for each in (program.command, program.load) if each]
    return next((each for each in words if shutil.which(each) is None), "")


def judged(program: Program, folder: Path) -> Row:
    """Run a program alone and explained, and compare."""
    if lacking := missing(program):
        return Row(program.command, missing=lacking)
    command = program.command
    for name, size in (("small", _SMALL), ("large", _LARGE)):
        command = command.replace(f"{{{name}}}", str(text(folder / name, size)))
    command = command.replace("{proteins}", str(proteins(folder / "proteins")))
    # A server does not run alone, because the load stops it and its output depends on the moment.
    alone = None if program.load else run(["sh", "-c", f"exec {command}"], folder)
    into = ["sh", "-c", f"exec {command} >out 2>err"]
    line = [str(ROOT / "threadmark"), "explain", "--json", "--store", str(folder / "s.db")]
    if program.load:
        line += ["--ready", f"{program.ready} >ready 2>&1", "--load", f"{program.load} >load 2>&1"]
    done = run([*line, "--", *into], folder)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return Row(command, wrong=f"explain failed: {' '.join(said)}")
    return Row(command, **found(program, json.loads(done.stdout), alone, folder))


def found(
    program: Program,
    answer: dict[str, Any],
    alone: subprocess.CompletedProcess[bytes] | None,
    folder: Path,
) -> dict[str, Any]:
    """Fill the row from the answer, with its errors."""
    first = answer["causes"][0]
    wrong = ""
    if first["category"] not in program.expected and first["certain"]:
        wrong = f"expected {' or '.join(program.expected)}"
    if alone is not None:
        if answer["exit_status"] != alone.returncode:
            wrong = f"exit status {answer['exit_status']} instead of {alone.returncode}"
        elif not same(program, alone.stdout, (folder / "out").read_bytes()):
            wrong = "its output differs"
    kept = {key: first[key] for key in ("category", "name", "share", "certain")}
    return {**kept, "unknown": answer["unknown"], "wrong": wrong}


def same(program: Program, one: bytes, other: bytes) -> bool:
    """Whether two outputs are the same: compressed output in each byte, text without its numbers,
    because these are times."""
    if "{" in program.command:
        return one == other
    return _NUMBERS.sub(b"", one).split() == _NUMBERS.sub(b"", other).split()


def text(path: Path, size: int) -> Path:
    """Write a file with words that repeat, but not in a row."""
    if not path.exists():
        words = (b"%d of %d threads wait for lock %x.\n" % (n, n * n % 997, n * 40503 % 65521)
                 for n in range(size // 36))  # fmt: skip
        path.write_bytes(b"".join(words))
    return path


def proteins(path: Path) -> Path:
    """Write a file with sequences that differ in half of their places."""
    chosen = random.Random(1)  # the same file each time
    first = chosen.choices(_ACIDS, k=_PLACES)
    found = []
    for number in range(_SEQUENCES):
        own = [chosen.choice((each, chosen.choice(_ACIDS))) for each in first]
        found.append(f">{number}\n{''.join(own)}\n")
    path.write_text("".join(found))
    return path


def run(line: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command in the folder; a command that takes too long counts as failed."""
    try:
        return subprocess.run(line, cwd=folder, capture_output=True, check=False, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(line, 124, b"", b"it took too long")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="*", help="a pattern for commands")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for program in PROGRAMS:
        if fnmatch.fnmatch(program.command, f"{options.only}*"):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(judged(program, Path(folder)))
            sys.stderr.write(f"{shown(rows[-1])}\n")
    if options.json:
        print(json.dumps([asdict(each) for each in rows]))
    bad = sum(bool(each.wrong) for each in rows)
    absent = sum(bool(each.missing) for each in rows)
    print(f"{len(rows) - bad - absent} passed, {bad} failed, {absent} skipped")
    return 1 if bad else 0


def shown(row: Row) -> str:
    """The line of a row."""
    if row.missing:
        return f"-     {row.command}: {row.missing} is not installed"
    sure = "" if row.certain else " (not certain)"
    verdict = "WRONG" if row.wrong else "ok   "
    cause = f"{row.category} {row.name} {row.share:.0%}{sure}, {row.unknown:.0%} not known"
    return f"{verdict} {row.command}: {cause} {row.wrong}".rstrip()


if __name__ == "__main__":
    sys.exit(main())

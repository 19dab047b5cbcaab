#!/usr/bin/env python3
"""Kills nodes of the pipeline at random moments, and compares each result with that of merge.

Usage: kills.py [--bin FOLDER] [--folder DIR] [--runs N] [--seed N]

Each run takes other data, of which some is incomplete, and other moments. Every other run may also
kill the pipeline itself and start it again. The exit status is 1 if a result differs.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parents[3]
NODES = ("basic", "exam", "exercise", "project")
INCOMPLETE = 3  # the exit status if students are not in all files


@dataclass(frozen=True)
class Data:
    """Four files in a folder, and the result of merge for them."""

    folder: Path
    result: bytes
    incomplete: bytes | None


@dataclass
class Kills:
    """The number of kills of each process."""

    of: dict[str, int]

    def __str__(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in self.of.items())


def make(executable: Path, folder: Path, students: int, rng: random.Random) -> Data:
    """Generates files, removes some lines from each in half of the cases, and merges them."""
    folder.mkdir()
    words = ["generate", "-s", str(students), "-e", "10", "--seed", str(rng.getrandbits(60))]
    run(executable, [*words, "--out", str(folder)])
    if rng.random() < 0.5:
        for name in records.FILES:
            thin(folder / name, rng)
    target = folder / "merged"
    status = run(executable, ["merge", "--in", str(folder), "-o", str(target)])
    assert status in (0, INCOMPLETE), status
    return Data(folder, target.read_bytes(), content(listed(target)))


def thin(path: Path, rng: random.Random) -> None:
    """Removes about one line in fifty from the file."""
    first, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"".join(line for line in lines if rng.random() > 0.02))


def run(executable: Path, words: list[str]) -> int:
    """Run the executable with its output hidden; returns the exit status."""
    done = subprocess.run([executable, *words], check=False, capture_output=True)
    return done.returncode


def listed(target: Path) -> Path:
    """The path of the list of incomplete students."""
    return target.with_name(target.name + ".incomplete")


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def children(parent: int) -> dict[str, int]:
    """The nodes that this pipeline runs now, with their process numbers."""
    found = {}
    try:
        numbers = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()
    except OSError:
        return {}
    for number in numbers:
        with suppress(OSError):
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
            if len(words) > 2 and words[1] == b"node":
                found[words[2].decode()] = int(number)
    return found


def disturb(
    executable: Path, data: Data, target: Path, rng: random.Random, *, most: int, too: bool
) -> Kills:
    """Run one pipeline to its end and kill up to `most` of its processes, with `too` also the
    pipeline.

    AssertionError if the result differs from that of merge, or a file is left.
    """
    kills = Kills(dict.fromkeys((*NODES, "pipeline"), 0))
    line = [executable, "pipeline", "--in", data.folder, "-o", target]
    said = b""
    while True:
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            torment(process, rng, kills, most=most, too=too)
            said += process.stderr.read()
        if process.returncode != -signal.SIGKILL:
            break
    right = INCOMPLETE if data.incomplete is not None else 0
    assert process.returncode == right, (process.returncode, said.decode())
    assert content(target) == data.result, "the result differs from that of merge"
    assert content(listed(target)) == data.incomplete, "the incomplete students differ"
    left = [path.name for path in target.parent.glob(f"{target.name}.*") if path != listed(target)]
    assert not left, f"{left} are left"
    return kills


def torment(
    process: subprocess.Popen[bytes], rng: random.Random, kills: Kills, *, most: int, too: bool
) -> None:
    """Kills nodes of this pipeline at random moments until it ends or is itself killed."""
    while process.poll() is None and sum(kills.of.values()) < most:
        time.sleep(rng.expovariate(1 / 0.02))
        if too and rng.random() < 0.1:
            process.kill()
            kills.of["pipeline"] += 1
            return
        running = children(process.pid)
        # Sometimes two or four nodes at once, which may be neighbours.
        for name in rng.sample(sorted(running), min(len(running), rng.choice((1, 1, 1, 2, 4)))):
            with suppress(ProcessLookupError):
                os.kill(running[name], signal.SIGKILL)
                kills.of[name] += 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=ROOT / "build/apps/bin")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    given = parser.parse_args()
    executable = (given.bin / "tmk-students").resolve()
    if not executable.exists():
        print(f"{executable} is not built; run ./threadmark setup --apps", file=sys.stderr)
        return 2
    rng = random.Random(given.seed)
    total: dict[str, int] = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        for number in range(given.runs):
            data = make(executable, Path(name) / f"data{number}", 50_000, rng)
            start = time.monotonic()
            try:
                kills = disturb(
                    executable, data, data.folder / "result", rng, most=12, too=number % 2 == 1
                )
            except AssertionError as error:
                print(f"run {number + 1} of --seed {given.seed}: {error}")
                return 1
            took_s = time.monotonic() - start
            print(f"run {number + 1}: as merge, {took_s:.2f} s; killed: {kills}", flush=True)
            total = {key: total.get(key, 0) + count for key, count in kills.of.items()}
    print(f"{given.runs} runs of --seed {given.seed} are as merge; killed: {Kills(total)}")
    least = min(count for name, count in total.items())
    if given.runs >= 10 and least == 0:
        print("MISSED : a process was never killed; choose more --runs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

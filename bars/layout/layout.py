"""Measure what code layout alone does to the time of an executable, and print its spread.

    bars/layout/layout.py [--layouts 10] [--rounds 12] [--programs fib sort] [--build FOLDER]

Each serial program is compiled once, to assembly. A layout is that assembly with a random gap of 1
to 4 x 16 bytes before each function, linked after an object of random size in code and data, in a
random order of the objects, and run with an environment of random size. All layouts of a program
thus execute the same instructions, except for padding. Within a round each layout of a program runs
once, in a random order; a sample is one process. The spread between layouts is a component of
variance: the spread of the means of the layouts beyond the noise of their samples. A copy of the
first layout is measured like the others, and shows the result for equal layouts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
FLAGS = ["-std=c++20", "-O3", "-DNDEBUG", f"-I{BENCH}", '-DBENCH_FLAGS="-O3 -DNDEBUG"']
REPEATS = 5  # of a process; the repeat with the least processor time counts


@dataclass(frozen=True)
class Spread:
    """The spread of logarithms of times: between layouts, and between samples of one layout."""

    layouts: float  # variance between layouts; below 0 by chance if there is none
    samples: float  # variance of one sample
    deviations: tuple[float, ...]  # of each layout, without the noise in their spread


def spread(logs: NDArray[np.float64]) -> Spread:
    """Components of variance of logs[layout, round], by the analysis of variance in two ways."""
    layouts, rounds = logs.shape
    means = logs.mean(axis=1)
    rest = logs - means[:, None] - logs.mean(axis=0)[None, :] + logs.mean()
    samples = float((rest**2).sum()) / ((layouts - 1) * (rounds - 1))
    seen = float(means.var(ddof=1))
    between = seen - samples / rounds
    shrunk = math.sqrt(max(0.0, between) / seen) if seen else 0.0
    return Spread(between, samples, tuple(shrunk * (means - means.mean())))


def differences(found: Sequence[Spread]) -> NDArray[np.float64]:
    """|log(time / time)| of each two layouts of one program."""
    return np.array(
        [
            abs(x - y)
            for each in found
            for index, x in enumerate(each.deviations)
            for y in each.deviations[:index]
        ]
    )


class Builder:
    """Makes layouts of serial programs below a folder."""

    def __init__(self, folder: Path, compiler: str) -> None:
        self.folder = folder
        self.compiler = compiler
        folder.mkdir(parents=True, exist_ok=True)
        self.objects = [self._compiled(BENCH / f"{name}.cpp") for name in ("harness", "executable")]

    def _call(self, *words: str | Path) -> None:
        subprocess.run([self.compiler, *map(str, words)], check=True)

    def _compiled(self, source: Path) -> Path:
        target = self.folder / f"{source.stem}.o"
        self._call(*FLAGS, "-c", source, "-o", target)
        return target

    def assembly(self, program: str) -> str:
        """The program's assembly from the compiler."""
        target = self.folder / f"{program}.s"
        backend = f'-DBENCH_BACKEND="{BENCH / "backends/serial.hpp"}"'
        source = BENCH / f"programs/tasks/{program}.cpp"
        self._call(*FLAGS, backend, "-S", source, "-o", target)
        return target.read_text(encoding="utf-8")

    def layout(self, program: str, assembly: str, number: int) -> Path:
        """An executable with a layout of its own."""
        draw = random.Random(f"{program}:{number}")
        target = self.folder / f"{program}.{number}"
        own, pad = target.with_suffix(f".{number}.s"), target.with_suffix(f".{number}.pad.s")
        gapped = re.sub(
            r"^(\s*\.type\s+\S+,\s*[@%]function)",
            lambda found: f"\t.skip {16 * draw.randrange(1, 5)}, 0x90\n{found[1]}",
            assembly,
            flags=re.MULTILINE,
        )
        own.write_text(gapped, encoding="utf-8")
        code, data = 16 * draw.randrange(256), 8 * draw.randrange(512)
        pad.write_text(
            f"\t.text\n\t.skip {code}, 0x90\n\t.data\n\t.skip {data}\n\t.bss\n\t.skip {data}\n"
            '\t.section .note.GNU-stack,"",@progbits\n',
            encoding="utf-8",
        )
        objects = [own, *self.objects]
        draw.shuffle(objects)
        self._call(pad, *objects, "-pthread", "-o", target)
        return target


def log_time(executable: Path, cpu: int, room: int) -> float:
    """Logarithm of the least processor time of a repeat of one process, in an environment with
    `room` more bytes. Other programs take the processor away without lengthening it."""
    options = "--run --threads 1 --variant plain --size quick --warmup 1 --repeats"
    command = ["taskset", "-c", str(cpu), str(executable), *options.split(), str(REPEATS)]
    environment = {"PATH": os.environ["PATH"], "ROOM": "x" * room}
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return math.log(min(e["cpu_ns"] for e in lines if e["event"] == "repeat" and not e["warmup"]))


def measure(executables: dict[str, list[Path]], rounds: int) -> dict[str, NDArray[np.float64]]:
    """Logarithms of times [layout, round] of each program."""
    draw = random.Random(1)
    count = len(next(iter(executables.values())))
    rooms = [draw.randrange(4096) for _ in range(count)]
    rooms[-1] = rooms[0]  # the copy of the first layout
    cpu = max(os.sched_getaffinity(0))
    found = {name: np.zeros((len(each), rounds)) for name, each in executables.items()}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for name in draw.sample(sorted(executables), len(executables)):
            for layout in draw.sample(range(count), count):
                time = log_time(executables[name][layout], cpu, rooms[layout])
                found[name][layout, number] = time
    return found


def report(found: dict[str, NDArray[np.float64]]) -> None:
    """Print the table; the last row of each array is the copy of its first."""
    print(f"{'program':<12} {'layouts sd':>10} {'largest difference':>19} {'sample sd':>10}")
    spreads, copies = [], []
    for name, logs in sorted(found.items()):
        spreads.append(each := spread(logs[:-1]))
        copies.append(spread(logs[[0, -1]]).layouts)
        largest = max(each.deviations) - min(each.deviations)
        own = math.sqrt(max(0.0, each.layouts))
        print(f"{name:<12} {own:>10.2%} {largest:>19.1%} {math.sqrt(each.samples):>10.2%}")
    together = math.sqrt(max(0.0, float(np.mean([each.layouts for each in spreads]))))
    control = float(np.mean(copies))
    apart = differences(spreads)
    print(f"sd of log time between layouts, all programs: {together:.2%}")
    signed = math.copysign(math.sqrt(abs(control)), control)
    print(f"between copies of one layout: {signed:.2%} (negative: less than their noise)")
    limits = [
        f"{q:.0%} below {math.expm1(np.quantile(apart, q)):.1%}" for q in (0.5, 0.9, 0.95, 0.99)
    ]
    print(f"two layouts of one program differ: {', '.join(limits)}")


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = sorted(each.stem for each in (BENCH / "programs/tasks").glob("*.cpp"))
    parser.add_argument("--layouts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--programs", nargs="+", default=every, choices=every, metavar="NAME")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--build", type=Path, default=ROOT / "build/layout")
    asked = parser.parse_args()
    if min(asked.layouts, asked.rounds) < 2:
        parser.error("a spread needs at least 2 layouts and 2 rounds")
    if not shutil.which(asked.compiler):
        parser.error(f"there is no compiler {asked.compiler}; install it or name another one")
    builder = Builder(asked.build, asked.compiler)
    executables = {}
    for program in asked.programs:
        print(f"building {program}", file=sys.stderr, flush=True)
        text = builder.assembly(program)
        made = [builder.layout(program, text, number) for number in range(asked.layouts)]
        copy = made[0].with_name(f"{program}.copy")
        shutil.copyfile(made[0], copy)
        copy.chmod(0o755)
        executables[program] = [*made, copy]
    report(measure(executables, asked.rounds))


if __name__ == "__main__":
    main()

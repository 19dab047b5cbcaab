"""Measure tmk::lock at the round table against std::lock of both libraries, and print the table.

    bars/lock/bar.py [--rounds 12] [--all] [--build FOLDER]

One thread per philosopher. Within a round every contestant runs once at every table, in a new
random order, so all share the other load of the machine; a sample is one process. Exit status 1 if
the upper 95 % limit of tmk's ratio to the better library is above 1.05, or if a philosopher
starved. --all adds the candidates that tmk::lock was chosen from. A run takes 2.5 minutes on two
free processors, and with --all four times that.

slowest: the longest total wait of a philosopher, as a share of the whole time. longest: one wait.
overtaken: the most meals that a neighbour had between two of a philosopher's own. least: the
smallest share of a philosopher, of an equal share (all, if the dinner lasts until every philosopher
has eaten).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "lab"))

from threadmark.judge.estimates import Interval, median, paired_ratio  # noqa: E402

ALLOWED = 1.05
STARVED = 0.05  # of an equal share, in which everybody could have eaten hundreds of meals
PHILOSOPHERS = (4, 8, 16, 32)
FLAGS = "-std=c++20 -O2 -pthread -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror"
COMPILERS = {"libstdc++": ["g++"], "libc++": ["clang++-19", "-stdlib=libc++"]}
BASES = ("std libstdc++", "std libc++")
OURS = ("tmk libstdc++", "tmk libc++")


@dataclass(frozen=True)
class Table:
    """The meal of a table: portions of a number of operations, a number for each philosopher, or as
    many as fit."""

    title: str
    portions: int
    operations: int
    milliseconds: int | None = None  # times the philosophers


TABLES = (
    Table("Until each has eaten 10 portions of 500,000 operations (some 1 ms)", 10, 500_000),
    Table("Until each has eaten 1,000 portions of 5,000 operations (some 10 us)", 1_000, 5_000),
    Table("Without end, portions of 5,000 operations, for 20 ms times N", 1, 5_000, 20),
)


@dataclass(frozen=True)
class Dinner:
    """A process, or several in a row. Times in ns; `least` portions of one philosopher, of
    `portions` in all."""

    wall: float
    portions: int
    least: int
    slowest: float  # longest total wait of a philosopher, of the whole time
    longest: float  # one wait
    overtaken: int  # most meals of a neighbour between two of a philosopher's own


def build(folder: Path) -> dict[str, Path]:
    """The program with both libraries; eating is compiled once, so that only the locks differ."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = [*FLAGS.split(), f"-I{ROOT / 'include'}"]
    eat = folder / "eat.o"
    subprocess.run(["g++", *flags, "-c", HERE / "eat.cpp", "-o", eat], check=True)
    programs = {library: folder / f"table.{library}" for library in COMPILERS}
    for library, program in programs.items():
        command: list[str | Path] = [
            *COMPILERS[library],
            *flags,
            HERE / "table.cpp",
            eat,
            "-o",
            program,
        ]
        subprocess.run(command, check=True)
    return programs


def dine(program: Path, lock: str, philosophers: int, table: Table, seed: int) -> Dinner:
    """As many dinners as let all tables eat equally much, because a short dinner is measured
    badly."""
    dinners = [
        one_dinner(program, lock, philosophers, table, seed * 100 + i)
        for i in range(1 if table.milliseconds else max(PHILOSOPHERS) // philosophers)
    ]
    return Dinner(
        wall=sum(each.wall for each in dinners),
        portions=sum(each.portions for each in dinners),
        least=sum(each.least for each in dinners),
        slowest=max(each.slowest for each in dinners),
        longest=max(each.longest for each in dinners),
        overtaken=max(each.overtaken for each in dinners),
    )


def one_dinner(program: Path, lock: str, philosophers: int, table: Table, seed: int) -> Dinner:
    """One dinner. A failure of the program, such as a fork in two hands, ends this program."""
    arguments = [philosophers, table.portions, table.operations, seed]
    if table.milliseconds is not None:
        arguments.append(table.milliseconds * philosophers)
    command: list[str | Path] = [program, lock, *map(str, arguments)]
    said = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return Dinner(
        wall=said["wall_ns"],
        portions=said["portions"],
        least=said["least"],
        slowest=said["slowest_waited_ns"] / said["wall_ns"],
        longest=said["longest_wait_ns"],
        overtaken=said["overtaken"],
    )


def cost(dinner: Dinner) -> float:
    """Time per portion, ns."""
    return dinner.wall / dinner.portions


def share(dinners: Sequence[Dinner], philosophers: int) -> float:
    """Median of the smallest share of a philosopher, of an equal share."""
    return median([each.least * philosophers / each.portions for each in dinners])


def row(name: str, dinners: Sequence[Dinner], ratio: Interval, philosophers: int) -> str:
    """One line of the table."""
    return (
        f"{philosophers:>3} {name:<24} {median([cost(each) for each in dinners]) / 1e3:>10.2f}"
        f" {ratio.estimate:>6.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
        f" {median([each.slowest for each in dinners]):>8.0%}"
        f" {median([each.longest for each in dinners]) / 1e6:>10.1f}"
        f" {median([each.overtaken for each in dinners]):>9.0f}"
        f" {share(dinners, philosophers):>6.0%}"
    )


def measure(
    contestants: dict[str, tuple[Path, str]], rounds: int
) -> dict[tuple[Table, int, str], list[Dinner]]:
    """All samples, interleaved; within a round everybody is given the same portions."""
    samples: dict[tuple[Table, int, str], list[Dinner]] = {}
    shuffle = random.Random(20131009)
    for seed in range(1, rounds + 1):
        for table in TABLES:
            for philosophers in PHILOSOPHERS:
                for name in shuffle.sample(list(contestants), len(contestants)):
                    dinner = dine(*contestants[name], philosophers, table, seed)
                    samples.setdefault((table, philosophers, name), []).append(dinner)
    return samples


def report(names: Sequence[str], samples: dict[tuple[Table, int, str], list[Dinner]]) -> list[str]:
    """Print the tables; returns the sentences about missed bars."""
    missed = []
    for table in TABLES:
        print(f"\n{table.title}")
        print(
            f"{'N':>3} {'lock':<24} {'us/portion':>10} {'ratio to the best std':>21}"
            f" {'slowest':>8} {'longest ms':>10} {'overtaken':>9} {'least':>6}"
        )
        for philosophers in PHILOSOPHERS:
            of = {name: samples[table, philosophers, name] for name in names}
            costs = {name: [cost(each) for each in dinners] for name, dinners in of.items()}
            best = min(BASES, key=lambda name: median(costs[name]))
            for name in names:
                ratio = paired_ratio(costs[name], costs[best])
                print(row(name, of[name], ratio, philosophers))
                where = f"{name}, {philosophers} philosophers: {table.title}"
                if name in OURS and table.milliseconds is None and ratio.high > ALLOWED:
                    missed.append(f"up to {ratio.high:.3f} x the better library: {where}")
                if name in OURS and share(of[name], philosophers) < STARVED:
                    missed.append(f"starved: {where}")
    return missed


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=12, help="9 or more")
    parser.add_argument("--all", action="store_true", help="the candidates too")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bars" / "lock")
    options = parser.parse_args()
    programs = build(options.build)
    contestants = {
        f"{lock} {library}": (program, lock)
        for lock in ("std", "tmk")
        for library, program in programs.items()
    }
    if options.all:
        locks = subprocess.run([programs["libstdc++"]], check=True, stdout=subprocess.PIPE).stdout
        contestants |= {
            lock: (programs["libstdc++"], lock)
            for lock in locks.decode().split()
            if lock not in ("std", "tmk")
        }
    missed = report(list(contestants), measure(contestants, options.rounds))
    if missed:
        sys.exit("\n".join(["", "Not reached:", *missed]))


if __name__ == "__main__":
    main()

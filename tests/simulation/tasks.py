"""The error rate of the verdicts of `run`: the schedule and the judge on made-up machines.

    ./threadmark check --only simulation-tasks

A run is one whole quick profile: the real schedule asks for processes, a made-up machine gives the
time of each, and the real judge gives the verdicts. The true speed-up of each field is drawn
around a limit of the verdicts; a field within 2 % of a limit is not counted. Each scenario has its
own line; the exit status is 1 if one of them misses a bar.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from machine import Machine, Scenario
from threadmark.judge.verdict import EFFICIENT, GAIN, Kind
from threadmark.kinds.tasks.judgement import judge
from threadmark.kinds.tasks.profiles import PROFILES
from threadmark.kinds.tasks.prospects import prospects, uncertainty
from threadmark.measure.observation import observation
from threadmark.measure.schedule import Schedule, Task
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.effort import thread_counts, time_budget_s

WRONG = 0.05  # bar: wrong of definite verdicts, in every scenario
DEFINITE = {False: 0.9, True: 0.7}  # bar: of fields far from a limit, by Scenario.disturbed
NEAR, FAR = 0.02, 0.15
START_S = 0.02  # of a process, without its repeats, and of the lab

LAYOUT = 0.014  # standard deviation that bars/layout/layout.py measured, see ratios.LAYOUT
SCENARIOS = (
    Scenario("calm"),
    Scenario("calm, 16 processors", 16),
    Scenario("code layout", layout=LAYOUT),
    Scenario("drift", drift=0.1),
    Scenario("rare stalls", stalls_per_s=0.05),
    Scenario("one neighbour", neighbours=1, disturbed=True),
    Scenario("two neighbours", neighbours=2, disturbed=True),
    Scenario("neighbours, 8 processors", 8, neighbours=3, disturbed=True),
    Scenario("neighbours, 16 processors", 16, neighbours=3, disturbed=True),
    Scenario("other processes", load=0.15, disturbed=True),
    Scenario("SMT, all threads", 8, smt=True),
    Scenario("SMT, neighbours", 8, neighbours=2, smt=True, disturbed=True),
    Scenario("turbo", 4, turbo=0.8, heat=0.1),
    Scenario("turbo, 16 processors", 16, turbo=0.7, heat=0.1),
    Scenario("programs with a slow mode", slow_mode=0.1),
    Scenario("two programs", neighbours=2, programs=2, disturbed=True),
    Scenario("no budget", neighbours=1, programs=6, profile="full", disturbed=True),
    Scenario(
        "everything", 4, neighbours=2, drift=0.1, stalls_per_s=0.03, layout=LAYOUT, load=0.05,
        turbo=0.85, heat=0.05, slow_mode=0.03, disturbed=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A made-up program: its work, and the way in which its threads share it."""

    serial_s: float
    dynamic: bool
    repeats_vary: float  # standard deviation of the logarithm of the time of a repeat
    processes_vary: float  # the same, for all repeats of a process together


@dataclass(frozen=True)
class Field:
    """One column of the matrix: its true speed-ups by number of threads on the calm machine."""

    program: Program
    speedups: Mapping[int, float]
    times_out: bool = False

    def label(self) -> tuple[Kind, int | None]:
        """The right verdict."""
        reached = 0
        for p, speedup in self.speedups.items():
            if speedup / p < EFFICIENT:
                break
            reached = p
        if reached:
            return Kind.SCALES, reached
        best = max(self.speedups.values())
        if best >= GAIN:
            return Kind.POORLY, None
        return (Kind.SLOWER, None) if best < 1 / GAIN else (Kind.NONE, None)

    def distance(self) -> float:
        """Relative distance from the nearest limit that its verdict depends on."""
        last, found = 0.0, []
        for p, speedup in self.speedups.items():
            found.append(abs(math.log(speedup / p / EFFICIENT)))
            last = speedup / p
            if last < EFFICIENT:
                break
        if self.label()[0] is not Kind.SCALES:
            best = math.log(max(self.speedups.values()))
            found += [abs(best - math.log(GAIN)), abs(best + math.log(GAIN))]
        return math.expm1(min(found))


@dataclass
class Tally:
    """The results of one scenario."""

    definite: int = 0
    wrong: int = 0
    unclear: int = 0
    far: int = 0
    far_definite: int = 0
    disturbed: float = 0.0  # share of the samples that were marked
    wrongs: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add the results of another run."""
        for name in ("definite", "wrong", "unclear", "far", "far_definite", "disturbed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.wrongs.update(other.wrongs)


def draw(rng: np.random.Generator, counts: tuple[int, ...]) -> dict[int, float]:
    """True speed-ups: one of the limits is near, at one of the numbers of threads."""
    off = math.exp(rng.uniform(-0.4, 0.4))
    parallel = tuple(p for p in counts if p > 1)
    if rng.random() < 0.5:  # the efficiency is near its limit at one count, and falls with more
        at = int(rng.choice(parallel))
        lost = (1 / (EFFICIENT * off) - 1) / (at - 1)
        return {p: p / (1 + max(0.0, lost) * (p - 1)) * min(1.0, max(off, 1.0)) for p in parallel}
    target = off * (GAIN if rng.random() < 0.5 else 1 / GAIN)
    shape = {p: p / (1 + rng.uniform(0.9, 1.1) * (p - 1)) for p in parallel}
    top = max(shape.values())
    return {p: target * each / top for p, each in shape.items()}


def fields(
    counts: tuple[int, ...], rng: np.random.Generator, programs: int
) -> Iterator[tuple[Cell, Field]]:
    """The columns with their truth."""
    for number in range(programs):
        serial_s = math.exp(rng.uniform(math.log(0.008), math.log(0.05)))
        program = Program(serial_s, bool(rng.random() < 0.5), 0.005, 0.01)
        blank = Cell(f"p{number}", "quick", "serial", "plain", "made-up", "glibc", 1)
        yield blank, Field(program, {1: 1.0})
        if rng.random() < 0.3:
            yield replace(blank, variant="locked"), Field(program, {1: 1 / rng.uniform(1.0, 1.1)})
        for column in range(10):
            varies = math.exp(rng.uniform(math.log(0.01), math.log(0.1)))
            threaded = replace(program, repeats_vary=varies, processes_vary=varies / 2)
            truth = Field(threaded, draw(rng, counts), bool(rng.random() < 0.12))
            yield replace(blank, backend=f"b{column}", variant="futures"), truth


def play(scenario: Scenario, seed: int, programs: int = 14) -> Tally:
    """Play `programs` programs of a run, or fewer on many processors, with their share of its
    budget; returns the tally of the verdicts."""
    rng = np.random.default_rng((seed, sum(map(ord, scenario.name))))
    machine = Machine(scenario, rng)
    profile = PROFILES[scenario.profile]
    # With SMT the user asks for all hardware threads; their gain is part of the true speed-up.
    counts = tuple(p for p in thread_counts(profile, scenario.processors) if p > 1)
    programs = max(2, min(programs, scenario.programs) // len(counts))
    truth = dict(fields(counts, rng, programs))
    whole_s = time_budget_s(profile, counts)  # for 28 problems, or as many as were chosen
    some = 1 if scenario.programs < 14 else programs / 28
    layout = {
        (cell.program, cell.backend): math.exp(rng.normal(0, scenario.layout)) for cell in truth
    }
    cells = [
        replace(cell, threads=p)
        for cell in truth
        for p in (counts if cell.backend != "serial" else (1,))
    ]
    schedule = Schedule(
        cells,
        profile,
        seed=seed,
        budget_s=whole_s and whole_s * some,
        uncertainty=uncertainty,
        prospects=prospects,
    )
    rows: list[Row] = []
    began_s = machine.now_s
    while task := schedule.next(machine.now_s - began_s):
        known = truth[replace(task.cell, threads=1)]
        moved = layout[task.cell.program, task.cell.backend]
        row = process(machine, task, known, moved, rng)
        rows.append(row)
        schedule.record(observation(row))
    rows += [Row(cell, 0, Status.DROPPED, why) for cell, why in schedule.dropped().items()]
    return tally(rows, truth)


def process(
    machine: Machine,
    task: Task,
    truth: Field,
    layout: float,
    rng: np.random.Generator,
) -> Row:
    """The row of one process."""
    start_s, program, threads = machine.now_s, truth.program, task.cell.threads
    if truth.times_out:
        machine.spend(task.repeat_limit_s)
        wall_s = machine.now_s - start_s
        return Row(task.cell, task.round, Status.TIMEOUT, "no end", facts={"wall_s": wall_s})
    machine.spend(START_S)
    # The clocks of a calm machine are part of the true speed-up.
    clocks = machine.clock(threads) / machine.clock(1)
    wall_s = program.serial_s / truth.speedups[threads] * layout * clocks
    wall_s *= math.exp(rng.normal(0, program.processes_vary))
    if threads > 1 and (share := machine.scenario.slow_mode):
        # The true speed-up is that of the geometric mean of all processes.
        wall_s *= 1.5 ** (float(rng.random() < share) - share)
    times, loaded = [], 0
    for _ in range(1 + task.repeats):
        work_s = wall_s * math.exp(rng.normal(0, program.repeats_vary))
        loaded += machine.loaded()
        times.append(machine.region(work_s, threads, dynamic=program.dynamic))
    busy = loaded > 0.2 * (1 + task.repeats)
    return Row(
        task.cell,
        task.round,
        Status.OK,
        sample_ns=float(np.median(times[1:])) * 1e9,
        disturbed="other processes took the processors" if busy else "",
        facts={"wall_s": machine.now_s - start_s},
    )


def tally(rows: list[Row], truth: Mapping[Cell, Field]) -> Tally:
    """Compare the verdicts with the truth."""
    found = Tally()
    for judged in judge(rows):
        known = truth[replace(judged.cell, threads=1)]
        if judged.cell.backend == "serial" or known.times_out or known.distance() < NEAR:
            continue
        far = known.distance() >= FAR
        found.far += far
        verdict = judged.verdict
        if verdict.kind in (Kind.UNCLEAR, Kind.DROPPED):
            found.unclear += 1
            continue
        found.definite += 1
        found.far_definite += far
        kind, at = known.label()
        if verdict.kind is not kind or (at and verdict.at_threads != at):
            found.wrong += 1
            found.wrongs[f"{kind.value} {at or ''} as {verdict.label.split(' x')[0]}"] += 1
    found.disturbed = sum(bool(row.disturbed) for row in rows) / len(rows)
    return found


def main() -> int:
    """Play every scenario and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12, help="runs of each scenario")
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--json", action="store_true", help="figures instead of the table")
    arguments = parser.parse_args()
    chosen = [each for each in SCENARIOS if arguments.only in each.name]
    if not arguments.json:
        print(f"{'scenario':26}{'wrong':>7}{'definite':>10}{'unclear':>9}{'wrong/def.':>12}"
              f"{'far, definite':>15}{'marked':>8}")  # fmt: skip
    missed, figures = 0, []
    with ProcessPoolExecutor() as pool:
        for scenario in chosen:
            whole = Tally()
            runs = arguments.runs * 14 // scenario.programs
            for each in pool.map(play, [scenario] * runs, range(runs)):
                whole.add(each)
            rate = whole.wrong / max(1, whole.definite)
            far = whole.far_definite / max(1, whole.far)
            fails = rate > WRONG or far < DEFINITE[scenario.disturbed]
            missed += fails
            figures.append({
                "what": scenario.name, "wrong": whole.wrong, "definite": whole.definite,
                "unclear": whole.unclear, "wrong_share": rate, "far_definite_share": far,
                "disturbed_share": whole.disturbed / runs, "missed": fails,
            })  # fmt: skip
            if arguments.json:
                continue
            print(
                f"{scenario.name:26}{whole.wrong:7}{whole.definite:10}{whole.unclear:9}"
                f"{rate:12.1%}{far:15.1%}{whole.disturbed / runs:8.1%}"
                f"{'  MISSED' if fails else ''}",
                flush=True,
            )
            for what, count in whole.wrongs.most_common(4):
                print(f"    {count} x {what}")
    if arguments.json:
        print(json.dumps({"rows": figures}, indent=2))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

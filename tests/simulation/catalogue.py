"""The error rate of the catalogue's verdicts: its schedule and judge on simulated machines.

    python tests/simulation/catalogue.py [--small]

prints a table, and ends with 1 if a bar is missed. A machine gives the speed of each core in each
window of half a millisecond; the lab's own code does everything after the lines of a process.
True speed-ups are drawn around the limits of the verdicts. A speed-up within 2 % of a limit is not
counted, because either verdict will do.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "lab"))

from threadmark.judge.verdict import Kind
from threadmark.kinds.catalogue import judgement, process_rows, scaling
from threadmark.kinds.catalogue.process_rows import Asked
from threadmark.kinds.catalogue.profiles import BOUND, CALIBRATION, FREE, PROFILES
from threadmark.kinds.catalogue.rounds import Usual
from threadmark.kinds.catalogue.sampling import CatalogueSchedule
from threadmark.machine.limits import Limits
from threadmark.machine.load import Load
from threadmark.measure.observation import Observation
from threadmark.measure.outcome import Attempt
from threadmark.measure.process import Ending, Killed
from threadmark.measure.schedule import Task
from threadmark.model.cell import Cell, Row

Array = NDArray[np.float64]

MOST_WRONG = 0.05  # of the definite verdicts, in every scenario
LEAST_DEFINITE = {True: 0.9, False: 0.7}  # by whether the machine is calm; FAR from a limit
NEAR, FAR = 0.02, 0.15  # distance of the true speed-up from a limit, as a logarithm
REACH = 0.35  # largest distance that is drawn
ROUNDS, WINDOW_S = 17, 6e-4  # with the warm-up, with the yardsticks; see contention_harness.cpp
START_S = 0.08  # of a process, with the lab's own time
SMALL = 40  # ways in a run of the small version
DEFINITE = (Kind.SCALES, Kind.POORLY, Kind.NONE, Kind.CONTENDED)


@dataclass(frozen=True)
class Machine:
    """The disturbances of a machine, and the settings of its measurement."""

    name: str
    cores: int = 2
    calm: bool = False
    neighbours: float = 0.0  # share of the time in which another guest slows a core
    lasting: float = 1.0  # slowness of the first core for all of the run
    all_cores: float = 1.0  # clock when all cores run, relative to one that runs alone
    siblings: bool = False  # two processors for each core, and twice as many threads asked for
    hidden: float = 1.0  # slowness of all together, as if processors secretly share cores
    drift: float = 0.0  # by how much everything has slowed at the end
    stalls: float = 0.0  # share of windows that something interrupts
    wild: float = 0.0  # share of processes in which something slows all threads together
    spread: tuple[float, float] = (0.01, 0.06)  # of the logarithms of a way's processes
    budget_s: float | None = None  # for each way
    valid: bool = True  # whether the calibration should succeed


MACHINES = (
    Machine("calm, 2 cores", calm=True),
    Machine("calm, 4 cores", 4, calm=True),
    Machine("calm, 16 cores", 16, calm=True),
    Machine("turbo 0.9, 8 cores", 8, calm=True, all_cores=0.9),
    Machine("turbo 0.8, 4 cores", 4, calm=True, all_cores=0.8),
    Machine("siblings asked for, 4 cores", 4, calm=True, siblings=True),
    Machine("drift of 30 %, 4 cores", 4, drift=0.3, wild=0.1),
    Machine("stalls, 4 cores", 4, stalls=0.02, wild=0.1),
    Machine("one process in ten is wild, 2 cores", wild=0.1),
    Machine("processes that differ much, 2 cores", wild=0.1, spread=(0.05, 0.15)),
    Machine("neighbours, 2 cores", neighbours=0.3, wild=0.1),
    Machine("neighbours, 8 cores", 8, neighbours=0.1, wild=0.1),
    Machine("a neighbour for all of the run, 2 cores", lasting=1.5, wild=0.1),
    Machine("neighbours, turbo 0.85, 4 cores", 4, neighbours=0.2, all_cores=0.85, wild=0.1),
    Machine("neighbours, the budget is short, 2 cores", neighbours=0.3, wild=0.1, budget_s=1.0),
    Machine("processors that share cores unseen, 2", hidden=1.7, valid=False),
    Machine("turbo 0.65, 8 cores", 8, all_cores=0.65, valid=False),
)


@dataclass(frozen=True)
class Way:
    """The behaviour of a way's processes on the number of threads of its verdict."""

    speedup: float
    spread: float
    wild: float


@dataclass
class Count:
    """The results of one scenario. A way is counted if it is not NEAR a limit."""

    ways: int = 0
    definite: int = 0
    wrong: int = 0
    far: int = 0
    far_definite: int = 0
    runs: int = 0
    invalid: int = 0
    processes: list[int] = field(default_factory=list)

    def missed(self, machine: Machine) -> Iterator[str]:
        """Each bar that was missed, in words."""
        if not machine.valid:
            if self.invalid < self.runs:
                yield f"{self.runs - self.invalid} of {self.runs} runs are valid"
            return
        if self.invalid:
            yield f"{self.invalid} of {self.runs} runs are not valid"
        if self.wrong > MOST_WRONG * self.definite:
            yield f"{self.wrong} of {self.definite} definite verdicts are wrong"
        if self.far_definite < LEAST_DEFINITE[machine.calm] * self.far:
            yield f"{self.far_definite} of {self.far} verdicts far from a limit are definite"


class World:
    """The speed of each core of a machine at each moment of one run."""

    def __init__(self, machine: Machine, rng: np.random.Generator, length_s: float) -> None:
        self._machine, self._length_s = machine, length_s
        self._edges, self._slow = [], []
        for core in range(machine.cores):
            mean_s = 0.25  # of the logarithmic distribution from 20 ms to 1 s
            count = int(2 * length_s * machine.neighbours / mean_s) + 1
            on = np.exp(rng.uniform(np.log(0.02), np.log(1.0), count))
            share = max(machine.neighbours, 1e-9)
            off = rng.exponential(mean_s * (1 - share) / share, count)
            self._edges.append(np.cumsum(np.column_stack((off, on)).ravel()))
            slow = np.column_stack((np.ones(count), rng.uniform(1.1, 1.6, count))).ravel()
            always = machine.lasting if core == 0 else 1.0
            self._slow.append(np.append(slow, 1.0) * always)

    def slow(self, core: int, at_s: Array) -> Array:
        """Time of a computation on an otherwise idle machine, relative to that at full speed."""
        found = self._slow[core][np.searchsorted(self._edges[core], at_s, side="right")]
        drifted: Array = found * (1 + self._machine.drift * np.minimum(1, at_s / self._length_s))
        return drifted

    def shared(self, threads: int) -> float:
        """Time of a computation of threads that run together, relative to that of one alone."""
        m = self._machine
        busy = min(threads, m.cores)
        clock = 1 - (1 - m.all_cores) * (busy - 1) / max(1, m.cores - 1)
        return (m.hidden if threads > 1 else 1.0) * (1.7 if threads > m.cores else 1.0) / clock


def lines(
    world: World, machine: Machine, way: Way, asked: Asked, start_s: float, rng: np.random.Generator
) -> Iterator[dict[str, object]]:
    """The lines of a process. In even rounds the windows of one thread come first."""
    most, together = max(asked.threads), [p for p in asked.threads if p > 1]
    luck = rng.normal(0, way.spread)
    if rng.random() < way.wild:
        luck -= min(rng.exponential(0.15), 0.4)
    efficiency = way.speedup / machine.cores * world.shared(machine.cores) * np.exp(luck)
    turns = efficiency < scaling.EFFICIENT  # a thread that waits for others has their speed
    even = np.arange(ROUNDS) % 2 == 0
    begin_s = start_s + WINDOW_S * (most + len(together)) * np.arange(ROUNDS)
    for threads in (1, *together):
        used = range(most if threads == 1 else threads)
        if threads == 1:
            places = [np.where(even, 0, len(together)) + each for each in used]
        else:
            places = [np.where(even, most, 0) + together.index(threads) for _ in used]
        slow = world.shared(threads) * np.array(
            [
                [
                    world.slow(i % machine.cores, begin_s + WINDOW_S * (at + x))
                    for x in (0.1, 0.5, 0.9)
                ]
                for i, at in zip(used, places, strict=True)
            ]
        )  # by thread, moment of its window, round
        speed = 1 / slow.mean(axis=1)
        if threads > 1:
            speed = efficiency * (0 * speed + 1 / slow.mean(axis=(0, 1)) if turns else speed)
        speed *= np.exp(rng.normal(0, 0.01, speed.shape))
        lost = rng.uniform(0.2, 0.9, speed.shape) * (rng.random(speed.shape) < machine.stalls)
        waited = lost * (rng.random(speed.shape) < 0.5)  # else the hypervisor hides it
        speed *= 1 - lost
        noise = np.exp(rng.normal(0, 0.01, speed.shape))
        yardstick = (slow[:, [0, 2]].mean(axis=1) * noise).mean(axis=0)
        for number in range(ROUNDS):
            yield {
                "event": "repeat", "repeat": number, "warmup": number == 0, "threads": threads,
                "wall_ns": 5e5, "operations": 5000, "overlap": 1.0,
                "per_second": 1e7 * float(speed[:, number].mean()),
                "slowest_per_second": 1e7 * float(speed[:, number].min()),
                "fastest_per_second": 1e7 * float(speed[:, number].max()),
                "yardstick_ns": 2e4 * float(yardstick[number]),
                "run_delay_ns": 5e5 * float(waited[:, number].sum()),
                "max_rss_bytes": 1 << 20, "ok": True,
            }  # fmt: skip


class Lab:
    """Measures ways on a machine as a run of the catalogue does, without processes."""

    def __init__(self, machine: Machine, ways: dict[Cell, Way], rng: np.random.Generator) -> None:
        self.machine, self.ways, self.rng = machine, ways, rng
        threads = next(iter(ways)).threads
        self.asked = Asked(tuple(sorted({1, machine.cores, threads})), "threads")
        windows = threads + len(self.asked.threads) - 1
        self.process_s = START_S + ROUNDS * windows * WINDOW_S
        budget_s = machine.budget_s and machine.budget_s * len(ways)
        self.length_s = budget_s or 12 * len(ways) * self.process_s
        self.world = World(machine, rng, self.length_s)
        self.usual = Usual()
        self.rows: list[Row] = []
        self.schedule = CatalogueSchedule(
            ways,
            PROFILES["quick"],
            seed=int(rng.integers(1 << 30)),
            budget_s=budget_s,
            uncertainty=lambda speedups: scaling.uncertainty(speedups, machine.cores),
        )

    def run(self) -> judgement.Catalogue:
        """The whole run."""
        clock_s = 0.0
        while task := self.schedule.next(clock_s):
            self.schedule.record(self._take(task, clock_s))
            clock_s += self.process_s
        return judgement.judge(self.rows, ())

    def _take(self, task: Task, at_s: float) -> Observation:
        cell, machine = task.cell, self.machine
        cpus = tuple(range(cell.threads))
        start = {
            "event": "start", "program": cell.program, "backend": "threads",
            "variant": cell.variant, "threads": cell.threads, "cpus": cell.threads,
        }  # fmt: skip
        way = self.ways[cell]
        said = lines(self.world, machine, way, self.asked, at_s + START_S, self.rng)
        text = [start, *said, {"event": "end", "status": "ok", "reason": ""}]
        printed = "".join(json.dumps(line) + "\n" for line in text)
        wall_s, idle = self.process_s, Load(0.0, 0.0, cell.threads)
        ending = Ending(printed, "", 0, None, Killed.NO, wall_s, wall_s, 1, 0, 0, idle)
        attempt = Attempt(cell, task.round, ("p",), {}, cpus, 10.0, 1, f"{at_s:.6f}")
        limits = Limits(1 << 30, 100, "a simulation")
        rows = process_rows.judge(self.asked, attempt, ending, limits, self.usual)
        for row in rows:
            row.facts["cores"] = min(machine.cores, cell.threads)
        self.rows += rows
        return judgement.observe(rows)


def truth(speedup: float, cores: int) -> tuple[Kind, float]:
    """The verdict on a known speed-up, and its distance from the nearest limit."""
    limits = scaling.limits(cores)
    kind = next((k for k, x in zip(DEFINITE, limits, strict=False) if speedup >= x), DEFINITE[-1])
    return kind, min(abs(np.log(speedup / limit)) for limit in limits)


def run(machine: Machine, ways: int, seed: int, count: Count) -> None:
    """Add one run of this many ways to `count`."""
    rng = np.random.default_rng([seed, zlib.crc32(machine.name.encode())])
    cores, most = machine.cores, machine.cores * machine.all_cores / machine.hidden
    blank = Cell(
        CALIBRATION, "quick", "threads", FREE, "any", "glibc", cores * (1 + machine.siblings)
    )
    cells = {
        blank: Way(0.99 * most, 0.01, machine.wild),
        replace(blank, variant=BOUND): Way(0.4, 0.03, machine.wild),
    }
    for number in range(ways):
        around = rng.choice(scaling.limits(cores)) * np.exp(rng.uniform(-REACH, REACH))
        spread = float(np.exp(rng.uniform(*np.log(machine.spread))))
        cell = replace(blank, program=f"p{number}", variant="usual")
        cells[cell] = Way(min(float(around), most), spread, machine.wild)
    lab = Lab(machine, cells, rng)
    found = lab.run()
    count.runs += 1
    count.invalid += bool(found.invalid)
    for entry in found.entries:
        if entry.cell.program == CALIBRATION:
            continue
        cell = replace(entry.cell, threads=blank.threads)
        kind, distance = truth(cells[cell].speedup, cores)
        count.processes.append(len(entry.judged.rows[1]))
        if distance < NEAR:
            continue
        said = entry.judged.verdict.kind
        definite = said in DEFINITE
        count.ways += 1
        count.definite += definite
        count.wrong += definite and said is not kind
        count.far += distance >= FAR
        count.far_definite += definite and distance >= FAR


def measure(
    machines: Sequence[Machine] = MACHINES, *, ways: int = 60, runs: int = 1
) -> dict[Machine, Count]:
    """Each scenario with its results."""
    counts = {machine: Count() for machine in machines}
    for machine, count in counts.items():
        for seed in range(runs):
            run(machine, ways, seed, count)
    return counts


def main(words: Sequence[str]) -> int:
    """Print the table; 1 if a bar is missed."""
    small = "--small" in words
    heads = ("wrong", "definite", "unclear", "far and definite", "not valid", "processes")
    print(f"{'':42}" + "".join(f"{each:>17}" for each in heads))
    complaints = []
    for machine in MACHINES:
        [count] = measure([machine], ways=SMALL if small else 100, runs=1 if small else 3).values()
        figures = (
            f"{count.wrong} ({count.wrong / max(1, count.definite):.1%})",
            f"{count.definite} of {count.ways}",
            f"{count.ways - count.definite}",
            f"{count.far_definite} of {count.far}",
            f"{count.invalid} of {count.runs}",
            f"{np.mean(count.processes):.1f}",
        )
        print(f"{machine.name:42}" + "".join(f"{each:>17}" for each in figures), flush=True)
        complaints += [f"{machine.name}: {each}." for each in count.missed(machine)]
    for sentence in complaints:
        print(sentence, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

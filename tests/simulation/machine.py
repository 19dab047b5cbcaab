"""A machine made of numbers, on which the schedule and the judge can be played through many times.

Its processors are slowed by neighbours (other guests of the same cores), by a drift, by stalls, by
clocks that fall when all of them run (turbo), and by threads that share a core (SMT). Time is in
seconds; a speed of 1 is one processor that is alone and undisturbed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEP_S = 0.002  # resolution of the speeds
HORIZON_S = 320.0  # longer than any run is played


@dataclass(frozen=True)
class Scenario:
    """The disturbances of the machine, and its size."""

    name: str
    processors: int = 2
    neighbours: int = 0  # each slows one core at a time, and changes cores
    share: float = 0.3  # of the time in which a neighbour runs, for 20 ms to 1 s at a time
    slowest: float = 1.6  # factor by which the worst neighbour slows a core
    drift: float = 0.0  # by which all speeds wander in minutes, such as 0.1
    stalls_per_s: float = 0.0  # of single processors, 5 to 50 ms each, which no counter shows
    load: float = 0.0  # share of the time in which another process takes half of a processor
    layout: float = 0.0  # standard deviation of the logarithm of the effect of code layout
    turbo: float = 1.0  # speed of each processor when all run
    heat: float = 0.0  # share of the speed that processors lose when all have run for a while
    smt: bool = False  # two processors share a core; together each has 0.62 of its speed
    slow_mode: float = (
        0.0  # share of the processes of threaded programs that take 1.5 times as long
    )
    programs: int = 14  # in a run, of ten columns each; fewer with many numbers of threads
    profile: str = "quick"
    disturbed: bool = False  # whether the bar for disturbed machines applies


class Machine:
    """Processors 0 to P - 1 and a clock. `run` plays one process; time goes on meanwhile."""

    def __init__(self, scenario: Scenario, rng: np.random.Generator) -> None:
        self.scenario = scenario
        self.now_s = 0.0
        self.physical = scenario.processors // 2 if scenario.smt else scenario.processors
        self._rng = rng
        self._heat = 0.0  # share of the processors that ran lately
        steps = int(HORIZON_S / STEP_S)
        time_s = np.arange(steps) * STEP_S
        phase = rng.uniform(0, 2 * math.pi, 2)
        wander = np.sin(time_s / 47 + phase[0]) + np.sin(time_s / 13 + phase[1])
        common = np.exp(scenario.drift * wander / 2)
        cores = [common.copy() for _ in range(self.physical)]
        for _ in range(scenario.neighbours):
            self._visit(cores)
        for core in cores:
            self._stall(core)
        self._work = [np.concatenate(([0.0], np.cumsum(core) * STEP_S)) for core in cores]
        self._loaded = rng.random(steps // 250 + 1) < scenario.load  # in blocks of half a second

    def _visit(self, cores: list[NDArray[np.float64]]) -> None:
        """Let a neighbour slow one core after the other."""
        scenario, rng = self.scenario, self._rng
        mean_s = 0.25  # of an episode of 20 ms to 1 s whose logarithm is uniform
        idle_s = mean_s * (1 / scenario.share - 1)
        at = rng.exponential(idle_s)
        while at < HORIZON_S:
            long_s = math.exp(rng.uniform(math.log(0.02), math.log(1.0)))
            core = cores[rng.integers(len(cores))]
            factor = rng.uniform(1.1, scenario.slowest)
            core[int(at / STEP_S) : int((at + long_s) / STEP_S) + 1] /= factor
            at += long_s + rng.exponential(idle_s)

    def _stall(self, core: NDArray[np.float64]) -> None:
        """Stop a core for 5 to 50 ms now and then."""
        rng = self._rng
        for at in rng.uniform(0, HORIZON_S, rng.poisson(self.scenario.stalls_per_s * HORIZON_S)):
            core[int(at / STEP_S) : int((at + rng.uniform(0.005, 0.05)) / STEP_S) + 1] = 0.01

    def spend(self, seconds: float) -> None:
        """Time in which nothing is measured."""
        self.now_s += seconds
        self._heat *= math.exp(-seconds / 0.3)

    def region(self, work_s: float, threads: int, *, dynamic: bool) -> float:
        """Seconds that `threads` threads need if each has `work_s` to do; with `dynamic` they share
        their work out as they go."""
        running = min(threads, self.scenario.processors)
        used = [each % self.physical for each in range(running)]
        clock = self.clock(running) * (1 - self.scenario.heat * self._heat)
        if self.loaded():
            clock *= 0.5 if not dynamic else 1 - 0.5 / running
        cores = sorted(set(used))
        need = work_s / clock
        if dynamic:
            whole = np.mean([self._work[core] for core in cores], axis=0)
            end_s = self._reach(whole, need)
        else:
            end_s = max(self._reach(self._work[core], need) for core in cores)
        taken_s = end_s - self.now_s
        target = running / self.scenario.processors
        self._heat = target + (self._heat - target) * math.exp(-taken_s / 0.3)
        self.now_s = end_s
        return taken_s

    def clock(self, running: int) -> float:
        """The speed of each of `running` processors, on a machine that nothing disturbs."""
        others = max(1, self.scenario.processors - 1)
        clock = 1 + (self.scenario.turbo - 1) * (running - 1) / others
        return clock * (0.62 if running > self.physical else 1.0)

    def loaded(self) -> bool:
        """Whether counters show now that another process runs."""
        return bool(self._loaded[min(int(self.now_s / 0.5), len(self._loaded) - 1)])

    def _reach(self, work: NDArray[np.float64], need: float) -> float:
        """The time at which a processor with this work done by time has done `need` more; beyond
        the horizon nothing disturbs it."""
        if self.now_s >= HORIZON_S - 2 * STEP_S:
            return self.now_s + need
        place = min(self.now_s / STEP_S, len(work) - 2)
        index = int(place)
        done = work[index] + (place - index) * (work[index + 1] - work[index])
        goal = done + need
        after = int(np.searchsorted(work, goal))
        if after >= len(work):
            return HORIZON_S + goal - float(work[-1])
        part = (goal - work[after - 1]) / (work[after] - work[after - 1])
        return float((after - 1 + part) * STEP_S)

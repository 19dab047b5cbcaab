"""Decides the next cell, its limits, and the end. Pure: no clock, no files. It is long because
order, limits and budget rest on the same few figures of a cell.

A round is one process of every cell that goes on, problem by problem in a random order, so that
compared cells are measured side by side. In round 0 the serial cells of a problem come first,
because their times set the limits of the others.

With a budget every cell gets three rounds first. Then cells without a sure verdict go on, together
with their bases: as many as should become definite in the remaining time, the cheapest first,
because a speed-up on a limit would take all of it. The time after that brings all cells to
`min_samples`. If three rounds of all do not fit, whole columns are left out, because a verdict
needs every number of threads. Without a budget all cells get `min_samples`, and unsure ones
`max_samples`. In the end the cells with an imprecise median go on.

A cell that failed is closed: timeout, refused and out_of_memory cost their limit each time, and one
process is enough. Only crashed and wrong get a second try, if cheap, to tell an accident from a
rule. Disturbed samples are taken again. Both happen in the next round.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from threadmark.judge.evidence import FEWEST_ROUNDS
from threadmark.measure.known import Known, Prospect, Prospects
from threadmark.measure.observation import Observation
from threadmark.measure.shortfall import sentences
from threadmark.model.cell import Cell, Status
from threadmark.model.effort import Profile

_BLOCK_NS = 45e6  # a shorter sample is the median of several repeats, against short disturbances
_CHEAP_S = 1.0
_NO_SERIAL_S = 10.0  # limit if no serial time is known
_PATIENCE = 3  # times its median: a noisy moment must not stop a cell that ended once
_OVERHEAD_S = 0.01  # of the lab, per process
_MAX_RETAKEN = 3  # disturbed samples of a cell that are taken again
_SHARE_DISTURBED = 0.1  # of all samples; beyond it the machine is busy, and repeats do not help


@dataclass(frozen=True)
class Task:
    """One process to start."""

    cell: Cell
    round: int
    repeats: int
    repeat_limit_s: float  # for each of them and for the warm-up


class Schedule:
    """Call `next` for a task and `record` with the observation of its process, until there is no
    task.

    `uncertainty` gives the relative half width of the 95 % interval of the median; `prospects` give
    the effect of more rounds on verdicts, by default none.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        profile: Profile,
        *,
        seed: int,
        budget_s: float | None,
        uncertainty: Callable[[Sequence[float]], float],
        prospects: Prospects = lambda cases: [Prospect(0.0, sure=True)] * len(cases),
    ) -> None:
        self.profile = profile
        self.budget_s = budget_s
        self._seed = seed
        self._uncertainty = uncertainty
        self._prospects = prospects
        self._cells = Known(cells)
        self._least = profile.min_samples
        if budget_s is not None:
            self._least = min(FEWEST_ROUNDS, profile.min_samples)
        most = _SHARE_DISTURBED * len(self._cells) * profile.min_samples
        self._repeats_left = max(_MAX_RETAKEN, int(most))
        self._round = -1
        self._begins = True  # some cell has no process yet
        self._queue: list[Cell] = []
        self._shortened: dict[Cell, str] = {}  # given up for lack of time

    def record(self, seen: Observation) -> None:
        """Learn from a process, new or of the resumed part of the run."""
        state = self._cells.get(seen.cell)
        if state is None:
            return
        state.rounds.add(seen.round)
        cost_s = seen.cost_s + _OVERHEAD_S
        state.costs_s.append(cost_s)
        state.take(seen)
        again = not state.failures and state.retaken < _MAX_RETAKEN and self._repeats_left > 0
        if seen.disturbed and again and not (seen.status is Status.TIMEOUT and state.retaken):
            self._repeats_left -= 1
            state.retaken += 1
        elif seen.status is not Status.OK:
            state.failures += 1
            second = seen.status in (Status.CRASHED, Status.WRONG) and cost_s < _CHEAP_S
            if second and state.failures == 1 and not (state.times_ns or state.evidence):
                state.retaken += 1
            else:
                state.open = False
        elif state.failures:
            state.open = False

    def replay(self, seen: Iterable[Observation]) -> float:
        """Learn from the processes of an interrupted run; returns the seconds it took."""
        spent_s = 0.0
        for each in seen:
            self.record(each)
            spent_s += each.cost_s
            if each.cell in self._cells:
                # A round is one moment, so a process after the interruption belongs to another
                # round.
                self._round = max(self._round, each.round)
        return spent_s

    def next(self, elapsed_s: float) -> Task | None:
        """The next process, or None when all is measured or the time is used up."""
        while True:
            if self.budget_s is not None and elapsed_s >= self.budget_s:
                self._give_up()
                return None
            if self._begins:  # only now the costs of the first processes are known
                self._trim(elapsed_s)
            if not self._queue and not self._fill(elapsed_s):
                return None
            cell = self._queue.pop(0)
            if self._cells[cell].open:
                return self._task(cell)

    def progress(self) -> tuple[int, int]:
        """(processes done, processes that the cells need at least)."""
        done = sum(len(state.rounds) for state in self._cells.values())
        return done, done + sum(map(self._missing, self._cells))

    def remaining_s(self, elapsed_s: float = 0.0) -> float:
        """The estimated seconds that the run goes on: until all cells have the fewest samples or,
        with a budget, the most that the budget allows."""
        if self.budget_s is None:
            return self._need_s()
        most, more_s = self.profile.max_samples, 0.0
        for cell in self.going_on(elapsed_s):
            more_s += (most - len(self._cells[cell].rounds)) * self._cells.cost_s(cell)
        return min(max(0.0, self._left_s(elapsed_s)), more_s)

    def going_on(self, elapsed_s: float = 0.0) -> list[Cell]:
        """The cells that remaining_s() counts."""
        if self.budget_s is None:
            return self.left()
        if self._left_s(elapsed_s) <= 0:
            return []
        most = self.profile.max_samples
        return [c for c, state in self._cells.items() if state.open and len(state.rounds) < most]

    def _need_s(self) -> float:
        """Seconds for all missing samples."""
        return sum(self._missing(cell) * self._cells.cost_s(cell) for cell in self._cells)

    def left(self) -> list[Cell]:
        """Cells that need more processes, as known so far."""
        return [cell for cell in self._cells if self._missing(cell)]

    def dropped(self) -> dict[Cell, str]:
        """Cells without any measurement for lack of time, with the reason."""
        return {
            cell: reason for cell, reason in self._shortened.items() if not self._cells[cell].rounds
        }

    def notes(self) -> list[str]:
        """The omissions, in sentences."""
        loose = filter(self._is_loose, self._cells)
        return sentences(self._cells, self._shortened, loose, self.profile, self.budget_s)

    def _is_loose(self, cell: Cell) -> bool:
        values = self._cells[cell].values
        whole = len(values) >= self.profile.min_samples
        return whole and self._uncertainty(values) > self.profile.target

    def _fill(self, elapsed_s: float) -> bool:
        """Start the next round; False when there is none."""
        self._trim(elapsed_s)
        self._queue = self._in_time(self.left(), elapsed_s)
        for more in (self._unsure, self._few, self._uncertain):
            self._queue = self._queue or more(elapsed_s)
        self._round += 1
        self._begins = any(not self._cells[cell].rounds for cell in self._queue)
        self._shuffle(self._queue)
        return bool(self._queue)

    def _shuffle(self, cells: list[Cell]) -> None:
        """Shuffle the cells, but keep compared cells together: a shared machine is slow for
        seconds, then for both."""
        draw = random.Random(f"{self._seed}:{self._round}")
        places = {cell.problem: draw.random() for cell in cells}

        def waits(cell: Cell) -> bool:  # the serial time sets its limit
            return cell.backend != "serial" and self._cells.serial_s(cell) is None

        cells.sort(key=lambda cell: (places[cell.problem], waits(cell), draw.random()))

    def _unsure(self, elapsed_s: float) -> list[Cell]:
        """Cells whose unsure verdict should become definite in the remaining time, if they get all
        of it, together with their bases; all unsure cells if there is no such cell. Before a cell
        has `min_samples`, its lack is not known well enough to give it up."""
        found = self._cells.rounds_missing(self._prospects)
        least, most = self.profile.min_samples, self.profile.max_samples
        missing = {}
        for cell, state in self._cells.items():
            state.sure = found.get(cell) == 0
            bounded = self.budget_s is not None or len(state.evidence) >= FEWEST_ROUNDS
            if bounded and found.get(cell) and (done := len(state.rounds)) < most:
                missing[cell] = found[cell] if done >= least else min(found[cell], least - done)
        ordered = sorted(missing, key=lambda c: (missing[c] * self._cells.cost_s(c), c))
        need_s, left_s = 0.0, self._left_s(elapsed_s)
        rounds_of_base: dict[Cell | None, float] = {}
        fitting: list[Cell] = []
        for cell in ordered:
            base = self._cells.base(cell)
            more = max(0.0, missing[cell] - rounds_of_base.get(base, 0.0))
            need_s += missing[cell] * self._cells.cost_s(cell)
            need_s += more * self._cells.cost_s(base) if base and more else 0.0
            if need_s > left_s:
                break
            rounds_of_base[base] = rounds_of_base.get(base, 0.0) + more
            fitting.append(cell)
        return self._in_time(fitting or ordered, elapsed_s)

    def _few(self, elapsed_s: float) -> list[Cell]:
        """Cells with fewer samples than the profile has."""
        least = self.profile.min_samples
        few = [c for c, s in self._cells.items() if s.open and len(s.rounds) < least + s.retaken]
        return self._in_time(few, elapsed_s)

    def _uncertain(self, elapsed_s: float) -> list[Cell]:
        """Cells with an imprecise median, and bases of others; the least precise first."""
        wide = {
            cell: self._width(cell)
            for cell, state in self._cells.items()
            if state.open and 0 < len(state.rounds) < self.profile.max_samples
        }
        ordered = sorted(wide, key=lambda cell: (-wide[cell], cell))
        return self._in_time([c for c in ordered if wide[c] > self.profile.target], elapsed_s)

    def _width(self, cell: Cell) -> float:
        values = self._cells[cell].values
        if not values:  # a machine that is never calm must not keep a run without a budget going
            return 0.0 if self.budget_s is None else math.inf
        return self._uncertainty(values)

    def _left_s(self, elapsed_s: float) -> float:
        return math.inf if self.budget_s is None else self.budget_s - elapsed_s

    def _in_time(self, cells: Sequence[Cell], elapsed_s: float) -> list[Cell]:
        """As many of `cells`, from the first, as there is time for, together with their bases."""
        found: dict[Cell, None] = {}
        left_s = self._left_s(elapsed_s)
        for cell in cells:
            base = self._cells.base(cell)
            more = {each for each in (base, cell) if each and self._cells[each].open} - found.keys()
            left_s -= sum(map(self._cells.cost_s, more))
            if left_s <= 0:
                break
            found |= dict.fromkeys(sorted(more))
        return list(found)

    def _trim(self, elapsed_s: float) -> None:
        """Give up the extra cells, then whole columns, until the rest fits the budget: first
        columns that have failed, then other allocators, then the costliest. Serial cells stay,
        because without them no other cell has a speed-up. Cells that were given up in a slower
        moment come back."""
        if self.budget_s is None:
            return
        for cell in self._shortened:
            self._cells[cell].open = True
        self._shortened.clear()
        need_s, left_s = self._need_s(), self._left_s(elapsed_s)
        if need_s <= left_s:
            return
        columns: dict[tuple[object, ...], list[Cell]] = {}
        for cell, state in self._cells.items():
            if state.open and self._may_drop(cell):
                columns.setdefault(cell.column, []).append(cell)
        failed = {cell.column for cell, state in self._cells.items() if state.failures}

        def rank(column: list[Cell]) -> tuple[bool, bool, float]:
            other = column[0].allocator != "glibc"
            return column[0].column not in failed, not other, -sum(map(self._cells.cost_s, column))

        ranked = sorted(columns.values(), key=rank)
        extra = [[cell for cell in column if self._extra(cell)] for column in ranked]
        for cells in [*extra, *ranked]:
            if need_s <= left_s:
                return
            need_s -= sum(self._missing(cell) * self._cells.cost_s(cell) for cell in cells)
            for cell in cells:
                self._shorten(cell)

    def _may_drop(self, cell: Cell) -> bool:
        """Whether other cells have a verdict without this cell."""
        return cell.backend != "serial"

    def _extra(self, cell: Cell) -> bool:
        """Whether no verdict rests on the cell: one thread of a variant that runs on more."""
        return (
            cell.backend != "serial" and cell.threads < 2 <= self._cells.main[cell.column].threads
        )

    def _give_up(self) -> None:
        for cell, state in self._cells.items():
            if state.open and len(state.rounds) < self._least:
                self._shorten(cell)
        self._queue = []

    def _shorten(self, cell: Cell) -> None:
        state = self._cells[cell]
        state.open = False
        self._shortened[cell] = (
            f"the time budget of {self.budget_s:.0f} s was used up; give a larger --budget"
        )

    def _task(self, cell: Cell) -> Task:
        state = self._cells[cell]
        block = 1
        if state.times_ns:
            # The block is odd, so that the median of a block has the same median as a single
            # repeat, and the first sample (a block of one) may stand beside the others.
            block = math.ceil(min(_BLOCK_NS / max(1.0, state.times_ns[0]), self.profile.max_block))
            block -= 1 - block % 2
        block = max(1, block)
        return Task(cell, self._round, block, self._limit_s(cell))

    def _limit_s(self, cell: Cell) -> float:
        profile = self.profile
        if cell.backend == "serial":
            return profile.limit_ceiling_s
        times_ns = self._cells[cell].times_ns
        known_s = _PATIENCE * median(times_ns) / 1e9 if times_ns else 0.0
        serial_s = self._cells.serial_s(cell)
        wanted_s = profile.limit_factor * serial_s if serial_s else _NO_SERIAL_S
        return min(profile.limit_ceiling_s, max(profile.limit_floor_s, wanted_s, known_s))

    def _missing(self, cell: Cell) -> int:
        state = self._cells[cell]
        return max(0, self._least + state.retaken - len(state.rounds)) if state.open else 0

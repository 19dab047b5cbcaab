"""Which cell is measured next, with which limits, and when it is enough. Pure: no clock, no files.
It is long because order, limits and budget rest on the same few figures of a cell.

Round 0 takes the serial cells first, because their times set the limits of the others, and last, if
there is time, the cells that no verdict rests on (`_extra`). From then on a round is one process of
every open cell in a random order of its own, so that compared cells alternate, and more of the
serial ones, of which the others of their problem, about ten, are compared with one: its error is in
each of their speed-ups, and the sum of the variances is least where it has about three times as
many samples. After `min_samples` rounds only uncertain cells go on, first those that leave a
verdict open; these go on together also when it has become clear, as a rule that stops at the first
clear interval would err more often than it says. Where there is a budget, cells whose verdict two
samples settle wait until none is open; where it is too small, three samples of a cell come before
the fourth of another.

A cell that failed is closed: timeout, refused and out_of_memory cost their limit each time, and
once tells all. Only crashed and wrong get a second try, if cheap, to tell an accident from a rule;
and what happened while something else used the processors is taken again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, count
from statistics import median

from threadmark.cell import Cell, Row, Status
from threadmark.known import FEWEST_UNDISTURBED, Known, Standing, Standings, all_clear
from threadmark.profile import Profile
from threadmark.shortfall import sentences

_BLOCK_NS = 45e6  # a sample of less is the median of several repeats: a short disturbance is none
_CHEAP_S = 1.0
_FEW = 3  # samples that each cell gets before the fourth of another
_NO_SERIAL_S = 10.0  # limit where no serial time is known
_PATIENCE = 3  # times its median: what ended once is not to be stopped for a noisy moment
_OVERHEAD_S = 0.01  # of the lab, per process
_MAX_DISTURBED = 3  # samples of a cell that are taken again because something disturbed them
_SHARE_DISTURBED = 0.1  # of all samples; beyond it the machine is busy, and repeats do not help


@dataclass(frozen=True)
class Task:
    """One process to start."""

    cell: Cell
    round: int
    repeats: int
    repeat_limit_s: float  # for each of them and for the warm-up


class Schedule:
    """Ask `next` for a task, give its row to `record`, until there is none.

    `uncertainty` gives the relative half width of the 95 % interval of the median; `standings` say
    of each cell what its samples leave of its verdict.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        profile: Profile,
        *,
        seed: int,
        budget_s: float | None,
        uncertainty: Callable[[Sequence[float]], float],
        standings: Standings = all_clear,
    ) -> None:
        self.profile = profile
        self.budget_s = budget_s
        self._seed = seed
        self._uncertainty = uncertainty
        self._standings = standings
        self._cells = Known(cells)
        most = _SHARE_DISTURBED * len(self._cells) * profile.min_samples
        self._repeats_left = max(_MAX_DISTURBED, int(most))
        self._passes = chain([(0, False), (0, True)], ((number, True) for number in count(1)))
        self._round = 0
        self._queue: list[Cell] = []
        self._again: list[Cell] = []
        self._shortened: dict[Cell, str] = {}  # given up for lack of time

    def record(self, row: Row) -> None:
        """Take note of a row, new or of the part of the run that is being resumed."""
        state = self._cells.get(row.cell)
        if state is None:
            return
        state.rounds.add(row.round)
        cost_s = float(row.facts.get("wall_s", 0.0)) + _OVERHEAD_S
        state.costs_s.append(cost_s)
        if row.sample_ns is not None:
            state.times_ns.append(row.sample_ns)
        again = not state.failures and state.disturbed < _MAX_DISTURBED and self._repeats_left > 0
        if row.disturbed and again and not (row.status is Status.TIMEOUT and state.disturbed):
            self._repeats_left -= 1
            state.disturbed += 1
            self._again.append(row.cell)
        elif row.status is not Status.OK:
            state.failures += 1
            second = row.status in (Status.CRASHED, Status.WRONG) and cost_s < _CHEAP_S
            if second and state.failures == 1 and not state.samples_ns:
                self._again.append(row.cell)
            else:
                state.open = False
        elif state.failures:
            state.open = False
        elif row.sample_ns is not None and not (row.disturbed and row.cell.threads > 1):
            state.evidence.append(row)  # as in judgement.py
            state.samples_ns.append(row.sample_ns)

    def replay(self, rows: Iterable[Row]) -> float:
        """Take note of what an interrupted run has measured; returns the seconds it took."""
        spent_s = 0.0
        for row in rows:
            self.record(row)
            spent_s += float(row.facts.get("wall_s", 0.0))
        self._again.clear()  # the next round takes these cells anyway
        return spent_s

    def next(self, elapsed_s: float) -> Task | None:
        """The next process, or None when all is measured or the time is used up."""
        while True:
            if self.budget_s is not None and elapsed_s >= self.budget_s:
                self._give_up()
                return None
            if not self._queue:
                self._queue, self._again = self._again, []
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
        """Seconds that the cells need at least, by what is known so far, as the budget allows."""
        left_s = math.inf if self.budget_s is None else max(0.0, self.budget_s - elapsed_s)
        return min(left_s, self._need_s())

    def _need_s(self, more: Sequence[Cell] = ()) -> float:
        """Seconds for all that is missing, and again for `more`."""
        cells = [*self._cells, *more]
        return sum(self._missing(cell) * self._cells.cost_s(cell) for cell in cells)

    def left(self) -> list[Cell]:
        """Cells that need more processes, by what is known so far."""
        return [cell for cell in self._cells if self._missing(cell)]

    def dropped(self) -> dict[Cell, str]:
        """Cells of which nothing could be measured for lack of time, with the reason."""
        return {
            cell: reason for cell, reason in self._shortened.items() if not self._cells[cell].rounds
        }

    def notes(self) -> list[str]:
        """What was cut short, in sentences."""
        loose = filter(self._is_loose, self._cells)
        return sentences(self._cells, self._shortened, loose, self.profile, self.budget_s)

    def _is_loose(self, cell: Cell) -> bool:
        samples = self._cells[cell].samples_ns
        whole = len(samples) >= self.profile.min_samples
        return whole and self._uncertainty(samples) > self.profile.target

    def _fill(self, elapsed_s: float) -> bool:
        """Start the next round; False when there is none."""
        self._cells.correct()
        while True:
            self._round, extras = next(self._passes)
            if extras:
                self._trim(elapsed_s)
            wanted = self.left()
            if wanted and self._round < self.profile.min_samples:
                wanted += self._more_serial(wanted, elapsed_s)
                self._shuffle(wanted)
                if not extras:
                    wanted = [cell for cell in wanted if not self._extra(cell)]
                    wanted.sort(key=lambda cell: cell.backend != "serial")
            elif not wanted:
                wanted = self._doubtful(elapsed_s) or self._spared(elapsed_s)
                wanted = wanted or self._uncertain(elapsed_s)
            if not wanted and extras:
                return False
            self._queue = [c for c in wanted if self._round not in self._cells[c].rounds]
            if self._queue:
                return True

    def _more_serial(self, cells: Iterable[Cell], elapsed_s: float) -> list[Cell]:
        """If there is time: all serial ones of `cells` once more until it is clear which is the
        fastest, then that one twice more."""
        few = self._round < _FEW
        serial = [cell for cell in cells if cell.backend == "serial"]
        more = serial if few else 2 * self._cells.bases(serial)
        left_s = math.inf if self.budget_s is None else self.budget_s - elapsed_s
        return more if self._round and self._need_s(more) <= left_s else []

    def _shuffle(self, cells: list[Cell]) -> None:
        """What is compared stays together: a shared machine is slow for seconds, then for both."""
        draw = random.Random(f"{self._seed}:{self._round}")
        places = {cell.problem: draw.random() for cell in cells}
        cells.sort(key=lambda cell: (places[cell.problem], draw.random()))

    def _spare(self) -> None:
        """A few samples must do for what is settled, and for serial cells that no other one is
        compared with."""
        bases = self._cells.bases()
        for cell, state in self._cells.items():
            state.settled = cell.backend == "serial" and cell not in bases
        if self._round >= FEWEST_UNDISTURBED:
            for cell, standing in self._cells.standings(self._standings).items():
                known = len(self._cells[cell].samples_ns) >= FEWEST_UNDISTURBED
                self._cells[cell].settled = known and standing is Standing.SETTLED
        for cell, state in self._cells.items():
            enough = _FEW if cell.backend == "serial" else FEWEST_UNDISTURBED
            state.spared = enough if state.settled else 0

    def _spared(self, elapsed_s: float) -> list[Cell]:
        """What was spared, as far as there is time for it in the end."""
        least = self.profile.min_samples
        found = [c for c, s in self._cells.items() if s.spared and s.open and len(s.rounds) < least]
        return self._in_time(found, elapsed_s)

    def _doubtful(self, elapsed_s: float) -> list[Cell]:
        """Cells whose verdict is or was open, those of which too much was disturbed where a budget
        bounds their number, and what they are compared with."""
        for cell, standing in self._cells.standings(self._standings).items():
            self._cells[cell].doubted |= standing is Standing.OPEN
        if self.budget_s is not None:
            least = min(FEWEST_UNDISTURBED, self.profile.min_samples)
            for state in self._cells.values():
                state.doubted |= len(state.samples_ns) < least
        found = [c for c, s in self._cells.items() if s.open and s.doubted]
        return self._affordable(found, elapsed_s)

    def _uncertain(self, elapsed_s: float) -> list[Cell]:
        """Cells whose median is not known well enough, and what others are compared with."""
        known = [c for c, s in self._cells.items() if s.open and s.samples_ns]
        wide = [
            c for c in known if self._uncertainty(self._cells[c].samples_ns) > self.profile.target
        ]
        return self._affordable(wide, elapsed_s)

    def _affordable(self, cells: Iterable[Cell], elapsed_s: float) -> list[Cell]:
        """Those of `cells` for which there is time, the least known first; before them what they
        are compared with."""
        most = self.profile.max_samples
        cells = [cell for cell in cells if len(self._cells[cell].rounds) < most]
        bases = {base for cell in cells if (base := self._cells.base(cell))}

        def rank(cell: Cell) -> tuple[float, Cell]:
            samples = self._cells[cell].samples_ns
            return -self._uncertainty(samples) if samples else -math.inf, cell

        others = sorted((cell for cell in cells if cell not in bases), key=rank)
        return self._in_time([*sorted(bases), *others], elapsed_s)

    def _in_time(self, cells: Sequence[Cell], elapsed_s: float) -> list[Cell]:
        """As many of `cells`, from the first, as there is time for."""
        left_s = math.inf if self.budget_s is None else self.budget_s - elapsed_s
        spent_s = accumulate(map(self._cells.cost_s, cells))
        return [cell for cell, after_s in zip(cells, spent_s, strict=True) if after_s < left_s]

    def _trim(self, elapsed_s: float) -> None:
        """Give up the extra cells, then spare others, then give these up, until the rest fits the
        budget: first those whose main cell has failed, then other allocators, then the costliest.
        Serial cells stay: without them no other one has a speed-up. What was given up in a slower
        moment comes back."""
        if self.budget_s is None:
            return
        for cell in self._shortened:
            self._cells[cell].open = True
        self._shortened.clear()
        self._spare()
        left_s = self.budget_s - elapsed_s
        need_s = self._need_s()

        def rank(cell: Cell) -> tuple[bool, bool, float, Cell]:
            failed = self._cells[self._cells.main[cell.column]].failures > 0
            other = cell.allocator != "glibc"
            return not failed, not other, -self._cells.cost_s(cell), cell

        candidates = [c for c, s in self._cells.items() if s.open and c.backend != "serial"]
        candidates.sort(key=rank)
        extra = [cell for cell in candidates if self._extra(cell)]
        main = [cell for cell in candidates if not self._extra(cell)]
        steps = chain(
            ((cell, self._shorten) for cell in extra),
            ((cell, self._only_few) for cell in main),
            ((cell, self._shorten) for cell in main),
        )
        for cell, step in steps:
            if need_s <= left_s:
                return
            before = self._missing(cell)
            step(cell)
            need_s -= (before - self._missing(cell)) * self._cells.cost_s(cell)

    def _extra(self, cell: Cell) -> bool:
        """Whether the verdict of its column rests on another cell. Those of serial are none."""
        return cell.backend != "serial" and cell != self._cells.main[cell.column]

    def _give_up(self) -> None:
        self._cells.correct()
        for cell, state in self._cells.items():
            if state.open and len(state.samples_ns) < self.profile.min_samples:
                self._shorten(cell)
        self._queue, self._again = [], []

    def _only_few(self, cell: Cell) -> None:
        self._cells[cell].spared = self._cells[cell].spared or _FEW

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
            # Odd, so that the median of a block has the same median as a single repeat, and the
            # first sample (a block of one) may stand beside the others.
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
        wanted = min(self.profile.min_samples, state.spared or self.profile.min_samples)
        return max(0, wanted - len(state.rounds)) if state.open else 0

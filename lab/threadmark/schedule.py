"""Which cell is measured next, with which limits, and when it is enough. Pure: no clock, no files.

Round 0 takes the serial cells first, because their times set the limits of the others. From then on
a round is one process of every open cell in a random order of its own, so that compared cells
alternate. After `min_samples` rounds only uncertain cells go on, the most uncertain first.

A cell that failed is closed: timeout, refused and out_of_memory cost their limit each time, and
once tells all. Only crashed and wrong get a second try, if cheap, to tell an accident from a rule.
"""

from __future__ import annotations

import math
import random
import statistics as plain
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from threadmark.cell import Cell, Row, Status
from threadmark.profile import Profile

_BLOCK_NS = 10e6  # a sample of less is the median of several repeats: starting is not to dominate
_CHEAP_S = 1.0
_NO_SERIAL_S = 10.0  # limit where no serial time is known
_FIRST_GUESS_S = 0.15  # a process of which nothing is known
_OVERHEAD_S = 0.01  # of the lab, per process
_NAMED = 20  # more names than this hide the message; the matrix marks each such cell
_MAX_DISTURBED = 3  # samples of a cell that are taken again because something disturbed them
_SHARE_DISTURBED = 0.1  # of all samples; beyond it the machine is busy, and repeats do not help


@dataclass(frozen=True)
class Task:
    """One process to start."""

    cell: Cell
    round: int
    repeats: int
    time_limit_s: float


@dataclass
class _State:
    """What is known of a cell."""

    samples_ns: list[float] = field(default_factory=list)
    times_ns: list[float] = field(default_factory=list)  # with the disturbed ones: good for limits
    rounds: set[int] = field(default_factory=set)
    cost_s: float | None = None
    failures: int = 0
    disturbed: int = 0
    open: bool = True


class Schedule:
    """Ask `next` for a task, give its row to `record`, until there is none.

    `uncertainty` gives the relative half width of the 95 % interval of the median.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        profile: Profile,
        *,
        seed: int,
        budget_s: float | None,
        uncertainty: Callable[[Sequence[float]], float],
    ) -> None:
        self.profile = profile
        self.budget_s = budget_s
        self._seed = seed
        self._uncertainty = uncertainty
        self._cells = {cell: _State() for cell in sorted(cells)}
        self._serial: dict[tuple[object, ...], list[Cell]] = {}
        for cell in self._cells:
            if cell.backend == "serial":
                self._serial.setdefault(_problem(cell), []).append(cell)
        most = _SHARE_DISTURBED * len(self._cells) * profile.min_samples
        self._repeats_left = max(_MAX_DISTURBED, int(most))
        self._round = -1
        self._queue: list[Cell] = []
        self._again: list[Cell] = []
        self._shortened: dict[Cell, str] = {}  # given up for lack of time

    def record(self, row: Row) -> None:
        """Take note of a row, new or of the part of the run that is being resumed."""
        state = self._cells.get(row.cell)
        if state is None:
            return
        state.rounds.add(row.round)
        state.cost_s = float(row.facts.get("wall_s", 0.0)) + _OVERHEAD_S
        if row.sample_ns is not None:
            state.times_ns.append(row.sample_ns)
        if row.status is not Status.OK:
            state.failures += 1
            second = row.status in (Status.CRASHED, Status.WRONG) and state.cost_s < _CHEAP_S
            if second and state.failures == 1 and not state.samples_ns:
                self._again.append(row.cell)
            else:
                state.open = False
        elif state.failures:
            state.open = False
        elif row.disturbed and state.disturbed < _MAX_DISTURBED and self._repeats_left > 0:
            self._repeats_left -= 1
            state.disturbed += 1
            self._again.append(row.cell)
        elif row.sample_ns is not None:
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
        return done, done + sum(self._missing(state) for state in self._cells.values())

    def remaining_s(self) -> float:
        """Seconds that the cells need at least, by what is known so far; within the budget."""
        return sum(self._missing(self._cells[cell]) * self._cost(cell) for cell in self.left())

    def left(self) -> list[Cell]:
        """Cells that need more processes, by what is known so far."""
        return [cell for cell, state in self._cells.items() if self._missing(state)]

    def dropped(self) -> dict[Cell, str]:
        """Cells of which nothing could be measured for lack of time, with the reason."""
        return {
            cell: reason for cell, reason in self._shortened.items() if not self._cells[cell].rounds
        }

    def notes(self) -> list[str]:
        """What was cut short, in sentences."""
        result = []
        partly = [cell for cell in self._shortened if self._cells[cell].rounds]
        if self._shortened:
            none = len(self._shortened) - len(partly)
            result.append(
                f"The time budget of {self.budget_s:.0f} s left {none} cells unmeasured and "
                f"{len(partly)} with fewer than {self.profile.min_samples} samples; a larger "
                "--budget or fewer --programs measures all."
            )
        if partly:
            result.append(f"Fewer samples than {self.profile.min_samples}: {_names(partly)}.")
        loose = [cell for cell in self._cells if self._is_loose(cell)]
        if loose and self.profile.max_samples > self.profile.min_samples:
            result.append(
                f"{len(loose)} of {len(self._cells)} cells have a median that is not known to "
                f"+-{self.profile.target:.0%}; a quieter machine or a larger --budget helps."
            )
        return result

    def _is_loose(self, cell: Cell) -> bool:
        samples = self._cells[cell].samples_ns
        whole = len(samples) >= self.profile.min_samples
        return whole and self._uncertainty(samples) > self.profile.target

    def _fill(self, elapsed_s: float) -> bool:
        """Start the next round; False when there is none."""
        while True:
            self._round += 1
            if self._round < self.profile.min_samples:
                self._trim(elapsed_s)
                wanted = [c for c, s in self._cells.items() if s.open]
                if not wanted:
                    return False
                order = random.Random(f"{self._seed}:{self._round}")
                order.shuffle(wanted)
                if self._round == 0:
                    wanted.sort(key=lambda cell: cell.backend != "serial")
            else:
                wanted = self._uncertain(elapsed_s)
                if not wanted:
                    return False
            self._queue = [c for c in wanted if self._round not in self._cells[c].rounds]
            if self._queue:
                return True

    def _uncertain(self, elapsed_s: float) -> list[Cell]:
        """Cells that need more samples and for which there is time, the most uncertain first."""
        found = []
        for cell, state in self._cells.items():
            if state.open and self._round < self.profile.max_samples and state.samples_ns:
                width = self._uncertainty(state.samples_ns)
                if width > self.profile.target:
                    found.append((width, cell))
        found.sort(key=lambda each: (-each[0], each[1]))
        left_s = math.inf if self.budget_s is None else self.budget_s - elapsed_s
        wanted = []
        for _, cell in found:
            left_s -= self._cost(cell)
            if left_s > 0:
                wanted.append(cell)
        return wanted

    def _trim(self, elapsed_s: float) -> None:
        """Give cells up until the rest fits the budget, those first that say least: another
        allocator, a thread count between the first and the last, then the costliest. Serial cells
        stay: without them no other one has a speed-up."""
        if self.budget_s is None or self._round == 0:
            return
        left_s = self.budget_s - elapsed_s
        need_s = self.remaining_s()
        most = max((cell.threads for cell in self._cells), default=1)

        def rank(cell: Cell) -> tuple[bool, bool, float, Cell]:
            ends = not 1 < cell.threads < most
            return cell.allocator == "glibc", ends, -self._cost(cell), cell

        candidates = [c for c, s in self._cells.items() if s.open and c.backend != "serial"]
        for cell in sorted(candidates, key=rank):
            if need_s <= left_s:
                return
            need_s -= self._missing(self._cells[cell]) * self._cost(cell)
            self._shorten(cell)

    def _give_up(self) -> None:
        for cell, state in self._cells.items():
            if state.open and len(state.samples_ns) < self.profile.min_samples:
                self._shorten(cell)
        self._queue, self._again = [], []

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
        return Task(cell, self._round, max(1, block), self._limit_s(cell))

    def _limit_s(self, cell: Cell) -> float:
        profile = self.profile
        if cell.backend == "serial":
            return profile.limit_ceiling_s
        times = [
            plain.median(self._cells[each].times_ns) / 1e9
            for each in self._serial.get(_problem(cell), [])
            if self._cells[each].times_ns
        ]
        wanted = profile.limit_factor * min(times) if times else _NO_SERIAL_S
        return min(profile.limit_ceiling_s, max(profile.limit_floor_s, wanted))

    def _missing(self, state: _State) -> int:
        if not state.open:
            return 0
        return max(0, self.profile.min_samples - len(state.samples_ns))

    def _cost(self, cell: Cell) -> float:
        known = self._cells[cell].cost_s
        if known is not None:
            return known
        alike = [self._cells[each].cost_s for each in self._serial.get(_problem(cell), [])]
        return min((each for each in alike if each is not None), default=_FIRST_GUESS_S)


def _problem(cell: Cell) -> tuple[object, ...]:
    """What cells with the same serial time have in common."""
    return cell.program, cell.size, cell.arguments, cell.platform


def _names(cells: Sequence[Cell]) -> str:
    """'fib tbb:futures x1 x2, sort ...': each column of the matrix once, in order."""
    threads: dict[str, list[str]] = {}
    for cell in sorted(cells):
        other = "" if cell.allocator == "glibc" else f" {cell.allocator}"
        column = f"{cell.program} {cell.backend}:{cell.variant} {cell.platform}{other}"
        threads.setdefault(column, []).append(f"x{cell.threads}")
    shown = [f"{column} {' '.join(each)}" for column, each in threads.items()]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more

"""The state of the cells of a run so far, and its consequences: no clock, no files."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from threadmark.judge.evidence import FEWEST_ROUNDS, fastest, means_by_round, round_ratios
from threadmark.measure.observation import Observation
from threadmark.model.cell import Cell

_FIRST_GUESS_S = 0.15  # for an unknown process


@dataclass(frozen=True)
class Prospect:
    """The effect of more rounds on the verdict of a cell."""

    rounds: float  # in all, until it should be definite; infinite on a limit
    sure: bool  # it is definite, also at a higher level


# Prospects for each (speed-ups in rounds, threads) of cells that are measured together.
Prospects = Callable[[Sequence[tuple[Sequence[float], int]]], Sequence[Prospect]]


@dataclass
class State:
    """The state of a cell."""

    # (round, value) of the undisturbed processes
    evidence: list[tuple[int, float]] = field(default_factory=list)
    times_ns: list[float] = field(default_factory=list)  # with the disturbed ones: good for limits
    rounds: set[int] = field(default_factory=set)
    costs_s: list[float] = field(default_factory=list)  # of its processes
    failures: int = 0
    retaken: int = 0  # disturbed samples that were taken again
    open: bool = True
    sure: bool = False  # more rounds should not change its verdict
    _by_round: dict[int, float] | None = None

    def take(self, seen: Observation) -> None:
        """Learn from a process."""
        if seen.time_ns is not None:
            self.times_ns.append(seen.time_ns)
        if seen.value is not None:
            self.evidence.append((seen.round, seen.value))
            self._by_round = None

    @property
    def values(self) -> list[float]:
        """Values of the evidence."""
        return [value for _, value in self.evidence]

    @property
    def by_round(self) -> dict[int, float]:
        """See evidence.means_by_round()."""
        if self._by_round is None:
            self._by_round = means_by_round(self.evidence)
        return self._by_round

    @property
    def cost_s(self) -> float | None:
        """The usual cost of a process of the cell; None before the first."""
        return median(self.costs_s) if self.costs_s else None


class Known(UserDict[Cell, State]):
    """The states of all cells, in their order. `main` is the cell of each column with the most
    threads."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        super().__init__({cell: State() for cell in sorted(cells)})
        self._serial: dict[tuple[object, ...], list[Cell]] = {}
        for cell in self:
            if cell.backend == "serial":
                self._serial.setdefault(cell.problem, []).append(cell)
        self.main = {cell.column: cell for cell in sorted(self, key=lambda cell: cell.threads)}

    def base(self, cell: Cell) -> Cell | None:
        """The fastest serial cell of the same problem that never failed, which is the base of
        `cell`; any of them while none has evidence."""
        known = [each for each in self._serial.get(cell.problem, []) if not self[each].failures]
        found = fastest({each: self[each].values for each in known})
        return found or next((each for each in known if self[each].rounds), None)

    def serial_s(self, cell: Cell) -> float | None:
        """Seconds of the fastest serial cell of the same problem."""
        times = [
            median(self[each].times_ns) / 1e9
            for each in self._serial.get(cell.problem, [])
            if self[each].times_ns
        ]
        return min(times, default=None)

    def rounds_missing(self, prospects: Prospects) -> dict[Cell, float]:
        """The number of rounds that the verdict of each open cell still lacks: 0 if it is sure,
        else at least 1. Cells that decide no verdict or have no base are left out."""
        bases = {problem: self.base(serial[0]) for problem, serial in self._serial.items()}
        speedups = {
            cell: round_ratios(self[base].by_round, state.by_round)
            for cell, state in self.items()
            if state.open and cell.backend != "serial" and cell.threads > 1
            if (base := bases.get(cell.problem))
        }
        known = {cell: each for cell, each in speedups.items() if each}
        found = prospects([(each, cell.threads) for cell, each in known.items()])
        missing = dict.fromkeys(speedups, float(FEWEST_ROUNDS))
        for (cell, each), prospect in zip(known.items(), found, strict=True):
            sure = prospect.sure and len(each) >= FEWEST_ROUNDS
            missing[cell] = 0.0 if sure else max(1.0, prospect.rounds - len(each))
        return missing

    def cost_s(self, cell: Cell) -> float:
        """The estimated seconds of a process of the cell."""
        if (known := self[cell].cost_s) is not None:
            return known
        alike = [self[each].cost_s for each in self._serial.get(cell.problem, [])]
        serial = min((each for each in alike if each is not None), default=_FIRST_GUESS_S)
        return max(serial, self[self.main[cell.column]].cost_s or 0.0)

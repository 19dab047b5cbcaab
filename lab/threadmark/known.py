"""What is known of the cells of a run so far, and what follows from it: no clock, no files."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import median
from typing import TypeVar

from threadmark.cell import Cell, Row
from threadmark.yardstick import corrected, scales, shared

# With fewer samples that ran side by side nothing is said; what two are worth, the interval says.
FEWEST_UNDISTURBED = 2
_FIRST_GUESS_S = 0.15  # a process of which nothing is known
_Key = TypeVar("_Key")


class Standing(Enum):
    """What more samples of a cell would do to its verdict."""

    OPEN = 1  # it is unclear
    CLEAR = 2
    SETTLED = 3  # and would be with a much wider interval


# Of each (serial samples, samples, threads), as they are seen among all of them, and with what
# their correction leaves (yardstick.shared).
Standings = Callable[
    [Sequence[tuple[Sequence[float], Sequence[float], int]], float], Sequence[Standing]
]


def all_clear(cases: Sequence[object], _shared: float) -> list[Standing]:
    """Where no verdict is to be furthered."""
    return [Standing.CLEAR] * len(cases)


def fastest(samples: Mapping[_Key, Sequence[float]]) -> _Key | None:
    """Whose samples have the lowest median, among those that have at least half as many as any: of
    two that are alike, the one with few has it by chance. None where there are no samples."""
    most = max(map(len, samples.values()), default=0)
    enough = {key: values for key, values in samples.items() if values and 2 * len(values) >= most}
    return min(enough, key=lambda key: median(enough[key]), default=None)


@dataclass
class State:
    """What is known of a cell."""

    evidence: list[Row] = field(default_factory=list)  # what counts, as measured
    samples_ns: list[float] = field(default_factory=list)  # of it, see Known.correct()
    times_ns: list[float] = field(default_factory=list)  # with the disturbed ones: good for limits
    rounds: set[int] = field(default_factory=set)
    costs_s: list[float] = field(default_factory=list)  # of its processes
    failures: int = 0
    disturbed: int = 0
    open: bool = True
    doubted: bool = False  # its verdict was open once
    settled: bool = False  # more samples would not change its verdict
    spared: int = 0  # so many samples have to do while others need the time; 0: it is not spared

    @property
    def cost_s(self) -> float | None:
        """What a process of it takes; None before there was one."""
        return median(self.costs_s) if self.costs_s else None


class Known(UserDict[Cell, State]):
    """The states of all cells, in their order. `main` is the cell of each column with the most
    threads, on which its verdict rests."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        super().__init__({cell: State() for cell in sorted(cells)})
        self._serial: dict[tuple[object, ...], list[Cell]] = {}
        self._shared = 0.0
        for cell in self:
            if cell.backend == "serial":
                self._serial.setdefault(cell.problem, []).append(cell)
        self.main = {cell.column: cell for cell in sorted(self, key=lambda cell: cell.threads)}

    def correct(self) -> None:
        """Take the samples anew from the evidence, corrected by all that is known now."""
        rows = [row for state in self.values() for row in state.evidence]
        found = scales(rows)
        self._shared = shared(found)
        for state in self.values():
            state.samples_ns.clear()
        for row in corrected(rows, found):
            self[row.cell].samples_ns.append(row.sample_ns or 0.0)

    def base(self, cell: Cell) -> Cell | None:
        """The fastest serial cell of the same problem, with which `cell` is compared."""
        return fastest({each: self[each].samples_ns for each in self._serial.get(cell.problem, [])})

    def bases(self, cells: Iterable[Cell] | None = None) -> list[Cell]:
        """Those of `cells`, or of all, with which others are compared."""
        among = self if cells is None else cells
        return [each for each in among if each.backend == "serial" and each == self.base(each)]

    def serial_s(self, cell: Cell) -> float | None:
        """Seconds of the fastest serial cell of the same problem."""
        times = [
            median(self[each].times_ns) / 1e9
            for each in self._serial.get(cell.problem, [])
            if self[each].times_ns
        ]
        return min(times, default=None)

    def standings(self, judge: Standings) -> dict[Cell, Standing]:
        """Of the open cells that have a base and samples."""
        cases = {
            cell: (self[base].samples_ns, state.samples_ns, cell.threads)
            for cell, state in self.items()
            if state.open and state.samples_ns and cell.backend != "serial"
            if (base := self.base(cell))
        }
        return dict(zip(cases, judge(list(cases.values()), self._shared), strict=True))

    def cost_s(self, cell: Cell) -> float:
        """Seconds that a process of the cell takes, as far as one can tell."""
        if (known := self[cell].cost_s) is not None:
            return known
        alike = [self[each].cost_s for each in self._serial.get(cell.problem, [])]
        serial = min((each for each in alike if each is not None), default=_FIRST_GUESS_S)
        return max(serial, self[self.main[cell.column]].cost_s or 0.0)

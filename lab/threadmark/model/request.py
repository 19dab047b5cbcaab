"""A user's request, and its cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from threadmark.model.cell import Cell
from threadmark.model.errors import LabError
from threadmark.model.executable import Executable

SIZES = ("smoke", "quick", "full")


@dataclass(frozen=True)
class Request:
    """The request; an empty tuple means all."""

    programs: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    allocators: tuple[str, ...] = ("glibc",)
    threads: tuple[int, ...] = (1,)
    size: str = "quick"
    arguments: tuple[str, ...] = ()  # name=value or program.name=value
    profile: str = "quick"
    seed: int = 1  # of the programs' inputs
    order_seed: int | None = None  # of the order of measuring; None: the run draws one
    budget_s: float | None = None
    executables: str = ""  # a folder to take them from instead of the build

    def check(self) -> None:
        """LabError for an impossible number."""
        if self.budget_s is not None and not 0 < self.budget_s < 1e9:
            raise LabError("--budget is a positive number of seconds; change it.")
        for name, seed in (("--seed", self.seed), ("--order-seed", self.order_seed or 0)):
            if not 0 <= seed < 1 << 63:
                raise LabError(f"{name} goes from 0 to 2^63 - 1; change it.")

    def agrees(self, stored: Request) -> bool:
        """Whether it requests the same as a stored request, whatever order that one drew."""
        seed = stored.order_seed if self.order_seed is None else self.order_seed
        return replace(self, order_seed=seed) == stored

    def check_left(self, cells: Iterable[Cell], executables: Sequence[Executable]) -> None:
        """LabError for a name without a cell under the other options."""
        fitting = [cell for cell in cells if self._fits(cell)]
        for field in ("backend", "program", "variant"):
            there = {getattr(cell, field) for cell in fitting}
            for name in self._asked(field):
                if name not in there:
                    remedy = self._remedy(field, name, executables)
                    what = f"The other options leave no cell of the {field} '{name}'"
                    raise LabError(f"{what}; {remedy}.")

    def _fits(self, cell: Cell) -> bool:
        """Whether the cell is requested, and not only the base of requested cells."""
        if self.backends and cell.backend not in self.backends:
            return False
        # The variants of an absent backend are not known.
        return not self.variants or cell.variant in (*self.variants, "any")

    def _asked(self, field: str) -> tuple[str, ...]:
        names: tuple[str, ...] = getattr(self, f"{field}s")
        return names

    def _remedy(self, field: str, name: str, executables: Sequence[Executable]) -> str:
        """The other option to change, and its possible values."""
        having = [each for each in executables if name in each.names(field)]
        for other in ("platform", "program", "backend", "variant"):
            asked = self._asked(other) if other != field else ()
            there = {each for executable in having for each in executable.names(other)}
            if asked and there and not there.intersection(asked):
                return f"its {other}s are {', '.join(sorted(there))}, so change --{other}s"
            having = [each for each in having if not asked or {*asked} & {*each.names(other)}]
        return "leave one of them out"

    def as_json(self) -> dict[str, Any]:
        """The request for the store; `from_json` reads it back."""
        return asdict(self)

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Request:
        """The request of a stored run; in runs without order_seed, `seed` was also that of the
        order."""
        lists = {name: tuple(each) for name, each in stored.items() if isinstance(each, list)}
        return Request(**{"order_seed": stored["seed"], **stored, **lists})


@dataclass(frozen=True)
class Selection:
    """The cells to measure with their executables, and those that cannot be, with the reason."""

    cells: dict[Cell, Executable]
    unavailable: dict[Cell, str]

    @property
    def executables(self) -> list[Executable]:
        """The used executables, each once."""
        return list({each.path: each for each in self.cells.values()}.values())

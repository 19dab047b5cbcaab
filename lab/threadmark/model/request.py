"""What a person asks for, and which cells that is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from threadmark.model.cell import Cell
from threadmark.model.errors import LabError
from threadmark.model.executable import Executable

SIZES = ("smoke", "quick", "full")


@dataclass(frozen=True)
class Request:
    """What is to be measured; an empty tuple means all."""

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
        """LabError for a number that cannot be."""
        if self.budget_s is not None and not 0 < self.budget_s < 1e9:
            raise LabError("--budget is a positive number of seconds; change it.")
        for name, seed in (("--seed", self.seed), ("--order-seed", self.order_seed or 0)):
            if not 0 <= seed < 1 << 63:
                raise LabError(f"{name} goes from 0 to 2^63 - 1; change it.")

    def agrees(self, stored: Request) -> bool:
        """Whether it asks for the same as a stored request, whatever order that one drew."""
        seed = stored.order_seed if self.order_seed is None else self.order_seed
        return replace(self, order_seed=seed) == stored

    def as_json(self) -> dict[str, Any]:
        """For the store; `from_json` gives it back."""
        return asdict(self)

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Request:
        """The request of a stored run; before order_seed, `seed` was that of the order too."""
        lists = {name: tuple(each) for name, each in stored.items() if isinstance(each, list)}
        return Request(**{"order_seed": stored["seed"], **stored, **lists})


@dataclass(frozen=True)
class Selection:
    """The cells to measure with their executables, and those that cannot be, with the reason."""

    cells: dict[Cell, Executable]
    unavailable: dict[Cell, str]

    @property
    def executables(self) -> list[Executable]:
        """Those that are used, each once."""
        return list({each.path: each for each in self.cells.values()}.values())

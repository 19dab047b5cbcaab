"""An executable, its description, and the backends that a build left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadmark.model.cell import Cell

CONTENTION = "threads"  # in the place of a contention program's backend


@dataclass(frozen=True)
class Executable:
    """One program with one backend on one platform. `fault` is the reason for which it cannot be
    used.

    `stamp` changes when the file does, and is read in no time.
    """

    path: Path
    platform: str
    program: str
    backend: str
    digest: str  # SHA-256 of the file
    stamp: tuple[int, ...]
    description: dict[str, Any]
    fault: str = ""

    def changed(self) -> bool:
        """Whether the file has changed, or is gone."""
        try:
            return stamp_of(self.path) != self.stamp
        except OSError:
            return True

    @property
    def variants(self) -> dict[str, bool]:
        """Name -> whether the variant can use more than one thread."""
        return {each["name"]: each["parallel"] for each in self.description.get("variants", [])}

    def names(self, field: str) -> tuple[str, ...]:
        """The possible values of its cells in that field, which is no number."""
        return tuple(self.variants) if field == "variant" else (str(getattr(self, field)),)

    @property
    def contends(self) -> bool:
        """Whether the executable is a contention program, of the catalogue and not of `run`."""
        return self.backend == CONTENTION

    def offer(
        self, cell: Cell, cells: dict[Cell, Executable], unavailable: dict[Cell, str]
    ) -> None:
        """Put a cell into the cells or the unavailable ones: other allocators replace only that of
        glibc."""
        c_library = str(self.description.get("platform", {}).get("c_library", ""))
        if cell.allocator != "glibc" and c_library.startswith("musl"):
            unavailable[cell] = (
                f"{cell.allocator} replaces glibc's malloc, which a program on musl has not"
            )
        else:
            cells[cell] = self

    @property
    def forms(self) -> dict[str, dict[str, Any]]:
        """Name -> `meaning`, `quick`, `lacks` of the equivalent forms of the program."""
        return {each["name"]: each for each in self.description.get("forms", [])}

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Name -> the parameter's `min`, `max`, `sizes`, `meaning`."""
        return {each["name"]: each for each in self.description.get("parameters", [])}


@dataclass(frozen=True)
class Absence:
    """A backend that a platform does not have, with the reason and its remedy."""

    platform: str
    backend: str
    reason: str


def stamp_of(path: Path) -> tuple[int, ...]:
    """A value that changes with the file. OSError if there is no file."""
    state = path.stat()
    return (state.st_mtime_ns, state.st_size, state.st_ino)

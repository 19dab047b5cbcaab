"""The interface of a kind of run. Commands that take a run ask its kind, see registry.py."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from threadmark.machine.version import version
from threadmark.model.cell import Stored
from threadmark.model.errors import LabError
from threadmark.present import plain

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


@dataclass(frozen=True)
class Question:
    """The question of `compare`. An empty tuple of programs means all; with `fail_above` (0.05 = 5
    %) the answer also tells whether A is slower by more than that."""

    names: tuple[str, str]  # of A and B, as they were typed
    programs: tuple[str, ...] = ()
    every_thread_count: bool = False
    fail_above: float | None = None

    @property
    def options(self) -> list[str]:
        """The options that were given."""
        given = {
            "--programs": self.programs,
            "--every-thread-count": self.every_thread_count,
            "--fail-above": self.fail_above is not None,
        }
        return [name for name, is_given in given.items() if is_given]


class Answer(Protocol):
    """The answer of `compare`."""

    def record(self) -> dict[str, Any]:
        """The fields of its JSON."""

    def lines(self) -> list[RenderableType]:
        """The printed lines."""

    @property
    def failed(self) -> bool:
        """Whether A is slower than `fail_above` allows."""


class Detail(Protocol):
    """A part of a run, by its name."""

    def record(self) -> dict[str, Any]:
        """The fields of its JSON."""

    def lines(self, width: int, *, utf8: bool) -> list[Text]:
        """The lines for a terminal of `width` characters."""


class RunKind(ABC):
    """A kind of run. `found` is always what its judge() returned for the same run."""

    command: ClassVar[str]  # makes such runs; it also names their JSON document
    profiles: ClassVar[tuple[str, ...]]  # the profiles of this kind's runs in a store
    formats: ClassVar[tuple[str, ...]] = ("json",)
    compares_cells: ClassVar[bool] = False  # else the options of `compare` have no meaning

    @abstractmethod
    def judge(self, stored: Stored) -> Any:
        """The whole result of the run."""

    @abstractmethod
    def table(self, stored: Stored, found: Any, width: int, *, utf8: bool) -> list[Text]:
        """The lines for a terminal of `width` characters, with marks in ASCII unless `utf8`."""

    @abstractmethod
    def page(self, stored: Stored, found: Any) -> str:
        """The run as one HTML file that needs no network."""

    def picture(self, stored: Stored, found: Any) -> str:
        """The run as one SVG picture. LabError if the kind has none."""
        raise LabError(f"A run of {self.command} has no picture; name an .html file with --output.")

    @abstractmethod
    def record(self, stored: Stored, found: Any) -> dict[str, Any]:
        """The result of the run as plain values for JSON."""

    def export(self, stored: Stored, found: Any, form: str) -> str | bytes:
        """The run in one of `formats`. LabError if this run lacks data that the format needs."""
        return self.json(stored, found)

    def json(self, stored: Stored, found: Any) -> str:
        """The run as its JSON document."""
        return plain.dumps(self.document(stored, found)) + "\n"

    def document(self, stored: Stored, found: Any) -> dict[str, Any]:
        """The output of `show --json`: the run, its result, and its rows."""
        fields = {
            "judged_by": version(),
            "run": plain.finite(plain.run_record(stored.run)),
            **self.record(stored, found),
            "rows": [plain.row_record(row) for row in stored.rows],
        }
        return plain.document(self.command, fields)

    def function(self, stored: Stored, name: str) -> Detail:
        """Callers and callees of one function. LabError if the kind has no stacks."""
        raise LabError(f"Runs of {self.command} have no stacks; name one of explain.")

    @abstractmethod
    def agree(self, a: Stored, b: Stored, question: Question) -> Answer:
        """The comparison of two runs of this kind."""

    def sides(self, stored: Stored, question: Question) -> Answer:
        """The comparison of the two sides of one run that the question names. LabError if a run of
        this kind has no sides."""
        raise LabError(f"A run of {self.command} has no sides; compare two of its runs.")

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
    """What `compare` is asked. An empty tuple of programs means all; with `fail_above` (0.05 = 5 %)
    the answer also says whether A is slower by more than that."""

    names: tuple[str, str]  # of A and B, as they were typed
    programs: tuple[str, ...] = ()
    every_thread_count: bool = False
    fail_above: float | None = None

    @property
    def options(self) -> list[str]:
        """Those that were given."""
        given = {
            "--programs": self.programs,
            "--every-thread-count": self.every_thread_count,
            "--fail-above": self.fail_above is not None,
        }
        return [name for name, is_given in given.items() if is_given]


class Answer(Protocol):
    """What `compare` says."""

    def record(self) -> dict[str, Any]:
        """The fields of its JSON."""

    def lines(self) -> list[RenderableType]:
        """What it prints."""

    @property
    def failed(self) -> bool:
        """Whether A is slower than `fail_above` allows."""


class Detail(Protocol):
    """A part of a run that is asked for by its name."""

    def record(self) -> dict[str, Any]:
        """The fields of its JSON."""

    def lines(self, width: int, *, utf8: bool) -> list[Text]:
        """What a terminal of `width` characters shows."""


class RunKind(ABC):
    """A kind of run. `found` is always what its judge() returned for the same run."""

    command: ClassVar[str]  # that makes such runs; it also names their JSON document
    profiles: ClassVar[tuple[str, ...]]  # which runs of a store are of this kind
    formats: ClassVar[tuple[str, ...]] = ("json",)
    compares_cells: ClassVar[bool] = False  # else the options of `compare` have no meaning

    @abstractmethod
    def judge(self, stored: Stored) -> Any:
        """All that the run says."""

    @abstractmethod
    def table(self, stored: Stored, found: Any, width: int, *, utf8: bool) -> list[Text]:
        """What a terminal of `width` characters shows, with marks in ASCII unless `utf8`."""

    @abstractmethod
    def page(self, stored: Stored, found: Any) -> str:
        """The run as one HTML file that needs no network."""

    def picture(self, stored: Stored, found: Any) -> str:
        """The run as one SVG picture. LabError where the kind has none."""
        raise LabError(f"A run of {self.command} has no picture; name an .html file with --output.")

    @abstractmethod
    def record(self, stored: Stored, found: Any) -> dict[str, Any]:
        """What the run says as plain values for JSON."""

    def export(self, stored: Stored, found: Any, form: str) -> str | bytes:
        """The run in one of `formats`. LabError where this run lacks what the format needs."""
        return self.json(stored, found)

    def json(self, stored: Stored, found: Any) -> str:
        """The run as its JSON document."""
        return plain.dumps(self.document(stored, found)) + "\n"

    def document(self, stored: Stored, found: Any) -> dict[str, Any]:
        """What `show --json` prints: the run, what it says, and its rows."""
        fields = {
            "judged_by": version(),
            "run": plain.finite(plain.run_record(stored.run)),
            **self.record(stored, found),
            "rows": [plain.row_record(row) for row in stored.rows],
        }
        return plain.document(self.command, fields)

    def function(self, stored: Stored, name: str) -> Detail:
        """Callers and callees of one function. LabError where the kind has no stacks."""
        raise LabError(f"Runs of {self.command} have no stacks; name one of explain.")

    @abstractmethod
    def agree(self, a: Stored, b: Stored, question: Question) -> Answer:
        """How two runs of this kind compare."""

    def sides(self, stored: Stored, question: Question) -> Answer:
        """How the two sides of one run compare that the question names. LabError where a run of
        this kind has no sides."""
        raise LabError(f"A run of {self.command} has no sides; compare two of its runs.")

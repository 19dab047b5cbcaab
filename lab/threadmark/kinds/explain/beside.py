"""The explanations that a run with measured cells shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadmark.kinds.explain import table
from threadmark.model.cell import Cell, Stored
from threadmark.model.places import hint
from threadmark.present.terminal import TextPage

EXPLANATIONS = "explanations"  # the document of the measured run


@dataclass(frozen=True)
class Explained:
    """A cell with the run that explains it."""

    run: int
    cell: Cell
    answer: Mapping[str, Any]  # the document of that run
    store: Path  # of both

    @property
    def name(self) -> str:
        """The name of the cell."""
        return str(self.answer["cell"]["name"])

    @property
    def summary(self) -> str:
        """The first cause and its cost."""
        return table.summary(self.answer["causes"][0])

    @property
    def command(self) -> str:
        """The command that shows the whole explanation."""
        return hint(self.store, "show", self.run)

    def lines(self, width: int) -> list[str]:
        """The lines of the explanation."""
        return [line.plain for line in table.lines(self.answer, width, utf8=True)]


def explained(stored: Stored) -> list[Explained]:
    """The explanations of a measured run, in the order in which they were made."""
    found = stored.documents.get(EXPLANATIONS, {}).get("fields", [])
    return [
        Explained(each["run"], _cell(each["answer"]["cell"]), each["answer"], stored.store)
        for each in found
    ]


def document(found: list[Explained]) -> dict[str, Any]:
    """The document for the store."""
    return {"fields": [{"run": each.run, "answer": each.answer} for each in found]}


def by_column(stored: Stored) -> dict[tuple[object, ...], int]:
    """The subject of a verdict (Cell.column) -> the run that explains it."""
    return {each.cell.column: each.run for each in explained(stored)}


def say(page: TextPage, stored: Stored) -> None:
    """Print a line for each explanation."""
    found = explained(stored)
    if found:
        page.heading("Why it does not scale")
    for each in found:
        page.say(f"{each.name}: {each.summary}; {each.command}")


def records(stored: Stored) -> list[dict[str, Any]]:
    """The explanations for JSON."""
    names = ("category", "share", "certain", "name", "where", "words", "bound")
    return [
        {
            "run": each.run,
            "cell": each.answer["cell"],
            "first": {name: each.answer["causes"][0][name] for name in names},
        }
        for each in explained(stored)
    ]


def _cell(about: Mapping[str, Any]) -> Cell:
    names = ("program", "size", "backend", "variant", "platform", "allocator", "threads")
    arguments = tuple(sorted(about["arguments"].items()))
    return Cell(**{name: about[name] for name in names}, arguments=arguments)

"""The kind of `letters`. A run is its request alone, as in a kind that keeps a file of its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import Any

from rich.text import Text
from threadmark.kinds.kind import Question, RunKind
from threadmark.kinds.letters import COMMAND
from threadmark.model.cell import Stored


@dataclass(frozen=True)
class Difference:
    """The count of each letter in the second text, less its count in the first."""

    counts: dict[str, int]

    def record(self) -> dict[str, Any]:
        """The differences for JSON."""
        return {"difference": self.counts}

    def lines(self) -> list[Text]:
        """The differences for a terminal."""
        return [Text(f"{letter} {count:+}") for letter, count in self.counts.items()]

    @property
    def failed(self) -> bool:
        """Nothing is slower."""
        return False


class Letters(RunKind):
    """Counts of letters."""

    command = COMMAND
    profiles = ("letters",)

    def judge(self, stored: Stored) -> Counter[str]:
        return Counter(filter(str.isalpha, stored.run.request["text"]))

    def table(self, stored: Stored, found: Counter[str], width: int, *, utf8: bool) -> list[Text]:
        return [Text(f"{letter} {count}"[:width]) for letter, count in found.most_common()]

    def page(self, stored: Stored, found: Counter[str]) -> str:
        title = f"<title>Threadmark: run {stored.run.id}</title>"
        return f"<!doctype html>{title}<p>{escape(stored.run.request['text'])}</p>"

    def record(self, stored: Stored, found: Counter[str]) -> dict[str, Any]:
        return {"letters": dict(found)}

    def agree(self, a: Stored, b: Stored, question: Question) -> Difference:
        first, second = self.judge(a), self.judge(b)
        return Difference({each: second[each] - first[each] for each in sorted(first | second)})


KIND = Letters()

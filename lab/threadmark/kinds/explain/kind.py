"""The kind of `explain`: a run is one record of one program, analysed when it was made."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from threadmark.kinds.explain import COMMAND
from threadmark.kinds.explain.comparing import Change, change
from threadmark.kinds.kind import Detail, Question, RunKind
from threadmark.model.cell import Stored
from threadmark.model.errors import LabError
from threadmark.present import plain

ANSWER = "answer"  # the document of the contract
DETAILS = "details"  # what the page and the exports need beside it


class Explanation(RunKind):
    """Runs of `explain`."""

    command = COMMAND
    profiles = ("explain",)
    formats = ("json", "collapsed", "speedscope")

    def judge(self, stored: Stored) -> dict[str, Any]:
        found = stored.documents.get(ANSWER)
        if not isinstance(found, dict):
            raise LabError(
                f"Run {stored.run.id} of explain was not finished; record the program again."
            )
        return found

    def table(self, stored: Stored, found: dict[str, Any], width: int, *, utf8: bool) -> list[Text]:
        from threadmark.kinds.explain import table

        return table.lines(found, width, utf8=utf8)

    def page(self, stored: Stored, found: dict[str, Any]) -> str:
        from threadmark.kinds.explain import page

        return page.page(stored, found)

    def record(self, stored: Stored, found: dict[str, Any]) -> dict[str, Any]:
        return found

    def document(self, stored: Stored, found: dict[str, Any]) -> dict[str, Any]:
        """The document of the contract and nothing else, so that programs may rely on it."""
        return found

    def export(self, stored: Stored, found: dict[str, Any], form: str) -> str:
        from threadmark.kinds.explain import flames

        if form == "json":
            return super().export(stored, found, form)
        details = stored.documents.get(DETAILS, {})
        if form == "collapsed":
            return flames.collapsed(details)
        return plain.dumps(flames.speedscope(stored, details)) + "\n"

    def function(self, stored: Stored, name: str) -> Detail:
        from threadmark.kinds.explain import functions

        self.judge(stored)
        return functions.function(stored.documents.get(DETAILS, {}), name)

    def agree(self, a: Stored, b: Stored, question: Question) -> Change:
        return change(self.judge(a), self.judge(b))


KIND = Explanation()

"""The kind of `explain`: a run is one record of one program, analysed at once."""

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
DETAILS = "details"  # the further data of the page and the exports


class Explanation(RunKind):
    """Runs of `explain`."""

    command = COMMAND
    profiles = ("explain",)
    formats = ("json", "collapsed", "speedscope", "pprof", "pprof-cpu", "firefox")

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

        return page.page(stored, found, _details(stored))

    def record(self, stored: Stored, found: dict[str, Any]) -> dict[str, Any]:
        return found

    def document(self, stored: Stored, found: dict[str, Any]) -> dict[str, Any]:
        """The document of the contract and nothing else, so that programs may rely on it."""
        return found

    def export(self, stored: Stored, found: dict[str, Any], form: str) -> str | bytes:
        from threadmark.kinds.explain import firefox, flames, pprof

        if form == "json":
            return self.json(stored, found)
        details = _details(stored)
        if form == "collapsed":
            return flames.collapsed(details)
        if form == "pprof":
            return pprof.waits(stored, found["command"], details)
        if form == "pprof-cpu":
            return pprof.processor(stored, found["command"], details)
        if form == "firefox":
            return plain.dumps(firefox.profile(stored, found, details), indent=None) + "\n"
        return plain.dumps(flames.speedscope(stored, details)) + "\n"

    def function(self, stored: Stored, name: str) -> Detail:
        from threadmark.kinds.explain import functions

        self.judge(stored)
        return functions.function(stored.documents.get(DETAILS, {}), name)

    def agree(self, a: Stored, b: Stored, question: Question) -> Change:
        return change(self.judge(a), self.judge(b))


def _details(stored: Stored) -> dict[str, Any]:
    """The data beside the answer. LabError for a run that an earlier version analysed."""
    found = stored.documents.get(DETAILS, {})
    if "timeline" not in found:
        raise LabError(
            f"Run {stored.run.id} was analysed by another version of Threadmark; analyse its "
            "record again with ./threadmark explain FILE."
        )
    return dict(found)


KIND = Explanation()

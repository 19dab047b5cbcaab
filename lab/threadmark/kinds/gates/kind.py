"""The kind of `gate`: a run has the rows of all rounds, and the demands in its request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.text import Text

from threadmark.kinds.gates import COMMAND, judgement, reports
from threadmark.kinds.gates.demands import Demand
from threadmark.kinds.gates.judgement import Found, Verdict
from threadmark.kinds.kind import Question, RunKind
from threadmark.model.cell import Stored
from threadmark.model.places import hint
from threadmark.model.workload import threads_in_words
from threadmark.present import plain, wording
from threadmark.present.terminal import TextPage

if TYPE_CHECKING:
    from rich.console import RenderableType

CAUSES = "causes"  # the document with explain's answer


@dataclass(frozen=True)
class Change:
    """The speed-ups of each number of threads before and after."""

    speedups: Mapping[int, tuple[float | None, float | None]]

    def record(self) -> dict[str, Any]:
        """The change for JSON."""
        return {"speedups": {str(threads): list(pair) for threads, pair in self.speedups.items()}}

    def lines(self) -> list[RenderableType]:
        """The change for a terminal."""
        said: list[RenderableType] = [Text("Speed-up over one thread, before and after:")]
        for threads, pair in self.speedups.items():
            before, after = ("    -" if each is None else f"{each:5.2f}" for each in pair)
            said.append(Text(f"{before} {after}  {threads_in_words(threads)}"))
        return said

    @property
    def failed(self) -> bool:
        """Always false, because two runs have no demands on one another."""
        return False


class Gates(RunKind):
    """Runs of `gate`."""

    command = COMMAND
    profiles = ("gate",)

    def judge(self, stored: Stored) -> Found:
        demands = [Demand.from_json(each) for each in stored.run.request["demands"]]
        return judgement.judge(stored.rows, demands)

    def table(self, stored: Stored, found: Found, width: int, *, utf8: bool) -> list[Text]:
        page = TextPage(max(60, min(width, 100)), utf8=utf8)
        times = ", ".join(
            f"{wording.duration(1e9 * seconds)} on {threads_in_words(threads)}"
            for threads, seconds in found.seconds.items()
        )
        page.say(f"{name_of(stored)}: {found.verdict.value}.", "bold")
        for each in found.checked:
            page.say(f"- {reports.sentence(each)}.")
        if found.failure:
            page.say(f"- The program failed: {found.failure}.")
        if times:
            counting = found.rounds - found.disturbed
            page.say(f"Medians of {counting} round{'s' * (counting != 1)}: {times}.")
        if not found.checked:
            for threads, ratio in found.speedups.items():
                span = reports.span(ratio, found.rounds - found.disturbed)
                page.say(f"Speed-up on {threads_in_words(threads)}: {span}.")
        if said := reports.rounds(found):
            page.say(said)
        if found.verdict is Verdict.UNDECIDED:
            page.say("More --budget, or a machine that does nothing else, may decide it.")
        causes = causes_of(stored)
        if causes:
            command = hint(stored.store, "show", stored.documents[CAUSES]["run"])
            page.heading(f"What explain says ({command})")
            for cause in causes:
                page.say(f"- {cause}")
        return page.lines

    def page(self, stored: Stored, found: Found) -> str:
        lines = "\n".join(line.plain for line in self.table(stored, found, 100, utf8=True))
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Threadmark: run {stored.run.id}</title></head><body>"
            f'<h1>Does it still scale?</h1><pre style="white-space: pre-wrap">{escape(lines)}</pre>'
            "</body></html>\n"
        )

    def record(self, stored: Stored, found: Found) -> dict[str, Any]:
        record: dict[str, Any] = plain.finite({
            "program": list(stored.run.request["workload"]["words"]),
            "verdict": found.verdict.value,
            "demands": [
                {
                    "words": each.demand.words,
                    "threads": each.demand.threads,
                    "speedup": each.demand.speedup,
                    "verdict": each.verdict.value,
                    "measured": plain.interval_record(each.speedup),
                    "rounds": each.rounds,
                }
                for each in found.checked
            ],
            "speedups": {
                str(threads): plain.interval_record(each)
                for threads, each in found.speedups.items()
            },
            "failure": found.failure or None,
            "seconds": {str(threads): each for threads, each in found.seconds.items()},
            "rounds": found.rounds,
            "disturbed_rounds": found.disturbed,
            "causes": list(causes_of(stored)),
        })  # fmt: skip
        return record

    def agree(self, a: Stored, b: Stored, question: Question) -> Change:
        sides = [self.judge(run).speedups for run in (a, b)]
        values = [{n: each.estimate for n, each in side.items()} for side in sides]
        counts = sorted({**values[0], **values[1]})
        return Change({count: (values[0].get(count), values[1].get(count)) for count in counts})


def name_of(stored: Stored) -> str:
    """The name of the program in one word."""
    return PurePath(stored.run.request["workload"]["words"][0]).name


def causes_of(stored: Stored) -> list[str]:
    """The causes of explain, if it ran."""
    return list(stored.documents.get(CAUSES, {}).get("causes", ()))


KIND = Gates()

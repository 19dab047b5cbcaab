"""The kind of `try`: a run has the rows of all pairs, and documents with the planned fixes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from threadmark.judge.trials import Judgement
from threadmark.kinds.kind import Question, RunKind
from threadmark.kinds.trials import COMMAND, judgement
from threadmark.kinds.trials.judgement import Found, Tried
from threadmark.model.cell import Stored
from threadmark.present import plain
from threadmark.present.wording import printable

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Change:
    """The gains of each fix in two runs, as ratios of speed; None if not measured."""

    gains: Mapping[str, tuple[float | None, float | None]]

    def record(self) -> dict[str, Any]:
        """The change for JSON."""
        return {"gains": {name: list(pair) for name, pair in self.gains.items()}}

    def lines(self) -> list[RenderableType]:
        """The change for a terminal."""
        said: list[RenderableType] = [Text("How many times as fast, before and after:")]
        for name, pair in self.gains.items():
            before, after = ("    -" if each is None else f"{each:5.2f}" for each in pair)
            said.append(Text(f"{before} {after}  {printable(name)}"))
        return said

    @property
    def failed(self) -> bool:
        """Always false, because a smaller gain is no fault."""
        return False


class Trials(RunKind):
    """Runs of `try`."""

    command = COMMAND
    profiles = ("try",)

    def judge(self, stored: Stored) -> Found:
        return judgement.judge(stored)

    def table(self, stored: Stored, found: Found, width: int, *, utf8: bool) -> list[Text]:
        from threadmark.kinds.trials import table

        return table.lines(stored, found, width, utf8=utf8)

    def page(self, stored: Stored, found: Found) -> str:
        from threadmark.kinds.trials.page import page

        return page(stored, found)

    def record(self, stored: Stored, found: Found) -> dict[str, Any]:
        record: dict[str, Any] = plain.finite({
            "program": list(stored.run.request["command"]),
            "rounds": found.rounds,
            "as_is": {
                str(count): {
                    "seconds": base.seconds,
                    "runs": base.runs,
                    "failed": base.failed,
                    "speedup": plain.interval_record(found.speedups.get(count)),
                    "noise": plain.interval_record(found.noise.get(count)),
                }
                for count, base in found.bases.items()
            },
            "fixes": [_fix(each) for each in found.tried],
            "left_out": dict(found.left_out),
            "gains": [each.name for each in found.winners],
            "least_gain_that_would_be_seen": found.seen,
            "explained": dict(found.explained),
            "limits": [*found.limits, *stored.run.notes],
        })  # fmt: skip
        return record

    def agree(self, a: Stored, b: Stored, question: Question) -> Change:
        sides = [
            {each.name: each.most.ratio.estimate for each in self.judge(run).tried if each.most}
            for run in (a, b)
        ]
        names = sorted({**sides[0], **sides[1]})
        return Change({name: (sides[0].get(name), sides[1].get(name)) for name in names})


def _fix(tried: Tried) -> dict[str, Any]:
    return {
        "name": tried.name,
        "kind": tried.kind,
        "what": tried.what,
        "risk": tried.risk,
        "parts": list(tried.parts),
        "keep": dict(tried.keep),
        "broken": tried.broken or None,
        "memory": tried.memory,
        "bound": tried.bound,
        "threads": {str(count): _judgement(each) for count, each in tried.arms.items()},
    }


def _judgement(each: Judgement) -> dict[str, Any]:
    return {
        "finding": each.finding.value,
        "times_as_fast": plain.interval_record(each.ratio),
        "pairs": each.pairs,
        "settled": each.settled,
    }


KIND = Trials()

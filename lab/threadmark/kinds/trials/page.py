"""A try as one HTML file without a script: what each fix gains, and how to keep it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from threadmark.judge.pairs import FEWEST
from threadmark.judge.trials import Finding, Judgement
from threadmark.kinds.trials import table
from threadmark.kinds.trials.gaps import Gap, gaps
from threadmark.kinds.trials.judgement import Found, Tried
from threadmark.model.cell import Stored
from threadmark.model.workload import threads_in_words
from threadmark.present import pages

_WIDTH = 200.0  # of the picture of an interval
_SPAN = 1.0  # at its ends: twice, or half as fast, as a power of two
_COLOURS = {
    Finding.GAIN: "scales", Finding.LOSS: "slower", Finding.NONE: "none",
    Finding.UNCLEAR: "unclear",
}  # fmt: skip


def page(stored: Stored, found: Found) -> str:
    """The file as text."""
    environment = pages.environment(Path(__file__).parent)
    return environment.get_template("page.html.j2").render(
        run=stored.run,
        command=table.command_line(stored.run.request),
        lines=[line.plain for line in table.lines(stored, found, 100, utf8=True)],
        counts=[(count, threads_in_words(count) or "gain") for count in found.bases],
        tried=[_fix(each, found) for each in found.tried],
        winners=found.winners,
        gaps=[_gap(each) for each in gaps(found)],
        left=_left(found),
        left_out=found.left_out,
        width=_WIDTH,
        machine=pages.facts(stored.run.machine),
    )


def _fix(tried: Tried, found: Found) -> dict[str, Any]:
    return {
        "tried": tried,
        "arms": [_arm(tried.arms.get(count)) for count in found.bases],
        "memory": "" if tried.memory is None else f"x{tried.memory:.2f}",
        "bound": "" if tried.bound is None else f"at most x{tried.bound:.3g}",
    }


def _gap(gap: Gap) -> dict[str, Any]:
    fix = gap.fix
    return {
        "cause": gap.cause,
        "bound": "" if gap.bound is None else f"at most x{gap.bound:.3g}",
        "fix": fix.name if fix else "",
        "arm": _arm(fix.most) if fix else None,
        "said": gap.said,
        "left": gap.left,
    }


def _left(found: Found) -> dict[str, Any] | None:
    """What explain says of the program with the best fix."""
    left = found.explained.get("left")
    return {**left, "best": found.explained["best"]} if left else None


def _arm(judged: Judgement | None) -> dict[str, Any] | None:
    if judged is None:
        return None
    ratio = judged.ratio
    return {
        "kind": _COLOURS[judged.finding],
        "finding": judged.finding.value,
        "words": table.percent(ratio.estimate),
        "span": table.span(ratio) if judged.pairs >= FEWEST else "too few to tell",
        "pairs": judged.pairs,
        "low": _place(ratio.low),
        "middle": _place(ratio.estimate),
        "high": _place(ratio.high),
    }


def _place(ratio: float) -> float:
    """Where a ratio is in the picture, whose middle is no gain."""
    power = math.log2(ratio) if 0 < ratio < math.inf else math.copysign(_SPAN, ratio - 1)
    share = max(-_SPAN, min(_SPAN, power)) / _SPAN
    return round(_WIDTH / 2 * (1 + share), 1)

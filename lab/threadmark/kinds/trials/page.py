"""A try as one HTML file without a script: the gain of each fix, and the lines that keep it."""

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
from threadmark.present import pages, wording

_WIDTH = 200.0  # of the picture of an interval
_LARGEST = 6  # powers of two at its ends
_COLOURS = {
    Finding.GAIN: "scales", Finding.LOSS: "slower", Finding.NONE: "none",
    Finding.UNCLEAR: "unclear",
}  # fmt: skip


def page(stored: Stored, found: Found) -> str:
    """The file as text."""
    environment = pages.environment(Path(__file__).parent)
    reach = _reach(found)
    known = [each for each in found.tried if each.broken or _pairs(each) >= FEWEST]
    return environment.get_template("page.html.j2").render(
        run=stored.run,
        command=table.command_line(stored.run.request),
        lines=[line.plain for line in table.lines(stored, found, 100, utf8=True)],
        counts=[(count, threads_in_words(count) or "gain") for count in found.bases],
        tried=[_fix(each, found, reach) for each in known],
        short=[each.name for each in found.tried if each not in known],
        ends=(f"1/{2**reach}" if reach > 1 else "half", 2**reach),
        winners=found.winners,
        gaps=[_gap(each) for each in gaps(found)],
        left=_left(found),
        left_out=table.left_out(found),
        width=_WIDTH,
        machine=pages.facts(stored.run.machine),
    )


def _pairs(tried: Tried) -> int:
    return max((each.pairs for each in tried.arms.values()), default=0)


def _reach(found: Found) -> int:
    """The ratio at the ends of all pictures, as a power of two."""
    ratios = [each.ratio for fix in found.tried for each in fix.arms.values()]
    sides = [side for each in ratios for side in (each.low, each.high) if 0 < side < math.inf]
    furthest = max((abs(math.log2(side)) for side in sides), default=1.0)
    return max(1, min(_LARGEST, math.ceil(furthest)))


def _fix(tried: Tried, found: Found, reach: int) -> dict[str, Any]:
    return {
        "tried": tried,
        "arms": [_arm(tried.arms.get(count), reach) for count in found.bases],
        "memory": "" if tried.memory is None else f"x{tried.memory:.2f}",
        "bound": "" if tried.bound is None else wording.at_most(tried.bound),
    }


def _gap(gap: Gap) -> dict[str, Any]:
    fix = gap.fix
    return {
        "cause": gap.cause,
        "bound": "" if gap.bound is None else wording.at_most(gap.bound),
        "fix": fix.name if fix else "",
        "arm": _arm(fix.most, 1) if fix else None,
        "said": gap.said,
        "left": gap.left,
    }


def _left(found: Found) -> dict[str, Any] | None:
    """The answer of explain for the program with the best fix."""
    left = found.explained.get("left")
    return {**left, "best": found.explained["best"]} if left else None


def _arm(judged: Judgement | None, reach: int) -> dict[str, Any] | None:
    if judged is None:
        return None
    ratio = judged.ratio
    return {
        "kind": _COLOURS[judged.finding],
        "finding": judged.finding.value,
        "words": table.percent(ratio.estimate),
        "span": table.span(ratio) if judged.pairs >= FEWEST else "too few to tell",
        "pairs": judged.pairs,
        "known": judged.pairs >= FEWEST,
        "low": _place(ratio.low, reach),
        "middle": _place(ratio.estimate, reach),
        "high": _place(ratio.high, reach),
    }


def _place(ratio: float, reach: int) -> float:
    """The place of a ratio in the picture, whose middle is no gain."""
    power = math.log2(ratio) if 0 < ratio < math.inf else math.copysign(reach, ratio - 1)
    share = max(-reach, min(reach, power)) / reach
    return round(_WIDTH / 2 * (1 + share), 1)

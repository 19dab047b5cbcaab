"""The bound of a cause by explain, beside the gains of the fixes for it; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadmark.judge.pairs import FEWEST
from threadmark.judge.trials import Finding
from threadmark.kinds.trials.judgement import Found, Tried
from threadmark.present.wording import at_most


@dataclass(frozen=True)
class Gap:
    """A cause, and the best of the measured fixes for it. `left` is the rest of the cause with that
    fix, if explain ran with it."""

    cause: str
    bound: float | None
    fix: Tried | None
    said: str
    left: str


def gaps(found: Found) -> list[Gap]:
    """The gaps of the causes of explain, in its order."""
    return [_gap(found, each) for each in found.explained.get("about", ())]


def _gap(found: Found, cause: Mapping[str, Any]) -> Gap:
    fix = _best(found.tried, cause["fixes"])
    bound = cause["bound"]
    return Gap(cause["summary"], bound, fix, _said(bound, fix), _left(found.explained, cause, fix))


def _best(tried: Sequence[Tried], names: Sequence[str]) -> Tried | None:
    """The first of these names in the order of the answer, which is that of the gains."""
    for each in tried:
        if each.name in names and not each.broken and each.most and each.most.pairs >= FEWEST:
            return each
    return None


def _said(bound: float | None, fix: Tried | None) -> str:
    if fix is None or fix.most is None:
        return "no fix for it was measured"
    ratio = fix.most.ratio
    if fix.most.finding is not Finding.GAIN:
        return "no gain for sure"
    if bound is None:
        return "explain gives no bound"
    if ratio.low > bound:
        together = bound if fix.bound is None else fix.bound
        if ratio.low > together:
            return "more than the bound, so the fix changes more than the causes that it helps with"
        return f"more, because the fix helps with other causes too, with them {at_most(together)}"
    if ratio.high >= bound:
        return "as much as the bound"
    return f"less than the bound, x{bound / ratio.estimate:.3g} is left"


def _left(explained: Mapping[str, Any], cause: Mapping[str, Any], fix: Tried | None) -> str:
    left = explained.get("left")
    if not left or fix is None or explained.get("best") != fix.name:
        return ""
    for each in left.get("about", ()):
        if (each["category"], each["name"]) == (cause["category"], cause["name"]):
            bound = each["bound"]
            worth = f", worth {at_most(bound)}" if bound else ""
            return f"with {fix.name} explain still finds it{worth}"
    return f"with {fix.name} it is not among the first causes"

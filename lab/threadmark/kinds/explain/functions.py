"""Callers and callees of one function, on the processor and in waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from threadmark.kinds.explain.flames import RUNNING, WAITING, off_processor, on_processor
from threadmark.kinds.explain.table import Page, micros
from threadmark.model.errors import LabError

_LISTED = 12  # callers, callees, waits
_SIMILAR = 6  # names in a complaint
_Stack = tuple[Sequence[str], int, str]  # innermost first; samples or microseconds; the wait


@dataclass
class _Part:
    """The cost of one function: samples of running code, or microseconds of waits."""

    inclusive: int = 0
    exclusive: int = 0
    callers: Counter[str] = field(default_factory=Counter)
    callees: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)  # in the function itself


@dataclass(frozen=True)
class Function:
    """One function of a run, by its full name."""

    name: str
    running: _Part
    waiting: _Part
    samples: int  # of the whole run
    wait_us: int
    hot_lines: Sequence[tuple[str, int]] = ()  # samples in the function itself
    hot_code: Sequence[tuple[str, str, int]] = ()  # place, instruction, samples

    def record(self) -> dict[str, Any]:
        """The function as plain values."""
        found: dict[str, Any] = {"function": self.name}
        for title, part, total in (
            ("running_samples", self.running, self.samples),
            ("waiting_us", self.waiting, self.wait_us),
        ):
            found[title] = {
                "all": total,
                "inclusive": part.inclusive,
                "exclusive": part.exclusive,
                "callers": dict(part.callers.most_common()),
                "callees": dict(part.callees.most_common()),
            }
        found["lines"] = [{"where": at, "samples": n} for at, n in self.hot_lines]
        found["instructions"] = [
            {"where": at, "text": text, "samples": n} for at, text, n in self.hot_code
        ]
        found["waiting_us"]["for"] = dict(self.waiting.waits.most_common())
        return found

    def lines(self, width: int, *, utf8: bool) -> list[Text]:
        """The lines for a terminal."""
        page = Page(width, utf8=utf8)
        page.fill("", self.name, f"{'samples':>8}{'waits':>10}")
        for title, name in (("with its callees", "inclusive"), ("in itself", "exclusive")):
            samples, us = getattr(self.running, name), getattr(self.waiting, name)
            page.fill("  ", title, self._costs(samples, us))
        for title, one, other in (
            ("called by", self.running.callers, self.waiting.callers),
            ("calls", self.running.callees, self.waiting.callees),
        ):
            names = sorted({*one, *other}, key=lambda n: (-one[n] - other[n] / 1000, n))
            if names:
                page.lines.append(Text())
                page.say("", title)
            for each in names[:_LISTED]:
                page.fill("  ", each, self._costs(one[each], other[each]))
            if len(names) > _LISTED:
                page.say("  ", f"and {len(names) - _LISTED} more (--json has them)")
        for title, places in (
            ("lines in itself", self.hot_lines),
            ("instructions in itself", [(f"{at}  {text}", n) for at, text, n in self.hot_code]),
        ):
            if places:
                page.lines.append(Text())
                page.say("", title)
            for place, samples in places:
                page.fill("  ", place, self._costs(samples, 0))
        if self.waiting.waits:
            page.lines.append(Text())
        for activity, us in self.waiting.waits.most_common(_LISTED):
            page.fill("  waits in itself: ", activity.replace("_", " "), self._costs(0, us))
        return page.lines

    def _costs(self, samples: int, us: int) -> str:
        share = f"{100 * samples / self.samples:.1f} %" if samples else "-"
        return f"{share:>8}{micros(us) if us else '-':>10}"


@dataclass(frozen=True)
class Total:
    """The cost of a function in all of its stacks, in microseconds."""

    name: str
    running_us: int
    itself_us: int  # of the running time, without its callees
    waiting_us: int


def totals(details: Mapping[str, Any]) -> list[Total]:
    """All functions, the dearest first."""
    running: Counter[str] = Counter()
    itself: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for frames, us in on_processor(details):
        itself[frames[0]] += us
        running.update(dict.fromkeys(frames, us))
    for (_, *frames), us in off_processor(details):
        waiting.update(dict.fromkeys(frames, us))
    names = sorted({*running, *waiting}, key=lambda n: (-max(running[n], waiting[n]), n))
    return [Total(n, running[n], itself[n], waiting[n]) for n in names]


def function(details: Mapping[str, Any], name: str) -> Function:
    """The function with this name, whole or from a '::' on. LabError if no function or more than
    one has that name."""
    running: list[_Stack] = [(frames, count, "") for frames, count in details.get(RUNNING, [])]
    waiting: list[_Stack] = [tuple(each[:3]) for each in details.get(WAITING, [])]
    names = {each for frames, _, _ in (*running, *waiting) for each in frames}
    full = _named(names, name)
    samples, wait_us = sum(c for _, c, _ in running), sum(us for _, us, _ in waiting)
    parts = _part(running, full), _part(waiting, full)
    hot = details.get("hot", {}).get(full, {})
    return Function(
        full, *parts, samples, wait_us, hot.get("lines", ()), hot.get("instructions", ())
    )


def _named(names: Iterable[str], wanted: str) -> str:
    names = sorted(names)
    if wanted in names:
        return wanted
    fitting = [each for each in names if each.endswith(f"::{wanted}")]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise LabError(
            f"{len(fitting)} functions are named {wanted}; write one whole: {_some(fitting)}."
        )
    similar = [each for each in names if wanted.lower() in each.lower()]
    hint = f"Similar: {_some(similar)}." if similar else "See the names with ./threadmark report."
    raise LabError(f"No stack of this run has a function {wanted}. {hint}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SIMILAR} more" if len(names) > _SIMILAR else ""
    return ", ".join(names[:_SIMILAR]) + more


def _part(stacks: Iterable[_Stack], name: str) -> _Part:
    """The part of a function. A function that calls itself counts once in a stack: its outermost
    call has the caller, and its innermost call has the callee."""
    part = _Part()
    for frames, weight, activity in stacks:
        places = [place for place, each in enumerate(frames) if each == name]
        if not places:
            continue
        part.inclusive += weight
        if places[-1] + 1 < len(frames):
            part.callers[frames[places[-1] + 1]] += weight
        if places[0] == 0:
            part.exclusive += weight
            if activity:
                part.waits[activity] += weight
        else:
            part.callees[frames[places[0] - 1]] += weight
    return part

"""The answer as lines of a terminal: the first ten say what there is to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from rich.text import Text

from threadmark.model.cell import Stored
from threadmark.present.wording import printable

_MOST = 3  # causes with holders; the others have one line
_LINES = 3  # of holders or waiters
_SHOWN = 0.01
_BETTER = 1.02  # a bound below is no promise

_STATES = {
    "useful": "useful work",
    "spinning": "running, but spinning or contending for a lock",
    "atomic": "running, but waiting for a word that other threads write",
    "waiting": "waiting for a lock",
    "condition": "waiting for a condition",
    "barrier": "waiting at a barrier",
    "join": "waiting for the end or result of a thread",
    "semaphore": "waiting for a semaphore",
    "once": "waiting for an initialisation",
    "sleep": "sleeping",
    "io": "waiting for input or output",
    "kernel_memory": "memory management of the kernel",
    "runnable": "ready to run, but no processor was free",
    "starting": "making and ending threads",
    "runtime": "managing tasks",
    "runtime_idle": "a runtime without a ready task",
    "unknown": "not known",
}
_CATEGORIES = {
    "mutex": "waits for a lock",
    "rwlock": "waits for a lock for shared use",
    "none": "scales",
    "serial_dependency": "serial dependence",
    "run_queue": "ready to run without a processor",
    "affinity": "ready to run, kept on fewer processors",
    "thread_creation": "making and ending threads",
    "kernel_memory": "memory management of the kernel",
    "io": "input or output",
    "false_sharing": "false sharing",
    "atomic": "contended atomic",
    "spin": "spinning",
}


class Page:
    """Lines of one width."""

    def __init__(self, width: int, *, utf8: bool) -> None:
        self.width = max(40, min(width, 100))
        self.utf8 = utf8
        self.lines: list[Text] = []

    def say(self, first: str, sentence: str, style: str = "") -> None:
        """One paragraph: `first` stands before its first line, its other lines hang under it."""
        import textwrap

        text = _shown(sentence)
        if not self.utf8:
            text = text.encode("ascii", "replace").decode()
        lines = textwrap.wrap(
            text,
            self.width,
            initial_indent=first,
            subsequent_indent=" " * len(first),
            break_long_words=True,
        )
        self.lines += [Text(line, style=style) for line in lines]

    def fill(self, first: str, middle: str, last: str) -> None:
        """One line with `last` at its right end; `middle` is shortened in its midst to fit."""
        room = self.width - len(first) - len(last) - 1
        text = _shown(middle)
        if not self.utf8:
            text = text.encode("ascii", "replace").decode()
        if len(text) > room:
            text = text[: max(0, room - 3)] + "..."
        self.lines.append(Text(f"{first}{text:<{room}} {last}".rstrip()))


def lines(stored: Stored, found: Mapping[str, Any], width: int, *, utf8: bool) -> list[Text]:
    """What `show` and `explain` print."""
    page = Page(width, utf8=utf8)
    _head(page, found)
    for number, cause in enumerate(found["causes"], 1):
        _cause(page, number, cause, found)
    page.lines.append(Text())
    shares = sorted(found["states"].items(), key=lambda each: -each[1])
    for state, share in shares:
        if share >= _SHOWN:
            page.say(f"   {_percent(share)}  ", _STATES.get(state, state))
    if found.get("processors"):
        page.say("", _processors(found["processors"]))
    for limit in found["limits"]:
        page.say("- ", limit, "dim")
    return page.lines


def _head(page: Page, found: Mapping[str, Any]) -> None:
    name = PurePath(found["command"][0]).name if found["command"] else "the program"
    threads = f"{found['threads']:,} thread{'s' * (found['threads'] != 1)}"
    page.say(
        "",
        f"{name}: {threads}, {_seconds(found['wall_s'])}, {found['accounted']:.0%} of "
        f"{_seconds(found['thread_s'])} of thread time accounted for.".replace("%", " %"),
        "bold",
    )
    page.lines.append(Text())


def _cause(page: Page, number: int, cause: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    share = "    " if cause["category"] == "none" else _percent(cause["share"])
    what = _CATEGORIES.get(cause["category"], cause["category"])
    words = [what]
    if cause["category"] == "none":
        page.say(f"{number:>2} {share}  ", cause["words"])
        return
    named = cause["name"] + (f" ({cause['where']})" if cause["where"] else "")
    if named:
        words.append(named)
    if cause["waits"] and cause["wait_us"]:
        words.append(f"{cause['waits']:,} waits of {micros(cause['wait_us'])}")
    text = ", ".join(words).replace(", ", ": ", 1)
    sure = "" if cause["certain"] else " (not certain)"
    page.say(f"{number:>2} {share}  ", text + sure, "bold" if number == 1 else "")
    if number > _MOST:
        return
    page.say(" " * 10, cause["words"] + _hope(cause))
    if cause.get("remedy"):  # runs of before know none
        page.say(" " * 10 + "instead  ", cause["remedy"] + _versions(cause.get("versions", ())))
    held, waited = cause["holders"], cause["waiters"]
    by = "done by  " if cause["category"] in ("serial_dependency", "imbalance") else "held by  "
    for title, parties in ((by, held), ("waits in ", waited)):
        for place, party in enumerate(parties[:_LINES]):
            first = " " * 10 + (title if place == 0 else " " * len(title)) + " "
            last = _percent(party["share"])
            if "hold_us" in party:
                last += f"  {micros(party['hold_us'])} each"
            page.fill(first, " < ".join(party["frames"]), last)


def _hope(cause: Mapping[str, Any]) -> str:
    bound = cause["bound"]
    if bound is None or bound < _BETTER:
        return ""
    return f"; without it at most {bound:.3g} times as fast"


def _versions(versions: Sequence[Mapping[str, Any]]) -> str:
    """Which version of a library the program has, where that says something."""
    found = []
    for each in versions:
        here = f"{each['library']} {each['here']} here"
        if each["has"]:
            found.append(f"{here}, gone in {each['until']}")
        elif each["has"] is False:
            found.append(f"{here}, which should not have it")
    return f" ({'; '.join(found)})" if found else ""


def _shown(text: str) -> str:
    """Fit for a terminal, and without the namespace that has no name."""
    return printable(text).replace("(anonymous namespace)::", "")


def _percent(share: float) -> str:
    return f"{100 * share:3.0f} %"


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value < 100 else f"{value:,.0f} s"


def micros(value: float) -> str:
    """A time in microseconds in the unit that suits it."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} us"


def _processors(shares: list[float]) -> str:
    """'both 52 % of the time, one 46 %, none 2 %'."""
    count = len(shares) - 1
    names = {0: "none", 1: "one", count: "both" if count == 2 else f"all {count}"}
    parts = [
        f"{names.get(number, str(number))} {100 * share:.0f} %"
        for number, share in reversed(list(enumerate(shares)))
        if share >= 0.005 or number == count
    ]
    parts[0] += " of the time"
    return f"Processors used: {', '.join(parts[:8])}."

"""The answer as lines of a terminal: the first ten have the main results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from rich.text import Text

from threadmark.kinds.explain.analysis.recording import Part
from threadmark.present.wording import LARGE, at_most, printable

_MOST = 3  # causes with holders; the others have one line
_LINES = 3  # of holders or waiters
_SHOWN = 0.01
_BETTER = 1.05  # a bound below is no promise
_ON_PATH = 0.1  # of the critical path
# Functions of C that call others and are often between a lock and the program.
_OF_C = {
    "memcmp", "memcpy", "memmove", "memset", "malloc", "free", "calloc", "realloc", "strlen",
    "clock_gettime", "gettimeofday", "time", "nanosleep", "clock_nanosleep", "usleep", "poll",
    "read", "write", "pread", "pwrite", "fread", "fwrite", "printf", "fprintf", "snprintf",
    "vfprintf", "vsnprintf", "exp", "log", "pow", "sin", "cos", "sqrt", "qsort", "syscall",
}  # fmt: skip

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
        """One paragraph: `first` stands before its first line, the others are indented."""
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
        """One line with `last` at its right end; `middle` is cut off if it does not fit."""
        room = self._room(first, last)
        text = _shown(middle)
        if not self.utf8:
            text = text.encode("ascii", "replace").decode()
        if len(text) > room:
            text = text[: max(0, room - 3)] + "..."
        self.lines.append(Text(f"{first}{text:<{room}} {last}".rstrip()))

    def stack(self, first: str, frames: Sequence[str], last: str) -> str:
        """Frames for a line of `fill`. If they do not fit, library frames before the first one of
        the program are left out, the outer ones first: a reader looks for the program's."""
        whole = " < ".join(frames)
        own = next((at for at, each in enumerate(frames) if at and not _of_library(each)), 0)
        if len(_shown(whole)) <= self._room(first, last) or own < 2:
            return whole
        for kept in range(own - 1, -1, -1):
            head = [*frames[:kept], "...", frames[own]]
            if len(_shown(" < ".join(head))) <= self._room(first, last):
                return " < ".join([*head, *frames[own + 1 :]])
        return " < ".join([frames[0], "...", *frames[own:]])

    def _room(self, first: str, last: str) -> int:
        return self.width - len(first) - len(last) - 1


def lines(found: Mapping[str, Any], width: int, *, utf8: bool) -> list[Text]:
    """The output of `show` and `explain`."""
    page = Page(width, utf8=utf8)
    _head(page, found)
    for number, cause in enumerate(found["causes"], 1):
        _cause(page, number, cause, found)
    if worth := found.get("try"):
        page.lines.append(Text())
        page.say("", f"Worth trying: {_fixes(worth['fixes'])}. This measures each:")
        page.lines.append(Text(f"   {_shown(worth['command'])}"))
    page.lines.append(Text())
    shares = sorted(found["states"].items(), key=lambda each: -each[1])
    for state, share in shares:
        if share >= _SHOWN:
            page.say(f"   {_percent(share)}  ", _STATES.get(state, state))
    if found.get("processors"):
        page.say("", _processors(found["processors"]))
    if path := _path(found):
        page.say("", path)
    unjudged = (found.get("differential") or {}).get("unjudged")  # it stands at the top
    for limit in found["limits"]:
        if limit != unjudged:
            page.say("- ", limit, "dim")
    return page.lines


def _head(page: Page, found: Mapping[str, Any]) -> None:
    name = PurePath(found["command"][0]).name if found["command"] else "the program"
    if "cell" in found:
        name = found["cell"]["name"]
    threads = f"{found['threads']:,} thread{'s' * (found['threads'] != 1)}"
    if found.get("part"):
        name += f", {Part(**found['part']).words}"
    page.say(
        "",
        f"{name}: {threads}, {_seconds(found['wall_s'])}, {found['accounted']:.0%} of "
        f"{_seconds(found['thread_s'])} of thread time accounted for.".replace("%", " %"),
        "bold",
    )
    if differential := found.get("differential"):
        page.say("", f"It is {differential['words']}. {differential.get('unjudged', '')}")
    page.lines.append(Text())


def _cause(page: Page, number: int, cause: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    share = "    " if cause["category"] == "none" else _percent(cause["share"])
    style = "bold" if number == 1 and cause["category"] != "none" else ""
    page.say(f"{number:>2} {share}  ", _headline(cause), style)
    if cause["category"] == "none" or number > _MOST:
        return
    words = "" if cause["words"] == category(cause["category"]) else cause["words"]
    page.say(" " * 10, "; ".join(filter(None, (words, gain(cause)))))
    if cause.get("remedy"):  # older runs have none
        page.say(" " * 10 + "instead  ", cause["remedy"] + versions(cause.get("versions", ())))
    held, waited = cause["holders"], cause["waiters"]
    by = "done by  " if cause["category"] in ("serial_dependency", "imbalance") else "held by  "
    for title, parties in ((by, held), ("waits in ", waited)):
        shown = []
        for place, party in enumerate(parties[:_LINES]):
            first = " " * 10 + (title if place == 0 else " " * len(title)) + " "
            last = _percent(party["share"])
            if "hold_us" in party:
                last += f"  {micros(party['hold_us'])} each"
            shown.append((first, party["frames"], last))
        stacks = [page.stack(*each) for each in shown]
        alike = len(set(stacks)) < len(stacks)
        for (first, frames, last), stack in zip(shown, stacks, strict=True):
            page.fill(first, " < ".join(frames) if alike else stack, last)


def summary(cause: Mapping[str, Any]) -> str:
    """A cause in one line."""
    if cause["category"] == "none":
        return str(cause["words"]).rstrip(".")
    hope = gain(cause)
    return "; ".join(filter(None, (f"{_percent(cause['share']).strip()} {_headline(cause)}", hope)))


def _headline(cause: Mapping[str, Any]) -> str:
    sure = "" if cause["certain"] else " (not certain)"
    if cause["category"] == "none":
        return str(cause["words"]).removesuffix(".") + (sure or ".")
    words = [category(cause["category"])]
    named = cause["name"] + (f" ({cause['where']})" if cause["where"] else "")
    if named:
        words.append(named)
    if cause["waits"] and cause["wait_us"]:
        waits = f"{cause['waits']:,} wait{'s' * (cause['waits'] != 1)}"
        words.append(f"{waits} of {micros(cause['wait_us'])}")
    return ", ".join(words).replace(", ", ": ", 1) + sure


def gain(cause: Mapping[str, Any]) -> str:
    """The possible gain without the cause; empty if there is no promise."""
    bound = cause["bound"]
    if bound is None or bound < _BETTER:
        return ""
    if bound > LARGE:
        return f"without it the program may be more than {LARGE:.0f} times as fast"
    return f"without it the program is at most {bound:.3g} times as fast"


def _fixes(fixes: Sequence[Mapping[str, Any]]) -> str:
    """'jemalloc, arenas (at most x1.8); batch (bound not known)'."""
    names: dict[float | None, list[str]] = {}
    for each in fixes:
        names.setdefault(each["bound"], []).append(each["name"])
    return "; ".join(f"{', '.join(some)} ({_bounded(bound)})" for bound, some in names.items())


def _bounded(bound: float | None) -> str:
    return "bound not known" if bound is None else at_most(bound)


def _path(found: Mapping[str, Any]) -> str:
    """'On the critical path: 62 % parse, 30 % cache_mutex (waiting for a lock).' Empty if the
    causes tell as much: nothing is wrong, or no work of one thread keeps the others."""
    parts = [each for each in found.get("critical_path", []) if each["share"] >= _ON_PATH]
    category = found["causes"][0]["category"]
    if category in ("none", "unknown") or not any(each["state"] == "useful" for each in parts):
        return ""
    said = []
    for each in parts[:_LINES]:
        state = "" if each["state"] == "useful" else f" ({_STATES.get(each['state'], '')})"
        said.append(f"{100 * each['share']:.0f} % {each['what']}{state}")
    return f"On the critical path: {', '.join(said)}."


def versions(known: Sequence[Mapping[str, Any]]) -> str:
    """The program's version of a library, if that has a meaning for the cause."""
    found = []
    for each in known:
        here = f"{each['library']} {each['here']} here"
        if each["has"]:
            found.append(f"{here}, gone in {each['until']}")
        elif each["has"] is False:
            found.append(f"{here}, which should not have it")
    return f" ({'; '.join(found)})" if found else ""


def _of_library(function: str) -> bool:
    """Whether a name looks like one of the C++ or C library's."""
    return function.startswith(("std::", "__", "operator ", "[")) or function in _OF_C


def _shown(text: str) -> str:
    """The text for a terminal, without the unnamed namespace."""
    return printable(text).replace("(anonymous namespace)::", "")


def _percent(share: float) -> str:
    return f"{100 * share:3.0f} %"


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value < 100 else f"{value:,.0f} s"


def micros(value: float) -> str:
    """A time in microseconds in a suitable unit."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} us"


def state(name: str) -> str:
    """A state in words."""
    return _STATES.get(name, name.replace("_", " "))


def category(name: str) -> str:
    """A category in words."""
    return _CATEGORIES.get(name, name.replace("_", " "))


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

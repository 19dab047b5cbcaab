"""The run as one HTML file: answer, threads over time, locks, flame graphs, wake-ups.

Its script zooms and searches. Only the callers and callees of a function need the script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from threadmark.kinds.explain import bands, causality, flame_graph, flames, functions, table
from threadmark.model.cell import Stored
from threadmark.model.places import hint
from threadmark.present import pages
from threadmark.present.wording import at_most, printable

_FUNCTIONS = 400  # for the search
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of holders
_BARS = 17  # of the histogram of processors
_LEAST = 0.001  # share of a state in the legend
_PARTY = 0.005  # share of a stack of holders or waiters
_AT_WORK = ("serial_dependency", "imbalance")  # their holders work rather than hold


def page(stored: Stored, found: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """The file as text."""
    most, overview = bands.overview(details)
    processors = found.get("processors", [])
    count = len(processors) - 1
    wakes, path = causality.wakes(details), causality.critical_path(details)
    graphs, totals = flame_graph.graphs(details), functions.totals(details)[:_FUNCTIONS]
    parts = [
        ("answer", "Answer"), ("threads", "Threads"), ("locks", "Locks"),
        ("flames", "Flame graphs"),
        *([("functions", "Functions")] if totals else []),
        *([("wakes", "Who woke whom")] if wakes else []),
        *([("path", "Critical path")] if path else []),
        ("machine", "Machine"),
    ]  # fmt: skip
    environment = pages.environment(Path(__file__).parent)
    environment.filters.update(
        percent=_percent, micros=flame_graph.micros, seconds=_seconds, chain=_chain, at_most=at_most
    )
    text = environment.get_template("page.html.j2").render(
        run=stored.run,
        commands=_commands(stored),
        found=found,
        program=PurePath(found["command"][0]).name if found["command"] else "the program",
        causes=[_cause(each) for each in found["causes"]],
        states=_states(found["states"]),
        words=table.state,
        most=most,
        overview=overview,
        groups=bands.groups(details),
        slices=bands.SLICES,
        row_height=bands.HEIGHT,
        processors=_histogram(processors),
        processor_count=count,
        busy=sum(number * share for number, share in enumerate(processors)),
        line=100 - 100 * count / most if 0 < count < most else None,
        locks=[_lock(each) for each in details["locks"]],
        graphs=graphs,
        functions=totals,
        data=_stacks(details),
        wakes=wakes,
        path=path,
        parts=parts,
        reach=causality.REACH,
        node_height=causality.ROW,
        machine=pages.facts(stored.run.machine),
    )
    return text.replace("(anonymous namespace)::", "")  # as in a terminal


def _commands(stored: Stored) -> dict[str, str]:
    """The commands that show the same in a terminal, and more."""
    number = stored.run.id
    return {
        "show": hint(stored.store, "show", number),
        "function": hint(stored.store, "show", number, "--function", "NAME"),
        "export": hint(stored.store, "export", number, "--format", "speedscope"),
    }


def _cause(cause: Mapping[str, Any]) -> dict[str, Any]:
    """A cause in the words of the page; `remedy` is empty if none is known."""
    what = table.category(cause["category"])
    remedy = cause.get("remedy") or ""
    holds = "Who worked" if cause["category"] in _AT_WORK else "Who held it"
    return {
        **cause,
        "what": _capital(what),
        "said": _sentence(cause["words"]) if cause["words"] != what else "",
        "remedy": remedy + table.versions(cause.get("versions", ())) if remedy else "",
        "gain": _sentence(table.gain(cause)),
        "parties": [
            (title, [each for each in parties if each["share"] >= _PARTY] or parties)
            for title, parties in ((holds, cause["holders"]), ("Who waited", cause["waiters"]))
            if parties
        ],
    }


def _sentence(words: str) -> str:
    return _capital(words) + ("" if words.endswith(".") or not words else ".")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _states(states: Mapping[str, float]) -> list[tuple[str, str, float]]:
    """Name, words and share of the states that occur, the largest first."""
    ordered = sorted(states.items(), key=lambda each: -each[1])
    return [(n, table.state(n), share) for n, share in ordered if share >= _LEAST]


def _histogram(shares: Sequence[float]) -> list[tuple[str, float]]:
    """The numbers of processors with their shares of the time; in ranges if there are many."""
    step = -(-(len(shares) - 1) // (_BARS - 1)) if len(shares) > _BARS else 1
    found = [("0", shares[0])] if shares else []
    for begin in range(1, len(shares), step):
        end = min(begin + step, len(shares)) - 1
        label = str(begin) if begin == end else f"{begin} to {end}"
        found.append((label, sum(shares[begin : end + 1])))
    return found


def _lock(lock: Mapping[str, Any]) -> dict[str, Any]:
    """A lock with its matrix as rows of shares of its waits' time, and letters for the holders."""
    total = sum(us for _, _, _, us in lock["matrix"])
    cells = {(waiter, holder): (waits, us) for waiter, holder, waits, us in lock["matrix"]}
    rows = list(dict.fromkeys([*range(len(lock["waiters"])), *sorted({w for w, _ in cells})[::-1]]))
    columns = list(
        dict.fromkeys([*range(len(lock["holders"])), *sorted({h for _, h in cells})[::-1]])
    )

    def stack(parties: Sequence[Sequence[str]], number: int) -> str:
        if number < 0:
            return "all others"
        return _chain(parties[number]) or "not known"

    def held(number: int) -> tuple[int, float]:
        holds, us = lock["held"][number] if number >= 0 else (0, 0)
        return holds, us / holds if holds else 0.0

    return {
        **lock,
        "known": any(lock["holders"]),
        "columns": [
            (_LETTERS[place], stack(lock["holders"], number), *held(number))
            for place, number in enumerate(columns)
        ],
        "rows": [
            (
                stack(lock["waiters"], waiter),
                [
                    (us / total if total else 0.0, waits, us)
                    for waits, us in (cells.get((waiter, holder), (0, 0)) for holder in columns)
                ],
            )
            for waiter in rows
        ],
    }


def _stacks(details: Mapping[str, Any]) -> dict[str, Any]:
    """The stacks for the script: names, and stacks of their numbers with microseconds first."""
    names: dict[str, int] = {}

    def numbered(stacks: Sequence[flames.Weighed]) -> list[list[int]]:
        return [
            [us, *(names.setdefault(each, len(names)) for each in frames)] for frames, us in stacks
        ]

    on = numbered(flames.on_processor(details))
    off = numbered(flames.off_processor(details))
    return {"names": list(names), "on": on, "off": off}


def _chain(frames: Sequence[str]) -> str:
    """'inner < outer'."""
    return printable(" < ".join(frames))


def _percent(share: float) -> str:
    if 0 < share < 0.0095:
        return f"{100 * share:.1f} %" if share >= 0.0005 else "< 0.1 %"
    return f"{100 * share:.0f} %"


def _seconds(value: float) -> str:
    return flame_graph.micros(value * 1e6)

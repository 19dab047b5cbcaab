"""Computes a published figure from the exports in docs/runs/; tools/figures marks and checks them.

A query is `EXPORT VERB WORDS`, or `A+B VERB` of two exports. `quick-1 count tmk slower` counts the
fields that have all words; `a|b` is either, `!a` is not; `count A / B` is a ratio of counts.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from threadmark.judge import findings
from threadmark.judge.estimates import Interval
from threadmark.judge.findings import Judged
from threadmark.judge.verdict import Kind, Verdict
from threadmark.model.cell import Cell
from threadmark.present import summary

FIGURES = "threadmark/figures/1"
LIBRARIES = ("gcc-libstdc++", "clang-libc++")  # the order of the figures of both()


class FigureError(Exception):
    """A mark that cannot be computed: one sentence."""


@cache
def export(name: str, folder: Path) -> dict[str, Any]:
    """The document of one export."""
    path = folder / f"{name}.json"
    if not path.is_file():
        raise FigureError(f"there is no export {path.name} in {folder.name}/")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("schema") not in (FIGURES, summary.SCHEMA):
        raise FigureError(f"{path.name} is no JSON object of a schema that this tool knows")
    needed = ["command", "date", "commit", "machine"]
    needed += ["judged_by"] if found["schema"] == summary.SCHEMA else []
    if missing := [key for key in needed if not found.get(key)]:
        raise FigureError(f"{path.name} does not say {', '.join(missing)}; export it again")
    if (status := found.get("exit_status", 0)) not in (0, found.get("accepted_status")):
        raise FigureError(f"{path.name} is of a command that failed with exit status {status}")
    return found


def verdicts(document: dict[str, Any]) -> list[Judged]:
    """The verdicts of a summary as the lab has them, without their rows."""
    found = []
    if "verdicts" not in document:
        raise FigureError("the export has no verdicts")
    for each in document["verdicts"]:
        cell = Cell(
            each["program"],
            each["size"],
            each["backend"],
            each["variant"],
            each["platform"],
            each["allocator"],
            0,
            tuple(sorted(each.get("arguments", {}).items())),
        )
        limits = {int(p): point["x"] for p, point in each["threads"].items() if "x" in point}
        speedups = {
            p: Interval(low or 0.0, middle, high or float("inf"))
            for p, (low, middle, high) in limits.items()
        }
        kind, at = Kind(each["kind"]), each["at"]
        verdict = Verdict(kind, each["kind"], speedups.get(at), None, at, "", speedups)
        found.append(Judged(cell, verdict, None, {}, {}, facts=each))
    return found


def words_of(judged: Judged) -> set[str]:
    """The words that select this field."""
    cell, kind = judged.cell, judged.verdict.kind
    idle = kind in (Kind.SEQUENTIAL, Kind.UNAVAILABLE)
    names = {cell.program, cell.backend, cell.variant, cell.platform, cell.size, cell.allocator}
    names.add(f"{cell.program}:{cell.variant}")
    return names | {kind.name.lower(), "sequential" if idle else "parallel"}


def select(fields: Sequence[Judged], words: Sequence[str]) -> list[Judged]:
    """The fields that have every word; `a|b` is either, `!a` is not. An unknown word is refused."""
    known = {"parallel", *(kind.name.lower() for kind in Kind)}.union(*map(words_of, fields))
    for word in words:
        for part in word.lstrip("!").split("|"):
            if part not in known:
                raise FigureError(f"no field of the export has the word '{part}'")

    def has(own: set[str], word: str) -> bool:
        return own.isdisjoint(word.lstrip("!").split("|")) == word.startswith("!")

    return [each for each in fields if all(has(words_of(each), word) for word in words)]


def value(document: dict[str, Any], words: Sequence[str]) -> Any:
    """What stands at a path; in a list, the entry whose `what` or whose number is the word."""
    found: Any = document
    for word in words:
        if isinstance(found, list):
            found = {
                each["what"] if isinstance(each, dict) else str(number): each
                for number, each in enumerate(found)
            }
        if not isinstance(found, dict) or word not in found:
            raise FigureError(f"the export has no '{word}' in {shlex.join(words)}")
        found = found[word]
    if not isinstance(found, int | float | str):
        raise FigureError(f"{shlex.join(words)} is no figure")
    return found


def names(fields: Sequence[Judged]) -> list[str]:
    return sorted({each.cell.program for each in fields})


def estimates(fields: Sequence[Judged]) -> list[float]:
    found = [each.verdict.speedup.estimate for each in fields if each.verdict.speedup]
    if not found:
        raise FigureError("no field that is asked for has a speed-up")
    return found


def only(fields: Sequence[Judged]) -> float:
    if len(fields) != 1:
        raise FigureError(f"{len(fields)} fields have these words; name one")
    return estimates(fields)[0]


def listed(found: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(found[:-1]), *found[-1:]))) or "none"


def table(fields: Sequence[Judged]) -> str:
    """Programs down, columns across, each speed-up with its interval, or the verdict's word."""
    columns = sorted({each.column for each in fields})
    at = {(each.cell.program, each.column): each.verdict for each in fields}
    if len(at) != len(fields):
        raise FigureError("two fields share a place in the table; name one platform")

    def text(verdict: Verdict | None) -> str:
        if verdict is None:
            return ""
        found = verdict.speedup
        if found is None:
            return verdict.kind.value
        return f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})"

    heads = ["program", *(f"`{each}`" for each in columns)]
    lines = [[name, *(text(at.get((name, c))) for c in columns)] for name in names(fields)]
    return grid(heads, lines)


def both(fields: Sequence[Judged]) -> str:
    """The speed-up with either standard library, or the verdict's word: '0.48 / 0.53 (unclear)'."""

    def text(judged: Judged) -> str:
        found, kind = judged.verdict.speedup, judged.verdict.kind
        if found is None:
            return kind.value
        return f"{found.estimate:.2f}" + (" (unclear)" if kind is Kind.UNCLEAR else "")

    return _libraries(fields, text)


def gains(fields: Sequence[Judged]) -> str:
    """The gain per thread of a remedy with either standard library: 'x39 / x3.1'."""

    def text(judged: Judged) -> str:
        gain = judged.facts.get("gain_many")
        return "-" if gain is None else f"x{gain:.{0 if gain >= 9.95 else 1}f}"

    return _libraries(fields, text)


def _libraries(fields: Sequence[Judged], text: Callable[[Judged], str]) -> str:
    """Of one way of a contention program, with glibc's allocator unless another one is named."""
    fields = [each for each in fields if each.cell.platform in LIBRARIES]
    if len(fields) > len(LIBRARIES):
        fields = [each for each in fields if each.cell.allocator == "glibc"]
    by_platform = {each.cell.platform: each for each in fields}
    if len(fields) != len(by_platform) or not set(LIBRARIES) <= set(by_platform):
        raise FigureError(f"{len(fields)} fields have these words; name one way of one program")
    return " / ".join(text(by_platform[platform]) for platform in LIBRARIES)


def overview(fields: Sequence[Judged]) -> str:
    """Backends down, the kinds of verdicts that occur across, and how many fields are of each."""
    fields = [each for each in fields if each.cell.backend != "serial"]
    kinds = [kind for kind in Kind if any(each.verdict.kind is kind for each in fields)]
    lines = []
    for backend in sorted({each.cell.backend for each in fields}):
        own = Counter(each.verdict.kind for each in fields if each.cell.backend == backend)
        lines.append([f"`{backend}`", str(own.total()), *(str(own[kind]) for kind in kinds)])
    return grid(["backend", "fields", *(kind.value for kind in kinds)], lines)


def bars(rows: Sequence[dict[str, Any]]) -> str:
    """The table of a benchmark that writes rows: what, figure, low, high, bar, met, note."""
    if not rows:
        raise FigureError("the export has no rows of a benchmark")
    heads = ["measure", "bar", "reached", "95 % interval", ""]
    lines = []
    for row in rows:
        low, high = row.get("low"), row.get("high")
        within = row.get("note", "") if None in (low, high) else f"{low:.2f} to {high:.2f}"
        met = {True: "met", False: "**not met**", None: ""}[row.get("met")]
        lines.append([row["what"], row.get("bar", ""), f"{row['figure']:.2f}", within, met])
    return grid(heads, lines)


def simulation(rows: Sequence[dict[str, Any]]) -> str:
    """The table of tests/simulation/tasks.py."""
    if not rows:
        raise FigureError("the export has no rows of the simulation")
    heads = ["machine", "definite", "wrong", "share", "unclear", "far and definite", "disturbed"]
    counts, shares = ("definite", "wrong"), ("far_definite_share", "disturbed_share")
    lines = [
        [row["what"], *(str(row[name]) for name in counts), f"{100 * row['wrong_share']:.1f} %",
         str(row["unclear"]), *(f"{100 * row[name]:.0f} %" for name in shares)]
        for row in rows
    ]  # fmt: skip
    return grid(heads, lines)


def grid(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


SELECTING: dict[str, Callable[[list[Judged]], Any]] = {
    "count": len,
    "programs": lambda fields: len(names(fields)),
    "names": lambda fields: listed(names(fields)),
    "x": only,
    "least": lambda fields: min(estimates(fields)),
    "most": lambda fields: max(estimates(fields)),
    "table": table,
    "overview": overview,
    "both": both,
    "gains": gains,
}


def compute(query: str, folder: Path) -> Any:
    """The value of a mark. `A / B` of two counts or values is their ratio."""
    try:
        source, verb, *words = shlex.split(query)
    except ValueError:
        raise FigureError(f"'{query}' is no export and a verb") from None
    documents = [export(name, folder) for name in source.split("+")]
    if verb in ("equal", "compared"):
        if len(documents) != 2:
            raise FigureError(f"{verb} needs two exports, A+B")
        agreement = findings.agreement(*map(verdicts, documents))
        shares = {"equal": agreement.equal, "compared": agreement.of}
        return _ratio([verb, *words], lambda part: shares[part[0]])
    if verb in ("bars", "simulation"):
        draw = bars if verb == "bars" else simulation
        return draw(documents[0].get("figures", {}).get("rows", ()))
    if verb == "value":
        return _ratio(words, lambda part: value(documents[0], part))
    if verb not in SELECTING:
        raise FigureError(f"'{verb}' is no verb of this tool")
    fields = verdicts(documents[0])
    return _ratio(words, lambda part: SELECTING[verb](select(fields, part)))


def _ratio(words: Sequence[str], one: Callable[[Sequence[str]], Any]) -> Any:
    if "/" not in words:
        return one(words)
    at = list(words).index("/")
    above, below = one(words[:at]), one(words[at + 1 :])
    if not below:
        raise FigureError(f"{shlex.join(words)} divides by 0")
    return above / below


def printed(found: Any, as_in: str) -> str:
    """A value in the form and at the precision of what is printed now; `?` takes two decimals."""
    if isinstance(found, str):
        return found
    if re.fullmatch(r"\d+ min(?: \d+ s)?", as_in):
        minutes, seconds = divmod(round(found), 60)
        return f"{minutes} min {seconds} s"
    match = re.fullmatch(r"\d[\d,]*(?:\.(\d+))?( ?%)?|\?( ?%)?", as_in)
    if not match:
        raise FigureError(f"'{as_in}' is neither a number, a share, minutes and seconds, nor '?'")
    percent = match[2] or match[3] or ""
    usual = 0 if isinstance(found, int) else 1 if percent else 2
    decimals = usual if as_in.startswith("?") else len(match[1] or "")
    return f"{found * (100 if percent else 1):,.{decimals}f}{percent}"

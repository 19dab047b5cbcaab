"""The failures of a run, once per cause: the list under every matrix."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from threadmark.judge.findings import Judged, fair
from threadmark.judge.verdict import Kind
from threadmark.model.cell import Status


@dataclass(frozen=True)
class Failure:
    """Cells that failed in one way for one reason: all combinations of these names."""

    status: Status
    reason: str
    columns: tuple[str, ...]  # backend:variant
    programs: tuple[str, ...]
    platforms: tuple[str, ...]
    threads: tuple[int, ...]
    processes: int


def grouped(judged: Iterable[Judged]) -> list[Failure]:
    """Every fair() row that is not ok, grouped by status, backend and reason, the commonest first.

    Reasons that differ in figures only (a limit in seconds) count as one; the first is quoted.
    """
    groups: dict[tuple[Status, str, str], dict[tuple[Any, ...], list[str]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for each in judged:
        for threads, rows in each.rows.items():
            place = each.column, each.cell.program, each.cell.platform, threads
            for row in fair(rows):
                if row.status is not Status.OK:
                    key = (row.status, each.cell.backend, alike(row.reason, row.cell.program))
                    groups[key][place].append(row.reason)
    found = []
    for (status, _, _), reasons in groups.items():
        for names in _products(reasons):
            said = [reason for place in product(*names) for reason in reasons[place]]
            columns, programs, platforms, numbers = names
            found.append(Failure(status, said[0], columns, programs, platforms, numbers, len(said)))
    order = list(Status)
    return sorted(found, key=lambda f: (order.index(f.status), -f.processes, f.columns))


def _products(places: Iterable[tuple[Any, ...]]) -> list[tuple[tuple[Any, ...], ...]]:
    """Lists of names whose combinations are these places, each once, and no others."""
    found = [tuple((name,) for name in place) for place in places]
    for at in reversed(range(len(found[0]))):
        joined: dict[tuple[tuple[Any, ...], ...], list[Any]] = defaultdict(list)
        for names in found:
            joined[names[:at] + names[at + 1 :]] += names[at]
        found = [(*others[:at], tuple(sorted(own)), *others[at:]) for others, own in joined.items()]
    return found


def alike(reason: str, program: str) -> str:
    """The common part of reasons that count as one: all but the figures and the program."""
    named = re.sub(rf"\b{re.escape(program)}\b", "*", reason)
    return re.sub(r"\d[\d.,]*", "#", named)


def uncertainties(judged: Iterable[Judged]) -> list[tuple[str, int]]:
    """The reasons for unclear verdicts, with the number of verdicts for each; an example if figures
    differ."""
    causes: dict[str, list[str]] = defaultdict(list)
    for each in judged:
        if each.verdict.kind is Kind.UNCLEAR:
            causes[re.sub(r"\d[\d.,]*", "#", each.verdict.detail)].append(each.verdict.detail)
    ordered = sorted(causes.values(), key=lambda details: (-len(details), details))
    return [
        (details[0] if len(set(details)) == 1 else f"{details[0]}, for example", len(details))
        for details in ordered
    ]

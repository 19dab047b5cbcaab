"""What went wrong in a run, said once per cause: the list under every matrix."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from threadmark.judge.findings import Judged, fair
from threadmark.judge.verdict import Kind
from threadmark.model.cell import Status


@dataclass(frozen=True)
class Failure:
    """Cells that failed in one way for one reason."""

    status: Status
    reason: str
    columns: tuple[str, ...]  # backend:variant
    programs: tuple[str, ...]
    platforms: tuple[str, ...]
    threads: tuple[int, ...]
    processes: int


def grouped(judged: Iterable[Judged]) -> list[Failure]:
    """Every fair() row that is not ok, grouped by status, column and reason, the commonest first.

    Reasons that differ in figures only (a limit in seconds) count as one; the first is quoted.
    """
    groups: dict[tuple[Status, str, str], list[tuple[Judged, int, str]]] = defaultdict(list)
    for each in judged:
        for threads, rows in each.rows.items():
            for row in fair(rows):
                if row.status is not Status.OK:
                    key = (row.status, each.cell.backend, alike(row.reason, row.cell.program))
                    groups[key].append((each, threads, row.reason))
    found = [
        Failure(
            status,
            members[0][2],
            _unique(each.column for each, _, _ in members),
            _unique(each.cell.program for each, _, _ in members),
            _unique(each.cell.platform for each, _, _ in members),
            tuple(sorted({threads for _, threads, _ in members})),
            len(members),
        )
        for (status, _, _), members in groups.items()
    ]
    order = list(Status)
    return sorted(found, key=lambda f: (order.index(f.status), -f.processes, f.columns))


def alike(reason: str, program: str) -> str:
    """What reasons that count as one have in common: all but the figures and the program."""
    return re.sub(r"\d[\d.,]*", "#", reason).replace(program, "*")


def uncertainties(judged: Iterable[Judged]) -> list[tuple[str, int]]:
    """Why verdicts are unclear, and how many are for each reason; an example where figures
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


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))

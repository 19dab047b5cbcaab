"""A verdict with its basis, and the agreement of two runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from threadmark.judge.estimates import Interval
from threadmark.judge.verdict import Kind, Point, Verdict
from threadmark.model.cell import Cell, Row, Status


@dataclass(frozen=True)
class Base:
    """The serial time that speed-ups of a group refer to."""

    name: str  # backend:variant
    rounds: Mapping[int, float]  # see evidence.by_round()
    slowed: frozenset[int]  # rounds in which its processor was slower than usual
    samples_ns: tuple[float, ...]
    time_ns: Interval  # median
    ns_per_node: float | None


@dataclass(frozen=True)
class Judged:
    """A verdict with everything a display needs. `cell` has threads 0: it stands for all numbers of
    threads."""

    cell: Cell
    verdict: Verdict
    base: Base | None
    times_ns: Mapping[int, Interval]  # median by threads, of the rows that count as evidence
    rows: Mapping[int, tuple[Row, ...]]
    node_speedup: float | None = (
        None  # per node, at verdict.at_threads; None if no nodes are reported
    )
    overhead_ns: float | None = None  # (time on one thread - serial time) / tasks
    facts: Mapping[str, Any] = field(default_factory=dict)  # the executable's own --describe object
    # The speed-up at verdict.at_threads without the rounds in which a processor was slower than
    # usual. It shows how sensitive the verdict is to these rounds, and decides nothing.
    steady: Interval | None = None

    @property
    def column(self) -> str:
        """backend:variant, the name of the column of the matrix."""
        return f"{self.cell.backend}:{self.cell.variant}"


@dataclass(frozen=True)
class Agreement:
    """The agreement of two runs in the verdicts that could differ."""

    equal: int  # definite in both runs, and the same
    of: int
    unclear: tuple[int, int]  # how many of them are unclear in the first run, in the second
    differ: tuple[tuple[str, str, str], ...]  # cell, label in the first run, in the second
    unmatched: int  # verdicts that could differ, of cells that only one of the runs has


# These verdicts are the same in every run: the variant's declaration or a missing installation
# decides them.
_FIXED = (Kind.SEQUENTIAL, Kind.UNAVAILABLE)


_NOTHING_SAID = (Kind.UNCLEAR, Kind.DROPPED)


def agreement(first: Sequence[Judged], second: Sequence[Judged]) -> Agreement:
    """Verdicts are equal when they are of one kind and, if they scale, up to as many threads.

    The factor of `slower than serial` is a measurement and may differ. Verdicts that are `unclear`
    or dropped in both runs are not equal, because neither run reached a verdict.
    """
    ours, others = ({judged.cell: judged for judged in each} for each in (first, second))
    pairs = [
        (judged, others[cell])
        for cell, judged in ours.items()
        if cell in others
        if not (judged.verdict.kind in _FIXED and others[cell].verdict.kind in _FIXED)
    ]
    alone = [(ours | others)[cell] for cell in ours.keys() ^ others.keys()]
    unmatched = sum(judged.verdict.kind not in _FIXED for judged in alone)

    def said(judged: Judged) -> tuple[Kind, int | None] | None:
        kind = judged.verdict.kind
        at = judged.verdict.at_threads if kind is Kind.SCALES else None
        return None if kind in _NOTHING_SAID else (kind, at)

    differ = tuple(
        (_where(a), a.verdict.label, b.verdict.label)
        for a, b in pairs
        if said(a) is None or said(a) != said(b)
    )
    unclear = sum(said(a) is None for a, _ in pairs), sum(said(b) is None for _, b in pairs)
    return Agreement(len(pairs) - len(differ), len(pairs), unclear, differ, unmatched)


def _where(judged: Judged) -> str:
    cell = judged.cell
    other = "" if cell.allocator in ("glibc", "") else f", {cell.allocator}"
    return f"{cell.program} {judged.column} ({cell.platform}{other})"


def is_published(row: Row) -> bool:
    """Whether the row is a figure from a paper, of which only the median is known."""
    return bool(row.facts.get("published"))


def point(rows: Sequence[Row], speedups: Sequence[float]) -> Point:
    """The evidence of these processes on one number of threads. The undisturbed ones have these
    speed-ups."""
    disturbed = [r for r in rows if r.disturbed]
    lacking = next((r.reason for r in rows if r.status is Status.DROPPED), "")
    if disturbed:
        late = sum(r.status is Status.TIMEOUT for r in disturbed)
        limit = f", {late} of them until the time limit" if late else ""
        why = disturbed[0].disturbed
        lacking = f"{len(disturbed)} of its processes were disturbed{limit}: {why}"
    return Point(tuple(speedups), tuple(r.status for r in fair(rows)), lacking)


def fair(rows: Sequence[Row]) -> list[Row]:
    """The rows less time-outs that may be due to other load on the processors, because these prove
    nothing."""
    return [r for r in rows if r.status is not Status.TIMEOUT or not r.disturbed]

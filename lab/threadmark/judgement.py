"""From the rows of a run to one Judged per (program, size, backend, variant, platform, allocator).

The one thing to know: the base of a speed-up is the fastest variant of backend `serial` on the same
platform, size, allocator and arguments (see known.fastest); imported results have no such row and
are judged against their `deferred`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from threadmark import statistics, yardstick
from threadmark.cell import Cell, Row, Status
from threadmark.known import FEWEST_UNDISTURBED, fastest
from threadmark.statistics import Interval, Spread
from threadmark.verdict import GAIN, Kind, Point, Verdict, verdict


@dataclass(frozen=True)
class Base:
    """The serial time that speed-ups of a group refer to."""

    name: str  # backend:variant
    samples_ns: tuple[float, ...]
    time_ns: Interval
    ns_per_node: float | None


@dataclass(frozen=True)
class Judged:
    """A verdict with everything a display needs. `cell` has threads 0: it stands for all of
    them."""

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

    @property
    def column(self) -> str:
        """backend:variant, the name of the column of the matrix."""
        return f"{self.cell.backend}:{self.cell.variant}"


def judge(rows: Iterable[Row], descriptions: Sequence[Mapping[str, Any]] = ()) -> list[Judged]:
    """One Judged per group of rows that differ in threads and round only, in order of cells.

    `descriptions` are --describe objects: they say which variants can run in parallel. Without one,
    backend `serial` and variant `deferred` cannot.
    """
    groups: dict[Cell, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    rows = list(rows)
    scales = yardstick.scales(rows)
    for row in yardstick.corrected(rows, scales):
        groups[replace(row.cell, threads=0)][row.cell.threads].append(row)
    spread = statistics.common_spread(
        [r.sample_ns for r in evidence(of_cell) if r.sample_ns is not None]
        for by_threads in groups.values()
        for of_cell in by_threads.values()
    )
    spread = replace(spread, shared=yardstick.shared(scales))
    described = {
        tuple(map(d.get, ("platform_name", "program", "backend"))): d for d in descriptions
    }
    serial: dict[Cell, dict[str, Base]] = defaultdict(dict)
    for group, by_threads in groups.items():
        if base := _base(group, by_threads):
            serial[_base_key(group)][base.name] = base
    bases = {
        at: by_name[name]
        for at, by_name in serial.items()
        if (name := fastest({base.name: base.samples_ns for base in by_name.values()}))
    }
    return [
        _judged(group, groups[group], bases.get(_base_key(group)), spread, described)
        for group in sorted(groups)
    ]


@dataclass(frozen=True)
class Agreement:
    """How far two runs come to the same verdicts on what both have judged."""

    equal: int
    of: int
    differ: tuple[tuple[str, str, str], ...]  # what, label in the first run, in the second


def agreement(first: Sequence[Judged], second: Sequence[Judged]) -> Agreement:
    """Verdicts are equal when they are of one kind and, where they scale, up to as many threads.

    The factor of `slower than serial` is a measurement and may differ.
    """
    others = {judged.cell: judged for judged in second}
    pairs = [(j, others[j.cell]) for j in first if j.cell in others]

    def key(judged: Judged) -> tuple[Any, ...]:
        scales = judged.verdict.kind is Kind.SCALES
        return judged.verdict.kind, judged.verdict.at_threads if scales else None

    differ = tuple(
        (_where(a), a.verdict.label, b.verdict.label) for a, b in pairs if key(a) != key(b)
    )
    return Agreement(len(pairs) - len(differ), len(pairs), differ)


def _where(judged: Judged) -> str:
    cell = judged.cell
    other = "" if cell.allocator in ("glibc", "") else f", {cell.allocator}"
    return f"{cell.program} {judged.column} ({cell.platform}{other})"


def is_published(row: Row) -> bool:
    """Whether the row is a figure from a paper, of which only the median is known."""
    return bool(row.facts.get("published"))


def evidence(rows: Sequence[Row]) -> list[Row]:
    """The rows of a cell with a time that counts: those whose threads ran side by side.

    One thread cannot fail to overlap: when fewer than three of its rows are calm all count, and
    what the loaded machine did to them shows in the interval.
    """
    timed = [r for r in rows if r.sample_ns is not None]
    calm = [r for r in timed if not r.disturbed]
    alone = all(r.cell.threads == 1 for r in timed)
    return timed if alone and len(calm) < FEWEST_UNDISTURBED else calm


def _base_key(group: Cell) -> Cell:
    return replace(group, backend="", variant="")


def _base(group: Cell, by_threads: Mapping[int, Sequence[Row]]) -> Base | None:
    rows = by_threads.get(1, ())
    may = group.backend == "serial" or (
        group.variant == "deferred" and any(map(is_published, rows))
    )
    used = evidence(rows)
    if not may or not used or any(r.status not in (Status.OK, Status.DROPPED) for r in rows):
        return None
    samples = tuple(r.sample_ns for r in used if r.sample_ns is not None)
    return Base(
        f"{group.backend}:{group.variant}",
        samples,
        statistics.median_interval(samples),
        _per_node(used),
    )


def _parallel(group: Cell, description: Mapping[str, Any] | None) -> bool:
    variants = (description or {}).get("variants", ())
    stated = {v["name"]: bool(v["parallel"]) for v in variants}
    return stated.get(group.variant, group.backend != "serial" and group.variant != "deferred")


def _judged(
    group: Cell,
    by_threads: Mapping[int, list[Row]],
    base: Base | None,
    spread: Spread,
    described: Mapping[tuple[Any, ...], Mapping[str, Any]],
) -> Judged:
    description = described.get((group.platform, group.program, group.backend))
    points = {p: _point(rows, base, spread) for p, rows in sorted(by_threads.items())}
    everything = [row for rows in by_threads.values() for row in rows]
    found = verdict(
        base.samples_ns if base else (),
        points,
        parallel=_parallel(group, description),
        medians_only=all(map(is_published, everything)),
        spread=spread,
    )
    if not found.detail and found.kind.value in ("unavailable", "dropped"):
        found = replace(found, detail=next((r.reason for r in everything if r.reason), ""))
    return Judged(
        group,
        found,
        base,
        {p: statistics.median_interval(x.samples_ns) for p, x in points.items() if x.samples_ns},
        {p: tuple(rows) for p, rows in sorted(by_threads.items())},
        _node_speedup(base, by_threads.get(found.at_threads or 0, ())),
        _overhead(base, by_threads.get(1, ())),
        description or {},
    )


def _point(rows: Sequence[Row], base: Base | None, spread: Spread) -> Point:
    used = evidence(rows)
    timed = [r for r in rows if r.sample_ns is not None]
    if len(used) < FEWEST_UNDISTURBED and base and _slower_anyway(timed, base, spread):
        used = timed
    disturbed = [r for r in rows if r.sample_ns is not None and r not in used]
    timed_out_busy = [r for r in rows if r.status is Status.TIMEOUT and r.disturbed]
    fair = [r for r in rows if r not in timed_out_busy]  # a time-out may be due to what was busy
    return Point(
        tuple(r.sample_ns for r in used if r.sample_ns is not None),
        tuple(r.status for r in fair or rows),
        len(disturbed),
        disturbed[0].disturbed if disturbed else "",
    )


def _slower_anyway(timed: Sequence[Row], base: Base, spread: Spread) -> bool:
    """Whether these samples are slower than serial even if the disturbance has kept all threads
    from running side by side and has taken as much time again."""
    samples = [r.sample_ns for r in timed if r.sample_ns is not None]
    if len(samples) < FEWEST_UNDISTURBED:
        return False
    speedup = statistics.ratio_of_medians(base.samples_ns, samples, spread=spread)
    return speedup.high * 2 * timed[0].cell.threads < 1 / GAIN


def _measured(row: Row, key: str) -> float | None:
    """Median of a figure over the measured repeats of one process; None if it is not reported or
    0."""
    values = [r[key] for r in row.repeats if not r.get("warmup") and r.get(key)]
    return statistics.median(values) if values else None


def _per_node(rows: Sequence[Row]) -> float | None:
    per_row = [
        row.sample_ns / nodes
        for row in rows
        if row.sample_ns is not None and (nodes := _measured(row, "nodes"))
    ]
    return statistics.median(per_row) if per_row else None


def _node_speedup(base: Base | None, rows: Sequence[Row]) -> float | None:
    here = _per_node(evidence(rows))
    return base.ns_per_node / here if base and base.ns_per_node and here else None


def _overhead(base: Base | None, rows: Sequence[Row]) -> float | None:
    used = evidence(rows)
    tasks = [t for row in used if (t := _measured(row, "tasks"))]
    if base is None or not tasks or base.name.startswith(f"{used[0].cell.backend}:"):
        return None
    time_ns = statistics.median([r.sample_ns for r in used if r.sample_ns is not None])
    return (time_ns - base.time_ns.estimate) / statistics.median(tasks)

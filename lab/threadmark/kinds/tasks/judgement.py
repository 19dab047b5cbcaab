"""From the rows of a run to one Judged per (program, size, backend, variant, platform, allocator).

The one thing to know: the base of a speed-up is the fastest variant of backend `serial` of the same
problem (see Cell.problem and evidence.fastest), and both are compared round by round; imported
results have no such row and are judged against their `deferred`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from threadmark.judge import estimates
from threadmark.judge.estimates import Interval, Spread
from threadmark.judge.evidence import by_round, evidence, fastest, round_ratios, slowed
from threadmark.judge.findings import Base, Judged, fair, is_published, point
from threadmark.judge.verdict import Point, verdict
from threadmark.model.cell import Cell, Row, Status


def judge(rows: Iterable[Row], descriptions: Sequence[Mapping[str, Any]] = ()) -> list[Judged]:
    """One Judged per group of rows that differ in threads and round only, in order of cells.

    `descriptions` are --describe objects, which tell the variants that can run in parallel. Without
    one, backend `serial` and variant `deferred` cannot.
    """
    groups: dict[Cell, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[replace(row.cell, threads=0)][row.cell.threads].append(row)
    described = {
        tuple(map(d.get, ("platform_name", "program", "backend"))): d for d in descriptions
    }
    serial: dict[tuple[object, ...], dict[str, Base]] = defaultdict(dict)
    for group, by_threads in groups.items():
        if base := _base(group, by_threads):
            serial[group.problem][base.name] = base
    bases = {
        problem: by_name[name]
        for problem, by_name in serial.items()
        if (name := fastest({base.name: base.samples_ns for base in by_name.values()}))
    }
    points = {
        group: {p: _point(rows, bases.get(group.problem)) for p, rows in sorted(by_threads.items())}
        for group, by_threads in groups.items()
    }
    spread = estimates.common_spread(
        point.speedups
        for by_threads in points.values()
        for threads, point in by_threads.items()
        if threads > 1
    )
    return [
        _judged(group, groups[group], points[group], bases.get(group.problem), spread, described)
        for group in sorted(groups)
    ]


def _base(group: Cell, by_threads: Mapping[int, Sequence[Row]]) -> Base | None:
    rows = by_threads.get(1, ())
    may = group.backend == "serial" or (
        group.variant == "deferred" and any(map(is_published, rows))
    )
    used = evidence(rows)
    failed = {r.status for r in fair(rows)} - {Status.OK, Status.DROPPED}
    if not may or not used or failed:
        return None
    samples = tuple(r.sample_ns for r in used if r.sample_ns is not None)
    return Base(
        f"{group.backend}:{group.variant}",
        by_round(used),
        frozenset(row.round for row in slowed(used)),
        samples,
        estimates.median_interval(samples),
        _per_node(used),
    )


def _parallel(group: Cell, description: Mapping[str, Any] | None) -> bool:
    variants = (description or {}).get("variants", ())
    stated = {v["name"]: bool(v["parallel"]) for v in variants}
    return stated.get(group.variant, group.backend != "serial" and group.variant != "deferred")


def _judged(
    group: Cell,
    by_threads: Mapping[int, list[Row]],
    points: Mapping[int, Point],
    base: Base | None,
    spread: Spread,
    described: Mapping[tuple[Any, ...], Mapping[str, Any]],
) -> Judged:
    description = described.get((group.platform, group.program, group.backend))
    everything = [row for rows in by_threads.values() for row in rows]
    found = verdict(
        points,
        parallel=_parallel(group, description),
        published=all(map(is_published, everything)),
        spread=spread,
    )
    if not found.detail and found.kind.value in ("unavailable", "dropped"):
        found = replace(found, detail=next((r.reason for r in everything if r.reason), ""))
    times = {p: [r.sample_ns or 0.0 for r in evidence(rows)] for p, rows in by_threads.items()}
    return Judged(
        group,
        found,
        base,
        {p: estimates.median_interval(each) for p, each in sorted(times.items()) if each},
        {p: tuple(rows) for p, rows in sorted(by_threads.items())},
        _node_speedup(base, by_threads.get(found.at_threads or 0, ())),
        _overhead(base, by_threads.get(1, ())),
        description or {},
        _steady(base, by_threads.get(found.at_threads or 0, ()), spread),
    )


def _steady(base: Base | None, rows: Sequence[Row], spread: Spread) -> Interval | None:
    if base is None:
        return None
    left_out = base.slowed.union(row.round for row in slowed(rows))
    times = {at: each for at, each in by_round(rows).items() if at not in left_out}
    speedups = round_ratios(base.rounds, times)
    return estimates.geometric_mean(speedups, spread=spread) if speedups else None


def _point(rows: Sequence[Row], base: Base | None) -> Point:
    if base is None:
        return replace(point(rows, ()), lacking="there is no serial time to compare with")
    return point(rows, round_ratios(base.rounds, by_round(rows)))


def _measured(row: Row, key: str) -> float | None:
    """Median of a figure over the measured repeats of one process; None if the figure is 0 or not
    reported."""
    values = [r[key] for r in row.repeats if not r.get("warmup") and r.get(key)]
    return estimates.median(values) if values else None


def _per_node(rows: Sequence[Row]) -> float | None:
    per_row = [
        row.sample_ns / nodes
        for row in rows
        if row.sample_ns is not None and (nodes := _measured(row, "nodes"))
    ]
    return estimates.median(per_row) if per_row else None


def _node_speedup(base: Base | None, rows: Sequence[Row]) -> float | None:
    here = _per_node(evidence(rows))
    return base.ns_per_node / here if base and base.ns_per_node and here else None


def _overhead(base: Base | None, rows: Sequence[Row]) -> float | None:
    used = evidence(rows)
    tasks = [t for row in used if (t := _measured(row, "tasks"))]
    if base is None or not tasks or base.name.startswith(f"{used[0].cell.backend}:"):
        return None
    time_ns = estimates.median([r.sample_ns for r in used if r.sample_ns is not None])
    return (time_ns - base.time_ns.estimate) / estimates.median(tasks)

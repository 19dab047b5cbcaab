"""The wake-up graph and the critical path as shapes of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadmark.kinds.explain.bands import SLICES, Shape, row_shapes

_NODES = 16
_ARCS = 24
_LISTED = 30  # edges and totals
_THREADS = 16  # of the path
ROW = 38  # height of a node
REACH = 150  # width of the arcs


@dataclass(frozen=True)
class Arc:
    """One edge of the graph, drawn beside the list of its nodes."""

    path: str
    width: float
    title: str


@dataclass(frozen=True)
class Wakes:
    """The wake-up graph."""

    nodes: Sequence[Mapping[str, Any]]
    arcs: Sequence[Arc]
    edges: Sequence[Mapping[str, Any]]  # with names in place of numbers, the longest waits first
    left_out: int


def wakes(details: Mapping[str, Any]) -> Wakes | None:
    """The wake-up graph; None if it is not known."""
    known = details.get("wakeups") or {}
    nodes, edges = known.get("nodes", []), known.get("edges", [])
    if not nodes or not edges:
        return None
    edges = sorted(edges, key=lambda edge: (-edge["waited_s"], -edge["wakes"]))
    weights: Counter[int] = Counter()
    for edge in edges:
        weights[edge["from"]] += edge["wakes"]
        weights[edge["to"]] += edge["wakes"]
    shown = sorted(number for number, _ in weights.most_common(_NODES))
    places = {number: place for place, number in enumerate(shown)}
    most = max(edge["waited_s"] for edge in edges) or 1.0
    drawn = [e for e in edges if e["from"] in places and e["to"] in places][:_ARCS]
    return Wakes(
        [nodes[number] for number in shown],
        [
            Arc(
                _arc(places[edge["from"]], places[edge["to"]], len(shown)),
                1 + 5 * edge["waited_s"] / most,
                f"{nodes[edge['from']]['name']} wakes {nodes[edge['to']]['name']}",
            )
            for edge in drawn
        ],
        [
            {**edge, "waker": nodes[edge["from"]]["name"], "woken": nodes[edge["to"]]["name"]}
            for edge in edges[:_LISTED]
        ],
        max(0, len(edges) - _LISTED),
    )


def _arc(begin: int, end: int, count: int) -> str:
    """An arc from the right of one row to the right of another; the two directions do not cover
    each other."""
    if begin == end:
        y = begin * ROW + ROW / 2
        return f"M2 {y - 9}C48 {y - 18} 48 {y + 18} 6 {y + 9}"
    aside = 6 if begin < end else -6
    y, to = begin * ROW + ROW / 2 + aside, end * ROW + ROW / 2 - aside
    out = 36 + (REACH - 56) * abs(begin - end) / max(1, count - 1) + (0 if begin < end else 18)
    return f"M2 {y}C{out:.0f} {y} {out:.0f} {to} 6 {to}"


@dataclass(frozen=True)
class PathRow:
    """A thread of the path."""

    name: str
    tid: int
    shapes: Sequence[Shape]
    seconds: float


@dataclass(frozen=True)
class Path:
    """The critical path: rows by their first segments, and the totals of its parts."""

    rows: Sequence[PathRow]
    totals: Sequence[Mapping[str, Any]]
    seconds: float
    left_out: int  # threads


def critical_path(details: Mapping[str, Any]) -> Path | None:
    """The critical path; None if it is not known."""
    known = details.get("critical_path") or {}
    segments = known.get("segments", [])
    if not segments:
        return None
    scale = SLICES / max(1e-9, details["wall_s"])
    threads: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for segment in segments:
        threads.setdefault((segment["tid"], segment["thread"]), []).append(segment)
    rows = [
        PathRow(
            name,
            tid,
            row_shapes((s["from_s"] * scale, s["to_s"] * scale, s["state"]) for s in its),
            sum(s["to_s"] - s["from_s"] for s in its),
        )
        for (tid, name), its in threads.items()
    ]
    shown = {id(each) for each in sorted(rows, key=lambda row: -row.seconds)[:_THREADS]}
    totals = sorted(known.get("totals", []), key=lambda total: -total["s"])[:_LISTED]
    return Path(
        [row for row in rows if id(row) in shown],
        totals,
        sum(row.seconds for row in rows),
        len(rows) - len(shown),
    )

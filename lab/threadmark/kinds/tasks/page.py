"""The page of a run: the matrix, and charts of its data."""

from __future__ import annotations

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from threadmark.judge.findings import Judged, is_published
from threadmark.judge.verdict import Kind
from threadmark.kinds.explain import beside
from threadmark.kinds.tasks import table
from threadmark.model.cell import Stored
from threadmark.present import charts, pages
from threadmark.present.marks import MARKS


def page(stored: Stored, judged: Sequence[Judged]) -> str:
    """The whole page as text."""
    blocks = _blocks(judged)
    series = charts.Series(
        sorted({j.cell.backend for j in judged}), sorted({j.cell.variant for j in judged})
    )
    threads = sorted({row.cell.threads for row in stored.rows})
    reasons = beside.by_column(stored)
    data = {
        "blocks": [block["title"] for block in blocks],
        "threads": threads,
        "cells": [_cell(each, number, reasons) for number, each in _numbered(blocks)],
        "specs": charts.specs(series, threads),
    }
    kinds = {j.verdict.kind for j in judged}
    return pages.page(
        Path(__file__).parent,
        stored,
        judged,
        data,
        counted=Counter(j.verdict.kind for j in judged if j.verdict.kind is not Kind.SEQUENTIAL),
        explained=beside.explained(stored),
        processes=sum(row.status.ran for row in stored.rows),
        blocks=blocks,
        used=[(kind, mark) for kind, mark in MARKS.items() if kind in kinds],
        colours=[
            (b, charts.COLOURS[i % len(charts.COLOURS)]) for i, b in enumerate(series.backends)
        ],
        glyphs=[(v, charts.GLYPHS[i % len(charts.GLYPHS)]) for i, v in enumerate(series.variants)],
        published=any(map(is_published, stored.rows)),
        most=max(threads, default=1),
        figure=figure,
    )


def _blocks(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """A table for each platform, size and allocator: its columns, and a line for each program."""
    groups: dict[tuple[str, str, str], list[Judged]] = defaultdict(list)
    for each in judged:
        groups[each.cell.platform, each.cell.size, each.cell.allocator].append(each)
    return [_block(" · ".join(filter(None, key)), group) for key, group in sorted(groups.items())]


def _block(title: str, group: Sequence[Judged]) -> dict[str, Any]:
    columns = sorted(
        {(j.cell.backend, j.cell.variant) for j in group}, key=lambda c: (c[0] == "serial", c)
    )
    backends = Counter(backend for backend, _ in columns)
    lines: dict[str, dict[tuple[str, str], Judged]] = defaultdict(dict)
    for each in group:
        lines[_name(each)][each.cell.backend, each.cell.variant] = each
    return {
        "title": title,
        "backends": list(backends.items()),
        "columns": columns,
        "lines": [
            {
                "program": name,
                "base": next((j.base for j in cells.values() if j.base), None),
                "about": next((str(j.facts.get("summary", "")) for j in cells.values()), ""),
                "cells": [cells.get(column) for column in columns],
            }
            for name, cells in lines.items()
        ],
    }


def _numbered(blocks: Sequence[Mapping[str, Any]]) -> list[tuple[int, Judged]]:
    return [
        (number, judged)
        for number, block in enumerate(blocks)
        for line in block["lines"]
        for judged in line["cells"]
        if judged is not None
    ]


def _name(judged: Judged) -> str:
    return " ".join((judged.cell.program, *(f"{k}={v}" for k, v in judged.cell.arguments)))


def _cell(judged: Judged, block: int, reasons: Mapping[tuple[object, ...], int]) -> dict[str, Any]:
    """The data of one cell for the script, which makes charts and the dialog from it."""
    verdict, cell = judged.verdict, judged.cell
    return {
        "block": block,
        "program": _name(judged),
        "backend": cell.backend,
        "variant": cell.variant,
        "kind_name": verdict.kind.name.lower(),
        "label": verdict.label,
        "figure": figure(judged),
        "detail": verdict.detail,
        "parallel": verdict.kind is not Kind.SEQUENTIAL,
        "base": f"{judged.base.name}, {pages.duration(judged.base.time_ns.estimate)}"
        if judged.base
        else None,
        "overhead": judged.overhead_ns,
        "nodes": judged.node_speedup,
        "explained": reasons.get(cell.column),
        "points": [_point(judged, threads) for threads in judged.rows],
    }


def _point(judged: Judged, threads: int) -> dict[str, Any]:
    rows = judged.rows[threads]
    speedup, time = judged.verdict.speedups.get(threads), judged.times_ns.get(threads)
    timed = [row for row in rows if row.sample_ns is not None]
    failed = Counter(row.status.value for row in rows if row.sample_ns is None)
    return {
        "threads": threads,
        "speedup": speedup
        and [_short(speedup.low), _short(speedup.estimate), _short(speedup.high)],
        "ms": time and [_short(x / 1e6) for x in (time.low, time.estimate, time.high)],
        "samples": [_short((row.sample_ns or 0) / 1e6) for row in timed],
        "disturbed": [number for number, row in enumerate(timed) if row.disturbed],
        "failed": dict(failed),
        "reason": next((row.reason for row in rows if row.reason), ""),
        "command": shlex.join(next((row.command for row in rows if row.command), ())),
    }


def _short(value: float) -> float | None:
    """The value with five figures, because more would only make the page larger."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def figure(judged: Judged) -> str:
    """Symbol, figure and reach of its interval: '● 1.93 ±2', or '✕' if there is none."""
    if MARKS[judged.verdict.kind].word:
        return "✕" if judged.verdict.kind.value not in ("unavailable", "dropped") else "-"
    text = table.figure(judged, utf8=True)
    return f"{text[:1]} {text[1:]} {table.reach(judged, utf8=True)}".strip()

"""One run as one HTML file that needs no network: `write()`.

Everything that came from an executable (names, reasons, commands) is untrusted: Jinja escapes it in
the page, `|tojson` escapes it in the data, and the script puts it in as text, never as markup.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadmark import exchange, failures, judgement, matrix, records, wording
from threadmark.cell import Row, Run
from threadmark.judgement import Judged
from threadmark.reports import charts
from threadmark.store import Store
from threadmark.verdict import Kind

if TYPE_CHECKING:
    import jinja2

_FOLDER = Path(__file__).parent


def write(store: Store, run_id: int, path: Path) -> int:
    """Write the report of a run to `path`, at once or not at all; returns its size in bytes.

    LabError when the file cannot be written.
    """
    rows = store.rows(run_id)
    text = page(store.run(run_id), rows, judgement.judge(rows, store.descriptions(run_id)))
    exchange.write_atomically(path, text)
    return len(text.encode())


def environment() -> jinja2.Environment:
    """Templates beside this file; what they are given is escaped."""
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["duration"] = _duration
    return found


def page(run: Run, rows: Sequence[Row], judged: Sequence[Judged]) -> str:
    """The whole page as text."""
    import vl_convert

    blocks = _blocks(judged)
    series = charts.Series(
        sorted({j.cell.backend for j in judged}), sorted({j.cell.variant for j in judged})
    )
    threads = sorted({row.cell.threads for row in rows})
    data = {
        "blocks": [block["title"] for block in blocks],
        "threads": threads,
        "cells": [_cell(each, number) for number, each in _numbered(blocks)],
        "specs": charts.specs(series, threads),
    }
    kinds: Counter[Kind] = Counter(
        j.verdict.kind for j in judged if j.verdict.kind is not Kind.SEQUENTIAL
    )
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            run=run,
            blocks=blocks,
            tiles=[(kind, matrix.MARKS[kind], kinds[kind]) for kind in matrix.MARKS if kinds[kind]],
            used=[
                (k, m) for k, m in matrix.MARKS.items() if any(j.verdict.kind is k for j in judged)
            ],
            colours=[
                (b, charts.COLOURS[i % len(charts.COLOURS)]) for i, b in enumerate(series.backends)
            ],
            glyphs=[
                (v, charts.GLYPHS[i % len(charts.GLYPHS)]) for i, v in enumerate(series.variants)
            ],
            failures=failures.grouped(judged),
            uncertain=failures.uncertainties(judged),
            machine=flat(run.machine),
            tools=tools(judged),
            published=any(map(judgement.is_published, rows)),
            processes=len(rows),
            most=max(threads, default=1),
            data=records.finite(data),
            vega=vl_convert.javascript_bundle().replace("</script", "<\\/script"),  # type: ignore[call-arg]
            figure=figure,
        )
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


def _cell(judged: Judged, block: int) -> dict[str, Any]:
    """What the script needs of one cell: charts and the dialog are made from it."""
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
        "base": f"{judged.base.name}, {_duration(judged.base.time_ns.estimate)}"
        if judged.base
        else None,
        "overhead": judged.overhead_ns,
        "nodes": judged.node_speedup,
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


def _duration(nanoseconds: float) -> str:
    return wording.duration(nanoseconds).replace("us", "\N{MICRO SIGN}s")


def _short(value: float) -> float | None:
    """Five figures: more would only make the page larger."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def figure(judged: Judged) -> str:
    """Symbol, figure and reach of its interval: '● 1.93 ±2', or '✕' where there is none."""
    if matrix.MARKS[judged.verdict.kind].word:
        return "✕" if judged.verdict.kind.value not in ("unavailable", "dropped") else "-"
    text = matrix.figure(judged, utf8=True)
    return f"{text[:1]} {text[1:]} {matrix.reach(judged, utf8=True)}".strip()


def tools(judged: Sequence[Judged]) -> list[tuple[str, str]]:
    """Compilers and libraries as the executables state them."""
    found: dict[str, str] = {}
    for each in judged:
        platform = each.facts.get("platform", {})
        if platform:
            found[each.cell.platform] = ", ".join(str(value) for value in platform.values())
        if each.facts.get("backend_version"):
            found[f"{each.cell.backend} ({each.cell.platform})"] = str(
                each.facts["backend_version"]
            )
    return sorted(found.items())


def flat(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts as lines of a table; bytes as GiB."""
    lines = []
    for key, value in machine.items():
        name = key.replace("_", " ")
        if key.endswith("_bytes") and isinstance(value, int):
            lines.append((name.removesuffix(" bytes"), f"{value / 2**30:.1f} GiB"))
        elif isinstance(value, Mapping):
            lines.append((name, ", ".join(f"{k} {v}" for k, v in value.items())))
        elif isinstance(value, list):
            lines.append((name, ", ".join(map(str, value))))
        elif value not in ("", None):
            lines.append((name, str(value)))
    return lines

"""The page of the catalogue: table, curves, and a card for each program."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from threadmark.judge.verdict import Kind
from threadmark.kinds.catalogue import cards, judgement, table
from threadmark.kinds.catalogue.judgement import Catalogue, Entry
from threadmark.kinds.catalogue.profiles import CALIBRATION
from threadmark.kinds.explain import beside
from threadmark.model.cell import DEFAULT, Stored
from threadmark.present import charts, pages
from threadmark.present.marks import MARKS


def page(stored: Stored, found: Catalogue, folder: Path = cards.FOLDER) -> str:
    """The whole page as text. `folder` holds the cards."""
    groups = table.ordered(found.entries)
    entries = [each for group in groups for each in group]
    programs = list(dict.fromkeys(each.cell.program for each in entries))
    platforms = sorted({each.cell.platform for each in entries})
    threads = sorted({row.cell.threads for row in stored.rows})
    counted: Counter[Kind] = Counter(
        each.judged.verdict.kind for each in found.entries if each.cell.program != CALIBRATION
    )
    reasons = beside.by_column(stored)
    explained = beside.explained(stored)
    data = {
        "platforms": platforms,
        "programs": programs,
        "threads": threads,
        "cells": [each for group in groups for each in _cells(group)],
        "specs": {
            "rates": _rates(threads).to_dict(validate=True),
            "efficiency": charts.efficiency().to_dict(validate=True),
        },
    }
    return pages.page(
        Path(__file__).parent,
        stored,
        [each.judged for each in found.entries],
        data,
        counted=counted,
        explained=explained,
        reasons={name: [e for e in explained if e.cell.program == name] for name in programs},
        processes=len(judgement.processes(row for row in stored.rows if row.command)),
        found=found,
        lines=[_line(each, reasons) for each in entries],
        platforms=platforms,
        words=[
            (kind, MARKS[kind], word, meaning)
            for kind, (word, meaning) in table.WORDS.items()
            if counted[kind]
        ],
        cards=[(name, *_card(name, folder)) for name in programs],
        commands=list(dict.fromkeys(filter(None, map(_command, entries)))),
    )


def _line(entry: Entry, reasons: Mapping[tuple[object, ...], int]) -> dict[str, Any]:
    """A line of the table: text, and the figure for sorting."""
    verdict, cell = entry.judged.verdict, entry.cell
    most = verdict.at_threads or 0
    return {
        "program": cell.program,
        "way": cell.variant,
        "meaning": entry.way.get("meaning", ""),
        "remedy": entry.remedy,
        "library": entry.library,
        "allocator": cell.allocator,
        "kind": verdict.kind,
        "mark": MARKS[verdict.kind],
        "word": table.WORDS[verdict.kind][0],
        "detail": f"{verdict.label}: {verdict.detail}".rstrip(": "),
        "base": entry.base,
        "explained": reasons.get(cell.column),
        "figures": [
            (table.time(entry.one_ns), entry.one_ns),
            (table.rate(entry.rates.get(1)), entry.rates.get(1)),
            (table.rate(entry.rates.get(most)), entry.rates.get(most)),
            _figure(entry.speedup, "{:.2f}"),
            _figure(entry.fairness, "{:.2f}"),
        ],
        "gains": [(table.factor(x), x) for x in (entry.gain_one, entry.gain_many)],
    }


def _figure(value: float | None, form: str) -> tuple[str, float | None]:
    return ("-" if value is None else form.format(value)), value


def _cells(group: Sequence[Entry]) -> list[dict[str, Any]]:
    """The data for the script's drawing of one program on one platform; each way has its colour and
    shape."""
    found = []
    for index, each in enumerate(group):
        cell, verdict = each.cell, each.judged.verdict
        other = "" if cell.allocator == DEFAULT else f", {cell.allocator}"
        count = len(charts.COLOURS)
        found.append({
            "program": cell.program,
            "platform": cell.platform,
            "way": f"{cell.variant}{other}",
            "label": verdict.label,
            "colour": charts.COLOURS[index % count],
            "shape": charts.SHAPES[index // count % len(charts.SHAPES)],
            "glyph": charts.GLYPHS[index // count % len(charts.GLYPHS)],
            "parallel": verdict.kind is not Kind.SEQUENTIAL,
            "rates": [[p, rate] for p, rate in sorted(each.rates.items())],
            "speedups": [[p, s.estimate] for p, s in verdict.speedups.items()],
        })  # fmt: skip
    return found


def _card(program: str, folder: Path) -> tuple[cards.Card | None, str]:
    """The card, or the reason for having none."""
    try:
        card = cards.read(program, folder)
    except ValueError as error:
        return None, str(error)
    return card, "" if card else "nothing is written about this program yet"


def _command(entry: Entry) -> str:
    rows = [row for each in entry.judged.rows.values() for row in each]
    return shlex.join(next((row.command for row in rows if row.command), ()))


def _rates(threads: Sequence[int]) -> charts.Chart:
    """Operations per second of one thread over threads, both logarithmic; dashed: the ideal."""
    most = max(threads, default=1)
    x = alt.X(
        "threads:Q",
        title="threads",
        scale=alt.Scale(type="log", base=2, domain=[0.92, most * 1.08], nice=False),
        axis=alt.Axis(values=list(threads), format="d"),
    )
    y = alt.Y(
        "rate:Q",
        title="per second and thread",
        scale=alt.Scale(type="log", base=10, nice=False, padding=10),
        axis=alt.Axis(tickCount=5, format=".2~s"),
    )
    colour = alt.Color("colour:N", scale=None, legend=None)
    shapes = alt.Scale(domain=list(charts.SHAPES), range=list(charts.SHAPES))
    points = alt.Chart(alt.NamedData("points"))
    ideal = alt.Chart(alt.NamedData("ideal"))
    tooltip = [
        alt.Tooltip("way:N"),
        alt.Tooltip("threads:Q", format="d"),
        alt.Tooltip("rate:Q", title="per second and thread", format=".3s"),
        alt.Tooltip("label:N", title="verdict"),
    ]
    return alt.layer(
        ideal.mark_line(strokeDash=[4, 4], opacity=0.4).encode(
            x, y, colour, detail=alt.Detail("way:N")
        ),
        points.mark_line(opacity=0.6, strokeWidth=1.5).encode(
            x, y, colour, detail=alt.Detail("way:N")
        ),
        points.mark_point(filled=True, size=55, opacity=1).encode(
            x, y, colour, alt.Shape("shape:N", scale=shapes, legend=None), tooltip=tooltip
        ),
    ).properties(width="container", height=190)

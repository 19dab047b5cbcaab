"""The page of a comparison: its table, time over the number of students, and every sample."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import altair as alt

from threadmark.kinds.students import selection, table
from threadmark.kinds.students.judgement import PUBLISHED, Entry
from threadmark.kinds.students.recordings import recorded
from threadmark.model.cell import Stored
from threadmark.model.request import Request
from threadmark.present import charts, pages
from threadmark.present.marks import MARKS


def page(stored: Stored, found: Sequence[Entry]) -> str:
    """The whole page as text."""
    names = list(dict.fromkeys(map(_name, found)))
    threaded = [each.judged.verdict.kind for each in found if each.serial]
    sizes = sorted({each.students for each in found})
    data = {
        "entries": [_entry(each, names) for each in found],
        "sizes": sizes,
        "specs": {
            "times": _times(sizes).to_dict(validate=True),
            "samples": _samples().to_dict(validate=True),
        },
    }
    blocks = groupby(found, key=lambda each: each.students)
    return pages.page(
        Path(__file__).parent,
        stored,
        [each.judged for each in found],
        data,
        counted=Counter(threaded),
        explained=recorded(stored),
        processes=sum(bool(row.command) for row in stored.rows),
        asked=selection.asked(Request.from_json(stored.run.request)),
        published=PUBLISHED,
        blocks=[(students, [_line(each) for each in part]) for students, part in blocks],
        key=[(name, *_look(names.index(name))[:1], _look(names.index(name))[2]) for name in names],
        commands=list(dict.fromkeys(filter(None, map(_command, found)))),
    )


def _name(entry: Entry) -> str:
    return f"{entry.name}, {entry.threads} threads" if entry.serial else entry.name


def _look(index: int) -> tuple[str, str, str]:
    """Colour, shape and glyph of a writer."""
    count = len(charts.COLOURS)
    turn = index // count
    shape = charts.SHAPES[(index + turn) % len(charts.SHAPES)]
    glyph = charts.GLYPHS[(index + turn) % len(charts.GLYPHS)]
    return charts.COLOURS[index % count], shape, glyph


def _line(entry: Entry) -> dict[str, Any]:
    verdict = entry.judged.verdict
    return {
        "name": entry.name,
        "threads": entry.threads,
        "time": table.time(entry),
        "ms": entry.time.estimate / 1e6 if entry.time else -1,
        "reach": table.reach(entry.time),
        "faster": table.factor(entry.faster),
        "factor": entry.faster.estimate if entry.faster else -1,
        "serial": entry.serial,
        "kind": verdict.kind,
        "mark": MARKS[verdict.kind],
        "label": verdict.label,
        "detail": verdict.detail,
    }


def _entry(entry: Entry, names: Sequence[str]) -> dict[str, Any]:
    """The data of an entry for the script."""
    colour, shape, _ = _look(names.index(_name(entry)))
    rows = [row for each in entry.judged.rows.values() for row in each if row.sample_ns]
    time = entry.time
    return {
        "name": _name(entry),
        "students": entry.students,
        "colour": colour,
        "shape": shape,
        "ms": time and [_finite(x) for x in (time.low, time.estimate, time.high)],
        "samples": [float(f"{(row.sample_ns or 0) / 1e6:.5g}") for row in rows],
        "disturbed": [number for number, row in enumerate(rows) if row.disturbed],
        "label": entry.judged.verdict.label,
    }


def _finite(nanoseconds: float) -> float | None:
    ms = nanoseconds / 1e6
    return float(f"{ms:.5g}") if 0 < ms < 1e12 else None


def _command(entry: Entry) -> str:
    rows = [row for each in entry.judged.rows.values() for row in each]
    return shlex.join(next((row.command for row in rows if row.command), ()))


def _colour() -> alt.Color:
    return alt.Color("colour:N", scale=None, legend=None)


def _shape() -> alt.Shape:
    shapes = alt.Scale(domain=list(charts.SHAPES), range=list(charts.SHAPES))
    return alt.Shape("shape:N", scale=shapes, legend=None)


def _times(sizes: Sequence[int]) -> charts.Chart:
    """Median over the number of students, both logarithmic; bars are 95 % intervals."""
    x = alt.X(
        "students:Q",
        title="students",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(values=list(sizes), format="~s"),
    )
    scale = alt.Scale(type="log", nice=False, padding=10)
    y = alt.Y("ms:Q", title="milliseconds", scale=scale, axis=alt.Axis(tickCount=6, format="~g"))
    tooltip = [
        alt.Tooltip("name:N", title="writer"),
        alt.Tooltip("students:Q", format=","),
        alt.Tooltip("ms:Q", format=".4g"),
        alt.Tooltip("low:Q", title="from", format=".4g"),
        alt.Tooltip("high:Q", title="to", format=".4g"),
        alt.Tooltip("label:N", title="verdict"),
    ]
    points = alt.Chart(alt.NamedData("points"))
    rule = points.mark_rule(opacity=0.7)
    return alt.layer(
        points.mark_line(opacity=0.5, strokeWidth=1.5).encode(
            x, y, _colour(), detail=alt.Detail("name:N")
        ),
        rule.encode(x, alt.Y("low:Q", scale=scale), alt.Y2("high:Q"), _colour()),
        points.mark_point(filled=True, size=60, opacity=1).encode(
            x, y, _colour(), _shape(), tooltip=tooltip
        ),
    ).properties(width="container", height=420)


def _samples() -> charts.Chart:
    """Every process of one number of students; a bar marks the median; hollow: disturbed."""
    x = alt.X("ms:Q", title="milliseconds", scale=alt.Scale(type="log", nice=False, padding=12))
    y = alt.Y("line:N", title=None, sort=None, axis=alt.Axis(labelLimit=200))
    opacity = alt.FillOpacity(
        "filled:Q", scale=alt.Scale(domain=[0, 1], range=[0, 0.75]), legend=None
    )
    points = alt.Chart(alt.NamedData("points"))
    return alt.layer(
        points.mark_point(filled=False, size=45, strokeWidth=1.2).encode(
            x,
            y,
            _colour(),
            _shape(),
            fill=alt.Fill("colour:N", scale=None, legend=None),
            fillOpacity=opacity,
            tooltip=[alt.Tooltip("line:N", title="writer"), alt.Tooltip("ms:Q", format=".4g")],
        ),
        # The medians come last, because the first layer gives the order of the lines, and some lack
        # a median.
        points.mark_tick(thickness=2, size=16, color="#888888").encode(alt.X("median:Q"), y),
    ).properties(width="container", height=alt.Step(20))

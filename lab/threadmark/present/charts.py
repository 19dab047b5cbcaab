"""The charts of the report as Vega-Lite, without data: the page fills in the rows it needs.

Names of programs, backends and variants are input. They only ever travel as data, never inside a
Vega expression. Colour and shape together name a series. The colours are those of Okabe and Ito,
which people of every colour vision can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F", "#B8A900")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
Chart = alt.LayerChart | alt.FacetChart
GLYPHS = ("●", "■", "▲", "◆", "✚", "▼", "▶")


@dataclass(frozen=True)
class Series:
    """Every backend and variant of a run, so that all charts give them the same look."""

    backends: Sequence[str]
    variants: Sequence[str]

    def colour(self) -> alt.Color:
        """Backend as colour, without a legend: the page has one for all charts."""
        return alt.Color("backend:N", legend=None, scale=self._colours())

    def _colours(self) -> alt.Scale:
        colours = [COLOURS[i % len(COLOURS)] for i in range(len(self.backends))]
        return alt.Scale(domain=list(self.backends), range=colours)

    def fill(self) -> alt.Fill:
        """Backend as the colour of the inside."""
        return alt.Fill("backend:N", legend=None, scale=self._colours())

    def shape(self) -> alt.Shape:
        """Variant as shape."""
        shapes = [SHAPES[i % len(SHAPES)] for i in range(len(self.variants))]
        return alt.Shape(
            "variant:N", legend=None, scale=alt.Scale(domain=list(self.variants), range=shapes)
        )

    def tooltip(self, *more: alt.Tooltip) -> list[alt.Tooltip]:
        """The tooltip of every mark."""
        return [alt.Tooltip("backend:N"), alt.Tooltip("variant:N"), *more]


def specs(series: Series, threads: Sequence[int]) -> dict[str, Any]:
    """Every chart by name, as plain values for JSON."""
    charts = {
        "speedup": _speedup(series, threads),
        "efficiency": efficiency(),
        "overhead": _overhead(series),
        "samples": _samples(series),
    }
    return {name: chart.to_dict(validate=True) for name, chart in charts.items()}


def _speedup(series: Series, threads: Sequence[int]) -> Chart:
    """Speed-up over threads, both logarithmic; a line joins neighbouring thread counts only."""
    most = max(threads, default=1)
    x = alt.X(
        "x:Q",
        title="threads",
        scale=alt.Scale(type="log", base=2, domain=[0.88, most * 1.14], nice=False),
        axis=alt.Axis(values=list(threads), format="d"),
    )
    y_scale = alt.Scale(type="log", base=2)
    y = alt.Y(
        "estimate:Q", title="speed-up", scale=y_scale, axis=alt.Axis(tickCount=6, format=".3~g")
    )
    points = alt.Chart(alt.NamedData("points"))
    ideal = (
        alt.Chart(alt.NamedData("ideal"))
        .mark_line(strokeDash=[5, 4], opacity=0.55, color="#888888")
        .encode(x, y)
    )
    detail = [alt.Detail("series:N"), alt.Detail("stretch:N")]
    tooltip = series.tooltip(
        alt.Tooltip("threads:Q", format="d"),
        alt.Tooltip("estimate:Q", title="speed-up", format=".3f"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("label:N", title="verdict"),
    )
    return alt.layer(
        ideal,
        points.mark_line(opacity=0.45, strokeWidth=1.5).encode(
            x, y, series.colour(), detail=detail
        ),
        points.mark_rule(opacity=0.8).encode(
            x, alt.Y("low:Q", title="speed-up", scale=y_scale), alt.Y2("high:Q"), series.colour()
        ),
        points.mark_point(filled=True, size=55, opacity=1).encode(
            x, y, series.colour(), series.shape(), tooltip=tooltip
        ),
    ).properties(width="container", height=190)


def efficiency() -> Chart:
    """Speed-up per thread, a panel for each thread count; the figure stands in every field."""
    base = alt.Chart().encode(
        x=alt.X(
            "column:N",
            title=None,
            axis=alt.Axis(labelAngle=-50, labelLimit=170),
            sort=alt.EncodingSortField("column_order", op="min"),
        ),
        y=alt.Y("program:N", title=None, sort=alt.EncodingSortField("program_order", op="min")),
        tooltip=[
            alt.Tooltip("program:N"),
            alt.Tooltip("column:N", title="variant"),
            alt.Tooltip("threads:O"),
            alt.Tooltip("efficiency:Q", format=".3f"),
            alt.Tooltip("said:N", title="verdict"),
        ],
    )
    scale = alt.Scale(scheme="cividis", domain=[0, 1], clamp=True)
    colour = alt.Color(
        "efficiency:Q", scale=scale, legend=alt.Legend(title="efficiency", orient="left")
    )
    rect = base.mark_rect(stroke="#8884", strokeWidth=1).encode(color=colour)
    text = base.mark_text(fontSize=10.5).encode(
        text=alt.Text("short:N"),
        color=alt.when("datum.efficiency === null")
        .then(alt.value("#888888"))
        .when("datum.efficiency > 0.5")
        .then(alt.value("#111111"))
        .otherwise(alt.value("#ffffff")),
    )
    return (
        alt.layer(rect, text, data=alt.NamedData("points"))
        .properties(width=alt.Step(36), height=alt.Step(20))
        .facet(column=alt.Column("threads:O", title="threads"))
    )


def _overhead(series: Series) -> Chart:
    """Nanoseconds of a task on one thread beyond the serial time, logarithmic."""
    points = alt.Chart(alt.NamedData("points"))
    y = alt.Y("program:N", title=None, sort=None)
    x = alt.X(
        "overhead:Q", title="ns per task", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s")
    )
    tooltip = series.tooltip(
        alt.Tooltip("program:N"), alt.Tooltip("overhead:Q", title="ns per task", format=",.1f")
    )
    marks = points.mark_point(filled=True, size=75, opacity=0.9)
    return alt.layer(
        marks.encode(x, y, series.colour(), series.shape(), tooltip=tooltip)
    ).properties(width="container", height=alt.Step(22))


def _samples(series: Series) -> Chart:
    """Every sample of one program; a bar marks the median; hollow samples are disturbed."""
    points = alt.Chart(alt.NamedData("points"))
    y = alt.Y("line:N", title=None, sort=None, axis=alt.Axis(labelLimit=190))
    x = alt.X("ms:Q", title="milliseconds", scale=alt.Scale(type="log", nice=False, padding=12))
    tooltip = series.tooltip(
        alt.Tooltip("threads:Q"), alt.Tooltip("ms:Q", format=".4g"), alt.Tooltip("disturbed:N")
    )
    fill = alt.FillOpacity("hollow:Q", scale=alt.Scale(domain=[0, 1], range=[0.75, 0]), legend=None)
    return alt.layer(
        points.mark_point(filled=False, size=45, strokeWidth=1.2).encode(
            x,
            y,
            series.colour(),
            series.shape(),
            fill=series.fill(),
            fillOpacity=fill,
            tooltip=tooltip,
        ),
        # The medians come last, because the first layer gives the order of the lines, and some lack
        # a median.
        points.mark_tick(thickness=2, size=16, color="#888888").encode(alt.X("median:Q"), y),
    ).properties(width="container", height=alt.Step(20))

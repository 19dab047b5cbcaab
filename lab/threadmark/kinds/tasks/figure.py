"""The matrix of a run as one SVG picture, for documents: programs down, backend and variant across.

Colour is the speed-up at the number of threads that decided the verdict; the mark, the figure and
its 95 % interval stand in the field as text, so the picture needs no colour. The picture is narrow,
because a document on a telephone shows it at two thirds of its size.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from threadmark.judge.findings import Judged
from threadmark.kinds.tasks import table
from threadmark.model.errors import LabError
from threadmark.present.marks import MARKS

if TYPE_CHECKING:
    from threadmark.present import charts

_TILE = 43, 30  # width and height of a field
_GRADIENT = re.compile(r"\bgradient_\d+\b")


def picture(judged: Sequence[Judged]) -> str:
    """The picture as SVG. LabError when there are only serial programs."""
    import vl_convert

    shown = [each for each in judged if each.cell.backend != "serial"]
    if not shown:
        raise LabError("This run has nothing but serial programs; there is no matrix to draw.")
    svg: str = vl_convert.vegalite_to_svg(chart(shown))
    # Vega numbers gradients over all the pictures of a process; here they count within the picture,
    # so the same run always gives the same text.
    numbers: dict[str, str] = {}
    return _GRADIENT.sub(lambda m: numbers.setdefault(m[0], f"gradient_{len(numbers)}"), svg)


def chart(judged: Sequence[Judged]) -> dict[str, Any]:
    """The picture as Vega-Lite: a block for each platform, size and allocator.

    Names travel as data only.
    """
    import altair as alt

    blocks: dict[str, list[Judged]] = defaultdict(list)
    for each in judged:
        cell = each.cell
        blocks[", ".join(filter(None, (cell.platform, cell.size, cell.allocator)))].append(each)
    drawn = alt.vconcat(*(_block(title, group) for title, group in sorted(blocks.items())))
    drawing: dict[str, Any] = (
        drawn.resolve_scale(color="shared")
        .configure(background="white", padding=8)
        .configure_axis(labelFontSize=11, ticks=False, domain=False, labelPadding=4)
        .configure_title(fontSize=12, anchor="start", offset=6)
        .to_dict()
    )
    return drawing


def _block(title: str, judged: Sequence[Judged]) -> charts.Chart:
    import altair as alt

    base = alt.Chart(alt.InlineData(values=[_field(each) for each in judged]), title=title).encode(
        x=alt.X("column:N", title=None, axis=alt.Axis(orient="top", labelAngle=-40)),
        y=alt.Y("program:N", title=None),
    )
    # A log scale with 1 in its middle: equal distances from serial have equally strong colours.
    scale = alt.Scale(type="log", domain=[0.25, 1, 4], scheme="brownbluegreen", clamp=True)
    legend = alt.Legend(
        orient="bottom",
        direction="horizontal",
        format=".2~f",
        gradientLength=220,
        title="speed-up, and below it how far its 95 % interval reaches",
        titleLimit=400,
    )
    colour = alt.Color("speedup:Q", scale=scale, legend=legend)
    # Text is dark on the light middle of the scale and light on its dark ends.
    strong = "isValid(datum.speedup) && (datum.speedup > 2.6 || datum.speedup < 0.4)"
    ink = alt.condition(strong, alt.value("white"), alt.value("black"))
    timed = base.transform_filter("isValid(datum.speedup)")
    alone = base.transform_filter("datum.reach === ''")
    above = base.transform_filter("datum.reach !== ''")
    layers = alt.layer(
        base.mark_rect(stroke="white", color="#e4e4e4"),
        timed.mark_rect(stroke="white").encode(color=colour),
        alone.mark_text(fontSize=12).encode(text="figure:N", color=ink),
        above.mark_text(fontSize=12, dy=-5).encode(text="figure:N", color=ink),
        above.mark_text(fontSize=9.5, dy=8).encode(text="reach:N", color=ink),
    )
    return layers.properties(width=alt.Step(_TILE[0]), height=alt.Step(_TILE[1]))


def _field(judged: Judged) -> dict[str, Any]:
    found = judged.verdict
    word = MARKS[found.kind].word
    reach = table.reach(judged, utf8=True)
    return {
        "program": judged.cell.program,
        "column": judged.column,
        "speedup": None if word or found.speedup is None else found.speedup.estimate,
        "figure": table.figure(judged, utf8=True),
        "reach": f"{reach} %" if reach else "",
    }

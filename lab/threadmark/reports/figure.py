"""The matrix of a run as one SVG picture, for documents: programs down, backend and variant across.

Colour is the speed-up at the number of threads where the verdict was decided; the mark and the
figure say the same in words, so the picture needs no colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from threadmark import exchange, judgement, matrix
from threadmark.errors import LabError
from threadmark.judgement import Judged
from threadmark.store import Store


def write(store: Store, run_id: int, path: Path) -> int:
    """Write the picture of a run to `path`, at once or not at all; returns its size in bytes."""
    import vl_convert

    judged = judgement.judge(store.rows(run_id), store.descriptions(run_id))
    shown = [each for each in judged if each.cell.backend != "serial"]
    if not shown:
        raise LabError("This run has nothing but serial programs; there is no matrix to draw.")
    text = vl_convert.vegalite_to_svg(chart(shown))
    exchange.write_atomically(path, text)
    return len(text.encode())


def chart(judged: Sequence[Judged]) -> dict[str, Any]:
    """The picture as Vega-Lite. Names travel as data only."""
    import altair as alt

    fields = alt.InlineData(values=[_field(each) for each in judged])
    base = alt.Chart(fields).encode(
        x=alt.X("column:N", title=None, axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("program:N", title=None),
    )
    # A log scale with 1 in its middle: as far from serial means as strong a colour on either side.
    scale = alt.Scale(type="log", domain=[0.25, 1, 4], scheme="brownbluegreen", clamp=True)
    colour = alt.condition(
        "isValid(datum.speedup)",
        alt.Color("speedup:Q", scale=scale, title="speed-up", legend=alt.Legend(format=".2~f")),
        alt.value("#dddddd"),
    )
    tiles = base.mark_rect(stroke="white").encode(color=colour)
    # Text is dark on the light middle of the scale and light on its dark ends.
    strong = "isValid(datum.speedup) && (datum.speedup > 2.6 || datum.speedup < 0.4)"
    words = base.mark_text(fontSize=10).encode(
        text="figure:N", color=alt.condition(strong, alt.value("white"), alt.value("black"))
    )
    drawn = (tiles + words).properties(width=alt.Step(46), height=alt.Step(20))
    faceted = drawn.facet(facet=alt.Facet("platform:N", title=None), columns=1)
    faceted = faceted.resolve_scale(x="independent")
    faceted = faceted.configure(background="white", padding=16)  # fonts differ in width
    drawing: dict[str, Any] = faceted.to_dict()
    return drawing


def _field(judged: Judged) -> dict[str, Any]:
    found = judged.verdict
    word = matrix.MARKS[found.kind].word
    return {
        "program": judged.cell.program,
        "platform": f"{judged.cell.platform}, size {judged.cell.size}, {judged.cell.allocator}",
        "column": judged.column,
        "speedup": None if word or found.speedup is None else found.speedup.estimate,
        "figure": matrix.figure(judged, utf8=True),
    }

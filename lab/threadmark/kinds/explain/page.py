"""The run as one HTML file without a script: answer, threads over time, locks, flame graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from threadmark.kinds.explain import table
from threadmark.model.cell import Stored
from threadmark.present import pages

_WIDTH = 1000.0  # of a picture
_ROW = 16.0
_NARROWEST = 1.5  # of a box that is drawn
_DEEPEST = 40
_COLOURS = {
    "useful": "#2a7fb8", "spinning": "#b85c00", "atomic": "#d98200", "waiting": "#c2410c",
    "condition": "#a78bba", "barrier": "#8e6fb0", "join": "#c9bcd6", "semaphore": "#7c5fa3",
    "once": "#9a5d7f", "sleep": "#d7d9de", "io": "#5f9e8f", "kernel_memory": "#7a6a3a",
    "runnable": "#e6b84c", "starting": "#6f7480", "runtime": "#4e5d94", "runtime_idle": "#b9c0d8",
    "unknown": "#9aa0aa",
}  # fmt: skip


@dataclass
class _Node:
    name: str
    weight: float = 0.0
    children: dict[str, _Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Box:
    """One rectangle of a picture."""

    x: float
    y: float
    width: float
    colour: str
    text: str
    title: str


def page(stored: Stored, found: dict[str, Any]) -> str:
    """The file as text."""
    details = stored.documents.get("details", {})
    waits = [(frames, us) for frames, us, _ in details.get("waiting", [])]
    samples = [(frames, count) for frames, count in details.get("running", [])]
    threads = details.get("threads", [])
    states = sorted(found["states"].items(), key=lambda each: -each[1])
    template = pages.environment(Path(__file__).parent).get_template("page.html.j2")
    return template.render(
        run=stored.run,
        found=found,
        lines=[line.plain for line in table.lines(found, 100, utf8=True)],
        bars=[(each, _bar(each, details)) for each in threads],
        left_out=details.get("threads_left_out", 0),
        legend=[
            (_COLOURS.get(name, "#9aa0aa"), name.replace("_", " "), f"{share:.1%}")
            for name, share in states
            if share > 0
        ],
        locks=details.get("locks", []),
        flames=[
            (title, unit, boxes, (1 + max(b.y for b in boxes) / _ROW) * _ROW)
            for title, unit, boxes in (
                ("Waiting", "microseconds", _flame(waits, "us", 20)),
                ("Running", "samples", _flame(samples, "samples", 200)),
            )
            if boxes
        ],
        machine=pages.facts(stored.run.machine),
        width=_WIDTH,
        row=_ROW,
    )


def _bar(thread: dict[str, Any], details: dict[str, Any]) -> list[Box]:
    """The states of a thread over the time of the run."""
    wall = max(1e-9, details.get("wall_s", 0.0))
    scale = _WIDTH / wall
    slice_s = details.get("slice_s", wall)
    boxes: list[Box] = []
    slices = [(at * slice_s, state) for at, state in thread["slices"]]
    end = (thread["until_s"], "")
    for (begin, state), (until, _) in pairwise([*slices, end]):
        until_s = max(begin, min(until, begin + 3 * slice_s, thread["until_s"]))
        colour = _COLOURS.get(state, "#9aa0aa")
        x, width = begin * scale, (until_s - begin) * scale
        last = boxes[-1] if boxes else None
        if last and last.colour == colour and last.x + last.width >= x - 1:
            boxes[-1] = replace(last, width=x + width - last.x)
        else:
            shown = state.replace("_", " ")
            boxes.append(Box(x, 0, width, colour, "", f"{shown} from {begin:.3f} s"))
    return boxes


def _flame(stacks: Iterable[tuple[Sequence[str], float]], unit: str, hue: int) -> list[Box]:
    """Outermost functions below, widths by weight."""
    root = _Node("all")
    for frames, weight in stacks:
        node = root
        node.weight += weight
        for name in list(reversed(frames))[:_DEEPEST]:
            node = node.children.setdefault(name, _Node(name))
            node.weight += weight
    if root.weight <= 0:
        return []
    boxes: list[Box] = []
    rows: list[list[tuple[_Node, float]]] = []
    starts = [(root, 0.0)]
    while starts:
        rows.append(starts)
        following = []
        for node, begin in starts:
            at = begin
            for child in sorted(node.children.values(), key=lambda each: each.name):
                if child.weight / root.weight * _WIDTH >= _NARROWEST:
                    following.append((child, at))
                at += child.weight
        starts = following
    for depth, row in enumerate(rows):
        for node, begin in row:
            width = node.weight / root.weight * _WIDTH
            if width < _NARROWEST:
                continue
            room = int(width / 7)
            text = node.name if len(node.name) <= room else node.name[: max(0, room - 1)]
            share = node.weight / root.weight
            lightness = 62 + sum(map(ord, node.name)) % 16
            boxes.append(
                Box(
                    begin / root.weight * _WIDTH,
                    (len(rows) - 1 - depth) * _ROW,
                    width,
                    f"hsl({hue} 60% {lightness}%)",
                    text if room > 2 else "",
                    f"{node.name}: {node.weight:,.0f} {unit}, {share:.1%}",
                )
            )
    return boxes

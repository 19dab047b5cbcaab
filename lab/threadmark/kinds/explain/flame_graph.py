"""Flame graphs as boxes in per cent of a width: the page draws them without a script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from threadmark.kinds.explain import flames, table
from threadmark.kinds.explain.analysis.accounting import STATE_OF

_BOXES = 1200  # of one graph, the heaviest
_NARROWEST = 0.05  # per cent of the width
_DEEPEST = 64
_SHADES = 4  # so that neighbours differ
_STEPS = ((4, "g4"), (2, "g3"), (1.25, "g2"), (0.8, "g1"))  # the least growth of each colour


@dataclass
class _Node:
    name: str
    weight: float = 0.0
    before: float = 0.0  # with one thread
    children: dict[str, _Node] = field(default_factory=dict)


class Box(NamedTuple):
    """A function under its callers; `x` and `width` in per cent, `row` from below."""

    x: float
    width: float
    row: int
    name: str
    title: str
    colour: str  # a class of the style


@dataclass(frozen=True)
class Graph:
    """One flame graph."""

    id: str
    title: str
    hint: str
    boxes: Sequence[Box]
    rows: int


def graphs(details: Mapping[str, Any]) -> list[Graph]:
    """The graphs on and off the processor, and of the growth with threads; only those with
    stacks."""
    on, off = flames.on_processor(details), flames.off_processor(details)
    found = [
        _graph("off", "Waiting", "Width: time of waits, all threads together.",
               _tree((frames, us, 0.0) for frames, us in off), "w"),
        _graph("on", "Running", "Width: processor time.",
               _tree((frames, us, 0.0) for frames, us in on), "r"),
    ]  # fmt: skip
    differential = details.get("differential") or {}
    if differential.get("stacks"):
        hint = (
            "Width: time per unit of work with all threads. Dark orange grew most against one "
            "thread, blue shrank."
        )
        tree = _tree((frames, n / 1000, one / 1000) for frames, one, n in differential["stacks"])
        found.append(_graph("growth", "Functions that grow with the threads", hint, tree, ""))
    return [each for each in found if each.boxes]


def _tree(stacks: Iterable[tuple[Sequence[str], float, float]]) -> _Node:
    """The tree of `stacks`, which are innermost first."""
    root = _Node("all")
    for frames, weight, before in stacks:
        node = root
        for name in ("", *list(reversed(frames))[:_DEEPEST]):
            if name:
                node = node.children.setdefault(name, _Node(name))
            node.weight += weight
            node.before += before
    return root


def _graph(number: str, title: str, hint: str, root: _Node, colour: str) -> Graph:
    """The boxes of a tree, with the outermost functions at the bottom. An empty colour selects the
    colours of growth."""
    if root.weight <= 0:
        return Graph(number, title, hint, (), 0)
    boxes: list[Box] = []
    row = [(root, 0.0)]
    depth = 0
    while row:
        following: list[tuple[_Node, float]] = []
        for node, begin in row:
            share = 100 * node.weight / root.weight
            boxes.append(Box(
                round(begin, 3), round(share, 3), depth, node.name,
                _title(node, share, growth=not colour), _colour(node, colour),
            ))  # fmt: skip
            at = begin
            for child in sorted(node.children.values(), key=lambda each: each.name):
                width = 100 * child.weight / root.weight
                if width >= _NARROWEST:
                    following.append((child, at))
                at += width
        row, depth = following, depth + 1
    kept = sorted(boxes, key=lambda box: (-box.width, box.row))[:_BOXES]
    return Graph(number, title, hint, kept, 1 + max(box.row for box in kept))


def micros(value: float) -> str:
    """A time in microseconds in a suitable unit, in the form of the page."""
    return table.micros(value).replace(" us", " \N{MICRO SIGN}s")


def _title(node: _Node, share: float, *, growth: bool) -> str:
    text = f"{node.name}: {micros(node.weight)}, {share:.1f} %"
    if not growth:
        return text
    return f"{text}; with one thread {micros(node.before)}"


def _colour(node: _Node, colour: str) -> str:
    if node.name.startswith("[") and node.name.endswith("]"):
        activity = node.name[1:-1].replace(" ", "_")
        return f"s-{STATE_OF.get(activity, 'unknown')}"
    if colour:
        return f"{colour}{sum(map(ord, node.name)) % _SHADES}"
    grown = node.weight / node.before if node.before > 0 else float("inf")
    return next((name for least, name in _STEPS if grown >= least), "g0")

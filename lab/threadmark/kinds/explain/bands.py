"""Threads over time as shapes: a row for each thread, and bands with the number of threads in each
state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

SLICES = 240  # of the time, as in details.py
HEIGHT = 12
# The states from the bottom of a band, with their height in a row: work is high, sleep is low.
HEIGHTS = {
    "useful": 12, "runtime": 12, "starting": 12, "kernel_memory": 12, "atomic": 12, "spinning": 12,
    "runnable": 9, "waiting": 7, "once": 7, "barrier": 6, "semaphore": 6, "condition": 6, "join": 6,
    "io": 5, "runtime_idle": 3, "sleep": 3, "unknown": 3,
}  # fmt: skip
_OPEN = 12  # threads shown at once


@dataclass(frozen=True)
class Shape:
    """One state in a picture; `path` is an SVG path."""

    state: str
    path: str


@dataclass(frozen=True)
class Row:
    """One thread."""

    name: str
    tid: int
    shapes: Sequence[Shape]
    shares: str


@dataclass(frozen=True)
class Group:
    """Threads that were made at one place."""

    title: str
    where: str
    threads: int
    shapes: Sequence[Shape]  # of the band
    rows: Sequence[Row]
    shares: str
    open: bool


def overview(details: Mapping[str, Any]) -> tuple[int, list[Shape]]:
    """The most threads at one time, and the band of all of them."""
    total: dict[str, list[float]] = {}
    for group in details["groups"]:
        for state, counts in group["bands"].items():
            sums = total.setdefault(state, [0.0] * SLICES)
            total[state] = [a + b for a, b in zip(sums, counts, strict=True)]
    most = max((sum(column) for column in zip(*total.values(), strict=True)), default=0.0)
    return round(most), _band(total, most)


def groups(details: Mapping[str, Any]) -> list[Group]:
    """All groups with their threads."""
    threads = {each["tid"]: each for each in details["threads"]}
    many = len(threads) > _OPEN
    found = []
    for group in details["groups"]:
        most = max((sum(column) for column in zip(*group["bands"].values(), strict=True)),
                   default=0.0)  # fmt: skip
        rows = [_row(threads[tid], details) for tid in sorted(group["tids"]) if tid in threads]
        found.append(
            Group(
                _title(group),
                group["where"],
                group["threads"],
                _band(group["bands"], most),
                rows,
                _shares(group["states"]),
                open=not many and bool(rows),
            )
        )
    return found


def _title(group: Mapping[str, Any]) -> str:
    count, name = group["threads"], group["name"]
    if name == "main thread":
        return "Main thread" if count == 1 else f"First threads of {count} processes"
    made = f"made in {name}" if name else "made elsewhere"
    return f"{count:,} thread{'s' * (count != 1)} {made}"


def _row(thread: Mapping[str, Any], details: Mapping[str, Any]) -> Row:
    end = min(float(SLICES), thread["until_s"] / max(1e-9, details["slice_s"]))
    spans = [
        (begin, min(float(until), end), state)
        for (begin, state), (until, _) in pairwise([*thread["slices"], (SLICES, "")])
    ]
    return Row(thread["name"], thread["tid"], row_shapes(spans), _shares(thread["states"]))


def row_shapes(spans: Iterable[tuple[float, float, str]]) -> list[Shape]:
    """The shapes of a row of [begin, end, state] in slices."""
    paths: dict[str, list[str]] = {}
    for begin, until, state in spans:
        if state and until > begin:
            height = HEIGHTS.get(state, 3)
            size = f"h{_short(max(0.3, until - begin))}v{height}H{_short(begin)}z"
            paths.setdefault(state, []).append(f"M{_short(begin)} {HEIGHT - height}{size}")
    return [Shape(state, "".join(path)) for state, path in paths.items()]


def _shares(states: Mapping[str, float]) -> str:
    """The two largest shares, in words."""
    total = sum(states.values())
    largest = sorted(states.items(), key=lambda each: -each[1])[:2]
    return ", ".join(
        f"{100 * value / total:.0f} % {state.replace('_', ' ')}"
        for state, value in largest
        if total and value >= 0.01 * total
    )


def _band(counts: Mapping[str, Sequence[float]], most: float) -> list[Shape]:
    """States stacked on one another, in a picture of `most` units of height."""
    below = [0.0] * SLICES
    found = []
    for state in sorted(counts, key=lambda each: list(HEIGHTS).index(each)):
        above = [a + b for a, b in zip(below, counts[state], strict=True)]
        found.append(Shape(state, _area(below, above, max(most, 1.0))))
        below = above
    return found


def _area(below: Sequence[float], above: Sequence[float], most: float) -> str:
    """Steps along the upper edge, and back along the lower edge; empty if the band is empty."""
    path = []
    begin = 0
    while begin < SLICES:
        if above[begin] <= below[begin]:
            begin += 1
            continue
        end = begin
        while end < SLICES and above[end] > below[end]:
            end += 1
        path.append(f"M{begin} {_up(above[begin], most)}")
        for at in range(begin, end):
            if at > begin and above[at] != above[at - 1]:
                path.append(f"H{at}V{_up(above[at], most)}")
        path.append(f"H{end}V{_up(below[end - 1], most)}")
        for at in range(end - 1, begin, -1):
            if below[at] != below[at - 1]:
                path.append(f"H{at}V{_up(below[at - 1], most)}")
        path.append(f"H{begin}z")
        begin = end
    return "".join(path)


def _up(value: float, most: float) -> str:
    """A height in a picture of 100 units."""
    return _short(100 - 100 * value / most)


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")

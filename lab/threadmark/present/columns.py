"""The columns of the matrix in the terminal: their order, their heads, the gaps between them, and
their folding."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

Column = tuple[str, str]  # backend, variant


def order(column: Column) -> tuple[bool, Column]:
    """The key for sorting: the serial programs come last."""
    return column[0] == "serial", column


def gaps(part: Sequence[Column]) -> list[tuple[Column, str]]:
    """Every column with the space before it: two at the first of a backend."""
    before = [("", ""), *part]
    return [(at, "  " if at[0] != last[0] else " ") for last, at in zip(before, part, strict=False)]


def width(part: Sequence[Column], wide: Mapping[Column, int]) -> int:
    """The width of these columns and their gaps in characters."""
    return sum(len(gap) + wide[at] for at, gap in gaps(part))


def longest_part(name: str) -> int:
    """The length of the longest part of a name, which has its parts between underscores."""
    return max(map(len, name.replace("_", "_ ").split()), default=0)


def heads(labels: Sequence[tuple[str, int, str]]) -> Iterable[str]:
    """The lines of names, each with its room and the gap before it. A name that is too long goes on
    in the next line, at an underscore if possible."""
    stacks = [_wrapped(name, room) for name, room, _ in labels]
    for number in range(max(map(len, stacks))):
        line = ""
        for stack, (_, room, gap) in zip(stacks, labels, strict=True):
            line += gap + (stack[number] if number < len(stack) else "").ljust(room)
        yield line


def _wrapped(name: str, room: int) -> list[str]:
    if len(name) <= room:
        return [name]
    lines = textwrap.wrap(name.replace("_", "_ "), room, break_on_hyphens=False)
    return [line.replace("_ ", "_") for line in lines]


def folded(
    columns: Sequence[Column], wide: Mapping[Column, int], room: int
) -> Iterable[list[Column]]:
    """The columns in as many parts as fit into `room` characters, backends whole if possible."""
    part: list[Column] = []
    for _, group in groupby(columns, key=lambda column: column[0]):
        whole = list(group)
        if part and width(whole, wide) <= room < width([*part, *whole], wide):
            yield part
            part = []
        for at in whole:
            if part and width([*part, at], wide) > room:
                yield part
                part = []
            part.append(at)
    if part:
        yield part

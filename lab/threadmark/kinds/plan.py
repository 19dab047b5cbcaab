"""The output of --dry-run for a run: its cells, the unavailable cells with reasons, and the
time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from threadmark.model.cell import Cell
from threadmark.present import failures
from threadmark.present.progress import duration
from threadmark.present.terminal import TextPage, spread
from threadmark.present.wording import printable


def lines(
    cells: Sequence[Cell],
    unavailable: Mapping[Cell, str],
    seconds: float,
    width: int,
    *,
    utf8: bool,
) -> list[Text]:
    """A line for each cell, and one paragraph for each reason for which others are not
    available."""
    page = TextPage(max(width, 60), utf8=utf8)
    page.lines += [Text(printable(_line(each))) for each in cells]
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell, reason in unavailable.items():
        key = cell.backend, failures.alike(reason, cell.program)
        groups.setdefault(key, []).append(cell)
    for group in groups.values():
        columns = dict.fromkeys(f"{each.backend}:{each.variant}" for each in group)
        programs = dict.fromkeys(each.program for each in group)
        platforms = dict.fromkeys(each.platform for each in group)
        page.say(
            f"unavailable: {spread(columns, 4)} on {spread(programs, 14)} "
            f"({spread(platforms, 4)}): {unavailable[group[0]]}"
        )
    page.say(f"{len(cells)} cells, about {duration(seconds)}")
    return page.lines


def _line(cell: Cell) -> str:
    words = (f"{name}={value}" for name, value in cell.arguments)
    where = (cell.platform, cell.allocator, f"x{cell.threads}")
    return " ".join((cell.program, cell.size, f"{cell.backend}:{cell.variant}", *where, *words))

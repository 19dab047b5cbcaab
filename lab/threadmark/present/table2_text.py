"""Table II as text: the paper's labels, ours if they differ, and impossible points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from threadmark.judge.plausibility import Doubt
from threadmark.judge.table2 import ABSENT, COLUMNS, PAPER, Entry


def render(entries: Sequence[Entry], doubts: Sequence[Doubt], console: Console) -> None:
    """Print table, differences and doubts."""
    console.print(Group(*_parts(entries, doubts)), highlight=False)


def _parts(entries: Sequence[Entry], doubts: Sequence[Doubt]) -> list[RenderableType]:
    present = [e for e in entries if e.ours != ABSENT]
    differing = [e for e in present if e.why]
    agreed = len(present) - len(differing)
    absent = sorted({e.program for e in entries} - {e.program for e in present})
    lacking = f" The data lack {', '.join(absent)}." if absent else ""
    parts: list[RenderableType] = [
        Text("INNCABS, Table II: the paper's labels", style="bold"),
        Text(
            f"One rule for all gives the same label in {agreed} of {len(present)} cells.{lacking}"
        ),
        Text("Where it does not, its label follows after the star.\n"),
        _table(entries),
    ]
    if differing:
        parts.append(Text("\nWhy they differ", style="bold"))
        parts += [_item(f"{e.program} {e.column}: {e.why}") for e in differing]
    if doubts:
        parts.append(Text("\nPublished points that cannot be true", style="bold"))
    for what, group in groupby(doubts, key=lambda doubt: doubt.what):
        parts.append(Text(what, style="underline"))
        parts += [_item(_said(doubt)) for doubt in group]
    return parts


def _said(doubt: Doubt) -> str:
    where = f"{doubt.program} {doubt.series}".strip()
    threads = ", ".join(map(str, doubt.threads))
    return f"{where}{f' ({threads})' if threads else ''}: {doubt.evidence}"


def _item(sentence: str) -> RenderableType:
    return Padding(Text(sentence), (0, 0, 0, 2))


def _table(entries: Sequence[Entry]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("program", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name)
    labels = {(e.program, e.column): e for e in entries}
    for program in PAPER:
        cells = [_cell(labels[program, name]) for name in COLUMNS]
        table.add_row(program, *cells)
    return table


def _cell(entry: Entry) -> Text:
    if not entry.why:
        return Text(entry.paper)
    return Text(f"{entry.paper}\n").append(f"* {entry.ours}", style="bold yellow")

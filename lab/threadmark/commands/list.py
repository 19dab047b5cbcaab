"""`threadmark list`: the programs of this machine, and the runs of a store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

import cyclopts
from cyclopts import Parameter

from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption
from threadmark.present.plain import document, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from threadmark.model.executable import Executable


_GAP = 2  # between two columns


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(list_, name="list", usage="threadmark list [OPTIONS] [WHAT]")


def list_(
    what: Annotated[
        Literal["programs", "backends", "platforms", "runs"], Parameter(help="What to list.")
    ] = "programs",
    *,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """List programs with their parameters, backends, platforms, or stored runs."""
    from threadmark.kinds.tasks import listing
    from threadmark.setup import platforms, preparation

    sections: dict[str, list[dict[str, object]]] = {}
    if what == "runs":
        sections[""] = _runs(store)
    else:
        here = preparation.look([each.name for each in platforms.platforms()], {})
        if what == "programs":
            sections = _programs(here.executables)
        elif what == "backends":
            sections[""] = listing.backends(here.executables, here.absent)
        else:
            sections[""] = _platforms(here.executables)
    if json:
        write_json(document(what, {what: [each for part in sections.values() for each in part]}))
    elif any(sections.values()):
        for each in sections[""] if what == "runs" else ():
            each["finished"] = each["finished"] or "unfinished"
        _print({title: part for title, part in sections.items() if part})
    else:
        print("Nothing is built yet; run: ./threadmark run --profile smoke")


def _print(sections: dict[str, list[dict[str, object]]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    for index, (title, records) in enumerate(sections.items()):
        if title:
            Console().print(Text("\n" * (index > 0) + title, "bold"))
        rows = [[_words(value) for value in record.values()] for record in records]
        heads = list(records[0])
        table = Table(box=None, pad_edge=False)
        for head, width in zip(heads, _widths([heads, *rows], Console().width), strict=True):
            table.add_column(head, width=width, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        Console().print(table)


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The widths of the columns in a terminal. If there is no room for all, the widest are folded
    between words, and within words only as a last resort."""
    columns = list(zip(*rows, strict=True))
    found = [max(map(len, column)) for column in columns]
    words = [max(len(word) for cell in column for word in cell.split()) for column in columns]
    while sum(found) + _GAP * (len(found) - 1) > width and max(found) > 1:
        wide = [at for at, each in enumerate(found) if each > words[at]] or range(len(found))
        found[max(wide, key=found.__getitem__)] -= 1
    return found


def _words(value: object) -> str:
    """A value as text that can be folded at each word; a moment to the minute, so that a run fits
    on a line."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = text.replace("|", " | ")
    return re.sub(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):.*", r"\1 \2", text)


def _programs(executables: list[Executable]) -> dict[str, list[dict[str, object]]]:
    """Title -> programs, for each kind that measures programs."""
    from threadmark.kinds import registry
    from threadmark.kinds.cells import CellKind

    kinds = [each for each in registry.every() if isinstance(each, CellKind)]
    usable = [each for each in executables if not each.fault]
    return {f"For ./threadmark {each.command}": each.programs(usable) for each in kinds}


def _platforms(executables: list[Executable]) -> list[dict[str, object]]:
    from threadmark.setup import platforms

    built = {each.platform: each.description.get("platform", {}) for each in executables}
    return [
        {
            "platform": each.name,
            "compiler": built.get(each.name, {}).get("compiler", each.compiler),
            "library": built.get(each.name, {}).get("standard_library", ""),
            "state": "built" if each.name in built else each.missing() or "not built yet",
        }
        for each in platforms.platforms()
    ]


def _runs(path: Path) -> list[dict[str, object]]:
    from threadmark.store.store import Store

    with Store.open(path, create=False) as store:
        return [
            {
                "run": each.id,
                "started": each.started_at,
                "finished": each.finished_at,
                "profile": each.profile,
                "seed": each.seed,
                "order_seed": each.request.get("order_seed", ""),
                "commit": each.machine.get("commit", ""),
            }
            for each in store.runs()
        ]

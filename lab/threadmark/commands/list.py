"""`threadmark list`: what can be measured here, and the runs of a store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

import cyclopts
from cyclopts import Parameter

from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption
from threadmark.present.plain import document, write_json

if TYPE_CHECKING:
    from pathlib import Path

    from threadmark.model.executable import Executable


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(list_, name="list")


def list_(
    what: Annotated[
        Literal["programs", "backends", "platforms", "runs"], Parameter(help="What to list.")
    ] = "programs",
    *,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """List programs with their parameters, backends, platforms, or stored runs."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from threadmark.setup import platforms, preparation

    if what == "runs":
        records_ = _runs(store)
    else:
        names = [each.name for each in platforms.platforms()]
        here = preparation.look(names, {})
        if what == "programs":
            records_ = _programs(here.executables)
        elif what == "backends":
            records_ = _backends(here)
        else:
            records_ = _platforms(here)
    if json:
        write_json(document(what, {what: records_}))
        return
    if not records_:
        print("Nothing is built yet; run: ./threadmark run --profile smoke")
        return
    for title, part in _sections(records_):
        if title:
            Console().print(Text(f"\n{title}", "bold"))
        table = Table(*part[0].keys(), box=None, pad_edge=False)
        for record in part:
            table.add_row(*(Text(_words(value)) for value in record.values()))
        Console().print(table)


def _sections(listed: list[dict[str, object]]) -> list[tuple[str, list[dict[str, object]]]]:
    """What has the same fields under one title; the catalogue's programs come after the others."""
    contending = [each for each in listed if "ways" in each]
    others = [each for each in listed if "ways" not in each]
    title = "Contention programs, for ./threadmark catalogue"
    return [(name, part) for name, part in (("", others), (title, contending)) if part]


def _words(value: object) -> str:
    """A value as text; a moment to the minute, so that a run fits on a line."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return re.sub(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):.*", r"\1 \2", text)


def _programs(executables: list[Executable]) -> list[dict[str, object]]:
    result: dict[str, dict[str, object]] = {}
    contending: dict[str, dict[str, object]] = {}
    for each in executables:
        if each.contends and not each.fault:
            contending.setdefault(
                each.program,
                {
                    "program": each.program,
                    "what": each.description.get("summary", ""),
                    "operation": each.description.get("operation", ""),
                    "ways": list(each.variants),
                },
            )
        elif not each.fault:
            parameters = [
                f"{name}={p['sizes']['quick']} ({p['min']}..{p['max']})"
                for name, p in each.parameters.items()
            ]
            if each.description.get("input"):
                parameters.append("input=FILE")
            result.setdefault(
                each.program,
                {
                    "program": each.program,
                    "what": each.description.get("summary", ""),
                    "arguments": parameters,
                },
            )
    return [*result.values(), *contending.values()]


def _backends(here: object) -> list[dict[str, object]]:
    from threadmark.model.executable import CONTENTION
    from threadmark.setup.preparation import Prepared

    assert isinstance(here, Prepared)
    found: dict[tuple[str, str], dict[str, object]] = {}
    for each in here.executables:
        if each.contends:
            continue
        entry = found.setdefault(
            (each.backend, each.platform),
            {
                "backend": each.backend,
                "platform": each.platform,
                "variants": [],
                "state": each.fault or each.description.get("backend_version", ""),
            },
        )
        known = entry["variants"]
        assert isinstance(known, list)
        known += [name for name in each.variants if name not in known]
    for absence in (each for each in here.absent if each.backend != CONTENTION):
        found[absence.backend, absence.platform] = {
            "backend": absence.backend,
            "platform": absence.platform,
            "variants": [],
            "state": f"unavailable: {absence.reason}",
        }
    return [found[key] for key in sorted(found)]


def _platforms(here: object) -> list[dict[str, object]]:
    from threadmark.setup import platforms
    from threadmark.setup.preparation import Prepared

    assert isinstance(here, Prepared)
    built = {each.platform: each.description.get("platform", {}) for each in here.executables}
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
                "finished": each.finished_at or "unfinished",
                "profile": each.profile,
                "seed": each.seed,
                "order_seed": each.request.get("order_seed", ""),
                "commit": each.machine.get("commit", ""),
            }
            for each in store.runs()
        ]

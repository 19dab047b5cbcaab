"""A run as one HTML file that needs no network: the common part of the pages of all kinds.

Everything that came from an executable (names, reasons, commands) is untrusted: Jinja escapes it in
the page, `|tojson` escapes it in the data, and the script puts it in as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from threadmark.judge.findings import Judged
from threadmark.judge.verdict import Kind
from threadmark.model.cell import Stored
from threadmark.present import failures, plain, wording
from threadmark.present.marks import MARKS

if TYPE_CHECKING:
    import jinja2

_FOLDER = Path(__file__).parent


class Explanation(Protocol):
    """The explanation of a cell that does not scale: a section of the page."""

    @property
    def run(self) -> int:
        """The run of the explanation."""

    @property
    def name(self) -> str:
        """The cell."""

    @property
    def summary(self) -> str:
        """The first cause."""

    @property
    def command(self) -> str:
        """The command that shows the explanation in a terminal."""

    def lines(self, width: int) -> list[str]:
        """The lines of the explanation."""


def page(
    folder: Path,
    stored: Stored,
    judged: Sequence[Judged],
    data: Mapping[str, Any],
    *,
    counted: Mapping[Kind, int],
    explained: Sequence[Explanation] = (),
    **fields: Any,
) -> str:
    """The page of a run as text, by the template page.html.j2 of the `folder` of its kind.

    `data` is for the script of the page, `fields` for the template, which needs `processes`, the
    number of processes, from every kind; `counted` are the verdicts of the tiles at the top, and
    `explained` the explanations of cells.
    """
    import vl_convert

    template = environment(folder).get_template("page.html.j2")
    machine = dict(stored.run.machine)
    executables = machine.pop("executables", {})
    return template.render(
        run=stored.run,
        tiles=[(kind, MARKS[kind], counted[kind]) for kind in MARKS if counted.get(kind)],
        failures=failures.grouped(judged),
        uncertain=failures.uncertainties(judged),
        machine=facts(machine),
        executables=executables,
        tools=tools(judged),
        explained=explained,
        data=plain.finite(data),
        vega=vl_convert.javascript_bundle().replace("</script", "<\\/script"),  # type: ignore[call-arg]
        **fields,
    )


def environment(folder: Path) -> jinja2.Environment:
    """Templates of `folder` and those beside this file; their values are escaped."""
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, _FOLDER]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["duration"] = duration
    return found


def duration(nanoseconds: float) -> str:
    """A time with its unit."""
    return wording.duration(nanoseconds).replace("us", "\N{MICRO SIGN}s")


def tools(judged: Sequence[Judged]) -> list[tuple[str, str]]:
    """Compilers and libraries as the executables state them."""
    found: dict[str, str] = {}
    for each in judged:
        platform = each.facts.get("platform", {})
        if platform:
            found[each.cell.platform] = ", ".join(str(value) for value in platform.values())
        if each.facts.get("backend_version"):
            found[f"{each.cell.backend} ({each.cell.platform})"] = str(
                each.facts["backend_version"]
            )
    return sorted(found.items())


def facts(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts as lines of a table; bytes as GiB."""
    lines = []
    for key, value in machine.items():
        name = key.replace("_", " ")
        if key.endswith("_bytes") and isinstance(value, int):
            lines.append((name.removesuffix(" bytes"), f"{value / 2**30:.1f} GiB"))
        elif isinstance(value, Mapping):
            lines.append((name, ", ".join(f"{k} {v}" for k, v in value.items())))
        elif isinstance(value, list):
            lines.append((name, ", ".join(map(str, value))))
        elif value not in ("", None):
            lines.append((name, str(value)))
    return lines

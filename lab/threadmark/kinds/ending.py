"""The endings of the cells of a run, for its last line and for --fail-on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from threadmark.judge.findings import fair
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.names import check_name

NOTHING = "none"  # of --fail-on


def endings(rows: Sequence[Row]) -> dict[Status, list[Cell]]:
    """The cells by each ending of one of their processes, in the order of Status. A time-out that
    may be due to other load on the processors does not count."""
    found: dict[Status, set[Cell]] = {}
    for row in fair(rows):
        found.setdefault(row.status, set()).add(row.cell)
    return {each: sorted(found[each]) for each in Status if each in found}


def last_line(run: int, ended: Mapping[Status, Sequence[Cell]], status: int) -> str:
    """The last line of a run with such cells: the number of each ending, one cell by name, the exit
    status."""
    words = {Status.OUT_OF_MEMORY: "out of memory"}
    parts = [f"{len(cells)} {words.get(each, each.value)}" for each, cells in ended.items()]
    first = next(iter(ended.values()))[0]
    return (
        f"Run {run} has cells that failed: {', '.join(parts)}, such as {first.program} "
        f"{first.backend}:{first.variant}; the exit status is {status}."
    )


def check_fail_on(names: Sequence[str]) -> None:
    """LabError for a name of --fail-on that no cell ends with."""
    known = [each.value for each in Status if each is not Status.OK]
    for name in names:
        check_name("status", name, [*known, NOTHING])

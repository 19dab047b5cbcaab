"""From a request to the processes of the catalogue, and to sentences for missing ones.

A cell stands for a process: its threads are the most that the process uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from threadmark.kinds.catalogue.process_rows import Asked
from threadmark.kinds.catalogue.profiles import CALIBRATION
from threadmark.machine.host import Processor
from threadmark.model import cell
from threadmark.model.cell import Cell
from threadmark.model.errors import LabError
from threadmark.model.executable import CONTENTION, Absence, Executable
from threadmark.model.names import check_name
from threadmark.model.request import Request, Selection
from threadmark.setup import allocators


def select(
    request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
) -> Selection:
    """The cells of a request. LabError for a name without a cell.

    The calibration is always among them. Without named allocators, the first way of programs whose
    description says that allocators matter gets all allocators, and everything else the C library's
    own.
    """
    there = [each for each in executables if each.contends]
    _check_names(request, there)
    cells: dict[Cell, Executable] = {}
    unavailable: dict[Cell, str] = {}
    for executable in there:
        if not _chosen(executable.platform, request.platforms):
            continue
        calibrates = executable.program == CALIBRATION
        if not calibrates and not _chosen(executable.program, request.programs):
            continue
        blank = Cell(
            executable.program, request.size, CONTENTION, "any", executable.platform, "glibc", 1
        )
        if executable.fault:
            unavailable[blank] = executable.fault
        for index, way in enumerate(executable.description.get("variants", [])):
            if not calibrates and not _chosen(way["name"], request.variants):
                continue
            cell = replace(blank, variant=way["name"], threads=max(_asked(request, way).counts))
            if way["lacks"]:
                unavailable[cell] = way["lacks"]
                continue
            for name in _allocators(request, executable, index):
                executable.offer(replace(cell, allocator=name), cells, unavailable)
    for absence in absent:
        if absence.backend == CONTENTION and _chosen(absence.platform, request.platforms):
            elsewhere = {replace(cell, platform=absence.platform, threads=1) for cell in cells}
            unavailable |= dict.fromkeys(sorted(elsewhere - cells.keys()), absence.reason)
    if not cells and not unavailable:
        raise LabError("No cell fits this choice; see ./threadmark list, and list platforms.")
    request.check_left((*cells, *unavailable), there)
    return Selection(cells, unavailable)


def asked(request: Request, cell: Cell, executable: Executable) -> Asked:
    """The measurement of a process of this cell."""
    ways = executable.description["variants"]
    return _asked(request, next(each for each in ways if each["name"] == cell.variant))


def arguments(
    request: Request, cell: Cell, executable: Executable, order: Sequence[Processor]
) -> list[str]:
    """The command line of a process of this cell. Its threads get the processors in this order, so
    that as many threads as cores have a core each."""
    counts = ",".join(map(str, asked(request, cell, executable).counts))
    line = [str(executable.path), "--run", "--threads", counts]
    if cell.threads <= len(order):
        line += ["--cpus", ",".join(str(each.number) for each in order[: cell.threads])]
    return [*line, "--variant", cell.variant, "--size", request.size]


def _asked(request: Request, way: dict[str, Any]) -> Asked:
    return Asked((1,) if way["use"] == "alone" else request.threads, way["use"])


def _chosen(name: str, names: tuple[str, ...]) -> bool:
    return not names or name in names


def _allocators(request: Request, executable: Executable, index: int) -> Iterable[str]:
    if executable.program == CALIBRATION:
        return (cell.DEFAULT,)
    if request.allocators:
        return request.allocators
    matters = index == 0 and executable.description.get("allocates", False)
    return allocators.NAMES if matters else (cell.DEFAULT,)


def _check_names(request: Request, there: Sequence[Executable]) -> None:
    for name in request.programs:
        check_name("contention program", name, {each.program for each in there})
    for name in request.variants:
        usable = [each for each in there if not each.fault]
        check_name("variant", name, {variant for each in usable for variant in each.variants})

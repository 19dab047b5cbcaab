"""From a request to cells: one for each writer and number of students.

Values without a field of their own in a request stand in its arguments, as name=value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from threadmark.kinds.students.tool import PLATFORM, PROGRAM, Writer, writers
from threadmark.model.cell import Cell
from threadmark.model.errors import LabError
from threadmark.model.executable import Executable
from threadmark.model.names import check_name
from threadmark.model.request import Request, Selection

SERIAL, THREADS, MEMORY = "serial", "threads", "memory"  # in the place of a backend
LIMIT = "limit"  # the same bytes, written from memory
MOST_FLUSHED = 500_000  # students; with more, a writer that flushes each line takes many seconds
MOST_STUDENTS = 1_000_000_000  # of the program


@dataclass(frozen=True)
class Asked:
    """The contents of a request beside its writers."""

    sizes: tuple[int, ...]  # numbers of students, ascending
    exercises: int
    block: int
    runs: int
    folder: str  # each process writes into a new folder below it

    def arguments(self) -> tuple[str, ...]:
        """The arguments of a request."""
        sizes = ",".join(map(str, self.sizes))
        return (
            f"sizes={sizes}",
            f"exercises={self.exercises}",
            f"block={self.block}",
            f"runs={self.runs}",
            f"folder={self.folder}",
        )


def asked(request: Request) -> Asked:
    """The values that arguments() wrote."""
    found = dict(each.split("=", 1) for each in request.arguments)
    return Asked(
        tuple(int(each) for each in found["sizes"].split(",")),
        int(found["exercises"]),
        int(found["block"]),
        int(found["runs"]),
        found["folder"],
    )


def parse_sizes(text: str) -> tuple[int, ...]:
    """'5000,50000' as numbers, ascending. LabError for anything else."""
    found = set()
    for part in text.split(","):
        if not part.strip().isdecimal() or not 1 <= int(part[:12]) <= MOST_STUDENTS:
            raise LabError(
                f"--sizes takes numbers of students from 1 to {MOST_STUDENTS}, such as 5000,50000, "
                f"not '{text}'."
            )
        found.add(int(part))
    return tuple(sorted(found))


def select(request: Request, tool: Executable) -> Selection:
    """The cells of a request. LabError for a writer that the program does not have."""
    known = writers(tool.description)
    for name in request.variants:
        check_name("writer", name, known)
    chosen = _with_serial(request.variants or tuple(known), known)
    what = asked(request)
    cells = [
        cell
        for students in what.sizes
        for name in chosen
        if students <= MOST_FLUSHED or not known[name].flushes
        for cell in _cells(known[name], students, what, max(request.threads))
    ]
    cells += [_cell(MEMORY, LIMIT, 1, students, what) for students in what.sizes]
    return Selection(dict.fromkeys(cells, tool), {})


def students(cell: Cell) -> int:
    """The number of students that a cell writes."""
    return int(dict(cell.arguments)["students"])


def command_line(cell: Cell, tool: Executable, seed: int, folder: str) -> list[str]:
    """The command line that writes the files of a cell into this folder."""
    given = dict(cell.arguments)
    line = [str(tool.path), "generate", "--writer", cell.variant]
    if cell.backend == MEMORY:
        line = [str(tool.path), LIMIT]
    if cell.backend == MEMORY or not writers(tool.description)[cell.variant].threads:
        line += ["--threads", str(cell.threads)]
    line += ["-s", given["students"], "-e", given["exercises"], "-b", given["block"]]
    return [*line, "--seed", str(seed), "--out", folder]


def _with_serial(names: tuple[str, ...], known: Mapping[str, Writer]) -> list[str]:
    """These writers, and the writers with which they are compared."""
    wanted = {*names, *(known[name].serial for name in names if known[name].serial in known)}
    return [name for name in known if name in wanted]


def _cells(writer: Writer, students: int, what: Asked, threads: int) -> list[Cell]:
    if writer.threads == 1:
        return [_cell(SERIAL, writer.name, 1, students, what)]
    if writer.threads:
        return [_cell(THREADS, writer.name, writer.threads, students, what)]
    found = [_cell(SERIAL, writer.name, 1, students, what)]
    if threads > 1:
        found.append(_cell(THREADS, writer.name, threads, students, what))
    return found


def _cell(backend: str, name: str, threads: int, students: int, what: Asked) -> Cell:
    arguments = {"block": what.block, "exercises": what.exercises, "students": students}
    pairs = tuple((key, str(value)) for key, value in sorted(arguments.items()))
    return Cell(PROGRAM, "custom", backend, name, PLATFORM, "glibc", threads, pairs)

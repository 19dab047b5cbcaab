"""A cell in one word, for the user's input and for messages."""

from __future__ import annotations

from threadmark.model.cell import DEFAULT, Cell
from threadmark.model.errors import LabError
from threadmark.model.names import check_name
from threadmark.model.request import SIZES

FORM = "PROGRAM/BACKEND:VARIANT/PLATFORM/THREADS[/SIZE[/ALLOCATOR]] [NAME=VALUE ...]"
_FEWEST, _MOST = 4, 6  # parts
_THREADS = 4096  # most of an executable


def cell_name(cell: Cell) -> str:
    """The shortest word that parse() reads as this cell; arguments stand behind it."""
    parts = [cell.program, f"{cell.backend}:{cell.variant}", cell.platform, str(cell.threads)]
    if cell.allocator != DEFAULT:
        parts += [cell.size, cell.allocator]
    elif cell.size != "quick":
        parts.append(cell.size)
    return " ".join(("/".join(parts), *(f"{name}={value}" for name, value in cell.arguments)))


def parse(text: str) -> Cell:
    """The cell of that name; missing parts are as in `run`. LabError for an invalid name."""
    place, *words = text.split(" ")
    arguments = tuple(sorted((name, value) for name, _, value in (w.partition("=") for w in words)))
    parts = place.split("/")
    if not all(name and value for name, value in arguments):
        raise LabError(f"'{text}' has an argument that is no NAME=VALUE; write {FORM}.")
    if not _FEWEST <= len(parts) <= _MOST or not all(parts):
        raise LabError(f"'{text}' is no cell; write {FORM}, such as fib/tbb:futures/gcc/2.")
    program, way, platform, threads, *rest = parts
    backend, colon, variant = way.partition(":")
    if not colon or not backend or not variant:
        raise LabError(f"'{way}' is no backend with its variant; write for example tbb:futures.")
    if not (threads.isascii() and threads.isdecimal()) or not 1 <= int(threads[:9]) <= _THREADS:
        raise LabError(f"A cell has from 1 to {_THREADS} threads, not '{threads}'; change it.")
    size, allocator = [*rest, *("quick", DEFAULT)[len(rest) :]]
    check_name("size", size, SIZES)
    number = int(threads)
    return Cell(program, size, backend, variant, platform, allocator, number, arguments)

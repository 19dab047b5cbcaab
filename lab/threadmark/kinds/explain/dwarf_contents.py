"""The contents of a unit of debug information: its functions by address, its variables, the
container of each entry, and the names of its source files."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from threadmark.kinds.explain.dwarf import ODD, Dwarf, Entry, Unit
from threadmark.kinds.explain.dwarf_numbers import CONTAINERS, SIZES, At, Tag
from threadmark.kinds.explain.dwarf_ranges import covered, listed_code
from threadmark.kinds.explain.dwarf_shapes import after, leb

_DEEPEST = 32
_MOST_RANGES = 2_000_000
_MOST_FILES = 20_000
_NAME, _FOLDER = 1, 2  # fields of a file in a line table


@dataclass
class Contents:
    """The outline of a unit."""

    functions: list[tuple[int, int, int]] = field(default_factory=list)  # low, high, offset
    variables: list[int] = field(default_factory=list)  # offsets of variables outside of functions
    locals: list[int] = field(default_factory=list)  # offsets of variables inside, no parameters
    begins: list[int] = field(default_factory=list)  # offsets of classes, functions, namespaces
    ends: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  # number of the container of each, or -1


@lru_cache(maxsize=256)
def contents(unit: Unit) -> Contents:
    """The outline of a unit, from one pass."""
    found = Contents()
    data, shapes = unit.data, unit.shapes
    at, end = unit.first, len(data)
    inside: list[int] = []  # for each open entry, its nearest container (or itself)
    within = -1
    local = 0  # the number of open functions
    functions: list[bool] = []
    count = 0
    while at < end:
        start = at
        code = data[at]
        at += 1
        if code == 0:
            if not inside:
                break
            if within >= 0 and found.ends[within] == 0 and inside[-1] != within:
                found.ends[within] = at
            within = inside.pop()
            local -= functions.pop()
            continue
        if code >= 0x80:
            code, at = leb(data, start)
        shape = shapes[code]
        count += 1
        begin = at
        at = at + shape.size if shape.size is not None else unit.passed(at, shape)
        tag = shape.tag
        container = tag in CONTAINERS
        if tag == Tag.SUBPROGRAM and (At.LOW in shape.names or At.RANGES in shape.names):
            entry = Entry(unit, start, begin, shape)
            found.functions += [(low, high, start) for low, high in covered(entry) if low]
        elif tag == Tag.VARIABLE:
            (found.locals if local else found.variables).append(start)
        if shape.parent:
            inside.append(within)
            functions.append(tag == Tag.SUBPROGRAM)
            local += tag == Tag.SUBPROGRAM
            if container:
                found.begins.append(start)
                found.ends.append(0)
                found.parents.append(within)
                within = len(found.begins) - 1
    unit.dwarf.spend(count)
    found.functions.sort()
    return found


@lru_cache(maxsize=64)
def _units(dwarf: Dwarf) -> list[tuple[int, int, int]]:
    """The code of all units: low, high, offset of the unit. g++ lists it in a section of its own.
    clang has it only at the beginning of each unit."""
    try:
        found = listed_code(dwarf.section(".debug_aranges"))
    except ODD:
        found = []
    listed = {start for _, _, start in found}
    for start in dwarf.starts:
        if start in listed:
            continue
        try:
            ranges = covered(dwarf.unit(start).root)
        except ODD:
            continue
        found += [(low, high, start) for low, high in ranges if low]
        if len(found) > _MOST_RANGES:
            break
    found.sort()
    return found


def unit_at(dwarf: Dwarf, address: int) -> Unit | None:
    """The unit that has the code at an address."""
    units = _units(dwarf)
    at = bisect_right(units, (address, 1 << 64, 0)) - 1
    return dwarf.unit(units[at][2]) if at >= 0 and address < units[at][1] else None


def function_at(unit: Unit, address: int) -> Entry | None:
    """The function of a unit that has an address."""
    functions = contents(unit).functions
    at = bisect_right(functions, (address, 1 << 64, 0)) - 1
    while at >= 0 and functions[at][0] <= address:
        low, high, offset = functions[at]
        if low <= address < high:
            return unit.entry(offset)
        if address - low > 1 << 24:
            return None
        at -= 1
    return None


def holder(entry: Entry) -> Entry | None:
    """The innermost class, function or namespace around an entry."""
    outline = contents(entry.unit)
    at = bisect_right(outline.begins, entry.offset) - 1
    while at >= 0:
        begin, end = outline.begins[at], outline.ends[at]
        if begin < entry.offset and (entry.offset < end or end == 0):
            return entry.unit.entry(begin)
        at = outline.parents[at]
    return None


@lru_cache(maxsize=1 << 14)
def declared(entry: Entry) -> Entry:
    """The entry that has the name: a definition refers to its declaration."""
    for _ in range(_DEEPEST):
        other = None if At.NAME in entry.shape.names else _earlier(entry)
        if other is None:
            return entry
        entry = other
    return entry


def _earlier(entry: Entry) -> Entry | None:
    """The entry that an entry completes: the inlined function, or the declaration."""
    return entry.follow(At.ORIGIN) or entry.follow(At.SPECIFICATION)


def name_of(entry: Entry) -> str:
    """The name of an entry, without its containers."""
    return declared(entry).text(At.NAME)


@lru_cache(maxsize=64)
def source_files(unit: Unit) -> list[str]:
    """Paths of the sources of a unit by their number in attributes."""
    at = unit.root.number(At.STATEMENTS)
    folder = unit.root.text(At.FOLDER)
    if at is None:
        return []
    section = unit.dwarf.section(".debug_line")
    length, width = section.number(at, 4), 4
    at += 4
    if length == 0xFFFFFFFF:
        length, width, at = section.number(at, 8), 8, at + 8
    version = section.number(at, 2)
    at += 2 + (2 if version >= 5 else 0)
    header = section.cut(at + width, section.number(at, width))
    opcodes = 4 + (1 if version >= 4 else 0)  # before it: sizes, line base and range
    place = opcodes + 1 + header[opcodes] - 1
    if version >= 5:
        return _tabled(unit, header, place, width, folder)
    return _texts(header, place, folder)


def _texts(header: bytes, at: int, folder: str) -> list[str]:
    """File names before DWARF 5: number 0 is none."""
    folders = [folder]
    while header[at]:
        end = header.index(0, at)
        folders.append(header[at:end].decode("utf-8", "replace"))
        at = end + 1
    at += 1
    found = [""]
    while header[at] and len(found) < _MOST_FILES:
        end = header.index(0, at)
        name = header[at:end].decode("utf-8", "replace")
        number, at = leb(header, end + 1)
        _, at = leb(header, at)
        _, at = leb(header, at)
        found.append(_joined(folder, folders[number] if number < len(folders) else "", name))
    return found


def _tabled(unit: Unit, header: bytes, at: int, width: int, folder: str) -> list[str]:
    """File names of DWARF 5."""
    rows: list[list[dict[int, int | str]]] = []
    for _ in range(2):
        count, at = header[at], at + 1
        formats = []
        for _ in range(count):
            what, at = leb(header, at)
            form, at = leb(header, at)
            formats.append((what, form))
        number, at = leb(header, at)
        rows.append([])
        for _ in range(min(number, _MOST_FILES)):
            row: dict[int, int | str] = {}
            for what, form in formats:
                size = SIZES[form]
                size = width if size == -7 else size
                row[what] = _field(unit.dwarf, header, at, form, size)
                at = after(header, at, size)
            rows[-1].append(row)
    folders = [str(row.get(_NAME, "")) for row in rows[0]]
    found = []
    for row in rows[1]:
        number = int(row.get(_FOLDER, 0))
        within = folders[number] if number < len(folders) else ""
        found.append(_joined(folder, within, str(row.get(_NAME, ""))))
    return found


def _field(dwarf: Dwarf, header: bytes, at: int, form: int, size: int) -> int | str:
    if form == 0x08:
        return header[at : header.index(0, at)].decode("utf-8", "replace")
    if size < 0:
        return leb(header, at)[0]
    number = int.from_bytes(header[at : at + size], "little")
    if form in (0x0E, 0x1F):
        return dwarf.section(".debug_str" if form == 0x0E else ".debug_line_str").text(number)
    return number


def _joined(*parts: str) -> str:
    return str(PurePosixPath(*[each for each in parts if each]))


def place(entry: Entry) -> tuple[str, int]:
    """Source file and line of a declaration; empty without one."""
    for _ in range(_DEEPEST):
        line, number = entry.number(At.LINE), entry.number(At.FILE)
        if line is not None and number is not None:
            files = source_files(entry.unit)
            return (files[number] if number < len(files) else ""), line
        other = _earlier(entry) if line is None else None
        if other is None:
            break
        entry = other
    return "", 0


def shown_place(entry: Entry) -> str:
    """file:line of a declaration; empty without one."""
    file, line = place(entry)
    return f"{PurePosixPath(file).name}:{line}" if file and line else ""

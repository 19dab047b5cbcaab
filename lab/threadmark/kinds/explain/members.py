"""The declaration of a global variable, and its member at an offset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from threadmark.kinds.explain.dwarf import ODD, Dwarf, Entry, Unit, dwarf_of
from threadmark.kinds.explain.dwarf_contents import contents, shown_place
from threadmark.kinds.explain.dwarf_numbers import CLASSES, At, Tag
from threadmark.kinds.explain.dwarf_shapes import leb
from threadmark.kinds.explain.dwarf_types import (
    bare,
    complete,
    is_library,
    names,
    parts,
    size,
    type_of,
)
from threadmark.kinds.explain.elf import Elf
from threadmark.kinds.explain.lock_types import is_of_a_library

_ADDRESS = 0x03  # DW_OP_addr
_ADDRESS_BY_NUMBER = 0xA1  # DW_OP_addrx
_MOST_HITS = 64  # places of the debug information that may name the address
_DEEPEST = 12


@dataclass(frozen=True)
class Datum:
    """The declaration of a variable, and a path such as '.mutex' or '[3].lock' within it."""

    members: str
    where: str


def of(elf: Elf, address: int, offset: int) -> Datum | None:
    """The variable at an address of the file; None without debug information of it."""
    try:
        found = _variable(dwarf_of(elf), address)
        return Datum(_path(type_of(found), offset), shown_place(found)) if found else None
    except ODD:
        return None


@lru_cache(maxsize=4096)
def _variable(dwarf: Dwarf, address: int) -> Entry | None:
    """The variable. Only the units with its address are read, because a big program has
    thousands."""
    for unit in _units(dwarf, address):
        outline = contents(unit)
        for offset in (*outline.variables, *outline.locals):
            entry = unit.entry(offset)
            if _located(entry) == address:
                return entry
    return None


def _units(dwarf: Dwarf, address: int) -> Iterator[Unit]:
    """The units with the address in their bytes or in their table of addresses."""
    found = set()
    wanted = bytes([_ADDRESS]) + address.to_bytes(8, "little")
    for at in dwarf.section(".debug_info").places(wanted, _MOST_HITS):
        found.add(dwarf.holding(at).start)
    tables = sorted(_tables(dwarf).items()) if not found else []
    for at in dwarf.section(".debug_addr").places(wanted[1:], _MOST_HITS) if tables else ():
        found.add(max((each for each in tables if each[0] <= at), default=tables[0])[1])
    for start in sorted(found):
        yield dwarf.unit(start)


@lru_cache(maxsize=16)
def _tables(dwarf: Dwarf) -> dict[int, int]:
    """The beginnings of the units' tables of addresses, and their units."""
    found = {}
    for start in dwarf.starts:
        try:
            table = dwarf.unit(start).table(At.ADDRESSES_BASE, At.GNU_ADDRESSES_BASE)
        except ODD:
            continue
        if table:
            found[table] = start
    return found


def _located(entry: Entry) -> int | None:
    """The fixed address of a variable."""
    found = entry.value(At.LOCATION)
    location = found[1] if found else None
    if not isinstance(location, bytes) or not location:
        return None
    if location[0] == _ADDRESS:
        return int.from_bytes(location[1:9], "little")
    if location[0] == _ADDRESS_BY_NUMBER:
        return entry.unit.address(leb(location, 1)[0])
    return None


def _path(kind: Entry | None, offset: int, depth: int = 0) -> str:
    """Members from a type down to the lock itself, which is not taken apart."""
    plain = bare(kind)
    if kind is None or plain is None or depth > _DEEPEST:
        return ""
    if plain.tag == Tag.ARRAY:
        element = type_of(plain)
        width = size(element)
        return f"[{offset // width}]" + _path(element, offset % width, depth + 1) if width else ""
    if plain.tag not in CLASSES or is_of_a_library(names(kind)):
        return ""
    if is_library(plain):
        return _in_container(kind, offset, depth) or ""
    found = _part_at(plain, offset)
    if found is None:
        return ""
    part, within = found
    rest = _path(type_of(part), within, depth + 1)
    name = part.text(At.NAME) if part.tag == Tag.MEMBER else ""
    return (f".{name}" if name else "") + rest


def _in_container(kind: Entry | None, offset: int, depth: int) -> str | None:
    """The path through a class of the library, such as std::array, whose own members a user does
    not know; None if it leads to no lock and to no class of the program."""
    plain = bare(kind)
    if kind is None or plain is None or depth > _DEEPEST:
        return None
    if is_of_a_library(names(kind)):
        return ""
    if plain.tag == Tag.ARRAY:
        element = type_of(plain)
        width = size(element)
        rest = _in_container(element, offset % width, depth + 1) if width else None
        return None if rest is None else f"[{offset // width}]{rest}"
    if plain.tag not in CLASSES:
        return None
    if not is_library(plain):
        return _path(kind, offset, depth + 1)
    found = _part_at(plain, offset)
    return _in_container(type_of(found[0]), found[1], depth + 1) if found else None


def _part_at(kind: Entry, offset: int) -> tuple[Entry, int] | None:
    """The member or base class at an offset, and the offset in it."""
    for part in parts(complete(kind)):
        at = part.number(At.MEMBER_AT) or 0
        if at <= offset < at + max(1, size(type_of(part))):
            return part, offset - at
    return None

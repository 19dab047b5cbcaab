"""Lists of addresses in DWARF 2 to 5: the code of an entry, and the place of a variable at an
address."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from threadmark.kinds.explain.dwarf import Entry, Unit
from threadmark.kinds.explain.dwarf_numbers import ADDR, ADDRESS_NUMBERS, At
from threadmark.kinds.explain.dwarf_shapes import leb
from threadmark.kinds.explain.elf import Section

_MOST = 100_000  # ranges of one entry
_LONG = 0xFFFFFFF0  # lengths from here on have another meaning
_WINDOWS = (1 << 12, 1 << 16, 1 << 22)  # bytes of one list, whose length is unknown
_BASE_NUMBER, _NUMBERS, _NUMBER_LENGTH, _OFFSETS, _EVERYWHERE = 1, 2, 3, 4, 5
_EXPRESSIONS = frozenset([0x18, 0x09, 0x0A, 0x03, 0x04])  # forms


def covered(entry: Entry) -> list[tuple[int, int]]:
    """The code of a unit, function or block: first address and end."""
    low, high = entry.value(At.LOW), entry.value(At.HIGH)
    if low and high and isinstance(low[1], int) and isinstance(high[1], int):
        absolute = high[0] == ADDR or high[0] in ADDRESS_NUMBERS
        return [(low[1], high[1] if absolute else low[1] + high[1])]
    at = entry.number(At.RANGES)
    if at is None:
        return []
    found = []
    for low_pc, high_pc, _ in _listed(entry.unit, at, located=False):
        found.append((low_pc, high_pc))
        if len(found) >= _MOST:
            break
    return found


def listed_code(section: Section) -> list[tuple[int, int, int]]:
    """The entries of .debug_aranges: first address, end, offset of the unit."""
    data = section.cut(0, section.size)
    found: list[tuple[int, int, int]] = []
    at = 0
    while at + 12 <= len(data):
        length, unit, size = struct.unpack_from("<IxxIB", data, at)
        end = at + 4 + length
        if length >= _LONG or size != 8 or end > len(data):
            break
        begin = at + 16  # pairs lie at multiples of their own size
        pairs = struct.iter_unpack("<QQ", data[begin : begin + (end - begin) // 16 * 16])
        found += [(low, low + size, unit) for low, size in pairs if low and size]
        at = end
    return found


def holds(entry: Entry, address: int) -> bool:
    """Whether an address lies in the code of the entry."""
    return any(low <= address < high for low, high in covered(entry))


def expression(entry: Entry, name: int, address: int) -> bytes:
    """The expression of an attribute that holds while the program is at an address; empty if there
    is none."""
    found = entry.value(name)
    if found is None:
        return b""
    form, value = found
    if isinstance(value, bytes):
        return value if form in _EXPRESSIONS else b""
    if not isinstance(value, int):
        return b""
    for low, high, what in _listed(entry.unit, value, located=True):
        if low <= address < high:
            return what
    return b""


def _listed(unit: Unit, at: int, *, located: bool) -> Iterator[tuple[int, int, bytes]]:
    if unit.version < 5:
        section = unit.dwarf.section(".debug_loc" if located else ".debug_ranges")
        return _pairs(unit, section, at, located)
    section = unit.dwarf.section(".debug_loclists" if located else ".debug_rnglists")
    for window in _WINDOWS:
        try:
            return iter(list(_coded(unit, section.cut(at, window), located)))
        except IndexError:  # the list is longer
            continue
    raise ValueError("list of addresses")


def _pairs(
    unit: Unit, section: Section, at: int, located: bool
) -> Iterator[tuple[int, int, bytes]]:
    """The pairs of lists before DWARF 5."""
    size = unit.address_size
    base, highest = unit.base, (1 << 8 * size) - 1
    while True:
        low, high = section.number(at, size), section.number(at + size, size)
        at += 2 * size
        if low == highest:
            base = high
            continue
        if low == high == 0:
            return
        what = b""
        if located:
            length = section.number(at, 2)
            what = section.cut(at + 2, length)
            at += 2 + length
        yield base + low, base + high, what


def _coded(unit: Unit, data: bytes, located: bool) -> Iterator[tuple[int, int, bytes]]:
    """The entries of lists of DWARF 5. Lists of locations have one code more than lists of
    ranges."""
    size = unit.address_size
    base, at = unit.base, 0

    def absolute(place: int) -> tuple[int, int]:
        return int.from_bytes(data[place : place + size], "little"), place + size

    while True:
        code, at = data[at], at + 1
        if code == 0:
            return
        if not located and code >= _EVERYWHERE:
            code += 1
        low = high = 0
        if code == _BASE_NUMBER:
            number, at = leb(data, at)
            base = unit.address(number)
            continue
        if code == 6:
            base, at = absolute(at)
            continue
        if code in (_NUMBERS, _NUMBER_LENGTH):
            number, at = leb(data, at)
            low = unit.address(number)
            number, at = leb(data, at)
            high = unit.address(number) if code == _NUMBERS else low + number
        elif code == _OFFSETS:
            low, at = leb(data, at)
            high, at = leb(data, at)
            low, high = base + low, base + high
        elif code == _EVERYWHERE:
            high = 1 << 8 * size
        elif code in (7, 8):
            low, at = absolute(at)
            high, at = absolute(at) if code == 7 else leb(data, at)
            high += low if code == 8 else 0
        else:
            raise ValueError("list of addresses")
        what = b""
        if located:
            length, at = leb(data, at)
            what, at = data[at : at + length], at + length
        yield low, high, what

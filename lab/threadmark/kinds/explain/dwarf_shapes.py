"""Abbreviations of DWARF: the attributes of an entry, their forms and their sizes."""

from __future__ import annotations

from dataclasses import dataclass

from threadmark.kinds.explain import dwarf_numbers as numbers
from threadmark.kinds.explain.elf import Section

_LONGEST = 140  # bits of a number, with padding


def leb(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128 number and its end."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > _LONGEST:
            raise ValueError("number")


def signed_leb(data: bytes, at: int) -> tuple[int, int]:
    """A signed LEB128 number and its end."""
    number, end = leb(data, at)
    bits = 7 * (end - at)
    return (number - (1 << bits) if data[end - 1] & 0x40 else number), end


@dataclass(frozen=True)
class Shape:
    """The declaration of an abbreviation."""

    tag: int
    parent: bool  # it has children
    attributes: tuple[tuple[int, int, int, int], ...]  # name, form, size, implicit value
    size: int | None  # of all attributes together, if always the same
    names: frozenset[int]


class Shapes:
    """The abbreviations of a unit, read on demand: the first entry of a unit uses the first one."""

    def __init__(self, section: Section, at: int, offset_size: int, address_size: int) -> None:
        self._data = section
        self._at = at
        self._sizes = {numbers.OFFSET: offset_size, numbers.ADDRESS: address_size}
        self._known: dict[int, Shape] = {}

    def __getitem__(self, code: int) -> Shape:
        while code not in self._known:
            self._next()
        return self._known[code]

    def _next(self) -> None:
        window = self._data.cut(self._at, 4096)
        code, at = leb(window, 0)
        if code == 0:
            raise ValueError("abbreviation")
        tag, at = leb(window, at)
        parent, at = window[at] == 1, at + 1
        found = []
        total: int | None = 0
        while True:
            name, at = leb(window, at)
            form, at = leb(window, at)
            value = 0
            if form == numbers.IMPLICIT:
                value, at = signed_leb(window, at)
            if name == 0 and form == 0:
                break
            size = numbers.SIZES[form]
            size = self._sizes.get(size, size)
            found.append((name, form, size, value))
            total = None if total is None or size < 0 else total + size
        names = frozenset(each[0] for each in found)
        self._known[code] = Shape(tag, parent, tuple(found), total, names)
        self._at += at


def after(data: bytes, at: int, size: int) -> int:
    """The end of a value of a form of that size."""
    if size >= 0:
        return at + size
    if size == numbers.LEB:
        while data[at] >= 0x80:
            at += 1
        return at + 1
    if size == numbers.STRING:
        return data.index(0, at) + 1
    if size == numbers.BLOCK:
        length, at = leb(data, at)
        return at + length
    width = numbers.BLOCKS[size]
    return at + width + int.from_bytes(data[at : at + width], "little")

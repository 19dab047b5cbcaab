"""A lean reader of DWARF 2 to 5: units, and entries whose attributes are read on demand.

pyelftools builds an object of each attribute; a program of 100 MB takes it minutes. This reader
looks only at a unit that has a wanted address, and passes over it quickly. Damaged or unknown data
raises one of ODD. No loop hangs on a damaged file, because each step goes on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache

from threadmark.kinds.explain import dwarf_numbers as numbers
from threadmark.kinds.explain.dwarf_numbers import At
from threadmark.kinds.explain.dwarf_shapes import Shape, Shapes, after, leb, signed_leb
from threadmark.kinds.explain.elf import Elf, Section

ODD = (IndexError, KeyError, ValueError, OverflowError, TypeError, AttributeError, RecursionError)
_MOST_ENTRIES = 4_000_000  # passed over in one file; a few seconds
_MOST_UNITS = 200_000


class Unit:
    """One compilation unit."""

    def __init__(self, dwarf: Dwarf, start: int) -> None:
        info = dwarf.section(".debug_info")
        length = info.number(start, 4)
        self.offset_size = 4
        at = start + 4
        if length == 0xFFFFFFFF:
            self.offset_size, length, at = 8, info.number(start + 4, 8), start + 12
        self.dwarf = dwarf
        self.start, self.end = start, min(at + length, info.size)
        if self.end <= at or length == 0:
            raise ValueError("unit")
        self.version = info.number(at, 2)
        if self.version >= 5:
            self.kind, self.address_size = info.number(at + 2, 1), info.number(at + 3, 1)
            shapes, first = info.number(at + 4, self.offset_size), at + 4 + self.offset_size
            first += {4: 8, 5: 8}.get(self.kind, 0)  # of a split unit
        else:
            self.kind, self.address_size = 1, info.number(at + 2 + self.offset_size, 1)
            shapes, first = info.number(at + 2, self.offset_size), at + 3 + self.offset_size
        if self.address_size not in (4, 8) or not 2 <= self.version <= 5:
            raise ValueError("unit")
        self.first = first - start
        abbreviations = dwarf.section(".debug_abbrev")
        self.shapes = Shapes(abbreviations, shapes, self.offset_size, self.address_size)

    @cached_property
    def data(self) -> bytes:
        """The bytes of the unit with the header."""
        return self.dwarf.section(".debug_info").cut(self.start, self.end - self.start)

    @cached_property
    def root(self) -> Entry:
        """The first entry of the unit."""
        return self.entry(self.first)

    def entry(self, offset: int) -> Entry:
        """The entry at an offset from the beginning of the unit."""
        code, at = leb(self.data, offset)
        return Entry(self, offset, at, self.shapes[code])

    def passed(self, at: int, shape: Shape) -> int:
        """The end of the attributes of an entry that begin at `at`."""
        if shape.size is not None:
            return at + shape.size
        data = self.data
        for _, _, size, _ in shape.attributes:
            at = after(data, at, size)
        return at

    @cached_property
    def base(self) -> int:
        """The base address of ranges and locations."""
        return self.root.number(At.LOW) or 0

    def table(self, name: int, other: int = 0) -> int:
        """The beginning of the unit's part of a table."""
        found = self.root.value(name)
        if found is None and other:
            found = self.root.value(other)
        return found[1] if found and isinstance(found[1], int) else 0

    def address(self, number: int) -> int:
        """An address of the table of addresses, by its number."""
        at = self.table(At.ADDRESSES_BASE, At.GNU_ADDRESSES_BASE) + number * self.address_size
        return self.dwarf.section(".debug_addr").number(at, self.address_size)


class Entry:
    """One entry of a unit."""

    __slots__ = ("_at", "offset", "shape", "tag", "unit")

    def __init__(self, unit: Unit, offset: int, at: int, shape: Shape) -> None:
        self.unit = unit
        self.offset = offset
        self._at = at
        self.shape = shape
        self.tag = shape.tag

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return False
        return self.unit is other.unit and self.offset == other.offset

    def __hash__(self) -> int:
        return hash((id(self.unit), self.offset))

    @property
    def place(self) -> int:
        """The offset of the entry in the section."""
        return self.unit.start + self.offset

    def value(self, name: int) -> tuple[int, int | str | bytes] | None:
        """Form and value of an attribute. A reference is an offset in the section."""
        if name not in self.shape.names:
            return None
        at = self._at
        data = self.unit.data
        for each, form, size, implicit in self.shape.attributes:
            if each == name:
                return form, self._read(data, at, form, size, implicit)
            at = after(data, at, size)
        return None

    def _read(self, data: bytes, at: int, form: int, size: int, implicit: int) -> int | str | bytes:
        if form in (numbers.IMPLICIT, numbers.PRESENT):
            return implicit if form == numbers.IMPLICIT else 1
        if size == numbers.STRING:
            return data[at : data.index(0, at)].decode("utf-8", "replace")
        if size in numbers.BLOCKS or size == numbers.BLOCK:
            begin = leb(data, at)[1] if size == numbers.BLOCK else at + numbers.BLOCKS[size]
            return data[begin : after(data, at, size)]
        if size != numbers.LEB:
            return self._meant(form, int.from_bytes(data[at : at + size], "little"))
        signed = form == numbers.SDATA
        return self._meant(form, (signed_leb if signed else leb)(data, at)[0])

    def _meant(self, form: int, number: int) -> int | str:
        """The value that a number stands for."""
        unit = self.unit
        section = unit.dwarf.section
        width = unit.offset_size
        if form in numbers.REFERENCES:
            return unit.start + number
        if form in numbers.STRINGS:
            return section(numbers.STRINGS[form]).text(number)
        if form in numbers.STRING_NUMBERS:
            place = unit.table(At.STRINGS_BASE) + number * width
            return section(".debug_str").text(section(".debug_str_offsets").number(place, width))
        if form in numbers.ADDRESS_NUMBERS:
            return unit.address(number)
        if form in numbers.LISTS:
            attribute, name = numbers.LISTS[form]
            table = unit.table(attribute)
            return table + section(name).number(table + number * width, width)
        return number

    def number(self, name: int) -> int | None:
        """An attribute with a number as its value."""
        found = self.value(name)
        return found[1] if found and isinstance(found[1], int) else None

    def text(self, name: int) -> str:
        """An attribute with a text as its value; empty without one."""
        found = self.value(name)
        return found[1] if found and isinstance(found[1], str) else ""

    def follow(self, name: int) -> Entry | None:
        """The entry that an attribute refers to; None for an entry of another file."""
        found = self.value(name)
        if found is None or not isinstance(found[1], int):
            return None
        if found[0] in numbers.REFERENCES:
            offset = found[1] - self.unit.start
            return self.unit.entry(offset) if offset < len(self.unit.data) else None
        return self.unit.dwarf.entry(found[1]) if found[0] == numbers.REF_ADDR else None

    def children(self) -> Iterator[Entry]:
        """The entries directly below this entry."""
        if not self.shape.parent:
            return
        unit = self.unit
        data, shapes = unit.data, unit.shapes
        at = unit.passed(self._at, self.shape)
        depth = 0
        while at < len(data):
            unit.dwarf.spend(1)
            start = at
            code, at = leb(data, at)
            if code == 0:
                if depth == 0:
                    return
                depth -= 1
                continue
            shape = shapes[code]
            entry = Entry(unit, start, at, shape) if depth == 0 else None
            at = unit.passed(at, shape)
            if entry:
                yield entry
            if shape.parent:
                beyond = self._beyond(entry) if entry else 0
                if beyond > at:
                    at = beyond
                else:
                    depth += 1

    @staticmethod
    def _beyond(entry: Entry) -> int:
        sibling = entry.number(At.SIBLING)
        return sibling - entry.unit.start if sibling is not None else 0


class Dwarf:
    """The debug information of one file."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._left = _MOST_ENTRIES
        self._units: dict[int, Unit] = {}
        self.section = cache(self._section)
        self.built_at = elf.built_at

    def _section(self, name: str) -> Section:
        return self._elf.section(name) or Section(b"", 0, 0)

    def spend(self, entries: int) -> None:
        """Note work; ValueError if it becomes more than a name is worth."""
        self._left -= entries
        if self._left < 0:
            raise ValueError("too much")

    @cached_property
    def starts(self) -> list[int]:
        """The offsets of the units."""
        info = self.section(".debug_info")
        found: list[int] = []
        at = 0
        while at + 11 < info.size and len(found) < _MOST_UNITS:
            found.append(at)
            length = info.number(at, 4)
            at += 12 + info.number(at + 4, 8) if length == 0xFFFFFFFF else 4 + length
        return found

    def unit(self, start: int) -> Unit:
        """The unit that begins at an offset of the section."""
        if start not in self._units:
            self._units[start] = Unit(self, start)
        return self._units[start]

    def holding(self, offset: int) -> Unit:
        """The unit that an offset of the section lies in."""
        return self.unit(self.starts[bisect_right(self.starts, offset) - 1])

    def entry(self, offset: int) -> Entry:
        """The entry at an offset of the section."""
        unit = self.holding(offset)
        return unit.entry(offset - unit.start)


@lru_cache(maxsize=256)
def dwarf_of(elf: Elf) -> Dwarf:
    """The debug information of a file, read once."""
    return Dwarf(elf)

"""A mapped file that is not on this machine: its symbols and code in the record."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import cached_property

from threadmark.kinds.explain.analysis.recording import Code, Symbol
from threadmark.kinds.explain.elf import Elf


@dataclass(frozen=True)
class Carried:
    """The carried parts of a file. Addresses are those of the file's ELF headers."""

    symbols: tuple[Symbol, ...] = ()
    pieces: tuple[Code, ...] = ()

    @cached_property
    def _functions(self) -> list[Symbol]:
        return sorted((s for s in self.symbols if not s.data), key=lambda s: s.address)

    @cached_property
    def _data(self) -> list[Symbol]:
        return sorted((s for s in self.symbols if s.data), key=lambda s: s.address)

    def function(self, address: int) -> Symbol | None:
        """The function at an address."""
        return _holding(self._functions, address)

    def datum(self, address: int) -> tuple[str, int, int] | None:
        """Name, address and size of the object at an address."""
        found = _holding(self._data, address)
        return (found.name, found.address, found.size) if found else None

    def holds(self, address: int) -> bool:
        """Whether a known object lies at an address."""
        return self.datum(address) is not None

    def is_of(self, elf: Elf) -> bool:
        """Whether the file has this code. A file of another build with the same path has other
        code."""
        return all(elf.code(p.address, 0, len(p.content))[1] == p.content for p in self.pieces)

    def code(self, address: int, before: int, after: int) -> tuple[int, bytes]:
        """The address of the first byte, and bytes around an address."""
        for each in self.pieces:
            if each.address <= address <= each.address + len(each.content):
                first = max(each.address, address - before)
                end = address + after - each.address
                return first, each.content[first - each.address : end]
        return address, b""


def _holding(symbols: list[Symbol], address: int) -> Symbol | None:
    at = bisect.bisect_right(symbols, address, key=lambda each: each.address) - 1
    if at < 0 or address >= symbols[at].address + max(symbols[at].size, 1):
        return None
    return symbols[at]

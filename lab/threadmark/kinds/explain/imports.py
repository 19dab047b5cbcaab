"""The names in other files that a file's code refers to: functions that it calls and objects that
it reads.

The file's own relocations show them, so this module needs no symbols of the program and no debug
information. For x86-64 only.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import cached_property

from threadmark.kinds.explain.elf import Elf, Section

_NAMED = (1, 5, 6, 7)  # R_X86_64_64, COPY, GLOB_DAT and JUMP_SLOT
_BRANCH = b"\xf3\x0f\x1e\xfa"  # endbr64
_CALL, _JUMP = 0xE8, 0xE9
_THROUGH = (
    b"\xff\x15",
    b"\xff\x25",
    b"\xf2\xff\x25",
)  # call, jmp and bnd jmp by an address in memory
_LONGEST_STUB = 16


class Imports:
    """The imports of one file."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf

    def called(self, address: int) -> str:
        """The linker's name of the function that the call before an address calls; empty for a
        function of the file itself."""
        if not self._slots:
            return ""
        first, code = self._elf.code(address, 6, 0)
        if code[-5:-4] and code[-5] == _CALL:
            return self._stub(first + len(code) + _signed(code[-4:]))
        if len(code) == 6 and code[:2] == _THROUGH[0]:
            return self._slots.get(first + len(code) + _signed(code[-4:]), "")
        return ""

    def begin(self, address: int) -> int | None:
        """The beginning of the function at an address; None if no table has it."""
        at = bisect_right(self._begins, address) - 1
        return self._begins[at] if at >= 0 else None

    def near(self, address: int, around: int) -> frozenset[str]:
        """Names that the code at most `around` bytes before or behind an address refers to."""
        if not self._slots:
            return frozenset()
        first, code = self._elf.code(address, around, around)
        begin, end = self.function(address)
        found = set()
        for at in range(max(0, begin - first), min(len(code), end - first) - 3):
            # The search ignores the borders of instructions, because hardly any other bytes hit a
            # name.
            target = first + at + 4 + _signed(code[at : at + 4])
            stub = self._stub(target) if at and code[at - 1] in (_CALL, _JUMP) else ""
            # An instruction may have one byte behind the distance.
            found.add(stub or self._slots.get(target) or self._slots.get(target + 1, ""))
        return frozenset(found - {""})

    def _stub(self, target: int) -> str:
        """The function to which the code at `target` jumps, if the code only jumps."""
        low, high = self._stubs
        if not low <= target < high:
            return ""
        first, code = self._elf.code(target, 0, _LONGEST_STUB)
        at = len(_BRANCH) if code.startswith(_BRANCH) else 0
        for jump in _THROUGH[1:]:
            if code.startswith(jump, at):
                at += len(jump)
                return self._slots.get(first + at + 4 + _signed(code[at : at + 4]), "")
        return ""

    @cached_property
    def _stubs(self) -> tuple[int, int]:
        """The bounds of the procedure linkage tables."""
        names = (".plt", ".plt.got", ".plt.sec")
        found = [each for each in map(self._elf.addresses, names) if each]
        return (min(a for a, _ in found), max(b for _, b in found)) if found else (0, 0)

    def function(self, address: int) -> tuple[int, int]:
        """Begin and end of the function at an address, by the tables for unwinding."""
        at = bisect_right(self._begins, address) - 1
        if at < 0:
            return 0, 1 << 64
        return self._begins[at], (*self._begins[at + 1 : at + 2], 1 << 64)[0]

    @cached_property
    def _begins(self) -> list[int]:
        """The beginnings of functions: the sorted table of .eh_frame_hdr."""
        table, place = self._elf.section(".eh_frame_hdr"), self._elf.addresses(".eh_frame_hdr")
        if table is None or place is None or table.cut(0, 4) != b"\x01\x1b\x03\x3b":
            return []
        entries = table.cut(12, 8 * table.number(8, 4))
        return [place[0] + low for low, _ in struct.iter_unpack("<ii", entries)]

    @cached_property
    def _slots(self) -> dict[int, str]:
        """The linker's names of the objects whose addresses the loader writes into the file's
        words."""
        symbols, texts = self._elf.section(".dynsym"), self._elf.section(".dynstr")
        if self._elf.machine != "EM_X86_64" or symbols is None or texts is None:
            return {}
        found = {}
        for name in (".rela.plt", ".rela.dyn"):
            section = self._elf.section(name)
            for address, info in _relocations(section) if section else ():
                if info & 0xFFFFFFFF in _NAMED and info >> 32:
                    found[address] = texts.text(symbols.number(24 * (info >> 32), 4))
        return found


def _relocations(section: Section) -> list[tuple[int, int]]:
    whole = section.cut(0, section.size - section.size % 24)
    return [(address, info) for address, info, _ in struct.iter_unpack("<QQq", whole)]


def _signed(code: bytes) -> int:
    return int.from_bytes(code, "little", signed=True)

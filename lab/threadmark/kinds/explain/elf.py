"""A mapped file on the disk: its segments, data symbols and bytes of code."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

_DEBUG = Path("/usr/lib/debug")
_PAGE = 4096
_MOST_UNPACKED = 256 << 20  # bytes
_LONGEST_TEXT = 64 << 10
_IS_PROGRAM = 0x08000000  # DF_1_PIE
_CALL, _CALL_NEAR = 5, 0xE8  # length and first byte of a call by distance, x86-64


@dataclass(frozen=True)
class Section:
    """The bytes of one section, which may be large: they stay in the file."""

    data: bytes | mmap
    start: int
    size: int

    def cut(self, at: int, length: int) -> bytes:
        """Some bytes of the section; fewer at the end."""
        if at < 0:
            raise ValueError("section")
        end = min(at + length, self.size)
        return bytes(self.data[self.start + at : self.start + end]) if at < end else b""

    def number(self, at: int, length: int) -> int:
        """An unsigned number; ValueError beyond the end."""
        found = self.cut(at, length)
        if len(found) != length:
            raise ValueError("section")
        return int.from_bytes(found, "little")

    def places(self, wanted: bytes, most: int) -> list[int]:
        """The places of these bytes, at most `most`."""
        found: list[int] = []
        at = self.data.find(wanted, self.start, self.start + self.size)
        while at >= 0 and len(found) < most:
            found.append(at - self.start)
            at = self.data.find(wanted, at + 1, self.start + self.size)
        return found

    def text(self, at: int) -> str:
        """A text that ends with a zero."""
        end = self.data.find(b"\0", self.start + at, self.start + self.size)
        return self.cut(at, min(end - self.start - at, _LONGEST_TEXT)).decode("utf-8", "replace")


class Elf:
    """One file. ELFError or OSError if it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = ELFFile(path.open("rb"))
        self.loads = [
            (s["p_vaddr"], s["p_memsz"], s["p_offset"], s["p_filesz"])
            for s in self._file.iter_segments()
            if s["p_type"] == "PT_LOAD"
        ]
        self.machine: str = self._file["e_machine"]
        self.built_at = path.stat().st_mtime

    @cached_property
    def static(self) -> bool:
        """Whether the file is a program that needs no loader, because the libraries are in it."""
        if any(segment["p_type"] == "PT_INTERP" for segment in self._file.iter_segments()):
            return False
        return self._file["e_type"] == "ET_EXEC" or bool(self._flags & _IS_PROGRAM)

    @property
    def _flags(self) -> int:
        section = self._file.get_section_by_name(".dynamic")
        if isinstance(section, DynamicSection):
            for tag in section.iter_tags("DT_FLAGS_1"):
                return int(tag["d_val"])
        return 0

    @cached_property
    def described(self) -> bool:
        """Whether the file has debug information."""
        return self._file.get_section_by_name(".debug_info") is not None

    def section(self, name: str) -> Section | None:
        """A section by its name; None if there is none, or if it is too large to unpack."""
        found = self._file.get_section_by_name(name)
        if found is None or found["sh_type"] == "SHT_NOBITS":
            return None
        if found.compressed:
            whole = found.data() if found.data_size <= _MOST_UNPACKED else b""
            return Section(whole, 0, len(whole))
        at = found["sh_offset"]
        return Section(self._mapped, at, max(0, min(found["sh_size"], len(self._mapped) - at)))

    def addresses(self, name: str) -> tuple[int, int] | None:
        """The begin and end of a section in memory; None if there is none."""
        found = self._file.get_section_by_name(name)
        return (found["sh_addr"], found["sh_addr"] + found["sh_size"]) if found else None

    @cached_property
    def _mapped(self) -> mmap:
        return mmap(self._file.stream.fileno(), 0, access=ACCESS_READ)

    @cached_property
    def build_id(self) -> str:
        """The build-id in hexadecimal digits; empty if there is none."""
        for section in self._file.iter_sections():
            if isinstance(section, NoteSection):
                for note in section.iter_notes():
                    if note["n_type"] == "NT_GNU_BUILD_ID":
                        return str(note["n_desc"])
        return ""

    def bias(self, low: int, offset: int) -> int | None:
        """The difference between memory and file addresses if the part at `offset` is mapped at
        `low`."""
        for address, _, at, size in self.loads:
            begin = at - at % _PAGE
            if begin <= offset < max(at + size, begin + 1):
                return int(low - (address - address % _PAGE) - (offset - begin))
        return None

    def holds(self, address: int) -> bool:
        """Whether an address of the file lies in one of its segments, including .bss."""
        return any(low <= address < low + size for low, size, _, _ in self.loads)

    def code(self, address: int, before: int, after: int) -> tuple[int, bytes]:
        """The address of the first byte, and bytes around an address."""
        for low, _, at, size in self.loads:
            if low <= address < low + size:
                first = max(low, address - before)
                last = min(low + size, address + after)
                self._file.stream.seek(at + first - low)
                return first, self._file.stream.read(last - first)
        return address, b""

    def called(self, address: int) -> int | None:
        """The function that the instruction before an address calls, if the instruction names
        it."""
        first, code = self.code(address, _CALL, 0)
        if self.machine != "EM_X86_64" or len(code) != _CALL or code[0] != _CALL_NEAR:
            return None
        return first + _CALL + int.from_bytes(code[1:], "little", signed=True)

    @cached_property
    def _symbols(self) -> list[tuple[int, int, str, bool]]:
        found = {}
        for section in self._file.iter_sections():
            if not isinstance(section, SymbolTableSection):
                continue
            for symbol in section.iter_symbols():
                kind = symbol["st_info"]["type"]
                if kind in ("STT_OBJECT", "STT_FUNC", "STT_GNU_IFUNC") and symbol["st_value"]:
                    data = kind == "STT_OBJECT"
                    key = (symbol["st_value"], data)
                    strong = symbol["st_info"]["bind"] == "STB_GLOBAL"
                    if key not in found or strong:
                        found[key] = (*key, symbol["st_size"], symbol.name)
        return sorted((a, size, name, data) for a, data, size, name in found.values())

    @cached_property
    def functions(self) -> list[tuple[int, int, str]]:
        """The address, size and name of each function with a symbol."""
        return [(a, size, name) for a, size, name, data in self._symbols if not data]

    def exported(self, name: str) -> set[int]:
        """The addresses of the functions with this name, which may have versions."""
        return {a for a, _, each in self.functions if each == name}

    def has_both(self, name: str, other: str) -> bool:
        """Whether two exported names belong to one function."""
        table = self._file.get_section_by_name(".dynsym")
        if not isinstance(table, SymbolTableSection):
            return False
        found = [
            {each["st_value"] for each in table.get_symbol_by_name(one) or ()}
            for one in (name, other)
        ]
        return bool(found[0] & found[1])

    @cached_property
    def _data(self) -> list[tuple[int, int, str]]:
        return [(a, size, name) for a, size, name, data in self._symbols if data]

    def datum(self, address: int) -> tuple[str, int, int] | None:
        """Name, address and size of the object that contains an address, not of one that only lies
        near."""
        at = bisect.bisect_right(self._data, address, key=lambda each: each[0]) - 1
        if at < 0:
            return None
        low, size, name = self._data[at]
        return (name, low, size) if address < low + max(size, 1) else None


def opened(paths: Iterable[Path], build_id: str) -> Elf | None:
    """The first file that is readable and of this build; of any build if `build_id` is empty."""
    for path in paths:
        try:
            elf = Elf(path)
            if not build_id or elf.build_id == build_id:
                return elf
        except (OSError, ELFError, ValueError, KeyError, AssertionError):
            continue
    return None


def debug_paths(path: str, build_id: str) -> list[Path]:
    """The possible paths of the separate debug information of a file."""
    own = Path(path)
    found = []
    if len(build_id) > 2:
        found.append(_DEBUG / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug")
    names = (f"{own.name}.debug", own.name)
    found += [own.parent / ".debug" / name for name in names]
    found += [own.parent / names[0], _DEBUG / str(own.parent).lstrip("/") / names[0]]
    return found

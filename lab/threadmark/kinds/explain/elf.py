"""A mapped file as it lies on the disk: its segments, data symbols and bytes of code."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

_DEBUG = Path("/usr/lib/debug")
_PAGE = 4096


class Elf:
    """One file. ELFError or OSError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = ELFFile(path.open("rb"))
        self.loads = [
            (s["p_vaddr"], s["p_memsz"], s["p_offset"], s["p_filesz"])
            for s in self._file.iter_segments()
            if s["p_type"] == "PT_LOAD"
        ]
        self.machine: str = self._file["e_machine"]

    @cached_property
    def build_id(self) -> str:
        """In hexadecimal digits; empty if it has none."""
        for section in self._file.iter_sections():
            if isinstance(section, NoteSection):
                for note in section.iter_notes():
                    if note["n_type"] == "NT_GNU_BUILD_ID":
                        return str(note["n_desc"])
        return ""

    def bias(self, low: int, offset: int) -> int | None:
        """What is added to addresses of the file where the part at `offset` is mapped at `low`."""
        for address, _, at, size in self.loads:
            begin = at - at % _PAGE
            if begin <= offset < max(at + size, begin + 1):
                return int(low - (address - address % _PAGE) - (offset - begin))
        return None

    def holds(self, address: int) -> bool:
        """Whether an address of the file lies in a segment of it, .bss too."""
        return any(low <= address < low + size for low, size, _, _ in self.loads)

    def code(self, address: int, before: int, after: int) -> tuple[int, bytes]:
        """The address of the first byte, and bytes round an address."""
        for low, _, at, size in self.loads:
            if low <= address < low + size:
                first = max(low, address - before)
                last = min(low + size, address + after)
                self._file.stream.seek(at + first - low)
                return first, self._file.stream.read(last - first)
        return address, b""

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
    def _data(self) -> list[tuple[int, int, str]]:
        return [(a, size, name) for a, size, name, data in self._symbols if data]

    def datum(self, address: int) -> tuple[str, int, int] | None:
        """Name, address and size of the object at an address; none that only lies near."""
        at = bisect.bisect_right(self._data, address, key=lambda each: each[0]) - 1
        if at < 0:
            return None
        low, size, name = self._data[at]
        return (name, low, size) if address < low + max(size, 1) else None

    @property
    def dwarf(self) -> ELFFile:
        """For its debug information."""
        return self._file


def opened(paths: Iterable[Path], build_id: str) -> Elf | None:
    """The first file that is readable and of this build; any build where none is known."""
    for path in paths:
        try:
            elf = Elf(path)
            if not build_id or elf.build_id == build_id:
                return elf
        except (OSError, ELFError, ValueError, KeyError, AssertionError):
            continue
    return None


def debug_paths(path: str, build_id: str) -> list[Path]:
    """Where the separate debug information of a file may lie."""
    own = Path(path)
    found = []
    if len(build_id) > 2:
        found.append(_DEBUG / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug")
    names = (f"{own.name}.debug", own.name)
    found += [own.parent / ".debug" / name for name in names]
    found += [own.parent / names[0], _DEBUG / str(own.parent).lstrip("/") / names[0]]
    return found

"""Addresses of a record as functions, lines and objects, from the files of this machine.

Functions, inlined ones and lines come from symbolic, objects from ELF symbol tables and debug
information by pyelftools, names from the C++ run time's own demangler by cxxfilt.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadmark.kinds.explain import instructions, members
from threadmark.kinds.explain.analysis.frames import Frame, plain_name
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.recording import Module, Recording
from threadmark.kinds.explain.elf import Elf, debug_paths, opened

if TYPE_CHECKING:
    from symbolic.symcache import SymCache

_LIBRARIES = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/", "/lib32/")
_BORDERS = ("_init", "_fini")  # all that a stripped file has before code without names
_AROUND = 96  # bytes of code that are looked at on each side of a sample


@lru_cache(maxsize=1 << 16)
def demangled(name: str) -> str:
    """As C++ writes it; other names as they are."""
    import cxxfilt

    if not name.startswith(("_Z", "__Z")):
        return name
    try:
        return str(cxxfilt.demangle(name))
    except (cxxfilt.Error, cxxfilt.LibraryNotFound, OSError):
        return name


class File:
    """What is known of one mapped file."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.name = Path(module.path).name or "[anonymous]"
        self.own = not module.path.startswith((*_LIBRARIES, "[")) and bool(module.path)
        mapped = Path(module.path) if module.path.startswith("/") else None
        self.elf = opened([mapped] if mapped else [], module.build_id)
        apart = opened(debug_paths(module.path, module.build_id), module.build_id or "-")
        self.debug = apart or self.elf
        self._lines: Any = _lines(apart) or _lines(self.elf)

    @property
    def changed(self) -> bool:
        """Whether the file is no longer, or not here, what was recorded."""
        return self.elf is None and self.module.path.startswith("/")

    def functions(self, address: int) -> tuple[Frame, ...]:
        """The functions at an address, innermost first."""
        located = f"{self.name}+{address:#x}"
        found = self._lines.lookup(address) if self._lines and address >= 0 else []
        frames = [
            Frame(
                plain_name(demangled(each.symbol)),
                f"{Path(each.full_path).name}:{each.line}" if each.full_path else located,
                self.name,
                self.own,
            )
            for each in found
            if each.symbol and each.symbol not in _BORDERS
        ]
        return tuple(frames) or (Frame(located, located, self.name, self.own),)

    @property
    def bias(self) -> int | None:
        """Absolute address less address in the file."""
        if self.module.bias is not None or self.elf is None:
            return self.module.bias
        return self.elf.bias(self.module.low, self.module.offset)

    def datum(self, address: int) -> tuple[str, str] | None:
        """Name and place of the object or member at an address of the file."""
        for elf in filter(None, (self.debug, self.elf)):
            found = elf.datum(address)
            if found:
                name, low, _ = found
                shown = plain_name(demangled(name))
                known = members.of(elf, low, address - low) if self.own else None
                if known and known.members:
                    return f"{shown}{known.members}", known.where
                offset = "" if address == low or known else f"+{address - low}"
                where = known.where if known else f"{self.name}+{address:#x}"
                return f"{shown}{offset}", where
        return None


def _lines(elf: Elf | None) -> SymCache | None:
    from symbolic.debuginfo import Archive
    from symbolic.exceptions import SymbolicError

    if elf is None:
        return None
    try:
        for each in Archive.open(str(elf.path)).iter_objects():
            return each.make_symcache()
    except (SymbolicError, OSError):
        pass
    return None


class Symbols:
    """The symbols of one record."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._files: dict[tuple[str, str], File] = {}
        self.file = cache(self._file)
        self.frames = cache(self._frames)
        self.datum = cache(self._datum)
        self.operand = cache(self._operand)

    def _file(self, number: int) -> File | None:
        module = self._recording.modules.get(number)
        if module is None:
            return None
        # A file has several mappings; its symbols are read once.
        key = (module.path, module.build_id)
        if key not in self._files:
            self._files[key] = File(module)
        return self._files[key]

    def _frames(self, stack: int, exact: bool = False) -> tuple[Frame, ...]:
        """A stack, innermost first. All but the first address of an `exact` one are returns, which
        lie behind the call."""
        found: list[Frame] = []
        exact = exact or stack in self._recording.exact
        for depth, (module, address) in enumerate(self._recording.stacks.get(stack, ())):
            file = self.file(module)
            call = address if exact and depth == 0 else address - 1
            if file is None:
                found.append(Frame(f"{address:#x}", f"{address:#x}"))
            else:
                found += file.functions(call)
        return tuple(found)

    def _datum(self, module: int, address: int) -> tuple[str, str] | None:
        """Name and place of the object at an address of a module; module 0: an absolute one."""
        if module:
            file = self.file(module)
            return file.datum(address) if file else None
        for number in self._recording.modules:
            file = self.file(number)
            if file and file.elf and file.bias is not None:
                inside = address - file.bias
                if file.elf.holds(inside):
                    return file.datum(inside)
        return None

    def _operand(self, module: int, address: int) -> Operand | None:
        """Of the instruction before an address."""
        file = self.file(module)
        if file is None or file.elf is None or file.elf.machine != "EM_X86_64":
            return None
        first, code = file.elf.code(address, _AROUND, _AROUND)
        return instructions.operand(code, first, address, file.bias) if code else None

    def limits(self) -> list[str]:
        """What could not be named, in sentences."""
        changed = sorted({f.name for f in self._files.values() if f.changed})
        if not changed:
            return []
        return [
            f"{', '.join(changed[:5])}: the file is not here as it was recorded, so its functions "
            "have no names."
        ]

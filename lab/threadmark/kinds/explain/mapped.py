"""One mapped file: functions, lines and objects at its addresses.

Functions, inlined ones and lines come from symbolic, objects from ELF symbol tables and debug
information by pyelftools, names from the C++ run time's own demangler by cxxfilt. If the file is
not on this machine, the record's own symbols and code of it give functions and objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadmark.kinds.explain import members
from threadmark.kinds.explain.analysis.frames import (
    AGENT,
    Frame,
    closure_in,
    is_glue,
    plain_name,
    takes_a_lock,
)
from threadmark.kinds.explain.analysis.recording import Module
from threadmark.kinds.explain.carried import Carried
from threadmark.kinds.explain.demangling import demangled
from threadmark.kinds.explain.dwarf import ODD, dwarf_of
from threadmark.kinds.explain.dwarf_scopes import Level, functions_at, level
from threadmark.kinds.explain.elf import Elf, debug_paths, opened
from threadmark.kinds.explain.imports import Imports
from threadmark.kinds.explain.unnamed import C_LIBRARY, Unnamed

if TYPE_CHECKING:
    from symbolic.symcache import SymCache

_LIBRARIES = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/", "/lib32/")
_NEAR = 96  # bytes of code around a place
_HEADERS = "/include/c++/"  # in the path of each header of the standard library
_BORDERS = ("_init", "_fini")  # the only names before code in a stripped file
_LIBRARY_NAMESPACES = ("std::", "__gnu_cxx::", "__cxxabiv1::", "operator new", "operator delete")


class File:
    """One mapped file."""

    def __init__(self, module: Module, carried: Carried | None = None) -> None:
        self.module = module
        self.name = Path(module.path).name or "[anonymous]"
        foreign = module.path.startswith((*_LIBRARIES, "[")) or self.name.startswith(AGENT)
        self.own = bool(module.path) and not foreign
        mapped = Path(module.path) if module.path.startswith("/") else None
        self.elf = opened([mapped] if mapped else [], module.build_id)
        if self.elf and carried and not module.build_id and not carried.is_of(self.elf):
            self.elf = None
        self.carried = carried if carried and self.elf is None else Carried()
        apart = opened(debug_paths(module.path, module.build_id), module.build_id or "-")
        self.debug = apart or self.elf
        self._aliases: dict[str, str] = {}
        self._imports = Imports(self.elf) if self.elf else None
        self._unnamed = (
            Unnamed(self.elf, self._imports)
            if self.elf and self._imports and C_LIBRARY.match(self.name)
            else None
        )
        self._lines: Any = _lines(apart) or _lines(self.elf)
        # Addresses of a symcache count from the first segment, which is far from 0 in a program
        # that is linked for a fixed address.
        self._first = self.elf.loads[0][0] if self.elf and self.elf.loads else 0
        # A static program has the C library in it. Its own functions are those with debug
        # information. If there is none, they are the functions of C++, because the C library has
        # none of these.
        self._mixed = self.own and self.elf is not None and self.elf.static
        self._dwarf = dwarf_of(self.debug) if self.own and self.debug else None
        self._described = self.debug is not None and self.debug.described

    @property
    def changed(self) -> bool:
        """Whether the file differs from the recorded file, or is not on this machine."""
        return self.elf is None and self.module.path.startswith("/")

    def functions(self, address: int) -> tuple[Frame, ...]:
        """The functions at an address, innermost first."""
        located = f"{self.name}+{address:#x}"
        frames = []
        known = self._found(address)
        for each, name in zip(known, self._names(known, address), strict=True):
            if each.symbol and each.symbol not in _BORDERS:
                where = f"{Path(each.full_path).name}:{each.line}" if each.full_path else located
                own = self.own and not (self._mixed and self._is_library(each))
                frames.append(Frame(name if own else self._public(name), where, self.name, own))
        if frames and not self._described:
            maker, closure = closure_in(demangled(known[-1].symbol))
            if maker.startswith("std::"):
                frames.append(Frame(maker, located, self.name, self.own))
            elif maker and is_glue(frames[-1]):  # the lambda that it calls is inlined
                body = f"{maker}::{closure}::operator()"
                frames.insert(len(frames) - 1, Frame(body, located, self.name, self.own))
        return tuple(frames) or (self._without_name(address, located),)

    def _without_name(self, address: int, located: str) -> Frame:
        """A function of a stripped file, named by its beginning: all places in it have one name."""
        begin = self._imports.begin(address) if self._imports else None
        name = located if begin is None else f"{self.name}+{begin:#x}"
        known = self._unnamed.name(address) if self._unnamed else ""
        return Frame(known or name, located, self.name, self.own)

    def _names(self, found: list[Any], address: int) -> list[str]:
        """The names of functions. g++ gives an inlined function with internal linkage no linker's
        name; only the debug information has its containers."""
        names = [plain_name(demangled(each.symbol or "")) for each in found]
        if self._dwarf is None or all(each.symbol[:2] == "_Z" for each in found[:-1]):
            return names
        try:
            full = functions_at(self._dwarf, address)
        except ODD:
            full = []
        if len(full) == len(names):
            for number, (each, whole) in enumerate(zip(found, full, strict=True)):
                longer = plain_name(whole)
                if each.symbol[:2] != "_Z" and longer.endswith(f"::{names[number]}"):
                    names[number] = longer
        # Minimal debug information (-g1) does not have them; the header tells the owner of the
        # function.
        return [
            f"std::{name}" if "::" not in name and _HEADERS in each.full_path else name
            for each, name in zip(found, names, strict=True)
        ]

    def _public(self, name: str) -> str:
        """The name by which programs call a function of the C library: write, not __write."""
        if not name.startswith("__") or self.elf is None:
            return name
        if name not in self._aliases:
            self._aliases[name] = name[2:] if self.elf.has_both(name, name[2:]) else name
        return self._aliases[name]

    def _found(self, address: int) -> list[Any]:
        if self.elf is None:
            symbol = self.carried.function(address)
            return [_Found(symbol.name, symbol.address)] if symbol else []
        inside = address - self._first
        return list(self._lines.lookup(inside)) if self._lines and inside >= 0 else []

    def _is_library(self, found: Any) -> bool:
        if self._described:
            return not found.full_path
        plain = plain_name(demangled(found.symbol))
        foreign = not found.symbol.startswith("_Z") or plain.startswith(_LIBRARY_NAMESPACES)
        return foreign and plain != "main"

    def between(self, address: int, inner: tuple[File, int] | None) -> tuple[Frame, ...]:
        """The function of this file that the call before `address` calls, if it did not return but
        jumped to the function at `inner`: a call as the last step of a function leaves no frame of
        that function. Without `inner` the stack begins behind that call."""
        target = self.elf.called(address) if self.elf else None
        if target is None or not self._begins(target):
            return ()
        missing = self.functions(target)[-1:]
        if inner is None or inner[0].name.startswith(AGENT):
            # A function that jumps to a locking function never holds the lock: its caller does.
            names = {missing[0].name, *self.near(target)}
            return () if any(map(takes_a_lock, names)) else missing
        if inner[0] is not self:
            return missing
        found = self._found(inner[1])
        begun = found[-1].sym_addr + self._first if found else None
        if begun is None or begun == target:
            return ()
        same = missing[0].name == plain_name(demangled(found[-1].symbol))  # a part of it
        return () if same else missing

    def called(self, address: int, inner: tuple[File, int] | None) -> tuple[Frame, ...]:
        """The function of another file that the call before `address` calls, if it jumped on to the
        function at `inner`, or if that file does not name it. Without `inner` the stack begins
        behind that call, which is known to be a call of the C++ library."""
        name = self._imports.called(address) if self._imports else ""
        if not name or (inner is None and not name.startswith("_ZNSt")):
            return ()
        shown = plain_name(demangled(name))
        module = "" if inner is None or inner[0].name.startswith(AGENT) else inner[0].name
        if inner is not None:
            file, at = inner
            if file.functions(at)[-1].name == shown or file._is_same(name, at):
                return ()
        return (Frame(shown, f"{self.name}+{address:#x}", module, own=False),)

    def _is_same(self, name: str, address: int) -> bool:
        """Whether a symbol is another name of the function at an address."""
        found = self._found(address)
        begun = found[-1].sym_addr + self._first if found else None
        return begun is not None and self.elf is not None and begun in self.elf.exported(name)

    def near(self, address: int, around: int = _NEAR) -> frozenset[str]:
        """Functions and objects of other files that the code around an address refers to."""
        names = self._imports.near(address, around) if self._imports else ()
        return frozenset(plain_name(demangled(each)) for each in names)

    def _begins(self, address: int) -> bool:
        found = self._found(address)
        return bool(found) and bool(found[-1].sym_addr + self._first == address)

    def level(self, address: int) -> Level | None:
        """The functions at an address with their debug information; None for those of a library."""
        if not self.own or self._dwarf is None:
            return None
        found = self._found(address)
        try:
            at = (found[0].full_path or "", found[0].line) if found else ("", 0)
            return level(self._dwarf, address, at)
        except ODD:
            return None

    @property
    def bias(self) -> int | None:
        """Absolute address less address in the file."""
        if self.module.bias is not None or self.elf is None:
            return self.module.bias
        return self.elf.bias(self.module.low, self.module.offset)

    def datum(self, address: int) -> tuple[str, str] | None:
        """Name and place of the object or member at an address of the file."""
        sources: tuple[Elf | Carried | None, ...] = (self.debug, self.elf, self.carried)
        for source in sources:
            found = source.datum(address) if source else None
            if source and found:
                name, low, _ = found
                shown = plain_name(demangled(name))
                known = None
                if self.own and isinstance(source, Elf):
                    known = members.of(source, low, address - low)
                if known and known.members:
                    return f"{shown}{known.members}", known.where
                offset = "" if address == low or known else f"+{address - low}"
                where = known.where if known else f"{self.name}+{address:#x}"
                return f"{shown}{offset}", where
        return None


@dataclass(frozen=True)
class _Found:
    """A function in the form of symbolic, with only its symbol."""

    symbol: str
    sym_addr: int
    full_path: str = ""
    line: int = 0


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

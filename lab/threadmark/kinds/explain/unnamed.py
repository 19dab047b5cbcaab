"""Names for functions of the C library that has no symbols for them, by their code.

A distribution's C library names only the functions that other files call. The waits and wake-ups
of its locks lie in functions beneath these. Their system calls, calls and jumps show what they do.
For x86-64 only.
"""

from __future__ import annotations

import re
from functools import cache, cached_property

from threadmark.kinds.explain.decoding import decoder
from threadmark.kinds.explain.elf import Elf
from threadmark.kinds.explain.imports import Imports

C_LIBRARY = re.compile(r"lib(c|pthread)[.-]")
_FUTEX = "eax, 0xca"  # the number of the system call
_OPERATIONS = {0x80: "wait", 0x81: "wake", 0x89: "wait", 0x189: "wait"}  # as glibc passes them
_NUMBER = re.compile(r"\w+, (0x[0-9a-f]+)")  # of a register
_PASSES_ON = re.compile(r"_*(pthread|sem)_\w+")  # functions that may end in one without a name
_WAITS = ("pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait")
_RELOCK = "__pthread_mutex_cond_lock"
_LOCK_WAIT = "__lll_lock_wait"
_LONGEST = 8192  # bytes of a function

Instruction = tuple[int, int, str, str]  # address, length, mnemonic and operands


class Unnamed:
    """The functions without names of one C library."""

    def __init__(self, elf: Elf, imports: Imports) -> None:
        self._elf = elf
        self._imports = imports
        self.name = cache(self._name)

    def _name(self, address: int) -> str:
        """A name of glibc's, or of the exported function that the function at an address belongs
        to; empty if the code does not show one."""
        begin, _ = self._imports.function(address)
        if begin in self._parts:
            return self._parts[begin]
        code = self._function(begin)
        if begin in self._awaiting and any(map(self._waits_for_lock, _targets(code, "call"))):
            return _RELOCK
        return _of_futex(code, address)

    @cached_property
    def _parts(self) -> dict[int, str]:
        """The functions in which an exported function ends, with its name."""
        found: dict[int, str] = {}
        named = {begin for begin, _, _ in self._elf.functions}
        for begin, size, name in self._elf.functions:
            if _PASSES_ON.fullmatch(name):
                end = begin + size
                for target in _targets(self._code(begin, end), "j"):
                    if target not in named and not begin <= target < end:
                        shown = name.lstrip("_")
                        found[target] = min(shown, found.get(target, shown), key=len)
        return {each: name for each, name in found.items() if self._begins(each)}

    @cached_property
    def _awaiting(self) -> frozenset[int]:
        """The functions that a wait for a condition calls."""
        waits = [(at, at + size) for at, size, name in self._elf.functions if name in _WAITS]
        return frozenset(t for each in waits for t in _targets(self._code(*each), "call"))

    def _waits_for_lock(self, begin: int) -> bool:
        return self._begins(begin) and _of_futex(self._function(begin), begin) == _LOCK_WAIT

    def _begins(self, address: int) -> bool:
        return self._imports.begin(address) == address

    def _function(self, begin: int) -> list[Instruction]:
        return self._code(*self._imports.function(begin))

    def _code(self, begin: int, end: int) -> list[Instruction]:
        if self._elf.machine != "EM_X86_64":
            return []
        _, code = self._elf.code(begin, 0, min(end - begin, _LONGEST))
        return list(decoder().disasm_lite(code, begin))


def _targets(code: list[Instruction], kind: str) -> list[int]:
    """The functions that code calls, or to which it jumps, directly."""
    return [
        int(operands, 16)
        for _, _, mnemonic, operands in code
        if mnemonic.startswith(kind) and operands.startswith("0x")
    ]


def _of_futex(code: list[Instruction], address: int) -> str:
    """The name of a function that calls futex. If it also takes a lock or counts, only the code
    that sets up the call has that name."""
    spans = [_span(code, at) for at, each in enumerate(code) if each[2] == "syscall"]
    calls = [span for span in spans if span is not None]
    if any(mnemonic.startswith("lock") for _, _, mnemonic, _ in code):
        calls = [each for each in calls if each[0] <= address <= each[1]]
    kinds = {kind for _, _, kind in calls}
    if len(kinds) != 1:
        return ""
    exchanges = any(mnemonic == "xchg" and "[" in text for _, _, mnemonic, text in code)
    return _LOCK_WAIT if kinds == {"wait"} and exchanges else f"futex_{kinds.pop()}"


def _span(code: list[Instruction], at: int) -> tuple[int, int, str] | None:
    """Begin and end of the code that sets up the system call at a place, and its operation; None if
    it is not a futex, or of another operation."""
    kind, is_futex, begin = "", False, 0
    for address, _, mnemonic, operands in reversed(code[:at]):
        if mnemonic in ("syscall", "call") or (kind and is_futex):
            break
        if mnemonic == "mov" and operands == _FUTEX:
            is_futex, begin = True, address
        elif not kind and mnemonic in ("mov", "xor", "or"):
            number = _NUMBER.fullmatch(operands)
            kind, begin = _OPERATIONS.get(int(number[1], 16), "") if number else "", address
    return (begin, code[at][0] + code[at][1], kind) if kind and is_futex else None

"""Addresses of a record as functions, lines, objects and operands of instructions."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from threadmark.kinds.explain.after_call import REACH, word_after
from threadmark.kinds.explain.analysis.frames import Frame, with_libraries_of_thread
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.carried import Carried
from threadmark.kinds.explain.dwarf_places import Value
from threadmark.kinds.explain.instructions import (
    LONGEST,
    RETRY,
    mnemonics,
    operand,
    retried,
    text,
    text_before,
)
from threadmark.kinds.explain.lock_names import name_of_lock
from threadmark.kinds.explain.mapped import File
from threadmark.kinds.explain.next_writes import REACH as WRITES
from threadmark.kinds.explain.next_writes import written_next
from threadmark.kinds.explain.spin_loops import APART, PAUSE

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOKED_AT = 12  # frames of a stack from the innermost
_REGISTERS = (  # in DWARF's order, x86-64
    *("ax", "dx", "cx", "bx", "si", "di", "bp", "sp"),
    *(f"r{number}" for number in range(8, 16)),
)
_AROUND = 96  # bytes of code on each side of a sample
_NEAR = 256  # such bytes that refer to the same object: a branch that is seldom taken lies apart
_ALIKE = 4  # instructions that show what code does


def _is_of_program(frame: Frame) -> bool:
    return frame.own and not frame.name.startswith(("std::", "__gthr", "call_once", "operator "))


class Symbols:
    """The symbols of one record."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._files: dict[tuple[str, str], File] = {}
        self._numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
        for number, module in recording.modules.items():
            self._numbers[module.path, module.build_id].add(number)
        self._made = Carried(tuple(each for each in recording.symbols if each.module == 0))
        self.file = cache(self._file)
        self.frames = cache(self._frames)
        self.datum = cache(self._datum)
        self.member_at_call = cache(self._member_at_call)
        self.operand = cache(self._operand)
        self.written_next = cache(self._written_next)
        self.near = cache(self._near)
        self.doing = cache(self._doing)
        self.retried = cache(self._retried)

    def _file(self, number: int) -> File | None:
        module = self._recording.modules.get(number)
        if module is None:
            return None
        # A file has several mappings; its symbols are read once.
        key = (module.path, module.build_id)
        if key not in self._files:
            numbers = self._numbers[key]
            found = self._recording
            self._files[key] = File(
                module,
                Carried(
                    tuple(each for each in found.symbols if each.module in numbers),
                    tuple(each for each in found.code if each.module in numbers),
                ),
            )
        return self._files[key]

    def _frames(self, stack: int, exact: bool = False) -> tuple[Frame, ...]:
        """A stack, innermost first. All but the first address of an `exact` stack are return
        addresses, which lie behind the call."""
        found: list[Frame] = []
        inner: tuple[File, int] | None = None
        for file, address, call in self._calls(stack, exact):
            if file is None:  # code that was made at run time
                made = self._made.function(call)
                name = made.name if made else f"{address:#x}"
                found.append(Frame(name, f"{address:#x}", own=made is not None))
                inner = None
                continue
            if address != call and (inner or not found):
                found += file.between(address, inner)
                if inner is None or inner[0] is not file:
                    found += file.called(address, inner)
            found += file.functions(call)
            inner = file, call
        return with_libraries_of_thread(found)

    def _calls(self, stack: int, exact: bool) -> Iterator[tuple[File | None, int, int]]:
        """The frames of a stack: their files, addresses, and addresses inside the calls."""
        exact = exact or stack in self._recording.exact
        for depth, (module, address) in enumerate(self._recording.stacks.get(stack, ())):
            call = address if exact and depth == 0 else address - 1
            yield self.file(module), address, call

    def _datum(self, module: int, address: int) -> tuple[str, str] | None:
        """Name and place of the object at an address of a module; module 0: an absolute address."""
        if module:
            file = self.file(module)
            return file.datum(address) if file else None
        for number in self._recording.modules:
            file = self.file(number)
            if file and file.bias is not None:
                inside = address - file.bias
                if (file.elf or file.carried).holds(inside):
                    return file.datum(inside)
        return None

    def _member_at_call(self, stack: int, kind: str, region: str = "") -> tuple[str, str] | None:
        """Name and place of the object that a stack waits for or holds, from the debug information
        of the functions on it; `kind`: the activity or the kind of object; `region`: its memory."""
        calls = list(islice(self._calls(stack, exact=False), _LOOKED_AT))
        written = self._written(stack)
        if written is not None:  # a sample lies behind the instruction that it stands for
            calls[0] = (calls[0][0], calls[0][1], calls[0][1] - 1)
        levels = [file.level(call) if file else None for file, _, call in calls]
        frames = self.frames(stack)
        own = next((n for n, f in enumerate(frames) if _is_of_program(f)), len(frames))
        called = [each.name for each in frames[: min(own, 2 * _LOOKED_AT)]]

        def datum(number: int, address: int) -> tuple[str, str] | None:
            file = calls[number][0]
            return file.datum(address) if file else None

        found = name_of_lock(levels, kind, called, datum, region, written)
        return (found.name, found.where) if found else None

    def _written(self, stack: int) -> Value | None:
        """The target of the atomic instruction behind which a sampled stack stopped."""
        frames = self._recording.stacks.get(stack, ())
        operand = self.operand(*frames[0]) if frames and stack in self._recording.exact else None
        if operand is None or operand.loops or operand.index or operand.base not in _REGISTERS:
            return None
        return Value(("register", _REGISTERS.index(operand.base)), operand.offset)

    def _operand(self, module: int, address: int) -> Operand | None:
        """The operand of the instruction before an address."""
        file = self.file(module)
        if file is None:
            return None
        pauses = self._code(file, address, len(PAUSE), 0)[1] == PAUSE
        around = APART if pauses else _AROUND
        first, code = self._code(file, address, around, around)
        return operand(code, first, address, file.bias, own=file.own) if code else None

    def _written_next(self, module: int, address: int) -> tuple[Operand, ...]:
        """The words that the code at an address writes before it branches."""
        file = self.file(module)
        if file is None:
            return ()
        return written_next(self._code(file, address, 0, WRITES)[1], address, file.bias)

    def _retried(self, module: int, address: int) -> bool:
        """Whether a failing compare-exchange repeats the program's code at an address. A library's
        loop may run tasks, which are done once."""
        file = self.file(module)
        if file is None or not file.own:
            return False
        return retried(self._code(file, address, 0, RETRY)[1], address)

    def instruction(self, module: int, address: int) -> tuple[str, str]:
        """Place and text of the instruction at an address; an unknown text is empty."""
        file = self.file(module)
        if file is None:
            return f"{address:#x}", ""
        first, code = self._code(file, address, 0, LONGEST)
        return f"{file.name}+{address:#x}", text(code, first)

    def before(self, module: int, address: int) -> str:
        """The text of the instruction that ends at an address."""
        file = self.file(module)
        if file is None:
            return ""
        first, code = self._code(file, address, _AROUND, 0)
        return text_before(code, first)

    def awaited(self, stack: int) -> tuple[str, str] | None:
        """Name and place of the object that the innermost code of the program in a stack reads when
        the function that it calls returns."""
        for number, address in self._recording.stacks.get(stack, ()):
            file = self.file(number)
            if file is None or file.own:
                first, code = self._code(file, address, REACH, REACH) if file else (0, b"")
                word = word_after(code, first, address, 0)
                return file.datum(word) if file and word is not None else None
        return None

    def _near(self, stack: int, reach: int = _NEAR) -> frozenset[str]:
        """The names in libraries that the innermost code of the program in a stack refers to."""
        for file, _, call in self._calls(stack, exact=False):
            if file is None or file.own:
                return file.near(call, reach) if file else frozenset()
        return frozenset()

    def _doing(self, stack: int) -> tuple[str, ...]:
        """The next instructions of the innermost code of the program in a stack, without operands,
        which differ between copies of one function. Empty if they are not known."""
        for number, address in self._recording.stacks.get(stack, ()):
            file = self.file(number)
            if file is not None and file.own:
                return mnemonics(self._code(file, address, 0, _ALIKE * LONGEST)[1], _ALIKE)
        return ()

    @staticmethod
    def _code(file: File, address: int, before: int, after: int) -> tuple[int, bytes]:
        """The code around an address, for x86-64 and if it is known."""
        if file.elf and file.elf.machine != "EM_X86_64":
            return address, b""
        return (file.elf or file.carried).code(address, before, after)

    def limits(self) -> list[str]:
        """The failures to find names, in sentences."""
        changed = sorted({f.name for f in self._files.values() if f.changed})
        if not changed:
            return []
        return [
            f"{', '.join(changed[:5])}: the file is not here as it was recorded, so its functions "
            "have only the names that the record has, and no lines."
        ]

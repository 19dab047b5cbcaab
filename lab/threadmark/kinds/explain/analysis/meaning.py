"""The meaning of addresses for the analysis: names, objects, instructions and known libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from threadmark.kinds.explain.analysis.frames import (
    Frame,
    has_name,
    is_beneath,
    is_glue,
    is_of_library,
    is_template,
    is_with_line,
    without_wrappers,
)
from threadmark.kinds.explain.analysis.pieces import Piece, Pieces

_WRAPPERS = 4  # frames of a lock and of the agent
_OUTLINED = re.compile(r"_omp_fn|omp_outlined")  # compilers' names of a region
_LOOKED_AT = 12  # frames from the innermost; outer ones did not cause the wait


@dataclass(frozen=True)
class Operand:
    """The place that an instruction reads or writes: a constant plus registers. `loops`: a short
    loop that only waits. `plain`: an instruction that is not atomic."""

    base: str = ""
    index: str = ""
    scale: int = 1
    offset: int = 0
    absolute: int | None = None  # an address that needs no register
    loops: bool = False
    plain: bool = False
    writes: bool = False  # a plain one
    exchanges: bool = False  # an atomic instruction that may fail and be tried again
    counts: bool = False  # a plain loop that reads one word and counts meanwhile


class Names(Protocol):
    """The symbols of a record."""

    def frames(self, stack: int, exact: bool = False) -> tuple[Frame, ...]:
        """A stack, innermost first, with inlined functions."""

    def datum(self, module: int, address: int) -> tuple[str, str] | None:
        """Name and place of the object at an address of a module; module 0: an absolute address."""

    def member_at_call(self, stack: int, kind: str, region: str = "") -> tuple[str, str] | None:
        """Name and place of the object that a stack waits for or holds, from the debug information
        of its functions. `kind`: the activity, or the kind of object. `region`: the memory of the
        object."""

    def operand(self, module: int, address: int) -> Operand | None:
        """The operand of the instruction before an address, or of the loop that waits there."""

    def written_next(self, module: int, address: int) -> tuple[Operand, ...]:
        """The words that the code at an address writes before it branches."""

    def retried(self, module: int, address: int) -> bool:
        """Whether a failing compare-exchange repeats the program's code at an address."""

    def instruction(self, module: int, address: int) -> tuple[str, str]:
        """Place and text of the instruction at an address; an unknown text is empty."""

    def before(self, module: int, address: int) -> str:
        """The text of the instruction that ends at an address; empty if it is not known."""

    def awaited(self, stack: int) -> tuple[str, str] | None:
        """Name and place of the object that the code reads when the innermost call in a stack
        returns."""

    def near(self, stack: int, reach: int = ...) -> frozenset[str]:
        """The names in libraries that the innermost code of the program in a stack refers to, near
        its place: at most `reach` bytes of code from it."""

    def doing(self, stack: int) -> tuple[str, ...]:
        """The next instructions of the innermost code of the program in a stack, without operands.
        Empty if they are not known."""


_NONE = Pieces(())


_INTERPRETERS = ("python", "libpython")  # the beginnings of their file names; their locks are known


@dataclass(frozen=True)
class Kind:
    """Functions of libraries that wait for, or do, one kind of thing."""

    kind: str
    frames: tuple[re.Pattern[str], ...]


@dataclass(frozen=True)
class Knowledge:
    """All knowledge of libraries."""

    wrappers: tuple[re.Pattern[str], ...] = ()
    activities: tuple[Kind, ...] = ()
    calls: tuple[Kind, ...] = ()
    futexes: tuple[Kind, ...] = ()  # functions of the C library that wait in a futex
    runtimes: tuple[str, ...] = ()  # beginnings of the files of task runtimes
    runtime_names: tuple[str, ...] = ()  # beginnings of the functions of header-only runtimes
    runtime_functions: tuple[re.Pattern[str], ...] = ()  # of runtimes in the program
    structures: tuple[re.Pattern[str], ...] = ()  # containers and locks of a runtime
    tasks: tuple[Kind, ...] = ()  # functions that make tasks
    seeks: tuple[Kind, ...] = ()  # functions that look for tasks
    seekers: tuple[str, ...] = ()  # files whose functions without a name also do
    awaits: tuple[re.Pattern[str], ...] = ()  # the callers of those
    stages: tuple[Kind, ...] = ()  # functions that call a stage of a pipeline
    locks: Pieces = _NONE  # of libraries
    words: Pieces = _NONE  # of libraries, written by atomic instructions
    code: Pieces = _NONE  # that takes long for its work
    advice: Pieces = _NONE  # remedies for the program's own objects
    remedy_of: Callable[[Piece], str] = lambda piece: piece.remedy

    def bare(self, frames: Sequence[Frame]) -> tuple[Frame, ...]:
        """A stack without the wrappers of the lock."""
        return without_wrappers(frames, self.wrappers)

    def library_part(
        self,
        frames: Sequence[Frame],
        most: int = _LOOKED_AT,
        *,
        within: Callable[[Frame], bool] = is_beneath,
    ) -> Sequence[Frame]:
        """The innermost frames before the first function that does work of its own; `within`: the
        libraries whose functions do none. Templates of the library count as the library's although
        they lie in the program, except those that call the program: its own function may be inlined
        there. A task runtime that the program brings along and an interpreter that is the program
        also count as libraries."""
        for number, frame in enumerate(frames[:most]):
            brought = self.is_runtime(frame) or frame.module.startswith(_INTERPRETERS)
            foreign = within(frame) or is_template(frame) or brought
            if is_glue(frame) or not foreign:
                return frames[:number]
        return frames[:most]

    def cause(self, frames: Sequence[Frame]) -> Piece | None:
        """The library that a lock belongs to; None for a lock of the program."""
        most = _LOOKED_AT + _WRAPPERS
        return self.locks.of_stack(self.library_part(frames, most, within=is_of_library))

    def activity(self, frames: Sequence[Frame]) -> str:
        """The thing that a call of the C library waits for, by the functions around it; empty: not
        known."""
        kind = _first(self.activities, self.library_part(frames, 2 * _LOOKED_AT))
        if not kind and self.runtimes and self.in_runtime(frames):
            return "barrier"  # threads wait for one another at the end of a loop, or for tasks
        return kind

    def in_runtime(self, frames: Sequence[Frame]) -> bool:
        """Whether the innermost code outside the program is a task runtime's."""
        return any(map(self.is_runtime, self.library_part(frames)))

    def is_lock_of_runtime(self, frames: Sequence[Frame]) -> bool:
        """Whether the stack takes or gives back a lock that a task runtime has for the program,
        such as the lock of a critical section."""
        own = [each for each in self.library_part(frames) if self.is_runtime(each)]
        return bool(own) and self.locks.of_stack(own) is not None

    def is_runtime(self, frame: Frame) -> bool:
        """Whether the frame is a function of a task runtime. A template may have the program's own
        code inlined. Line numbers tell the two apart, and so does a function that calls no task."""
        of_header = (
            frame.name.startswith(self.runtime_names)
            and is_with_line(frame)
            and not _fits(frame.name, self.structures)
        )
        its_own = of_header or frame.module.startswith(self.runtimes)
        return its_own or _fits(frame.name, self.runtime_functions)

    def in_region(self, frames: Sequence[Frame]) -> bool:
        """Whether the stack is work within a parallel region, or a task."""
        return any(self.is_runtime(each) or _OUTLINED.search(each.name) for each in frames)

    def makes_task(self, frames: Sequence[Frame]) -> bool:
        """Whether the stack makes or manages a task of a runtime."""
        return bool(_first(self.tasks, self.library_part(frames)))

    def seeks_task(self, frames: Sequence[Frame]) -> bool:
        """Whether the stack looks for a task of a runtime, or waits for a task."""
        part = self.library_part(frames)
        inside = [each for each in part if each.module.startswith(self.seekers)]
        if _first(self.seeks, part) or not inside or has_name(inside[0]):
            return bool(_first(self.seeks, part))
        caller = next(filter(has_name, inside), None)
        return caller is None or _fits(caller.name, self.awaits)

    def within_stage(self, frames: Sequence[Frame]) -> bool:
        """Whether a runtime's pipeline or graph calls the running code."""
        return bool(_first(self.stages, frames))

    def within_task(self, frames: Sequence[Frame]) -> bool:
        """Whether a runtime's function that makes or runs tasks is anywhere in the stack."""
        return bool(_first(self.tasks, frames))

    def call(self, frames: Sequence[Frame]) -> str:
        """The reason of the sleep of the innermost function, a function of the C library; empty if
        not known."""
        return _first(self.calls, [f for f in frames[:2] if not f.own])

    def futex(self, frames: Sequence[Frame]) -> str:
        """The thing that the C library waits for in a futex that the agent did not see; empty: not
        known."""
        return _first(self.futexes, self.library_part(frames))

    def atomic(self, frames: Sequence[Frame]) -> Piece | None:
        """The purpose of an atomic word."""
        return self.words.of_stack(frames[:_LOOKED_AT])

    def owner(self, names: Names, stack: int) -> Piece | None:
        """The library of a lock. If the program's code takes the lock itself, the names that the
        code refers to nearby tell the library."""
        return self.cause(names.frames(stack)) or self.locks.of_code(names.near(stack))

    def advised(self, category: str, case: str, stacks: Iterable[Sequence[Frame]]) -> Piece | None:
        """The remedy for the code that costs time in these stacks, the heaviest first."""
        if case and (found := self.advice.of_category(category, case)):
            return found
        for frames in stacks:
            if found := self.advice.of_stack(frames[: 2 * _LOOKED_AT], category):
                return found
        return self.advice.of_category(category, "")


def _first(kinds: Sequence[Kind], frames: Sequence[Frame]) -> str:
    for each in kinds:
        if any(p.fullmatch(frame.name) for frame in frames for p in each.frames):
            return each.kind
    return ""


@cache  # the functions of a record come again and again
def _fits(name: str, patterns: tuple[re.Pattern[str], ...]) -> bool:
    return any(each.fullmatch(name) for each in patterns)

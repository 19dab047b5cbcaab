"""What the analysis is told of addresses: names, objects, instructions and known libraries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from threadmark.kinds.explain.analysis.frames import (
    Frame,
    is_glue,
    is_of_library,
    is_with_line,
    without_wrappers,
)

_LOOKED_AT = 12  # frames from the innermost; what lies farther out did not cause the wait


@dataclass(frozen=True)
class Operand:
    """Where an instruction reads or writes: a constant plus registers. `loops` for a short loop
    that only waits, `plain` for an instruction that is not atomic."""

    base: str = ""
    index: str = ""
    scale: int = 1
    offset: int = 0
    absolute: int | None = None  # an address that needs no register
    loops: bool = False
    plain: bool = False
    writes: bool = False  # a plain one
    counts: bool = False  # a plain one that looks at one word in a loop and counts meanwhile


class Names(Protocol):
    """The symbols of a record."""

    def frames(self, stack: int, exact: bool = False) -> tuple[Frame, ...]:
        """A stack, innermost first, with inlined functions."""

    def datum(self, module: int, address: int) -> tuple[str, str] | None:
        """Name and place of the object at an address of a module; module 0: an absolute one."""

    def member_at_call(self, stack: int, kind: str, region: str = "") -> tuple[str, str] | None:
        """Name and place of what a stack waits for or holds, from the debug information of its
        functions; `kind`: the activity, or what the object is. `region`: where the object lies."""

    def operand(self, module: int, address: int) -> Operand | None:
        """Where the instruction before an address reads or writes, or the loop that waits there."""

    def instruction(self, module: int, address: int) -> tuple[str, str]:
        """Place and text of the instruction at an address; a text that is not known is empty."""


@dataclass(frozen=True)
class Piece:
    """One piece of knowledge: a cause that frames of a library stand for."""

    category: str
    name: str
    words: str
    frames: tuple[re.Pattern[str], ...]


@dataclass(frozen=True)
class Knowledge:
    """All of it."""

    wrappers: tuple[re.Pattern[str], ...] = ()
    activities: tuple[Piece, ...] = ()  # their category is the kind of wait
    calls: tuple[Piece, ...] = ()  # the same
    causes: tuple[Piece, ...] = ()
    atomics: tuple[Piece, ...] = ()
    runtimes: tuple[str, ...] = ()  # how the files of task runtimes begin
    runtime_names: tuple[str, ...] = ()  # how the functions begin of those that are headers
    tasks: tuple[Piece, ...] = ()  # functions that make tasks

    def bare(self, frames: Sequence[Frame]) -> tuple[Frame, ...]:
        """A stack without the wrappers of the lock."""
        return without_wrappers(frames, self.wrappers)

    def library_part(self, frames: Sequence[Frame], most: int = _LOOKED_AT) -> Sequence[Frame]:
        """The innermost frames up to the first of the program's own functions, that one left out.
        Templates of the library count as the library's although they lie in the program, but for
        those that call the program: its own function may be inlined there. So does a task runtime
        that the program brings along."""
        for number, frame in enumerate(frames[:most]):
            foreign = is_of_library(frame) or self.is_runtime(frame)
            if is_glue(frame) or not foreign:
                return frames[:number]
        return frames[:most]

    def cause(self, frames: Sequence[Frame]) -> Piece | None:
        """The library that a lock belongs to; None for one of the program."""
        return _first(self.causes, self.library_part(self.bare(frames)))

    def activity(self, frames: Sequence[Frame]) -> str:
        """What a call of the C library waits for, by the functions around it; empty: not known."""
        piece = _first(self.activities, self.library_part(frames, 2 * _LOOKED_AT))
        if piece is None and self.runtimes and self.in_runtime(frames):
            return "barrier"  # its threads wait for one another, at the end of a loop or for tasks
        return piece.category if piece else ""

    def in_runtime(self, frames: Sequence[Frame]) -> bool:
        """Whether the innermost code that is not the program's is a task runtime's."""
        return any(map(self.is_runtime, self.library_part(frames)))

    def is_runtime(self, frame: Frame) -> bool:
        """Whether it is a function of a task runtime. A template may have the program's own code
        inlined, which only lines tell from it."""
        of_header = frame.name.startswith(self.runtime_names) and is_with_line(frame)
        return of_header or frame.module.startswith(self.runtimes)

    def makes_task(self, frames: Sequence[Frame]) -> bool:
        """Whether it makes or manages a task of a runtime."""
        return _first(self.tasks, self.library_part(frames)) is not None

    def call(self, frames: Sequence[Frame]) -> str:
        """What the innermost function, one of the C library's, sleeps for; empty if not known."""
        piece = _first(self.calls, [f for f in frames[:2] if not f.own])
        return piece.category if piece else ""

    def atomic(self, frames: Sequence[Frame]) -> Piece | None:
        """What an atomic word is for."""
        return _first(self.atomics, frames[:_LOOKED_AT])


def _first(pieces: Sequence[Piece], frames: Sequence[Frame]) -> Piece | None:
    for piece in pieces:
        if any(p.fullmatch(frame.name) for frame in frames for p in piece.frames):
            return piece
    return None

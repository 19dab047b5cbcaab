"""What the analysis is told of addresses: names, objects, instructions and known libraries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from threadmark.kinds.explain.analysis.frames import Frame, without_wrappers

_LOOKED_AT = 12  # frames from the innermost; what lies farther out did not cause the wait


@dataclass(frozen=True)
class Operand:
    """Where an atomic instruction writes: a constant plus registers, or 'spins' for a short loop
    that only waits."""

    base: str = ""
    index: str = ""
    scale: int = 1
    offset: int = 0
    absolute: int | None = None  # an address that needs no register
    loops: bool = False  # it is part of a loop that waits


class Names(Protocol):
    """The symbols of a record."""

    def frames(self, stack: int, exact: bool = False) -> tuple[Frame, ...]:
        """A stack, innermost first, with inlined functions."""

    def datum(self, module: int, address: int) -> tuple[str, str] | None:
        """Name and place of the object at an address of a module; module 0: an absolute one."""

    def operand(self, module: int, address: int) -> Operand | None:
        """What the instruction before an address does, if it is atomic or the address lies in a
        loop that waits."""


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
    causes: tuple[Piece, ...] = ()
    atomics: tuple[Piece, ...] = ()

    def bare(self, frames: Sequence[Frame]) -> tuple[Frame, ...]:
        """A stack without the wrappers of the lock."""
        return without_wrappers(frames, self.wrappers)

    def cause(self, frames: Sequence[Frame]) -> Piece | None:
        """The library that a lock belongs to; None for one of the program."""
        return _first(self.causes, library_part(self.bare(frames)))

    def activity(self, frames: Sequence[Frame]) -> str:
        """The kind of a wait that the agent sees as a futex; empty if not known."""
        piece = _first(self.activities, frames[: 2 * _LOOKED_AT])
        return piece.category if piece else ""

    def atomic(self, frames: Sequence[Frame]) -> Piece | None:
        """What an atomic word is for."""
        return _first(self.atomics, frames[:_LOOKED_AT])


def library_part(frames: Sequence[Frame]) -> Sequence[Frame]:
    """The innermost frames up to the first of the program's own functions, that one left out.
    Templates of the library count as the library's although they lie in the program."""
    for number, frame in enumerate(frames[:_LOOKED_AT]):
        if frame.own and not frame.name.startswith(("std::", "__gnu_cxx::", "operator ")):
            return frames[:number]
    return frames[:_LOOKED_AT]


def _first(pieces: Sequence[Piece], frames: Sequence[Frame]) -> Piece | None:
    for piece in pieces:
        if any(p.fullmatch(frame.name) for frame in frames for p in piece.frames):
            return piece
    return None

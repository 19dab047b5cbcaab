"""Pieces of knowledge: the causes that frames of libraries stand for, and their remedies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from threadmark.kinds.explain.analysis.frames import Frame

_Patterns = tuple[re.Pattern[str], ...]


@dataclass(frozen=True)
class Version:
    """The versions of a library that have the cause: from `since` on, but no longer in `until`.
    Empty means not known. `source` is the source of this knowledge."""

    library: str
    since: str = ""
    until: str = ""
    source: str = ""


@dataclass(frozen=True, eq=False)
class Piece:
    """One piece of knowledge. It is for
    * a stack with a function of `frames`, or of a file whose name begins like one of `modules`, or
      both if both are given, and farther out, if `within` is given, a function of `within`;
    * an object with a name of `objects`;
    * code beside which the program refers to one of `near` of a library, and that runs one of
      `instructions`, if these are given;
    * if none of these are given, each cause of its category and `case`.
    `names`: the program's names of its objects; their first group is the name for the user.
    `instead_of`: files of other pieces that this piece replaces if both match."""

    category: str
    name: str
    words: str
    frames: _Patterns = ()
    file: str = ""
    modules: tuple[str, ...] = ()
    within: _Patterns = ()
    objects: _Patterns = ()
    instructions: _Patterns = ()
    near: _Patterns = ()
    names: _Patterns = ()
    remedy: str = ""
    case: str = ""
    card: str = ""  # with the remedy
    versions: tuple[Version, ...] = ()
    instead_of: tuple[str, ...] = ()

    @property
    def asks(self) -> int:
        """The number of conditions of the piece."""
        asked = (self.frames, self.modules, self.within, self.objects, self.instructions, self.near)
        return sum(map(bool, asked))


class Pieces:
    """Pieces, with a search for the best one."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = tuple(pieces)
        self._by_name = cache(self._fitting)  # names of functions come again and again

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._pieces)

    def of_stack(self, frames: Sequence[Frame], category: str = "") -> Piece | None:
        """The first of `ranked`."""
        return _first(self.ranked(frames, category))

    def ranked(self, frames: Sequence[Frame], category: str = "") -> dict[Piece, tuple[int, int]]:
        """The pieces of a stack with their ranks. The piece with the innermost function comes
        first, because it is nearest to the wait; among several of these, the piece with more
        conditions. Pieces that others replace are left out. The order of the files has no
        effect."""
        found: dict[Piece, tuple[int, int]] = {}
        outer: set[Piece] = set()
        for depth, frame in reversed(list(enumerate(frames))):
            inside, around = self._by_name(frame.name, frame.module)
            for piece in inside:
                if not piece.within or piece in outer:
                    found[piece] = (depth, -piece.asks)
            outer |= around
        if category:
            found = {piece: rank for piece, rank in found.items() if piece.category == category}
        beaten = {file for piece in found for file in piece.instead_of}
        return {piece: rank for piece, rank in found.items() if piece.file not in beaten}

    def of_object(self, name: str) -> Piece | None:
        """The piece of an object with this name."""
        fitting = [p for p in self._pieces if any(each.fullmatch(name) for each in p.objects)]
        return _first({piece: (0, -piece.asks) for piece in fitting})

    def of_code(self, near: frozenset[str], instruction: str = "") -> Piece | None:
        """The piece for the code around a place, or for the instruction that takes long there."""
        fitting = [
            piece
            for piece in self._pieces
            if (piece.near or piece.instructions)
            and (not piece.near or any(e.fullmatch(n) for n in near for e in piece.near))
            and (
                not piece.instructions or any(e.fullmatch(instruction) for e in piece.instructions)
            )
        ]
        return _first({piece: (0, -piece.asks) for piece in fitting})

    def of_category(self, category: str, case: str) -> Piece | None:
        """The piece that has no condition but a category and its case."""
        key = (category, case)
        fitting = [p for p in self._pieces if (p.category, p.case) == key and not p.asks]
        return _first({piece: (0, -piece.asks) for piece in fitting})

    def _fitting(self, name: str, module: str) -> tuple[list[Piece], set[Piece]]:
        """The pieces that have this function, and the pieces whose `within` has it."""
        inside = []
        for piece in self._pieces:
            there = any(each.fullmatch(name) for each in piece.frames)
            there = there or (bool(piece.modules) and not piece.frames)
            if there and (not piece.modules or module.startswith(piece.modules)):
                inside.append(piece)
        around = {p for p in self._pieces if any(each.fullmatch(name) for each in p.within)}
        return inside, around


def _first(ranks: Mapping[Piece, tuple[int, int]]) -> Piece | None:
    return min(ranks, key=lambda piece: (ranks[piece], piece.file), default=None)

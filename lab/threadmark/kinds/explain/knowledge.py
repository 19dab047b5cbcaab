"""Reads the knowledge of libraries: functions.toml, and a file of knowledge/ for each known cause.

A file of knowledge/ is complete in itself. Other files and the answer refer to it by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from msgspec import DecodeError, Meta, Struct, ValidationError, field, toml

from threadmark.kinds.catalogue import cards
from threadmark.kinds.explain.analysis.meaning import Kind, Knowledge
from threadmark.kinds.explain.analysis.pieces import Piece, Pieces, Version
from threadmark.model.errors import LabError

FOLDER = Path(__file__).with_name("knowledge")
_FUNCTIONS = Path(__file__).with_name("functions.toml")
_SENTENCE = re.compile(r"(?:[^.]|\.(?=\w))+\.?")

_Text = Annotated[str, Meta(min_length=1)]
_Texts = Annotated[list[_Text], Meta(min_length=1)]


class _Version(Struct, forbid_unknown_fields=True):
    library: _Text
    since: str = ""
    until: str = ""
    source: str = ""


class _Piece(Struct, forbid_unknown_fields=True):
    """`what`: an object of a library that threads wait for (`lock`) or write by atomic instructions
    (`word`), `code` of a library, or `advice` for an object of the program's own, which keeps its
    name."""

    what: Literal["lock", "word", "code", "advice"]
    category: Literal[
        "mutex", "rwlock", "condition", "barrier", "join", "semaphore", "once", "spin", "atomic",
        "false_sharing", "allocator", "kernel_memory", "stdio", "loader", "io", "sleep",
        "thread_creation", "run_queue", "affinity", "serial_dependency", "imbalance",
        "memory_bandwidth", "task_overhead", "task_idle",
    ]  # fmt: skip
    name: str = ""
    words: str = ""
    frames: list[_Text] = []
    modules: list[_Text] = []
    within: list[_Text] = []
    objects: list[_Text] = []
    instructions: list[_Text] = []
    near: list[_Text] = []
    names: list[_Text] = []
    case: str = ""
    remedy: str = ""
    card: str = ""
    versions: list[_Version] = []
    instead_of: list[_Text] = []
    examples: list[_Text] = []  # stacks as tests/explain/analysis/made.py writes them

    def __post_init__(self) -> None:
        if self.what != "advice" and not (self.name and self.words):
            raise ValueError(f"a {self.what} needs `name` and `words`")
        if not (self.remedy or self.card):
            raise ValueError("it needs a `remedy`, or a `card` that has one")
        ways = (self.frames, self.objects, self.instructions, self.near)
        if self.what != "advice" and not any(ways):
            raise ValueError("it needs `frames`, `objects`, `instructions` or `near`")
        if (self.frames or self.modules) and not self.examples:
            raise ValueError("it needs `examples`, stacks that it is for")


class _Kind(Struct, forbid_unknown_fields=True):
    kind: _Text
    frames: _Texts


class _Functions(Struct, forbid_unknown_fields=True):
    wrappers: _Texts
    runtimes: _Texts
    runtime_names: _Texts
    runtime_functions: _Texts
    structures: _Texts
    tasks: _Texts
    seeks: _Texts
    seekers: _Texts
    awaits: _Texts
    stages: _Texts
    call: list[_Kind]
    futex: list[_Kind] = field(default_factory=list)
    activity: list[_Kind] = field(default_factory=list)


_Read = TypeVar("_Read", _Piece, _Functions)


@cache
def knowledge() -> Knowledge:
    """The knowledge. LabError for an invalid file."""
    return load(FOLDER)


def load(folder: Path) -> Knowledge:
    """The same, with the known causes of this folder."""
    found = _read(_FUNCTIONS, _Functions)
    pieces: dict[str, list[Piece]] = {"lock": [], "word": [], "code": [], "advice": []}
    paths = sorted(folder.glob("*.toml"))
    for path in paths:
        each = _read(path, _Piece)
        pieces[each.what].append(_piece(path, each))
    names = {path.stem for path in paths}
    for piece in (each for some in pieces.values() for each in some):
        for other in {*piece.instead_of} - names:
            raise LabError(f"{folder / piece.file}.toml: there is no {other} to be instead of.")
    return Knowledge(
        wrappers=_patterns(_FUNCTIONS, found.wrappers),
        runtimes=tuple(found.runtimes),
        runtime_names=tuple(found.runtime_names),
        runtime_functions=_patterns(_FUNCTIONS, found.runtime_functions),
        structures=_patterns(_FUNCTIONS, found.structures),
        tasks=(Kind("task", _patterns(_FUNCTIONS, found.tasks)),),
        seeks=(Kind("seek", _patterns(_FUNCTIONS, found.seeks)),),
        seekers=tuple(found.seekers),
        awaits=_patterns(_FUNCTIONS, found.awaits),
        stages=(Kind("stage", _patterns(_FUNCTIONS, found.stages)),),
        calls=_kinds(found.call),
        futexes=_kinds(found.futex),
        activities=_kinds(found.activity),
        locks=Pieces(pieces["lock"]),
        words=Pieces(pieces["word"]),
        code=Pieces(pieces["code"]),
        advice=Pieces(pieces["advice"]),
        remedy_of=remedy,
    )


def category(name: str) -> str:
    """The category of a file's cause."""
    return _read(FOLDER / f"{name}.toml", _Piece).category


def examples(path: Path) -> tuple[str, ...]:
    """The example stacks of a file."""
    return tuple(_read(path, _Piece).examples)


@cache
def remedy(piece: Piece) -> str:
    """The remedy in a sentence: the piece's own, or the first of its card."""
    if piece.remedy:
        return piece.remedy
    try:
        card = cards.read(piece.card)
    except ValueError as error:
        raise LabError(f"{cards.FOLDER / piece.card}.md: {error}.") from error
    if card is None:
        raise LabError(f"{FOLDER / piece.file}.toml: the catalogue has no card {piece.card}.")
    text = "".join(text for text, _ in card.sections[cards.SECTIONS[-1]][0])
    first = _SENTENCE.match(text)
    return first[0].strip() if first else text


def _read(path: Path, form: type[_Read]) -> _Read:
    try:
        return toml.decode(path.read_bytes(), type=form)
    except OSError as error:
        raise LabError(f"{path} cannot be read ({error.strerror}).") from error
    except (DecodeError, ValidationError, UnicodeDecodeError) as error:
        raise LabError(f"{path}: {error}.") from error


def _piece(path: Path, found: _Piece) -> Piece:
    return Piece(
        category=found.category,
        name=found.name,
        words=found.words,
        frames=_patterns(path, found.frames),
        file=path.stem,
        modules=tuple(found.modules),
        within=_patterns(path, found.within),
        objects=_patterns(path, found.objects),
        instructions=_patterns(path, found.instructions),
        near=_patterns(path, found.near),
        names=_patterns(path, found.names),
        case=found.case,
        remedy=found.remedy,
        card=found.card,
        versions=tuple(Version(v.library, v.since, v.until, v.source) for v in found.versions),
        instead_of=tuple(found.instead_of),
    )


def _kinds(found: Iterable[_Kind]) -> tuple[Kind, ...]:
    return tuple(Kind(each.kind, _patterns(_FUNCTIONS, each.frames)) for each in found)


def _patterns(path: Path, texts: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    found = []
    for text in texts:
        try:
            found.append(re.compile(text))
        except re.error as error:
            raise LabError(f"{path}: {text!r} is no regular expression ({error}).") from error
    return tuple(found)

"""Types of debug information: their names, sizes and members, and the object at an offset of a
type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from threadmark.kinds.explain.dwarf import Entry
from threadmark.kinds.explain.dwarf_contents import declared, holder, name_of
from threadmark.kinds.explain.dwarf_numbers import CLASSES, At, Tag

_DEEPEST = 12
_ALIASES = frozenset([Tag.TYPEDEF, Tag.CONST, Tag.VOLATILE, Tag.ATOMIC])
REFERENCES = frozenset([Tag.REFERENCE, Tag.RVALUE])
POINTERS = REFERENCES | {Tag.POINTER}
_LIBRARY = ("std", "__gnu_cxx", "__cxxabiv1")
_LIBRARY_CLASS = re.compile(r"(__)?pthread_\w+|_+\w+|sem_t|mtx_t|cnd_t")
Fits = Callable[[tuple[str, ...]], bool]


def type_of(entry: Entry) -> Entry | None:
    """The type of a variable, member or type."""
    for _ in range(_DEEPEST):
        if At.TYPE in entry.shape.names:
            return entry.follow(At.TYPE)
        other = entry.follow(At.ORIGIN) or entry.follow(At.SPECIFICATION)
        if other is None:
            return None
        entry = other
    return None


def bare(kind: Entry | None) -> Entry | None:
    """A type without other names for it, const and volatile."""
    for _ in range(4 * _DEEPEST):
        if kind is None or kind.tag not in _ALIASES:
            return kind
        kind = type_of(kind)
    return None


def pointed(kind: Entry | None) -> Entry | None:
    """The type that a pointer or reference refers to, with its other names; None for other
    types."""
    plain = bare(kind)
    return type_of(plain) if plain is not None and plain.tag in POINTERS else None


@lru_cache(maxsize=1 << 14)
def names(kind: Entry) -> tuple[str, ...]:
    """All names of a type, without template arguments: those of its typedefs and its own."""
    found = []
    at: Entry | None = kind
    for _ in range(4 * _DEEPEST):
        if at is None:
            break
        if at.tag == Tag.TYPEDEF or at.tag not in _ALIASES:
            found.append(qualified(at))
        if at.tag not in _ALIASES:
            break
        at = type_of(at)
    return tuple(each for each in found if each)


@lru_cache(maxsize=1 << 14)
def qualified(kind: Entry) -> str:
    """The name of a type with namespaces and classes, without template arguments; empty without a
    name."""
    own = name_of(kind).partition("<")[0]
    if not own:
        return ""
    found = [own]
    at: Entry | None = declared(kind)
    for _ in range(_DEEPEST):
        at = holder(at) if at else None
        if at is None:
            break
        if at.tag != Tag.SUBPROGRAM:
            found.append(name_of(at).partition("<")[0])
    return "::".join(each for each in reversed(found) if each)


@lru_cache(maxsize=1 << 14)
def full_name(function: Entry) -> str:
    """The name of a function with its containers, as a demangler writes it, but without the
    arguments of the containers."""
    found = [name_of(function)]
    at: Entry | None = declared(function)
    for _ in range(_DEEPEST):
        at = holder(at) if at else None
        if at is None:
            break
        name = name_of(at).partition("<")[0]
        if at.tag == Tag.NAMESPACE:
            name = name or "(anonymous namespace)"
        found.append(name or "{lambda}")
        at = declared(at)
    return "::".join(reversed(found))


@lru_cache(maxsize=1 << 14)
def is_library(kind: Entry) -> bool:
    """Whether the type is of the library: a user does not know its own members."""
    name = qualified(kind)
    return name.split("::")[0] in _LIBRARY or bool(_LIBRARY_CLASS.fullmatch(name))


@lru_cache(maxsize=1 << 14)
def size(kind: Entry | None, depth: int = 0) -> int:
    """The size in bytes; 0 if it is not known."""
    plain = bare(kind)
    if plain is None or depth > _DEEPEST:
        return 0
    known = plain.number(At.SIZE)
    if known is not None:
        return known
    if plain.tag in POINTERS:
        return plain.unit.address_size
    if plain.tag == Tag.ARRAY:
        count = 1
        for child in plain.children():
            if child.tag == Tag.SUBRANGE:
                number, last = child.number(At.COUNT), child.number(At.UPPER)
                count *= number if number is not None else last + 1 if last is not None else 1
        return count * size(type_of(plain), depth + 1)
    return 0


@lru_cache(maxsize=1 << 12)
def parts(kind: Entry) -> tuple[Entry, ...]:
    """Base classes and members of a class that have a place in it."""
    found = [each for each in kind.children() if each.tag in (Tag.MEMBER, Tag.INHERITANCE)]
    static = (At.DECLARATION, 0x3F)  # declared here, defined elsewhere; external
    return tuple(each for each in found if not any(n in each.shape.names for n in static))


@lru_cache(maxsize=1 << 12)
def complete(kind: Entry) -> Entry:
    """The class itself if `kind` only declares it: the class of the same name in the unit."""
    if At.DECLARATION not in kind.shape.names or kind.tag not in CLASSES:
        return kind
    from threadmark.kinds.explain.dwarf_contents import contents

    name = kind.text(At.NAME)
    for offset in contents(kind.unit).begins:
        other = kind.unit.entry(offset)
        whole = other.tag in CLASSES and At.DECLARATION not in other.shape.names
        if whole and other.text(At.NAME) == name and qualified(other) == qualified(kind):
            return other
    return kind


@lru_cache(maxsize=1 << 12)
def arguments(kind: Entry) -> tuple[Entry, ...]:
    """The types of a template's arguments."""
    found = [type_of(each) for each in _template_parts(kind) if each.tag == Tag.TEMPLATE_TYPE]
    return tuple(each for each in found if each is not None)


def _template_parts(kind: Entry) -> Iterator[Entry]:
    for child in kind.children():
        if child.tag in (Tag.PACK, Tag.GNU_PACK):
            yield from child.children()
        else:
            yield child


def is_closure(kind: Entry) -> bool:
    """Whether the type is the class of a lambda: a class without a name that can be called."""
    if kind.tag not in CLASSES or kind.text(At.NAME).partition("<")[0].strip("<"):
        lambdas = kind.text(At.NAME).startswith(("<lambda", "(lambda"))
        if not lambdas:
            return False
    return any(
        each.tag == Tag.SUBPROGRAM and each.text(At.NAME).startswith("operator()")
        for each in kind.children()
    )


def at_offset(
    kind: Entry | None, offset: int, fits: Fits
) -> tuple[tuple[Entry, ...], Entry] | None:
    """The members of a class that lead to an object of a fitting type at an offset, and that type;
    members of library classes are left out. None without such an object."""
    return _down(kind, offset, lambda each, _: each if fits(names(each)) else None)


def pointer_at(kind: Entry | None, offset: int) -> tuple[tuple[Entry, ...], Entry] | None:
    """The same for a pointer or reference at an offset: the type that it refers to."""
    return _down(kind, offset, lambda each, within: None if within else pointed(bare(each)))


def _down(
    kind: Entry | None,
    offset: int,
    end: Callable[[Entry, int], Entry | None],
    depth: int = 0,
) -> tuple[tuple[Entry, ...], Entry] | None:
    """The members that lead to the first type for which `end`, called with the offset in it, gives
    a result."""
    plain = bare(kind)
    if kind is None or plain is None or depth > _DEEPEST or offset < 0:
        return None
    found = end(kind, offset)
    if found is not None:
        return (), found
    if plain.tag == Tag.ARRAY:
        element = type_of(plain)
        width = size(element)
        return _down(element, offset % width, end, depth + 1) if width else None
    if plain.tag not in CLASSES:
        return None
    plain = complete(plain)
    for part in parts(plain):
        at = part.number(At.MEMBER_AT) or 0
        inner = type_of(part)
        if at <= offset < at + max(1, size(inner)):
            below = _down(inner, offset - at, end, depth + 1)
            if below:
                told = part.tag == Tag.MEMBER and not is_library(plain) and part.text(At.NAME)
                return ((part, *below[0]) if told else below[0]), below[1]
    return None

"""Objects of wanted types that the variables of a function lead to, and their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from threadmark.kinds.explain.dwarf import Entry
from threadmark.kinds.explain.dwarf_contents import holder, name_of, shown_place
from threadmark.kinds.explain.dwarf_numbers import CLASSES, At, Tag
from threadmark.kinds.explain.dwarf_places import Value
from threadmark.kinds.explain.dwarf_scopes import Variable
from threadmark.kinds.explain.dwarf_types import (
    arguments,
    at_offset,
    bare,
    complete,
    is_closure,
    is_library,
    names,
    parts,
    pointed,
    pointer_at,
    qualified,
    size,
    type_of,
)
from threadmark.kinds.explain.lock_types import WITHOUT_OBJECTS, is_like_a_lock

_DEEPEST = 8
_MOST = 2000  # types for one variable, at most
_HOPS = 2  # pointers, references and containers on the way
Fits = Callable[[tuple[str, ...]], bool]


@dataclass(frozen=True)
class Candidate:
    """An object: a variable, or an object that its members lead to."""

    variable: Variable
    path: tuple[Entry, ...]
    kind: Entry  # its type
    hops: int = 0

    @cached_property
    def is_closure(self) -> bool:
        """Whether the variable is a lambda: its members are variables that it captured."""
        closure = bare(pointed(type_of(self.variable.entry))) if self.variable.is_object else None
        return closure is not None and is_closure(closure)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The names on the way to the object; its own name is the last."""
        found = [_plain(name_of(each)) for each in self.path]
        first = [] if self.variable.is_object else [self.variable.name]
        return tuple(each for each in first + found if each)

    @property
    def is_alias(self) -> bool:
        """Whether the variable is a parameter that refers to an object of the caller."""
        refers = pointed(type_of(self.variable.entry)) is not None
        return self.variable.parameter and refers and not self.path

    @cached_property
    def owner(self) -> Entry | None:
        """The class of the member that names the object."""
        spoken = self._spoken
        return holder(spoken[0]) if spoken and not self._is_capture(spoken[0]) else None

    @cached_property
    def _spoken(self) -> tuple[Entry, ...]:
        """The members in its name: from the last member whose class tells more than the lock."""
        path = self.path
        if self.is_closure and path and _plain(name_of(path[0])) == "this":
            path = path[1:]
        for number in reversed(range(len(path))):
            if self._is_capture(path[number]):
                return path[number:]
            owner = holder(path[number])
            if owner is not None and _says_something(owner, self.kind):
                return path[number:]
        return path

    def _is_capture(self, member: Entry) -> bool:
        return self.is_closure and bool(self.path) and member == self.path[0]

    @cached_property
    def name(self) -> str:
        """`Class::member`, or the name of a variable with members of it."""
        spoken = self._spoken
        if not spoken:
            outside = self.variable.is_global
            return qualified(self.variable.entry) if outside else self.variable.name
        text = ".".join(_plain(name_of(each)) for each in spoken)
        if self._is_capture(spoken[0]):
            return text
        owner = holder(spoken[0])
        class_name = qualified(owner) if owner is not None else ""
        if class_name:
            return f"{class_name}::{text}"
        return text if self.variable.is_object else f"{self.variable.name}.{text}"

    @cached_property
    def where(self) -> str:
        """file:line of the declaration."""
        spoken = self._spoken
        if not spoken:
            return shown_place(self.variable.entry)
        if self._is_capture(spoken[0]):
            return _captured_at(spoken[0]) or shown_place(spoken[0])
        return shown_place(spoken[0])


def _plain(name: str) -> str:
    """The name of a captured variable without g++'s mark."""
    return name.removeprefix("__") or name


def _says_something(owner: Entry, kind: Entry) -> bool:
    """Whether a class is more than a wrapper of the lock."""
    name = qualified(owner)
    if not name or is_like_a_lock(name):
        return False
    inner = bare(kind)
    return not any(bare(each) == inner for each in arguments(owner))


def _captured_at(member: Entry) -> str:
    """The place at which a variable that a lambda captured is declared."""
    closure = holder(member)
    function = holder(closure) if closure is not None else None
    wanted = _plain(name_of(member))
    if function is None or function.tag != Tag.SUBPROGRAM:
        return ""
    return next((shown_place(v) for v in _variables(function, 0) if name_of(v) == wanted), "")


def _variables(entry: Entry, depth: int) -> Iterator[Entry]:
    for child in entry.children():
        if child.tag in (Tag.VARIABLE, Tag.PARAMETER):
            yield child
        elif child.tag == Tag.BLOCK and depth < _DEEPEST:
            yield from _variables(child, depth + 1)


def of_variable(variable: Variable, fits: Fits) -> list[Candidate]:
    """The objects that a variable is or leads to."""
    kind = type_of(variable.entry)
    found: list[Candidate] = []
    captured = 1 if Candidate(variable, (), variable.entry).is_closure else 0
    left = [_MOST]
    seen: set[tuple[Entry, int]] = set()

    def look(at: Entry | None, path: tuple[Entry, ...], hops: int, depth: int) -> None:
        plain = bare(at)
        left[0] -= 1
        if at is None or plain is None or depth > _DEEPEST or left[0] < 0:
            return
        if fits(names(at)):
            found.append(Candidate(variable, path, at, hops))
            return
        target = pointed(plain)
        if target is not None:
            more = hops + (len(path) > captured)
            if more <= _HOPS:
                look(target, path, more, depth + 1)
        elif plain.tag == Tag.ARRAY:
            look(type_of(plain), path, hops, depth + 1)
        elif plain.tag in CLASSES and (plain, len(path)) not in seen:
            seen.add((plain, len(path)))
            if is_library(plain):
                if hops < _HOPS and not WITHOUT_OBJECTS.fullmatch(qualified(plain)):
                    for each in arguments(complete(plain)):
                        look(each, path, hops + 1, depth + 1)
                return
            for part in parts(complete(plain)):
                told = part.tag == Tag.MEMBER and part.text(At.NAME)
                look(type_of(part), (*path, part) if told else path, hops, depth + 1)

    look(kind, (), 0, 0)
    return found


def at_value(value: Value, variables: list[Variable], fits: Fits) -> Candidate | None:
    """The object at a value, from the known places of the variables."""
    direct = None
    for variable in variables:
        found = _inside(value, variable, fits)
        if found is not None and found.path:
            return found
        direct = direct or found
    if direct is None and value.root[0] == "word" and isinstance(value.root[1], Value):
        return _behind(value, value.root[1], variables, fits)
    return direct


def _inside(value: Value, variable: Variable, fits: Fits) -> Candidate | None:
    kind = type_of(variable.entry)
    target = pointed(kind)
    if value.root in (("variable", variable.offset), ("variable", variable.entry.place)):
        found = at_offset(kind, value.offset, fits)
        return Candidate(variable, *found) if found else None
    for place in variable.places:
        for begin, what in ((place.value, target), (place.address, kind)):
            if begin is None or what is None or begin.root != value.root:
                continue
            offset = value.offset - begin.offset
            if 0 <= offset < max(1, size(what)):
                found = at_offset(what, offset, fits)
                if found:
                    return Candidate(variable, *found)
        if place.address is not None and value.root == ("word", place.address) and target:
            found = at_offset(target, value.offset, fits)
            if found:
                return Candidate(variable, *found)
    return None


def _behind(
    value: Value, pointer: Value, variables: list[Variable], fits: Fits
) -> Candidate | None:
    """The object that a pointer member leads to."""
    for variable in variables:
        kind = type_of(variable.entry)
        target = pointed(kind)
        for place in variable.places:
            for begin, what in ((place.value, target), (place.address, kind)):
                if begin is None or what is None or begin.root != pointer.root:
                    continue
                offset = pointer.offset - begin.offset
                if not 0 <= offset < max(1, size(what)):
                    continue
                led = pointer_at(what, offset)
                found = at_offset(led[1], value.offset, fits) if led else None
                if led and found:
                    return Candidate(variable, led[0] + found[0], found[1])
    return None

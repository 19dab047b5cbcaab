"""The functions at an address in debug information, including inlined ones, with their parameters
and variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from threadmark.kinds.explain.dwarf import Dwarf, Entry
from threadmark.kinds.explain.dwarf_contents import (
    declared,
    function_at,
    name_of,
    place,
    source_files,
    unit_at,
)
from threadmark.kinds.explain.dwarf_numbers import At, Tag
from threadmark.kinds.explain.dwarf_places import Place, Value, place_of, register_of, value_of
from threadmark.kinds.explain.dwarf_ranges import covered, holds
from threadmark.kinds.explain.dwarf_types import (
    bare,
    full_name,
    is_library,
    pointed,
    qualified,
    type_of,
)

_DEEPEST = 64
_BLOCKS = frozenset([Tag.BLOCK, Tag.TRY, Tag.CATCH])
_CALLS = frozenset([Tag.CALL_SITE, Tag.GNU_CALL_SITE])
_CALL_PARAMETERS = frozenset([Tag.CALL_PARAMETER, Tag.GNU_CALL_PARAMETER])
_VARIABLES = frozenset([Tag.PARAMETER, Tag.VARIABLE])
# Headers of the standard library and of the system, whose functions are not the program's own.
_HEADERS = re.compile(r"/usr/(lib|include)/.*|.*/include/c\+\+/.*|.*/lib/gcc/.*")


@dataclass(frozen=True)
class Variable:
    """A parameter or variable: the entry with its name and type, and its place, if known."""

    entry: Entry
    parameter: bool
    places: tuple[Place, ...] = ()
    offset: int = 0  # in the section, of the entry with its place
    is_global: bool = False

    @property
    def name(self) -> str:
        """The name; empty for a parameter without one."""
        return name_of(self.entry)

    @property
    def is_object(self) -> bool:
        """Whether the variable is the object of a member function or closure."""
        return self.parameter and self.name in ("this", "__closure")


@dataclass
class Scope:
    """One function at an address."""

    entry: Entry
    at: tuple[str, int]  # source file and line of the executed code in it
    variables: list[Variable] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name with namespaces and classes, without template arguments."""
        return qualified(declared(self.entry))

    @property
    def is_library(self) -> bool:
        """Whether the function is in the standard library or a header of the system."""
        if is_library(declared(self.entry)):
            return True
        return bool(_HEADERS.fullmatch(place(self.entry)[0])) or self._is_of_the_system

    @property
    def _is_of_the_system(self) -> bool:
        this = next((v for v in self.variables if v.is_object), None)
        kind = bare(pointed(type_of(this.entry))) if this else None
        return kind is not None and is_library(kind)


@dataclass
class Level:
    """The functions of one frame of a stack, the innermost first, and the values in the registers
    of the call that they wait in."""

    scopes: list[Scope]
    passed: dict[int, Value]


def level(dwarf: Dwarf, address: int, at: tuple[str, int]) -> Level | None:
    """The functions at an address inside a call; `at` is the source line there."""
    unit = unit_at(dwarf, address)
    function = function_at(unit, address) if unit else None
    if function is None:
        return None
    found = _Level(function, address)
    found.look(function)
    chain = list(reversed(found.chain))  # innermost first
    scopes = []
    for entry in chain:
        scope = Scope(entry, at, _merged(entry, found.variables[entry], function, address))
        scopes.append(scope)
        number, line = entry.number(At.CALL_FILE), entry.number(At.CALL_LINE)
        files = source_files(entry.unit)
        at = (files[number] if number is not None and number < len(files) else "", line or 0)
    return Level(scopes, found.passed)


def functions_at(dwarf: Dwarf, address: int) -> list[str]:
    """The names of the functions at an address with their containers, the innermost first."""
    unit = unit_at(dwarf, address)
    function = function_at(unit, address) if unit else None
    if function is None:
        return []
    found = [each for each in _inlined(function) if each[0] <= address < each[1]]
    found.sort(key=lambda each: -each[2])
    return [full_name(each) for each in (*(e for _, _, _, e in found), function)]


@lru_cache(maxsize=1 << 12)
def _inlined(function: Entry) -> list[tuple[int, int, int, Entry]]:
    """The inlined calls in a function: first address, end, depth."""
    found: list[tuple[int, int, int, Entry]] = []

    def look(entry: Entry, depth: int) -> None:
        for child in entry.children():
            if child.tag == Tag.INLINED:
                found.extend((low, high, depth, child) for low, high in covered(child))
            if depth < _DEEPEST and (child.tag == Tag.INLINED or child.tag in _BLOCKS):
                look(child, depth + 1)

    look(function, 0)
    return found


class _Level:
    """Walks down a function to an address."""

    def __init__(self, function: Entry, address: int) -> None:
        self._function = function
        self._address = address
        self.chain: list[Entry] = []
        self.variables: dict[Entry, list[Entry]] = {}
        self.passed: dict[int, Value] = {}

    def look(self, entry: Entry) -> None:
        """Look at one function, then at the function that is inlined in it there."""
        if len(self.chain) >= _DEEPEST:
            return
        self.chain.append(entry)
        self.variables[entry] = []
        inner = None
        for child in self._below(entry, 0):
            if child.tag in _VARIABLES:
                self.variables[entry].append(child)
            elif child.tag == Tag.INLINED and inner is None and holds(child, self._address):
                inner = child
            elif child.tag in _CALLS:
                self._pass(child)
        if inner is not None:
            self.look(inner)

    def _below(self, entry: Entry, depth: int) -> Iterator[Entry]:
        for child in entry.children():
            if child.tag not in _BLOCKS:
                yield child
            elif depth < _DEEPEST and holds(child, self._address):
                yield from self._below(child, depth + 1)

    def _pass(self, call: Entry) -> None:
        behind = call.number(At.RETURN_AT) or call.number(At.LOW)
        if behind != self._address + 1:
            return
        for child in call.children():
            register = register_of(child) if child.tag in _CALL_PARAMETERS else None
            if register is not None:
                name = At.CALL_VALUE if At.CALL_VALUE in child.shape.names else At.GNU_CALL_VALUE
                value = value_of(child, name, self._function, self._address)
                if value is not None:
                    self.passed[register] = value


def _merged(entry: Entry, here: list[Entry], function: Entry, address: int) -> list[Variable]:
    """The variables of a function: first those with a place here, then its other declarations."""
    found: dict[Entry, Variable] = {}
    for each in here:
        origin = each.follow(At.ORIGIN) or each
        places = list(filter(None, [_quiet(each, function, address)]))
        if entry == function and each.tag == Tag.PARAMETER:
            first = covered(function)
            begun = _quiet(each, function, first[0][0]) if first else None
            if begun and begun.value and begun.value.root[0] == "register":
                places.append(Place(value=Value(("entry", begun.value.root[1]))))
        parameter = each.tag == Tag.PARAMETER
        found[origin] = Variable(origin, parameter, tuple(places), each.place)
    origin_function = entry.follow(At.ORIGIN)
    if origin_function is not None:
        for each in _all_variables(origin_function, 0):
            found.setdefault(each, Variable(each, each.tag == Tag.PARAMETER, (), each.place))
    return list(found.values())


def _all_variables(entry: Entry, depth: int) -> Iterator[Entry]:
    for child in entry.children():
        if child.tag in _VARIABLES:
            yield child
        elif child.tag in _BLOCKS and depth < _DEEPEST:
            yield from _all_variables(child, depth + 1)


def _quiet(entry: Entry, function: Entry, address: int) -> Place | None:
    """The place of a variable; None if its description is damaged."""
    try:
        return place_of(entry, function, address)
    except (IndexError, KeyError, ValueError, OverflowError):
        return None

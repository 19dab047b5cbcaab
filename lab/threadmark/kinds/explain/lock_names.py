"""The name of the lock that a call stack waits for, from debug information alone.

The innermost function of the program tells which object it locks: first by the places of its
variables and of the call's arguments, which is exact; else by types, if one object fits; else by
the words of the source line. A function that only locks its argument leads on to its caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from threadmark.kinds.explain.analysis.frames import takes_a_lock
from threadmark.kinds.explain.dwarf import ODD, Entry
from threadmark.kinds.explain.dwarf_contents import contents, name_of, shown_place
from threadmark.kinds.explain.dwarf_places import Value
from threadmark.kinds.explain.dwarf_scopes import Level, Scope, Variable
from threadmark.kinds.explain.dwarf_types import (
    bare,
    is_closure,
    names,
    pointed,
    qualified,
    type_of,
)
from threadmark.kinds.explain.lock_candidates import Candidate, Fits, at_value, of_variable
from threadmark.kinds.explain.lock_types import (
    APART,
    Wanted,
    is_like_a_lock,
    is_number,
    kind_of,
)

_MOST_SCOPES = 8  # functions of the program, from the innermost
_MOST_SOURCE = 8 << 20  # bytes
_LINES_BEFORE = 2
_MOST_GLOBALS = 20_000
_ARGUMENTS = (5, 4)  # registers of the first and the second argument, x86-64
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALLERS = 3  # functions that may pass a lock on


@dataclass(frozen=True)
class Named:
    """A name with the place of the declaration."""

    name: str
    where: str


Passed = tuple[Value, Entry | None]  # an address, and the type there if known
_UNDECIDED = Named("", "")  # several objects fit


@dataclass(frozen=True)
class Step:
    """One function of the program, in its frame of the stack."""

    scope: Scope
    level: int
    inner: tuple[Scope, ...]  # functions inlined in it there, the innermost first


def name_of_lock(
    levels: Sequence[Level | None],
    activity: str,
    called: Sequence[str],
    datum: Callable[[int, int], tuple[str, str] | None],
    region: str = "",
    written: Value | None = None,
) -> Named | None:
    """`levels`: the frames of the stack from the innermost, None if a frame is not known; `called`:
    functions of libraries that it waits in; `datum`: the object at an address of a frame's file;
    `region`: the memory of the object; `written`: the target of the innermost instruction, if it
    was sampled there."""
    kind = kind_of(activity, called)
    if not kind:
        return None
    try:
        return _Search(levels, kind, activity, datum, region).result(written)
    except ODD:
        return None


class _Search:
    def __init__(
        self,
        levels: Sequence[Level | None],
        kind: str,
        activity: str,
        datum: Callable[[int, int], tuple[str, str] | None],
        region: str,
    ) -> None:
        self._levels = levels
        self._wanted = Wanted(kind)
        # If the thread's wait address is not the object's, the object may be a global one.
        self._by_address = kind in APART
        self._everywhere = kind in APART or activity == "relock"
        self._datum = datum
        self._on_a_stack = region == "stack"
        self._steps = list(_steps(levels))[:_MOST_SCOPES]

    def result(self, written: Value | None) -> Named | None:
        if written is not None:
            for step in self._steps:
                for fits in (self._wanted.own, is_number):
                    hit = at_value(written, step.scope.variables, fits) if not step.level else None
                    if hit is not None and hit.path:
                        return Named(hit.name, hit.where)
        for number, step in enumerate(self._steps):
            values = list(self._locked(step))
            for fits in (self._wanted.standard, self._wanted.own):
                found = self._in(step, values, fits, everywhere=self._everywhere)
                if isinstance(found, Candidate):
                    return self._farther(number, found)
                if found is not None:
                    return found if found.name else None
        return None

    def _in(
        self, step: Step, values: Sequence[Passed], fits: Fits, *, everywhere: bool
    ) -> Candidate | Named | None:
        """The object that a function locks; with `everywhere` perhaps a global variable."""
        for value, kind in values:
            if value.root == ("address",) and self._by_address and kind and fits(names(kind)):
                known = self._datum(step.level, value.offset)
                if known and "__waiter_pool" not in known[0]:
                    return Named(known[0].replace("(anonymous namespace)::", ""), known[1])
            found = at_value(value, step.scope.variables, fits)
            if found is not None:
                return found
        return self._guess(step, fits, everywhere=everywhere)

    def _locked(self, step: Step) -> Iterator[Passed]:
        """The possible addresses of the lock, the likeliest first."""
        level = self._levels[step.level]
        if level is not None:
            yield from ((level.passed[r], None) for r in _ARGUMENTS if r in level.passed)
        for scope in step.inner:
            for variable in scope.variables:
                if variable.parameter:
                    kind = pointed(type_of(variable.entry))
                    yield from ((p.value, kind) for p in variable.places if p.value is not None)

    @staticmethod
    def _guess(step: Step, fits: Fits, *, everywhere: bool) -> Candidate | Named | None:
        found: list[Candidate] = []
        for variable in step.scope.variables:
            found += of_variable(variable, fits)
        near = [each for each in found if each.hops <= 1] or found
        if everywhere:
            near += _globals(step, fits, few=bool(near))
        return _chosen(near, step.scope)

    def _farther(self, number: int, found: Candidate) -> Named:
        """The name in the caller, if the function only locks its argument."""
        named = Named(found.name, found.where)
        step, tail = self._steps[number], ""
        for outer in self._steps[number + 1 : number + 1 + _CALLERS]:
            more, variable, kind = _handed_on(found, step.scope)
            if variable is None or kind is None:
                break
            wanted = frozenset(names(kind))
            values = list(self._given(variable, step, outer))
            hit = self._in(outer, values, partial(_share, wanted), everywhere=False)
            tail = more + tail
            if isinstance(hit, Candidate):
                if hit.path or not hit.variable.is_object:  # else another function of the class
                    named = Named(hit.name + tail, hit.where)
                found, step = hit, outer
                continue
            break
        if found.is_alias and self._on_a_stack:
            return _only_local(found, step) or named
        return named

    def _given(self, variable: Variable, step: Step, outer: Step) -> Iterator[Passed]:
        """The value of a parameter in the caller."""
        kind = pointed(type_of(variable.entry))
        values = [p.value for p in variable.places if p.value is not None]
        if step.level == outer.level:
            yield from ((value, kind) for value in values)
            return
        level = self._levels[outer.level]
        for value in values:
            register = value.root[1] if value.root[0] == "entry" else None
            if level is not None and isinstance(register, int) and register in level.passed:
                yield level.passed[register].plus(value.offset), kind


def _steps(levels: Sequence[Level | None]) -> Iterator[Step]:
    for number, level in enumerate(levels):
        scopes = level.scopes if level is not None else []
        for at, scope in enumerate(scopes):
            if not scope.is_library:
                begin = max((i + 1 for i in range(at) if not scopes[i].is_library), default=0)
                yield Step(scope, number, tuple(scopes[begin:at]))


def _globals(step: Step, fits: Fits, *, few: bool) -> list[Candidate]:
    """Global variables; with `few` only those that the source line names."""
    unit = step.scope.entry.unit
    words = _words(step.scope, _LINES_BEFORE) if few else None
    found = []
    for offset in contents(unit).variables[:_MOST_GLOBALS]:
        entry = unit.entry(offset)
        variable = Variable(entry, parameter=False, is_global=True)
        if words is None or variable.name in words:
            kind = type_of(entry)
            if kind is not None and fits(names(kind)):
                found.append(Candidate(variable, (), kind))
    return found


def _only_local(found: Candidate, step: Step) -> Named | None:
    """The only local variable of the type in the source file: a thread's argument lies on the stack
    of a function of another thread."""
    wanted = frozenset(names(found.kind))
    unit = step.scope.entry.unit
    different = {}
    for offset in contents(unit).locals[:_MOST_GLOBALS]:
        entry = unit.entry(offset)
        kind = type_of(entry)
        if kind is not None and _share(wanted, names(kind)):
            where = shown_place(entry)
            if where:
                different[where] = Named(name_of(entry), where)
    return different.popitem()[1] if len(different) == 1 else None


def _share(wanted: frozenset[str], other: tuple[str, ...]) -> bool:
    return bool(wanted & set(other))


def _handed_on(found: Candidate, scope: Scope) -> tuple[str, Variable | None, Entry | None]:
    """The link to the caller: the text to add to its name, the parameter, and the type there."""
    if found.is_alias and not found.variable.is_object:
        return "", found.variable, found.kind
    this = next((v for v in scope.variables if v.is_object), None)
    kind = pointed(type_of(this.entry)) if this else None
    plain = bare(kind)
    if plain is None or is_closure(plain) or found.variable != this:
        return "", None, None
    if is_like_a_lock(qualified(plain)) or takes_a_lock(scope.name):
        tail = "".join(f".{word}" for word in found.words)
        return tail, this, plain
    return "", None, None


def _chosen(found: list[Candidate], scope: Scope) -> Candidate | Named | None:
    """The intended candidate, or the class that has all of them; None if there is none."""
    different: dict[str, Candidate] = {}
    for each in found:  # g++ lists captured variables of a lambda again, without places
        if each.name and (each.name not in different or not different[each.name].where):
            different[each.name] = each
    if len(different) <= 1:
        return next(iter(different.values()), None)
    for before in range(_LINES_BEFORE + 1):
        words = _words(scope, before)
        hits = [each for each in different.values() if each.words and each.words[-1] in words]
        if len(hits) > 1:
            most = max(len(words & set(each.words)) for each in hits)
            hits = [each for each in hits if len(words & set(each.words)) == most]
        if len(hits) == 1:
            return hits[0]
        if hits:
            break
    owners = {each.owner for each in different.values()}
    owner = owners.pop() if len(owners) == 1 else None
    return Named(qualified(owner), shown_place(owner)) if owner is not None else _UNDECIDED


def _words(scope: Scope, before: int) -> frozenset[str]:
    """The words of the executed source line and of some lines before it; none if the source has
    changed since the build."""
    path, line = scope.at
    lines = _source(path, scope.entry.unit.dwarf.built_at)
    text = lines[max(0, line - 1 - before) : line] if 0 < line <= len(lines) else []
    return frozenset(_WORD.findall(" ".join(text)))


@lru_cache(maxsize=64)
def _source(path: str, built_at: float) -> list[str]:
    file = Path(path)
    try:
        if not path.startswith("/") or not file.is_file():
            return []
        known = file.stat()
        if known.st_size > _MOST_SOURCE or known.st_mtime > built_at:
            return []
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []

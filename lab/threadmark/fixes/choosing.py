"""All fixes, and the fixes that a program can have.

A fix is a file in known/ with an instance FIX. No other file lists the fixes.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from threadmark.fixes import known
from threadmark.fixes.fix import Candidate, Fix, NotApplicableError, Target
from threadmark.model.names import check_name

# The kinds from which programs gain most, in the experience of others, if the program is unknown.
# Kinds that few programs can have are present only if they concern the program or were requested.
_KINDS = (
    "allocator", "openmp", "tasks", "compiler", "linker", "malloc", "mutex", "locale", "stdio",
    "threads", "affinity",
)  # fmt: skip
_TOGETHER = ("openmp",)  # kinds whose fixes have different effects


def every() -> list[Fix]:
    """All fixes: the first of each kind, the likeliest kinds first, then the second of each
    kind."""
    names = [each.name for each in pkgutil.iter_modules(known.__path__)]
    found = [importlib.import_module(f"{known.__name__}.{name}").FIX for name in names]
    found.sort(key=lambda fix: (not fix.usual, fix.name))
    seen: Counter[str] = Counter()
    turns = {}
    for fix in found:
        turns[fix.name] = seen[fix.kind]
        seen[fix.kind] += fix.kind not in _TOGETHER
    return sorted(found, key=lambda fix: (turns[fix.name], _place(fix.kind, _KINDS)))


def applicable(target: Target, only: Iterable[str] = ()) -> tuple[list[Candidate], dict[str, str]]:
    """The fixes that a program can have, and the reasons against the others. Fixes that can hardly
    help, by the functions that it calls, come last. LabError for a name in `only` that no fix
    has."""
    fixes = sorted(every(), key=lambda fix: fix.hope(target))
    wanted = list(only)
    for name in wanted:
        check_name("fix", name, [fix.name for fix in fixes])
    found, left_out = [], {}
    for fix in fixes:
        if wanted and fix.name not in wanted:
            continue
        try:
            found.append(Candidate.of(fix, target))
        except NotApplicableError as why:
            left_out[fix.name] = str(why)
    return found, left_out


def hopeless(target: Target) -> set[str]:
    """Names of the fixes that can hardly help a program, by the functions that it calls."""
    return {fix.name for fix in every() if fix.hope(target) > 1}


def helping(causes: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """The fixes that can help with causes of explain, the likeliest first, each with the places of
    these causes."""
    found: dict[str, list[int]] = {}
    for at, cause in enumerate(causes):
        places = [(place, fix.name) for fix in every() if (place := fix.place(cause)) is not None]
        for _, name in sorted(places, key=lambda each: each[0]):
            found.setdefault(name, []).append(at)
    return found


def at_least(
    fixes: Iterable[Mapping[str, Any]], causes: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The fixes for causes that `fixes` have no bounds of. A fix is worth at least as much as each
    cause that it helps with."""
    known = {each["name"]: each["bound"] for each in fixes}
    found = []
    for name, places in helping(causes).items():
        bounds = [known.get(name), *(causes[at]["bound"] for at in places)]
        found.append({"name": name, "bound": max((b for b in bounds if b), default=None)})
    return found


def ordered(candidates: Iterable[Candidate], first: Iterable[str]) -> list[Candidate]:
    """The candidates, those of the names in `first` before the others."""
    names = list(first)
    return sorted(candidates, key=lambda each: _place(each.name, names))


def _place(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)

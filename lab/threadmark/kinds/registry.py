"""All kinds of run.

A kind is a folder beside this file. Its COMMAND is the command that makes its runs, and RESUMABLE
tells whether that command has --resume; by default it has not. Its module `command` registers that
command, and its module `kind` has an instance KIND of RunKind. Nothing else in the lab depends on
the set of kinds.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from threadmark import kinds
from threadmark.model.errors import LabError

if TYPE_CHECKING:
    from threadmark.kinds.kind import RunKind
    from threadmark.model.cell import Run, Stored


def commands() -> dict[str, str]:
    """Command of a kind -> the module that registers it. Loads nothing but the folders."""
    return {_import(name).COMMAND: f"{kinds.__name__}.{name}.command" for name in _names()}


def is_resumable(command: str) -> bool:
    """Whether the command is that of a kind whose runs go on with --resume. Loads nothing but the
    folders, because an interrupt may have left other modules half loaded."""
    found = {each.COMMAND: each for each in map(_import, _names())}
    return getattr(found.get(command), "RESUMABLE", False)


def kind_of(stored: Stored) -> RunKind:
    """The kind of a run. LabError for a run of a kind that this version does not have."""
    return _of(stored.run)


def kind_of_all(runs: Sequence[Stored]) -> RunKind:
    """The one kind of these runs. LabError if they are of several."""
    found = [_of(each.run) for each in runs]
    if len(set(found)) > 1:
        parts = [f"run {s.run.id} of {k.command}" for s, k in zip(runs, found, strict=True)]
        raise LabError(f"The runs are of two kinds ({', '.join(parts)}); compare two of one kind.")
    return found[0]


def _of(run: Run) -> RunKind:
    for kind in every():
        if run.profile in kind.profiles:
            return kind
    raise LabError(
        f"Run {run.id} has the profile '{run.profile}', which this version of Threadmark does not "
        "know; update this checkout (git pull)."
    )


def every() -> Iterator[RunKind]:
    """All kinds."""
    return (_import(f"{name}.kind").KIND for name in _names())


def _names() -> list[str]:
    return sorted(each.name for each in pkgutil.iter_modules(kinds.__path__) if each.ispkg)


def _import(name: str) -> Any:
    return importlib.import_module(f"{kinds.__name__}.{name}")

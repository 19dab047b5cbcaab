"""The fixes of ./threadmark try that can help with the causes."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from threadmark.fixes import choosing
from threadmark.fixes.target import target_of
from threadmark.model.places import named

_MOST = 8  # fixes
_CAUSES = 2  # at most
_BETTER = 1.08  # a bound below is not worth an attempt


def worth_trying(
    found: Mapping[str, Any], words: Sequence[str], store: Path, asked: Sequence[str] = ()
) -> dict[str, Any]:
    """The fixes that can help with the first causes of an answer, with their bounds, and the
    command that tries them and keeps the result in `store`; empty if no fix can help. `asked` are
    the options of the comparison of numbers of threads that the command also has."""
    promising = [each for each in found["causes"][:_CAUSES] if (each["bound"] or 0) >= _BETTER]
    names = list(choosing.helping(promising))
    if not names or not words:
        return {}
    if shutil.which(words[0]):
        target = target_of(words[0], os.environ, 2 if asked else None)
        there = {each.name for each in choosing.applicable(target, names)[0]}
        there -= choosing.hopeless(target)
        names = [name for name in names if name in there]
    names = names[:_MOST]
    if not names:
        return {}
    bounds = {each["name"]: each["bound"] for each in found["fixes"]}
    options = [*asked, "--only", ",".join(names), *named(store)]
    return {
        "fixes": [{"name": name, "bound": bounds[name]} for name in names],
        "command": shlex.join(["./threadmark", "try", *options, "--", *words]),
    }

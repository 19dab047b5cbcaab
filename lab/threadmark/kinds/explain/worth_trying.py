"""The fixes of ./threadmark try that can help with the causes that were found."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from threadmark.fixes import choosing
from threadmark.fixes.target import target_of

_MOST = 8  # fixes
_CAUSES = 2  # that are looked at
_BETTER = 1.08  # a bound below is not worth an attempt


def worth_trying(
    causes: Sequence[Mapping[str, Any]], words: Sequence[str], asked: Sequence[str] = ()
) -> dict[str, Any]:
    """Names of fixes with the bound of the cause that each can help with, and the command that
    tries them; nothing where no fix can help. `asked` are the options of the comparison of numbers
    of threads that the command has too."""
    promising = [each for each in causes[:_CAUSES] if (each["bound"] or 0) >= _BETTER]
    likely = choosing.likely(promising)
    if not likely or not words:
        return {}
    names = list(likely)
    if shutil.which(words[0]):
        target = target_of(words[0], os.environ, 2 if asked else None)
        there = {each.name for each in choosing.applicable(target, names)[0]}
        there -= choosing.hopeless(target)
        names = [name for name in names if name in there]
    names = names[:_MOST]
    if not names:
        return {}
    options = [*asked, "--only", ",".join(names)]
    return {
        "fixes": [{"name": name, "bound": likely[name]} for name in names],
        "command": shlex.join(["./threadmark", "try", *options, "--", *words]),
    }

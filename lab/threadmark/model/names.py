"""Checks names that a user typed against the known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from threadmark.model.errors import LabError


def check_name(kind: str, name: str, names: Iterable[str]) -> None:
    """LabError with the nearest of `names` when `name` is none of them."""
    there = sorted(names)
    if name not in there:
        near = difflib.get_close_matches(name, there, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(there) or 'none'}."
        raise LabError(f"There is no {kind} '{name}'; {hint}")


def closest(word: str, choices: Sequence[str] | dict[str, str]) -> str:
    """The end of a sentence about an unknown `word`: the nearest choice, if any is near."""
    near = difflib.get_close_matches(word, list(choices), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""

"""The output of programs in files, so that no other process works while they run."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from typing import IO

_LONGEST = 1 << 20  # of a searched line
_LAST = 4096  # bytes of the end to search for the last words


def number(text: str) -> float | None:
    """A number above 0, which may have marks of thousands; None for anything else."""
    try:
        found = float(re.sub(r"(?<=\d)[,'_](?=\d)", "", text.strip()))
    except ValueError:
        return None
    return found if 0 < found < math.inf else None


def last_number(source: IO[bytes], pattern: re.Pattern[str]) -> float | None:
    """The group of the last match of a line."""
    found = None
    for line in _lines(source):
        for match in pattern.finditer(line):
            found = number(match[1] or "") or found
    return found


def digest(source: IO[bytes]) -> str:
    """The SHA-256 of the output."""
    source.seek(0)
    found = hashlib.sha256()
    for block in iter(lambda: source.read(1 << 16), b""):
        found.update(block)
    return found.hexdigest()


def last_words(source: IO[bytes]) -> str:
    """The last line with words."""
    source.seek(0, 2)
    source.seek(max(0, source.tell() - _LAST))
    lines = [line.strip() for line in source.read().decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")[:200].rstrip(".")


def said(source: IO[bytes]) -> str:
    """The last words as the end of a sentence; empty if there are none."""
    last = last_words(source)
    return f"; it said: {last}" if last else ""


def _lines(source: IO[bytes]) -> Iterator[str]:
    """The lines; a carriage return also ends a line."""
    source.seek(0)
    for block in iter(lambda: source.readline(_LONGEST), b""):
        yield from block.decode("utf-8", "replace").splitlines()

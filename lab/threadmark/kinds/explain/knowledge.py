"""Reads knowledge.toml, the beginning of what is known of libraries."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from threadmark.kinds.explain.analysis.meaning import Knowledge, Piece

_FILE = Path(__file__).with_name("knowledge.toml")


@cache
def knowledge() -> Knowledge:
    """All of it."""
    found = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return Knowledge(
        wrappers=_patterns(found["wrappers"]),
        activities=tuple(_piece(each, each["kind"]) for each in found["activity"]),
        runtimes=tuple(found["runtimes"]),
        runtime_names=tuple(found["runtime_names"]),
        tasks=(_piece({"frames": found["tasks"]}, "task"),),
        calls=tuple(_piece(each, each["kind"]) for each in found["call"]),
        causes=tuple(_piece(each, each["category"]) for each in found["cause"]),
        atomics=tuple(_piece(each, "atomic") for each in found["atomic"]),
    )


def _piece(fields: dict[str, Any], category: str) -> Piece:
    words = fields.get("words", "")
    return Piece(category, fields.get("name", ""), words, _patterns(fields["frames"]))


def _patterns(texts: list[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(each) for each in texts)

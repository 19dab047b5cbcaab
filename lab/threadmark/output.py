"""JSON on stdout; nothing else belongs there when a program reads it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any


def document(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` under the name of their schema. Its version counts changes that break readers."""
    return {"schema": f"threadmark/{kind}/1", **fields}


def write_json(document: Any) -> None:
    """Print `document`; a ValueError for infinities and NaN, which JSON does not know."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n")

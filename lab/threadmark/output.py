"""JSON on stdout; nothing else belongs there when a program reads it."""

from __future__ import annotations

import json
import sys
from typing import Any


def write_json(document: Any) -> None:
    """Print `document`; a ValueError for infinities and NaN, which JSON does not know."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n")

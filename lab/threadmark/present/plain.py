"""Runs, rows and verdicts as plain values for JSON and CSV. An unbounded limit becomes null."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from threadmark.judge.estimates import Interval
from threadmark.judge.findings import Judged
from threadmark.model.cell import Row, Run


def dumps(value: Any, *, indent: int | None = 2) -> str:
    """JSON that every parser reads: infinities and NaN must have been replaced before."""
    return json.dumps(value, indent=indent, allow_nan=False, ensure_ascii=False)


def run_record(run: Run) -> dict[str, Any]:
    """A run with its machine and notes."""
    return asdict(run)


def row_record(row: Row) -> dict[str, Any]:
    """A row with its cell's fields on the same level; times in nanoseconds."""
    cell = asdict(row.cell)
    own = asdict(row)
    del own["cell"]
    own["status"] = row.status.value
    record: dict[str, Any] = finite({**cell, "arguments": dict(row.cell.arguments), **own})
    return record


def judged_record(judged: Judged) -> dict[str, Any]:
    """A verdict with its basis."""
    cell, verdict, base = judged.cell, judged.verdict, judged.base
    record: dict[str, Any] = finite({
        "program": cell.program,
        "size": cell.size,
        "arguments": dict(cell.arguments),
        "backend": cell.backend,
        "variant": cell.variant,
        "platform": cell.platform,
        "allocator": cell.allocator,
        "label": verdict.label,
        "kind": verdict.kind.value,
        "detail": verdict.detail,
        "at_threads": verdict.at_threads,
        "speedup": interval_record(verdict.speedup),
        "efficiency": interval_record(verdict.efficiency),
        "steady_speedup": interval_record(judged.steady),
        "speedups": {str(p): interval_record(s) for p, s in verdict.speedups.items()},
        "times_ns": {str(p): interval_record(t) for p, t in judged.times_ns.items()},
        "base": base and {"name": base.name, "time_ns": interval_record(base.time_ns)},
        "node_speedup": judged.node_speedup,
        "overhead_ns_per_task": judged.overhead_ns,
    })  # fmt: skip
    return record


def interval_record(interval: Interval | None) -> dict[str, float] | None:
    """low, estimate and high."""
    return None if interval is None else asdict(interval)


def finite(value: Any) -> Any:
    """`value` with every number that JSON cannot write replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return value


def shell_command(row: Row) -> str:
    """The row's command as a line to paste into a shell."""
    return shlex.join(row.command)


def document(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` under the name of their schema, docs/schemas/KIND.json. Its version counts changes
    that break readers."""
    return {"schema": f"threadmark/{kind}/1", "version": 1, **fields}


def write_json(document: Any) -> None:
    """Print `document`; a ValueError for infinities and NaN, which JSON does not know."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n")

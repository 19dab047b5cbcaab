"""The comparison as plain values for JSON."""

from __future__ import annotations

from typing import Any

from threadmark.kinds.students.judgement import Entry
from threadmark.present import plain


def entry_record(entry: Entry) -> dict[str, Any]:
    """A line of the table; times in nanoseconds, null if not known."""
    verdict = entry.judged.verdict
    record: dict[str, Any] = plain.finite({
        "writer": entry.name,
        "threads": entry.threads,
        "students": entry.students,
        "arguments": dict(entry.judged.cell.arguments),
        "time_ns": plain.interval_record(entry.time),
        "faster_than_published": plain.interval_record(entry.faster),
        "serial": entry.serial,
        "speedup": plain.interval_record(verdict.speedup),
        "kind": verdict.kind.value,
        "label": verdict.label,
        "detail": verdict.detail,
        "processes": sum(len(rows) for rows in entry.judged.rows.values()),
    })  # fmt: skip
    return record

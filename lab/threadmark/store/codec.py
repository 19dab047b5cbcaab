"""Rows and runs in the form of the store: one column per field of the cell, the rest as JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from threadmark.model.cell import Cell, Row, Run, Status

_CELL = ("program", "size", "backend", "variant", "platform", "allocator", "threads", "arguments")
_ROW = (*_CELL, "round", "status", "reason", "sample_ns", "repeats", "command", "started_at")
COLUMNS = (*_ROW, "disturbed", "facts")
INSERT_ROW = f"INSERT INTO row (run_id, {', '.join(COLUMNS)}) VALUES (?{', ?' * len(COLUMNS)})"


def row_values(row: Row) -> tuple[str | int | float | None, ...]:
    """The columns of a row, in the order of COLUMNS."""
    cell = row.cell
    return (
        *(text_of(getattr(cell, name)) for name in _CELL[:6]),
        cell.threads,
        dump(cell.arguments),
        row.round,
        row.status.value,
        text_of(row.reason),
        row.sample_ns,
        dump(row.repeats),
        dump(row.command),
        row.started_at,
        text_of(row.disturbed),
        dump(row.facts),
    )


def row_from(stored: sqlite3.Row) -> Row:
    """The stored row."""
    arguments = tuple((str(name), str(value)) for name, value in json.loads(stored["arguments"]))
    return Row(
        cell=Cell(**{name: stored[name] for name in _CELL[:7]}, arguments=arguments),
        round=stored["round"],
        status=Status(stored["status"]),
        reason=stored["reason"],
        sample_ns=stored["sample_ns"],
        repeats=tuple(json.loads(stored["repeats"])),
        command=tuple(json.loads(stored["command"])),
        started_at=stored["started_at"],
        disturbed=stored["disturbed"],
        facts=json.loads(stored["facts"]),
    )


def run_from(stored: sqlite3.Row, notes: Iterable[str]) -> Run:
    """The stored run, with its notes."""
    return Run(
        id=stored["id"],
        started_at=stored["started_at"],
        finished_at=stored["finished_at"],
        profile=stored["profile"],
        seed=stored["seed"],
        request=json.loads(stored["request"]),
        machine=json.loads(stored["machine"]),
        notes=tuple(notes),
    )


def dump(value: Any) -> str:
    """JSON in the form of the store."""
    return json.dumps(value, separators=(",", ":"))


def text_of(value: str) -> str:
    """`value` in a form that SQLite accepts."""
    # Paths may carry bytes that are no UTF-8; SQLite would refuse the whole row for them.
    return value.encode("utf-8", "replace").decode("utf-8")

"""The arms of a try, and which rows say that a fix breaks the program; pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from threadmark.model.cell import Row, Status

AS_IS = "as is"
AGAIN = "as is again"  # the other run of a pair without a fix
FIRST = "first"  # runs before all pairs
PAIR = "pair"  # in the facts of a row: the fix of its pair
OUTPUT = "output"  # in the facts of a row: what tells one output from another
TAKEN = "taken_s"  # in the facts of a row: what others had of the processors' time, and all of it
EQUAL = 2  # runs as is that print the same, before another output is a fault
_OFTEN = 0.5  # share of failures that is the fix's, where the program fails as it is too


class Arm(NamedTuple):
    """A fix with a number of threads."""

    fix: str
    threads: int


def broken(rows: Sequence[Row]) -> dict[str, str]:
    """The fixes that break the program, with what happened first.

    A fix breaks it where a run under the fix failed and none as is has, or most runs failed, or
    printed something else than all runs as is, which are at least two.
    """
    usual = usual_outputs(rows)
    failed_as_is = any(is_base(row) and row.status is not Status.OK for row in rows)
    runs: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for row in rows:
        name = row.cell.variant
        if is_base(row):
            continue
        runs[name] += 1
        reason = row.reason if row.status is not Status.OK else ""
        expected = usual.get(row.cell.threads, "")
        if not reason and expected and row.facts.get(OUTPUT, expected) != expected:
            reason = "its output differs from that of the program as it is"
        if reason:
            failures[name] += 1
            reasons.setdefault(name, reason)
    return {
        name: reason
        for name, reason in reasons.items()
        if not failed_as_is or failures[name] > _OFTEN * runs[name]
    }


def wall_s(row: Row) -> float:
    """How long the run took."""
    return float(row.facts.get("wall_s", 0.0))


def is_base(row: Row) -> bool:
    """Whether it is of the program as it is."""
    return row.cell.variant in (AS_IS, AGAIN, FIRST)


def usual_outputs(rows: Iterable[Row]) -> dict[int, str]:
    """What the program prints with each number of threads, where it prints the same each time."""
    seen: dict[int, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if is_base(row) and row.status is Status.OK:
            seen[row.cell.threads][row.facts.get(OUTPUT, "")] += 1
    return {
        count: next(iter(outputs))
        for count, outputs in seen.items()
        if len(outputs) == 1 and sum(outputs.values()) >= EQUAL
    }

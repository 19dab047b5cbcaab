"""The arms of a try, and the rows by which a fix breaks the program; pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from threadmark.judge.trials import chance_of_failures, error_at_end, looks_with_errors
from threadmark.model.cell import Row, Status

AS_IS = "as is"
AGAIN = "as is again"  # the second run of a pair without a fix
FIRST = "first"  # runs before all pairs
PAIR = "pair"  # in the facts of a row: the fix of its pair
OUTPUT = "output"  # in the facts of a row: the identity of its output
TAKEN = "taken_s"  # in the facts of a row: processor time of others, and in all
# Failures of one arm before any as is. Chance explains them in 1.6 % of tries at most, because half
# of all runs are as is, and three of four if there is one fix.
_SURE = 3
EQUAL = 2  # runs as is with the same output, before another output is a fault


class Arm(NamedTuple):
    """A fix with a number of threads."""

    fix: str
    threads: int


class Count(NamedTuple):
    """The numbers of runs under a fix, and as is with as many threads, and of failures of each."""

    failed: int = 0
    runs: int = 0
    failed_as_is: int = 0
    runs_as_is: int = 0


@dataclass
class Failures:
    """The failures of an arm: its first failure, whether a run did not end, the counts after each
    of its runs, and those of all."""

    reason: str = ""
    hung: bool = False
    after: list[Count] = field(default_factory=list)
    all: Count = field(default_factory=Count)


def failures(rows: Sequence[Row]) -> dict[Arm, Failures]:
    """The failures of each arm that had a run. A run under a fix also fails if its output differs
    from that of all runs as is, which are at least two."""
    usual = usual_outputs(rows)
    as_is: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    found: dict[Arm, Failures] = defaultdict(Failures)
    for row in rows:
        threads = row.cell.threads
        reason = row.reason if row.status is not Status.OK else ""
        if is_base(row):
            failed, runs = as_is[threads]
            as_is[threads] = failed + bool(reason), runs + 1
            continue
        expected = usual.get(threads, "")
        if not reason and expected and row.facts.get(OUTPUT, expected) != expected:
            reason = "its output differs from that of the program as it is"
        own = found[Arm(row.cell.variant, threads)]
        own.reason = own.reason or reason
        own.hung |= row.status is Status.TIMEOUT
        own.all = Count(own.all.failed + bool(reason), own.all.runs + 1, *as_is[threads])
        own.after.append(own.all)
    for arm, own in found.items():
        own.all = Count(own.all.failed, own.all.runs, *as_is[arm.threads])
    return dict(found)


def broken(rows: Sequence[Row], *, ended: bool = True) -> dict[str, str]:
    """The fixes that break the program, with their first failure.

    A fix breaks the program if a run under the fix failed and no run as is with as many threads
    has. Before the end that needs more failures than chance explains, or a failure that takes long.
    If a run as is has failed, the fix breaks the program if its runs fail more often than chance
    explains. This test takes place at the looks and at the end of threadmark.judge.trials, whose
    error all arms share.
    """
    found = failures(rows)
    claims = len(found) + 1  # a combination may come
    return {
        arm.fix: own.reason
        for arm, own in found.items()
        if own.reason and _breaks(own, claims, ended=ended)
    }


def _breaks(own: Failures, claims: int, *, ended: bool) -> bool:
    if not own.all.failed_as_is:
        return ended or own.hung or own.all.failed >= _SURE
    looks = looks_with_errors(len(own.after), claims)
    if any(chance_of_failures(*own.after[runs - 1]) <= error for runs, error in looks):
        return True
    return ended and chance_of_failures(*own.all) <= error_at_end(claims)


def wall_s(row: Row) -> float:
    """The time of the run."""
    return float(row.facts.get("wall_s", 0.0))


def is_base(row: Row) -> bool:
    """Whether the row is of the program as it is."""
    return row.cell.variant in (AS_IS, AGAIN, FIRST)


def usual_outputs(rows: Iterable[Row]) -> dict[int, str]:
    """The output of the program with each number of threads, if it is the same each time."""
    seen: dict[int, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if is_base(row) and row.status is Status.OK:
            seen[row.cell.threads][row.facts.get(OUTPUT, "")] += 1
    return {
        count: next(iter(outputs))
        for count, outputs in seen.items()
        if len(outputs) == 1 and sum(outputs.values()) >= EQUAL
    }

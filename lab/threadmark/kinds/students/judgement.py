"""From the rows of a run to one Entry per writer, number of threads and number of students. Pure.

The one thing to know: a verdict compares a writer with the writer of the same method on one thread,
in the rounds that both have. Its number of threads is that of threads with a processor each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from threadmark.judge import estimates
from threadmark.judge.estimates import Interval, Spread
from threadmark.judge.evidence import FEWEST_ROUNDS, by_round, evidence, round_ratios
from threadmark.judge.findings import Judged, point
from threadmark.judge.verdict import (
    EFFICIENT,
    GAIN,
    Kind,
    Point,
    Verdict,
    failure,
    limits,
    ran,
    short_factor,
)
from threadmark.kinds.students.selection import SERIAL, THREADS, students
from threadmark.kinds.students.tool import Writer, writers
from threadmark.model.cell import Cell, Row

PUBLISHED = "as_published"  # the base of all comparisons


@dataclass(frozen=True)
class Entry:
    """One line: a writer, and its time."""

    judged: Judged
    threads: int
    serial: str  # the writer that it is judged against; empty if it has one thread
    time: Interval | None  # median in ns
    faster: Interval | None  # time of PUBLISHED / time

    @property
    def name(self) -> str:
        """The name of the writer."""
        return self.judged.cell.variant

    @property
    def students(self) -> int:
        """The number of written students."""
        return students(self.judged.cell)


def judge(rows: Iterable[Row], descriptions: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Every entry: by number of students, the slowest first."""
    known = writers(dict(descriptions[0])) if descriptions else {}
    cells: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        cells[row.cell].append(row)
    ratios = {cell: _speedups(cell, cells, known) for cell in cells}
    spread = estimates.common_spread(each for each in ratios.values() if each)
    entries = [_entry(cell, cells, ratios[cell], known, spread) for cell in cells]

    def rank(entry: Entry) -> tuple[int, float, str]:
        return entry.students, -entry.time.estimate if entry.time else 0.0, entry.name

    return sorted(entries, key=rank)


def _entry(
    cell: Cell,
    cells: Mapping[Cell, Sequence[Row]],
    speedups: Sequence[float],
    known: Mapping[str, Writer],
    spread: Spread,
) -> Entry:
    rows = cells[cell]
    processors = max((len(row.facts.get("cpus", ())) for row in rows), default=0)
    used = max(1, min(cell.threads, processors or cell.threads))
    serial = known[cell.variant].serial if cell.backend == THREADS else ""
    seen = point(rows, speedups)
    said = verdict(seen, used, serial, spread)
    if not said.detail and said.kind in (Kind.UNAVAILABLE, Kind.DROPPED):
        said = replace(said, detail=next((row.reason for row in rows if row.reason), ""))
    times = [row.sample_ns for row in evidence(rows) if row.sample_ns]
    time = estimates.median_interval(times) if times else None
    judged = Judged(
        replace(cell, threads=0),
        said,
        None,
        {used: time} if time else {},
        {used: tuple(rows)},
        facts={"platform": {}},
    )
    base = _other(cell, PUBLISHED, cells)
    beside = round_ratios(by_round(base), by_round(rows)) if base else []
    faster = estimates.geometric_mean(beside) if beside else None
    return Entry(judged, cell.threads, serial, time, faster)


def _speedups(
    cell: Cell, cells: Mapping[Cell, Sequence[Row]], known: Mapping[str, Writer]
) -> list[float]:
    """Time of the serial writer / time, of each round that both have."""
    if cell.backend != THREADS or cell.variant not in known:
        return []
    base = _other(cell, known[cell.variant].serial, cells, backend=SERIAL)
    return round_ratios(by_round(base), by_round(cells[cell]))


def _other(
    cell: Cell, name: str, cells: Mapping[Cell, Sequence[Row]], backend: str = ""
) -> Sequence[Row]:
    """The rows of another writer of the same files."""
    found = (
        rows
        for each, rows in cells.items()
        if each.problem == cell.problem and each.variant == name
        if not backend or each.backend == backend
    )
    return next(found, ())


def verdict(seen: Point, threads: int, serial: str, spread: Spread = Spread()) -> Verdict:
    """Judges a writer that has `threads` threads with a processor each, against `serial`; a writer
    of one thread, which has none, is sequential.

    The rule, first match wins; S is the geometric mean of the speed-ups of the rounds with its 95 %
    interval:
    1. a failure, or nothing was measured -> that;
    2. no serial writer -> sequential; one processor, or fewer than three rounds -> unclear;
    3. S / threads >= 0.7 -> scales; S >= 1.1 -> scales poorly; S < 1 / 1.1 -> slower than serial;
       between -> no scaling. An interval that straddles a limit it is compared with -> unclear.
    """
    points = {threads: seen}
    found = failure(points, ran(points))
    if found is not None:
        return Verdict(found[0], found[0].value, detail=found[1])
    if not serial:
        return Verdict(Kind.SEQUENTIAL, Kind.SEQUENTIAL.value)
    if threads < 2:
        return _unclear("there is one processor for all threads")
    if len(seen.speedups) < FEWEST_ROUNDS:
        few = f"{len(seen.speedups)} of the {FEWEST_ROUNDS} undisturbed rounds needed"
        return _unclear(few + (f": {seen.lacking}" if seen.lacking else ""))
    s = estimates.geometric_mean(seen.speedups, spread=spread)
    kind, label, detail = _said(s, threads, serial)
    return Verdict(kind, label, s, s.scaled(1 / threads), threads, detail, {threads: s})


def _unclear(why: str) -> Verdict:
    return Verdict(Kind.UNCLEAR, Kind.UNCLEAR.value, detail=why)


def _said(s: Interval, threads: int, serial: str) -> tuple[Kind, str, str]:
    for limit in limits(s.estimate, threads):
        if s.low < limit <= s.high:
            detail = f"the speed-up over {serial} is {s.low:.2f} to {s.high:.2f}"
            return Kind.UNCLEAR, "unclear", f"{detail}, on both sides of {limit:.2f}"
    if s.low >= EFFICIENT * threads:
        return Kind.SCALES, f"{short(s)} of {serial}: scales", ""
    if s.low >= GAIN:
        return Kind.POORLY, f"{short(s)} of {serial}: scales poorly", ""
    if s.high < 1 / GAIN:
        factor = short_factor(1 / s.estimate)
        return Kind.SLOWER, f"slower than {serial} x{factor}", ""
    return Kind.NONE, f"{short(s)} of {serial}: no scaling", ""


def short(speedup: Interval) -> str:
    """A speed-up for people."""
    return f"x{speedup.estimate:.2f}"

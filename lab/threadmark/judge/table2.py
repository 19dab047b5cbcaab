"""INNCABS' Table II rebuilt from its own data, beside the labels that the paper prints.

The one thing to know: this is the paper's way of judging, each series against itself. verdict() is
ours and is stricter, because it asks for a speed-up over serial code. Labels: P. Thoman, P.
Gschwandtner, T. Fahringer, "On the Quality of Implementation of the C++11 Thread Support Library",
PDP 2015, Table II (superscripts left out).
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from threadmark.model.cell import Row

COLUMNS = {  # of the table -> platform and policy in the data
    "clang:async": ("clang", "async"),
    "gcc:async": ("gcc", "async"),
    "vc:optional": ("win_x86", "optional"),
    "vc:async": ("win_x86", "async"),
}
_T, _P = "timeout", "partial timeout"
PAPER = {
    "alignment": ("scales to 64", "scales to 64", "scales to 64", "scales to 32"),
    "fft": (_T, _P, "no scaling", _T),
    "fib": (_T, _T, "scales to 8", _T),
    "floorplan": (_T, "no scaling", _P, _T),
    "health": (_T, _P, "scales to 8", _T),
    "intersim": (_T, _T, "scales to 32", _T),
    "nqueens": (_T, _T, "scales to 8", _T),
    "pyramids": (_P, "scales to 8", "scales to 16", "scales to 16, overhead"),
    "qap": (_T, "no scaling", "scales to 8", _T),
    "round": ("scales to 64", "scales to 64", "scales to 64, overhead", "scales to 64, overhead"),
    "sort": (_T, "scales to 8", "scales to 64", _T),
    "sparselu": ("scales to 64", "scales to 64", "scales to 64", "scales to 32"),
    "strassen": (_T, _T, "scales to 4, partial error", _T),
    "uts": (_T, _T, "scales to 16", _T),
}
ABSENT = "not in the data"
GAIN = 0.95  # a step counts while the time falls to this share of the one before
HYPERTHREAD_LOSS = 1.015  # allowed cost of the step onto hyper-threads
PHYSICAL_CORES = 32
RECOVERS = 2.0  # a slow start does not count if a later point is below this many times T(1)
OVERHEAD = 4.0

Series = Mapping[int, float | None]  # milliseconds by threads; None: no result


def table2_label(times: Series, overhead: float = 1.0) -> str:
    """The label of one series by one rule for all.

    All missing: timeout. Some missing: "scales to N, partial error" if the times are a prefix of
    two or more that gains 5 % at each step, else partial timeout. None missing: from 1, or from 2
    when the first step gains nothing (unless no later time is below twice T(1)), go on while each
    doubling gains 5 %, and to more than 32 while it loses at most 1.5 %; the end of the chain is N.
    `overhead` is the median factor to the best other series; the label shows 4 or more.
    """
    order = sorted(times)
    known = {p: t for p in order if (t := times[p]) is not None}
    if not known:
        return "timeout"
    if len(known) < len(order):
        prefix = order[: len(known)]
        gains = prefix == list(known) and all(
            known[b] <= GAIN * known[a] for a, b in itertools.pairwise(prefix)
        )
        return f"scales to {prefix[-1]}, partial error" if gains and len(prefix) >= 2 else _P
    reached = _chain(known)
    label = f"scales to {reached}" if reached else "no scaling"
    return f"{label}, overhead" if overhead >= OVERHEAD else label


def _chain(times: Mapping[int, float]) -> int:
    """The last thread count of the chain of gains; 0 when no step was made."""
    order = sorted(times)
    start = 0
    if times[order[1]] > GAIN * times[order[0]]:
        if min(times[p] for p in order[1:]) >= RECOVERS * times[order[0]]:
            return 0
        start = 1
    at = start
    while at + 1 < len(order):
        allowed = GAIN if order[at + 1] <= PHYSICAL_CORES else HYPERTHREAD_LOSS
        if times[order[at + 1]] > allowed * times[order[at]]:
            break
        at += 1
    return order[at] if at > start else 0


@dataclass(frozen=True)
class Entry:
    """One cell of the table: the paper's label, ours, and the reason for a difference (empty if
    there is none)."""

    program: str
    column: str
    paper: str
    ours: str
    why: str


def table(rows: Iterable[Row]) -> list[Entry]:
    """Table II from imported rows: an entry for each program of the paper and each of four
    columns."""
    series = series_of(rows)
    entries = []
    for program, labels in PAPER.items():
        own = {name: series.get((program, *at), {}) for name, at in COLUMNS.items()}
        for (name, times), paper in zip(own.items(), labels, strict=True):
            ours = table2_label(times, _overhead(name, own)) if times else ABSENT
            entries.append(Entry(program, name, paper, ours, _why(times, paper, ours)))
    return entries


def series_of(rows: Iterable[Row]) -> dict[tuple[str, str, str], dict[int, float | None]]:
    """Milliseconds by threads for each (program, platform, policy)."""
    found: dict[tuple[str, str, str], dict[int, float | None]] = defaultdict(dict)
    for row in rows:
        cell = row.cell
        time_ms = None if row.sample_ns is None else row.sample_ns / 1e6
        found[cell.program, cell.platform, cell.variant][cell.threads] = time_ms
    return found


def _overhead(name: str, columns: Mapping[str, Series]) -> float:
    """Median over the thread counts of the time divided by the best of the other columns."""
    factors = []
    for threads, time in columns[name].items():
        others = [t for n, s in columns.items() if n != name and (t := s.get(threads)) is not None]
        if time is not None and others:
            factors.append(time / min(others))
    return statistics.median(factors) if factors else 1.0


def _why(times: Series, paper: str, ours: str) -> str:
    if paper == ours:
        return ""
    known = {p: t for p, t in times.items() if t is not None}
    missing = sorted(p for p in times if times[p] is None)
    if not known:
        return "the data have no result at all"
    if paper == "timeout":
        return f"the data have a time at {len(known)} of {len(times)} thread counts"
    if missing:
        there = ", ".join(f"{p}: {t:.0f}" for p, t in sorted(known.items()))
        return f"the data miss {', '.join(map(str, missing))} threads and have {there} ms"
    if not paper.startswith("scales to "):
        return "the data have a time everywhere"
    claimed, reached = _reached(paper), _reached(ours)
    low, high = min(claimed, reached), max(claimed, reached)
    steps = [p for p in sorted(known) if low <= p <= high]
    said = [f"{_change(known[b] / known[a])} from {a} to {b}" for a, b in itertools.pairwise(steps)]
    return f"in the data the time {', '.join(said)} threads"


def _reached(label: str) -> int:
    found = re.match(r"scales to (\d+)", label)
    return int(found[1]) if found else 1


def _change(factor: float) -> str:
    percent = round(100 * abs(factor - 1))
    if math.isclose(factor, 1):
        return "is the same"
    return f"{'rises' if factor > 1 else 'falls'} by {percent} %"

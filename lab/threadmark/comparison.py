"""compare_samples(): is A slower than B, by how much, or is there no difference?

Level: 5 %. A difference needs both a rank test and an interval of the ratio, which guard each
other: the test against one wild sample, the interval against a tiny shift. Drift of the machine:
samples of one run alternate round by round, so they are paired and what is common to a round
cancels. Two runs share no round: their medians' own intervals must part (conservative), and by more
than DRIFT or whatever the two runs differ by on the whole, because then the machine is the likelier
cause.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from threadmark import statistics
from threadmark.cell import Cell, Row
from threadmark.errors import LabError
from threadmark.evidence import evidence
from threadmark.statistics import FEWEST_SAMPLES, Interval
from threadmark.verdict import short_factor

LEVEL = 0.05
DRIFT = 0.05  # what separate runs of one program differ by on shared machines, minutes apart
FIELDS = ("backend", "variant", "platform", "allocator")  # what a side may name


@dataclass(frozen=True)
class Comparison:
    """Time(A) / time(B): `ratio` above 1 means that A is slower. `different` is None: too little
    known."""

    ratio: Interval
    p_value: float
    delta: float  # effect size, Cliff's delta: 1 if every A is slower than every B
    samples: tuple[int, int]
    paired: bool
    different: bool | None

    @property
    def words(self) -> str:
        """The answer for people."""
        if self.different is None:
            return f"too few samples ({min(self.samples)} of {FEWEST_SAMPLES})"
        if not self.different:
            return "no difference"
        ratio = self.ratio.estimate
        if 0.5 < ratio < 2:
            return f"A takes {100 * abs(ratio - 1):.0f} % {'more' if ratio > 1 else 'less'}"
        return f"A x{short_factor(max(ratio, 1 / ratio))} {'slower' if ratio > 1 else 'faster'}"


def compare_samples(
    a: Sequence[float], b: Sequence[float], paired: bool, *, margin: float = 0.0
) -> Comparison:
    """Compare times of A and B in one unit; `paired` when a[i] and b[i] come from the same round.

    Samples stand in the order in which they were measured. Paired: Wilcoxon's signed ranks and the
    interval of the median of a[i] / b[i]. Not paired: Mann-Whitney and the quotient of the medians'
    intervals. `margin` (0.05 = 5 %) is how far beyond 1 the interval must lie; samples that are not
    paired also have to differ by more than both sides wandered(). ValueError for samples that are
    not positive.
    """
    if min(*a, *b, math.inf) <= 0:
        raise ValueError("times must be positive")
    if paired:
        ratio = statistics.paired_ratio(a, b)
        p_value = statistics.paired_rank_test(a, b).p_value
        delta = statistics.paired_delta(a, b)
    else:
        ratio = statistics.conservative_ratio(a, b)
        p_value = statistics.rank_test(a, b).p_value
        delta = statistics.cliffs_delta(a, b)
        margin = max(margin, wandered(a) + wandered(b))
    beyond = ratio.low > 1 + margin or ratio.high < 1 / (1 + margin)
    known = min(len(a), len(b)) >= FEWEST_SAMPLES
    different = beyond and p_value <= LEVEL if known else None
    return Comparison(ratio, p_value, delta, (len(a), len(b)), paired, different)


def wandered(samples: Sequence[float]) -> float:
    """How far a cell drifted in its own run: highest to lowest median of its thirds, less 1.

    Samples of a drifting machine resemble their neighbours, so that their interval is too narrow
    for a comparison with another run. Below nine samples it is their whole range, which needs no
    help.
    """
    if len(samples) < 9:
        return 0.0
    thirds = [statistics.median(list(third)) for third in np.array_split(np.asarray(samples), 3)]
    return max(thirds) / min(thirds) - 1


@dataclass(frozen=True)
class Pair:
    """Two cells that differ only in what is asked, and how their times compare."""

    a: Cell
    b: Cell
    comparison: Comparison


@dataclass(frozen=True)
class Skipped:
    """A cell of A without a counterpart or without times, and why."""

    cell: Cell
    why: str


@dataclass(frozen=True)
class Outcome:
    """Everything that `compare` has to say. `overall` is the geometric mean of the ratios."""

    pairs: tuple[Pair, ...]
    skipped: tuple[Skipped, ...]
    overall: Interval | None
    margin: float  # how far beyond 1 the intervals had to lie


def compare_runs(a: Iterable[Row], b: Iterable[Row]) -> Outcome:
    """Cell by cell two separate runs; see the module for what is done about drift."""
    first, second = _by_cell(a), _by_cell(b)
    skipped = [Skipped(cell, "only in A") for cell in first if cell not in second]
    skipped += [Skipped(cell, "only in B") for cell in second if cell not in first]
    both = {cell: cell for cell in first if cell in second}
    logs = [
        math.log(statistics.median(x) / statistics.median(y))
        for cell in both
        if (x := _times(first[cell])) and (y := _times(second[cell]))
    ]
    # The common shift needs several cells: that of one cell would explain away its own difference.
    shift = abs(float(np.median(logs))) if len(logs) >= FEWEST_SAMPLES else 0.0
    margin = max(DRIFT, math.expm1(shift))
    return _outcome(both, first, second, skipped, margin)


def compare_sides(rows: Sequence[Row], a: str, b: str) -> Outcome:
    """Compare cells of side `a` with those of side `b` within one run, paired by round.

    A side is `backend:variant`, or the name of a backend, variant, platform or allocator. Cells
    must agree in everything else. Of two backends the variants with the same name are paired, or
    the fastest of each where no name is the same. LabError for a name that the run does not have.
    """
    select_a, select_b = _selector(rows, a), _selector(rows, b)
    asked = set(select_a) | set(select_b)
    if asked not in ({"backend", "variant"}, *({field} for field in FIELDS)):
        raise LabError(
            f"'{a}' is a {' and '.join(select_a)}, '{b}' a {' and '.join(select_b)}; "
            "name two of the same kind."
        )
    first = _by_cell(row for row in rows if _fits(row.cell, select_a))
    second = _by_cell(row for row in rows if _fits(row.cell, select_b))
    blank: dict[str, Any] = dict.fromkeys(
        asked | ({"variant"} if "backend" in asked else set()), ""
    )
    groups: dict[Cell, tuple[list[Cell], list[Cell]]] = defaultdict(lambda: ([], []))
    for cells, side in ((first, 0), (second, 1)):
        for cell in cells:
            groups[replace(cell, **blank)][side].append(cell)
    matched: dict[Cell, Cell] = {}
    skipped = []
    for own, others in groups.values():
        by_variant = {cell.variant: cell for cell in others}
        same = {cell: by_variant[cell.variant] for cell in own if cell.variant in by_variant}
        if not own or not others:
            skipped += [
                Skipped(cell, f"no such cell of {b if own else a}") for cell in own + others
            ]
        elif same and "variant" not in asked:
            matched.update(same)
        else:
            matched[_fastest(own, first)] = _fastest(others, second)
    return _outcome(matched, first, second, skipped, None)


def _selector(rows: Sequence[Row], name: str) -> dict[str, str]:
    backend, colon, variant = name.partition(":")
    choices = [{"backend": backend, "variant": variant}] if colon else [{f: name} for f in FIELDS]
    for choice in choices:
        if any(_fits(row.cell, choice) for row in rows):
            return choice
    known = sorted({f"{row.cell.backend}:{row.cell.variant}" for row in rows})
    raise LabError(
        f"The run has no backend, variant, platform or allocator '{name}'; "
        f"it has {', '.join(known)}."
    )


def _fits(cell: Cell, selector: Mapping[str, str]) -> bool:
    return all(getattr(cell, field) == value for field, value in selector.items())


def _by_cell(rows: Iterable[Row]) -> dict[Cell, list[Row]]:
    found: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.cell].append(row)
    return dict(found)


def _times(rows: Sequence[Row]) -> list[float]:
    return [row.sample_ns for row in evidence(rows) if row.sample_ns is not None]


def _fastest(cells: Sequence[Cell], rows: Mapping[Cell, Sequence[Row]]) -> Cell:
    def time(cell: Cell) -> float:
        samples = _times(rows[cell])
        return statistics.median(samples) if samples else math.inf

    return min(cells, key=time)


def _outcome(
    matched: Mapping[Cell, Cell],
    first: Mapping[Cell, Sequence[Row]],
    second: Mapping[Cell, Sequence[Row]],
    skipped: list[Skipped],
    margin: float | None,
) -> Outcome:
    """Compare what was matched: within one run, paired, if `margin` is None, else between two."""
    pairs = []
    for a, b in sorted(matched.items()):
        x, y = evidence(first[a]), evidence(second[b])
        if not x or not y:
            side, rows = ("A", first[a]) if not x else ("B", second[b])
            skipped.append(Skipped(a, f"{side} has no time: {_why(rows)}"))
            continue
        if margin is None:
            rounds = {row.round: row.sample_ns for row in y}
            both = [(row.sample_ns, rounds[row.round]) for row in x if row.round in rounds]
            if not both:
                skipped.append(Skipped(a, "A and B were never measured in the same round"))
                continue
            found = compare_samples([p or 0 for p, _ in both], [q or 0 for _, q in both], True)
        else:
            found = compare_samples(_times(x), _times(y), False, margin=margin)
        pairs.append(Pair(a, b, found))
    ratios = [pair.comparison.ratio.estimate for pair in pairs]
    overall = statistics.geometric_mean(ratios) if ratios else None
    return Outcome(tuple(pairs), tuple(sorted(skipped, key=lambda s: s.cell)), overall, margin or 0)


def _why(rows: Sequence[Row]) -> str:
    failed = next((row for row in rows if row.sample_ns is None), None)
    return failed.status.value if failed else "every sample is disturbed"

"""Compares the cells of A and B in pairs: by how much is A slower, and is the difference
significant?

The samples of a cell in one round are averaged (of logarithms), so that a pair has one ratio per
round. Within one run a disturbance that slows a whole round cancels. Two runs share no round: their
intervals allow for DRIFT, for the common difference between the runs and for the drift of both
cells, because the machine is then the likelier cause. The order of the sides does not matter: A / B
is the reciprocal of B / A.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from threadmark.judge import estimates, ratios
from threadmark.judge.estimates import Interval, Spread
from threadmark.judge.evidence import by_round, fastest, round_ratios
from threadmark.judge.ratios import LAYOUT, LEVEL, Comparison
from threadmark.model.cell import Cell, Row
from threadmark.model.errors import LabError
from threadmark.model.workload import threads_in_words

DRIFT = 0.05  # the difference of separate runs on shared machines, minutes apart
FIELDS = ("backend", "variant", "platform", "allocator")  # a side may name these
_CELLS_WITH_SHIFT = 6  # fewer cells do not show the common difference of two runs


@dataclass(frozen=True)
class Pair:
    """Two cells that differ only in the compared property, and the comparison of their times."""

    a: Cell
    b: Cell
    comparison: Comparison


@dataclass(frozen=True)
class Skipped:
    """A cell of A without a counterpart or without times, and the reason. `failed`: a process of A
    did not end well, none gave a time, and B has a time."""

    cell: Cell
    why: str
    failed: bool = False


@dataclass(frozen=True)
class Outcome:
    """The whole result of `compare`. `drift`: the least drift that the limits of two runs allow
    for; None within one run."""

    pairs: tuple[Pair, ...]
    skipped: tuple[Skipped, ...]
    drift: float | None = None

    @property
    def overall(self) -> Interval | None:
        """The geometric mean of the ratios; the pairs count as a sample of all programs. The drift
        between two runs is common to all pairs, so the mean does not reduce it."""
        found = [pair.comparison.ratio.estimate for pair in self.pairs]
        if not found:
            return None
        mean, factor = estimates.geometric_mean(found), 1 + (self.drift or 0.0)
        return Interval(mean.low / factor, mean.estimate, mean.high * factor)

    @property
    def different_by_chance(self) -> float:
        """The number of pairs that would look different by chance if none were."""
        return (1 - LEVEL) * sum(pair.comparison.different is not None for pair in self.pairs)

    def of_programs(self, programs: Sequence[str]) -> Outcome:
        """The outcome for these programs only. The comparison of all pairs comes first, because all
        pairs contribute to the variance of each."""
        return replace(
            self,
            pairs=tuple(pair for pair in self.pairs if pair.a.program in programs),
            skipped=tuple(each for each in self.skipped if each.cell.program in programs),
        )

    def at_most_threads(self) -> Outcome:
        """The outcome for the pairs with the most threads of their program, platform, size and
        variants."""
        most: dict[tuple[Any, ...], Pair] = {}
        for pair in self.pairs:
            variant = pair.a.variant if pair.a.variant == pair.b.variant else ""
            key = (replace(pair.a, threads=0, variant=variant), pair.b.backend)
            if key not in most or pair.a.threads > most[key].a.threads:
                most[key] = pair
        return replace(self, pairs=tuple(most.values()))


def compare_runs(
    a: Iterable[Row], b: Iterable[Row], same_executable: Callable[[Cell], bool]
) -> Outcome:
    """Compare two separate runs cell by cell; `same_executable` tells whether both ran the same
    file for a cell. The module's docstring explains the treatment of drift."""
    first, second = _by_cell(a), _by_cell(b)
    skipped = [Skipped(cell, "only in A") for cell in first if cell not in second]
    skipped += [Skipped(cell, "only in B") for cell in second if cell not in first]
    found = _with_times({cell: cell for cell in first if cell in second}, first, second, skipped)
    sides = {cell: (list(x.values()), list(y.values())) for (cell, _), (x, y) in found.items()}
    shifts = [float(np.mean(x) - np.mean(y)) for x, y in sides.values()]
    # The common shift needs several cells, because the shift of one cell would explain away its own
    # difference.
    shift = abs(float(np.median(shifts))) if len(shifts) >= _CELLS_WITH_SHIFT else 0.0
    drift = max(DRIFT, math.expm1(shift))
    spread = _spread(side for both in sides.values() for side in both)
    pairs = []
    for cell, (x, y) in sides.items():
        own = max(drift, wandered(x) + wandered(y))
        ratio = partial(ratios.between_runs, x, y, spread, own)
        layout = 0.0 if same_executable(cell) else LAYOUT
        pairs.append(Pair(cell, cell, Comparison(ratio, (len(x), len(y)), layout, own)))
    return _outcome(pairs, skipped, drift)


def compare_sides(rows: Sequence[Row], a: str, b: str) -> Outcome:
    """Compare cells of side `a` with those of side `b` within one run, paired by round.

    A side is `backend:variant`, or the name of a backend, variant, platform or allocator. Cells
    must agree in everything else. For two backends, variants with the same name are paired, or the
    fastest of each if no name is the same. LabError for a name that the run does not have.
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
    matched, skipped = _matched(first, second, asked, (a, b))
    differences = {}
    for cells, (x, y) in _with_times(matched, first, second, skipped).items():
        common = round_ratios(x, y)
        if common:
            differences[cells] = common
        else:
            skipped.append(Skipped(cells[0], "A and B were never measured in the same round"))
    spread = estimates.common_spread(differences.values())
    pairs = []
    for (cell, other), each in differences.items():
        same = (cell.backend, cell.platform) == (other.backend, other.platform)
        ratio = partial(estimates.geometric_mean, each, spread=spread)
        rounds = (len(each), len(each))
        pairs.append(Pair(cell, other, Comparison(ratio, rounds, 0.0 if same else LAYOUT)))
    return _outcome(pairs, skipped)


def wandered(logs: Sequence[float]) -> float:
    """The drift of a cell in its own run: highest to lowest mean of its thirds (0.05 = 5 %).

    Samples of a drifting machine resemble their neighbours, so their interval is too narrow for a
    comparison with another run. Below nine rounds the interval is wide enough without it.
    """
    if len(logs) < 9:
        return 0.0
    thirds = [float(np.mean(third)) for third in np.array_split(np.asarray(logs), 3)]
    return math.expm1(max(thirds) - min(thirds))


def _matched(
    first: Mapping[Cell, Sequence[Row]],
    second: Mapping[Cell, Sequence[Row]],
    asked: set[str],
    names: tuple[str, str],
) -> tuple[dict[Cell, Cell], list[Skipped]]:
    """The cells of A with their counterparts of B, and those that have none."""
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
            absent, there = (names[1], second) if own else (names[0], first)
            skipped += [
                Skipped(each, _lacking(each, absent, there, blank)) for each in own + others
            ]
        elif same and "variant" not in asked:
            matched.update(same)
            common = {cell.variant for cell in same}
            for ours, other in ((own, names[1]), (others, names[0])):
                why = f"{other} has no variant of this name"
                skipped += [Skipped(cell, why) for cell in ours if cell.variant not in common]
        else:
            matched[_fastest(own, first)] = _fastest(others, second)
    return matched, skipped


def _lacking(cell: Cell, side: str, there: Iterable[Cell], blank: Mapping[str, Any]) -> str:
    """The properties that no cell of the other side has, among those that must be equal."""
    left = list(there)
    for field in ("program", "size", "platform", "allocator", "backend", "variant", "threads"):
        value = getattr(cell, field)
        if field in blank:
            continue
        left = [each for each in left if getattr(each, field) == value]
        if not left:
            what = threads_in_words(value) if field == "threads" else f"the {field} {value}"
            return f"{side} has no cell with {what}"
    return f"{side} has no cell with these arguments"


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


def _fastest(cells: Sequence[Cell], rows: Mapping[Cell, Sequence[Row]]) -> Cell:
    """The fastest cell. If none has a time it is the first cell, so that the output gives that
    cell's reason."""
    return fastest({cell: list(by_round(rows[cell]).values()) for cell in cells}) or cells[0]


def _with_times(
    matched: Mapping[Cell, Cell],
    first: Mapping[Cell, Sequence[Row]],
    second: Mapping[Cell, Sequence[Row]],
    skipped: list[Skipped],
) -> dict[tuple[Cell, Cell], tuple[dict[int, float], dict[int, float]]]:
    """The by_round() of both cells of each pair; pairs without times go to `skipped`."""
    found = {}
    for a, b in matched.items():
        x, y = by_round(first[a]), by_round(second[b])
        if x and y:
            found[a, b] = x, y
        else:
            side, rows = ("A", first[a]) if not x else ("B", second[b])
            failed = next((row for row in rows if row.sample_ns is None), None)
            why = failed.status.value if failed else "every sample is disturbed"
            lost = bool(y) and any(_failed(row) for row in rows)
            skipped.append(Skipped(a, f"{side} has no time: {why}", lost))
    return found


def _failed(row: Row) -> bool:
    return row.sample_ns is None and row.status.ran


def _spread(logs: Iterable[Sequence[float]]) -> Spread:
    return estimates.common_spread([list(np.exp(each)) for each in logs])


def _outcome(pairs: list[Pair], skipped: list[Skipped], drift: float | None = None) -> Outcome:
    return Outcome(
        tuple(sorted(pairs, key=lambda pair: (pair.a, pair.b))),
        tuple(sorted(skipped, key=lambda each: each.cell)),
        drift,
    )

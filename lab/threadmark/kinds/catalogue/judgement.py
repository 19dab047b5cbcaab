"""From the rows of a run of the catalogue to one Entry per (program, way, platform, allocator).

The one thing to know: a speed-up pairs the windows of one process round by round; only gains, which
are ratios of medians, compare processes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from threadmark.judge import estimates
from threadmark.judge.evidence import evidence
from threadmark.judge.findings import Judged, point
from threadmark.kinds.catalogue import rounds, scaling
from threadmark.kinds.catalogue.profiles import BOUND, CALIBRATION, FREE
from threadmark.kinds.catalogue.rounds import Rounds
from threadmark.kinds.catalogue.scaling import Calibration
from threadmark.measure.observation import Observation, cost_s
from threadmark.model.cell import DEFAULT, Cell, Row, Status
from threadmark.model.executable import CONTENTION


@dataclass(frozen=True)
class Entry:
    """One line of the catalogue. Figures are medians over undisturbed processes, speed-ups their
    geometric means."""

    judged: Judged  # its cell has threads 0, its base is None
    way: Mapping[str, Any]  # from the executable: name, meaning, remedy, use, lacks
    library: str  # such as 'libstdc++ 12'
    one_ns: float | None  # an operation on one thread
    rates: Mapping[int, float]  # operations per second of one thread, by threads
    fairness: float | None  # slowest by fastest thread, at the verdict's threads
    base: str = ""  # the base of the gains: the usual way, or the C library's own allocator
    gain_one: float | None = None
    gain_many: float | None = None  # per thread, at the verdict's threads

    @property
    def cell(self) -> Cell:
        """The cell of the entry, for any number of threads."""
        return self.judged.cell

    @property
    def remedy(self) -> bool:
        """Whether this way is the remedy."""
        return bool(self.way.get("remedy", False))

    @property
    def speedup(self) -> float | None:
        """The speed-up that decided the verdict."""
        found = self.judged.verdict.speedup
        return found.estimate if found else None


@dataclass(frozen=True)
class Catalogue:
    """The whole result of a run. `threads` is the largest number of threads of a verdict."""

    entries: tuple[Entry, ...]
    calibrations: tuple[Calibration, ...]
    threads: int

    @property
    def invalid(self) -> list[Calibration]:
        """The calibrations of platforms on which this run is not valid."""
        return [each for each in self.calibrations if each.why]

    @property
    def said(self) -> list[Judged]:
        """The verdicts of all ways except those of the calibration."""
        return [each.judged for each in self.entries if each.cell.program != CALIBRATION]


@dataclass
class _Group:
    """The processes of one way: their rows, and the rounds of those that count, by threads."""

    rows: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    counted: dict[int, list[tuple[Row, Rounds]]] = field(default_factory=lambda: defaultdict(list))


def judge(rows: Iterable[Row], descriptions: Sequence[Mapping[str, Any]]) -> Catalogue:
    """Every entry in the order of cells, and the calibration of each platform."""
    groups = _grouped(rows)
    ways = {
        (each.get("platform_name"), each.get("program"), way["name"]): (each, way)
        for each in descriptions
        for way in each.get("variants", ())
    }
    cores = max((_cores(r) for g in groups.values() for s in g.rows.values() for r in s), default=1)
    counts = {p for g in groups.values() for p in g.rows if p <= cores}
    threads = max(counts, default=1)
    platforms = sorted({cell.platform for cell in groups})
    calibrations = {name: _calibration(name, threads, groups) for name in platforms}
    entries = [
        _entry(cell, group, ways, calibrations[cell.platform], cores)
        for cell, group in sorted(groups.items())
    ]
    return Catalogue(_with_gains(entries, ways), tuple(calibrations.values()), threads)


def _cores(row: Row) -> int:
    # A row of an older store has no count of cores. It had a core for each of its processors.
    return int(row.facts.get("cores", len(row.facts.get("cpus", ()))))


def observe(rows: Sequence[Row]) -> Observation:
    """The observation of a process for a schedule: the end of its verdict's row, and its speed-up.
    The speed-up is 1 for a way of one thread, whose verdict is fixed. A disturbed process has none,
    however often it was repeated: with few other processes the interval stays open, and the cell
    goes on."""
    fitting = [row for row in rows if row.cell.threads <= _cores(row)]
    row, alone = max(fitting or rows[:1], key=lambda r: r.cell.threads), rows[0]
    counts = row.status is Status.OK and not row.disturbed
    value = rounds.of_rows(row, alone).speedup if counts else None
    cell, disturbed = rows[-1].cell, bool(row.disturbed)
    return Observation(cell, row.round, row.status, cost_s(row), value, None, disturbed)


def processes(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows of each process, by threads, in the order of measuring."""
    found: dict[tuple[Cell, int, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[replace(row.cell, threads=0), row.round, row.started_at].append(row)
    return [sorted(each, key=lambda row: row.cell.threads) for each in found.values()]


def _grouped(rows: Iterable[Row]) -> dict[Cell, _Group]:
    groups: dict[Cell, _Group] = defaultdict(_Group)
    for process in processes(rows):
        group = groups[replace(process[0].cell, threads=0)]
        for row in process:
            group.rows[row.cell.threads].append(row)
        for row in evidence(process):
            found = rounds.of_rows(row, process[0])
            group.counted[row.cell.threads].append((row, found))
    return groups


def _calibration(platform: str, threads: int, groups: Mapping[Cell, _Group]) -> Calibration:
    used: dict[str, list[Rounds]] = {FREE: [], BOUND: []}
    for cell, group in groups.items():
        if cell.platform == platform and cell.program == CALIBRATION and cell.variant in used:
            used[cell.variant] += (each for _, each in group.counted[threads])
    free, bound = (list(chain.from_iterable(e.ratios for e in used[x])) for x in (FREE, BOUND))
    slowings = list(chain.from_iterable(each.slowings for each in used[FREE]))
    return scaling.calibration(platform, threads, free, bound, slowings)


def _entry(
    cell: Cell,
    group: _Group,
    ways: Mapping[tuple[Any, ...], tuple[Mapping[str, Any], Mapping[str, Any]]],
    calibrated: Calibration,
    cores: int,
) -> Entry:
    description, way = ways.get((cell.platform, cell.program, cell.variant), ({}, {}))
    points = {
        p: point(rows, [each.speedup for _, each in group.counted[p]])
        for p, rows in sorted(group.rows.items())
    }
    found = scaling.verdict(
        points,
        use=str(way.get("use", "threads")),
        cores=cores,
        calibrated=calibrated if cell.backend == CONTENTION else None,
    )
    reason = next((row.reason for rows in group.rows.values() for row in rows if row.reason), "")
    if not found.detail:
        found = replace(found, detail=reason)
    times = {
        p: estimates.median_interval([row.sample_ns or 0.0 for row, _ in counted])
        for p, counted in sorted(group.counted.items())
        if counted
    }
    at = group.counted[found.at_threads or 0]
    return Entry(
        Judged(
            cell,
            found,
            None,
            times,
            {p: tuple(rows) for p, rows in sorted(group.rows.items())},
            facts=description,
        ),
        way,
        str(description.get("platform", {}).get("standard_library", "")) or cell.platform,
        times[1].estimate if 1 in times else None,
        {
            p: estimates.median([each.per_second for _, each in group.counted[p]])
            for p in points
            if group.counted[p]
        },
        estimates.median([each.fairness for _, each in at]) if at else None,
    )


def _with_gains(
    entries: Sequence[Entry],
    ways: Mapping[tuple[Any, ...], tuple[Mapping[str, Any], Mapping[str, Any]]],
) -> tuple[Entry, ...]:
    """The entries with their gains: a remedy's gain over the usual way, which is the first way of
    the program; any other way's gain over itself with the C library's own allocator."""
    by_cell = {each.cell: each for each in entries}
    usual: dict[tuple[Any, Any], str] = {}
    for platform, program, name in ways:
        usual.setdefault((platform, program), name)
    result = []
    for each in entries:
        cell, base = each.cell, None
        if each.remedy:
            first = usual.get((cell.platform, cell.program), "")
            base = by_cell.get(replace(cell, variant=first))
        elif cell.allocator != DEFAULT:
            base = by_cell.get(replace(cell, allocator=DEFAULT))
        if base is None or base is each:
            result.append(each)
            continue
        name = base.cell.variant if each.remedy else base.cell.allocator
        many = max(set(each.rates) & set(base.rates) - {1}, default=0)
        most = each.judged.verdict.at_threads or many
        result.append(
            replace(
                each,
                base=name,
                gain_one=_ratio(each.rates.get(1), base.rates.get(1)),
                gain_many=_ratio(each.rates.get(most), base.rates.get(most)),
            )
        )
    return tuple(result)


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a and b else None

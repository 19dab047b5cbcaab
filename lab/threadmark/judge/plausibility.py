"""Finds published points that cannot be true. Every check is computed from the data alone.

The one thing to know: a doubt names a contradiction, and never the guilty side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy import stats

from threadmark.judge.table2 import Series, series_of
from threadmark.model.cell import Row

LIMIT_MS = 900_000  # the paper's time-out, for all repeats of a program together
REPEATS = 5
SLOWEST_SERIAL_MS = 60_000  # the paper: every sequential run ends within it
TOLERANCE = 0.9  # a time this far below the possible one is beyond noise
TICK_MS = 1000 / 64  # of a clock that counts at 64 Hz
FINE_MS = 3000  # below it the tick can be told from chance


@dataclass(frozen=True)
class Doubt:
    """One contradiction. `threads` and `program` are empty when the doubt concerns a whole
    platform."""

    what: str
    program: str
    series: str  # platform:policy
    threads: tuple[int, ...]
    evidence: str


def doubts(rows: Iterable[Row]) -> list[Doubt]:
    """Every contradiction found in imported rows."""
    series = series_of(rows)
    found = [each for key, times in series.items() for each in _of_series(key, times, series)]
    return sorted(found, key=lambda d: (d.what, d.series, d.program)) + _coarse_clocks(series)


def _of_series(
    key: tuple[str, str, str],
    times: Series,
    series: Mapping[tuple[str, str, str], Series],
) -> Iterable[Doubt]:
    program, platform, policy = key
    name = f"{platform}:{policy}"
    known = {p: t for p, t in times.items() if t is not None}
    serial = series.get((program, platform, "deferred"), {}).get(1)
    if policy == "deferred":
        if serial is None:
            evidence = "has no result on one core, where the paper says all end within 60 s"
            yield Doubt("a sequential run without a result", program, name, (1,), evidence)
        return
    if serial is not None:
        early = tuple(p for p in known if known[p] * p < TOLERANCE * serial)
        if early:
            p = early[0]
            evidence = (
                f"{known[p]:.0f} ms on {p} core{'s' * (p > 1)}, but the same work took "
                f"{serial:.0f} ms deferred on one: x{serial / known[p]:.3g} where x{p} is the most"
            )
            yield Doubt("less time than the work needs", program, name, early, evidence)
    # The median of five is at least as long as three of them, so three must fit into the limit.
    late = tuple(p for p in known if known[p] * (REPEATS // 2 + 1) > LIMIT_MS)
    if late:
        worst = max(known[p] for p in late) / 1000
        evidence = f"median of {worst:.0f} s, of which three do not fit into the limit of 900 s"
        yield Doubt("more time than the limit allows", program, name, late, evidence)


def _coarse_clocks(series: Mapping[tuple[str, str, str], Series]) -> list[Doubt]:
    """Platforms whose short times are multiples of a 64 Hz tick, as far as whole ms can show."""
    short: dict[str, list[float]] = defaultdict(list)
    for (_, platform, _), times in series.items():
        short[platform] += [t for t in times.values() if t is not None and t < FINE_MS]
    found = []
    for platform, times_ms in sorted(short.items()):
        hits = sum(abs(t - TICK_MS * round(t / TICK_MS)) <= 1 for t in times_ms)
        chance = 2 / TICK_MS
        if hits and stats.binomtest(hits, len(times_ms), chance, "greater").pvalue < 1e-9:
            expected = chance * len(times_ms)
            evidence = (
                f"{hits} of {len(times_ms)} times below 3 s lie within 1 ms of a multiple of "
                f"15.625 ms, {expected:.0f} expected by chance: the clock ticks at 64 Hz, so what "
                "is timed in ticks (round) is stretched"
            )
            found.append(Doubt("a coarse clock", "", platform, (), evidence))
    return found

"""verdict(): does this facility scale on this program? One pure function, its rule in its
docstring.

The one thing to know: it decides by confidence intervals, and says `unclear` when an interval
straddles a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from threadmark.judge import estimates
from threadmark.judge.estimates import Interval, Spread
from threadmark.judge.evidence import FEWEST_ROUNDS
from threadmark.model.cell import Status

EFFICIENT = 0.7  # least speed-up per thread that counts as scaling
GAIN = 1.1  # least speed-up that counts as a gain; 1 / GAIN or less is slower


class Kind(StrEnum):
    """The kind of a label, without its numbers: chooses symbol and colour."""

    SCALES = "scales"
    POORLY = "scales poorly"
    NONE = "no scaling"
    SLOWER = "slower than serial"
    CONTENDED = "slower with threads"  # of the catalogue: together less than one thread alone
    SEQUENTIAL = "sequential"
    UNCLEAR = "unclear"
    TIMEOUT = "timeout"
    PARTIAL_TIMEOUT = "partial timeout"
    WRONG = "wrong"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out of memory"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    DROPPED = "dropped"


# The gravest comes first. One such row decides, because the times beside it are not reliable.
FAILURES = {
    Status.WRONG: Kind.WRONG,
    Status.CRASHED: Kind.CRASHED,
    Status.OUT_OF_MEMORY: Kind.OUT_OF_MEMORY,
    Status.REFUSED: Kind.REFUSED,
    Status.TIMEOUT: Kind.PARTIAL_TIMEOUT,
}


@dataclass(frozen=True)
class Verdict:
    """A label with its basis. `speedup` is serial time / time, `efficiency` is speed-up /
    threads."""

    kind: Kind
    label: str  # for people: "scales to 8", "slower than serial x3.1"
    speedup: Interval | None = None  # at `at_threads`; None when there is no time or no serial time
    efficiency: Interval | None = None
    at_threads: int | None = None  # the threads that decided the label
    detail: str = ""  # one sentence: the reason
    speedups: Mapping[int, Interval] = field(
        default_factory=dict
    )  # at every thread count with a time


@dataclass(frozen=True)
class Point:
    """The observations at one number of threads."""

    speedups: Sequence[float] = ()  # of each round in which both sides were undisturbed
    # The status of every process, less time-outs that a busy machine explains: empty if there were
    # only these.
    statuses: Sequence[Status] = ()
    lacking: str = ""  # the reason for having no more rounds, in a sentence


def verdict(
    points: Mapping[int, Point],
    *,
    parallel: bool = True,
    published: bool = False,
    level: float = 0.95,
    spread: Spread = Spread(),
) -> Verdict:
    """Judges one (program, size, backend, variant, platform, allocator) from its speed-ups.

    A speed-up of a round is the serial time / the time, both of that round; the serial time is of
    the fastest serial variant on the same platform with the same allocator. `parallel` is False for
    a variant that cannot use more than one thread (serial, deferred). `published` takes the one
    known speed-up for exact, because the samples of published medians are not available. `spread`
    is the variation of the speed-ups of this run, see estimates.common_spread().

    The rule, first match wins; S(p) is the geometric mean of the speed-ups at p threads with its
    interval at `level`:
    1. every process failed in one way -> that way; every cell dropped or unavailable -> that word
       (a time-out that a busy machine explains is no failure);
    2. any failure among successes -> the gravest; time-outs among successes -> partial timeout;
    3. not parallel -> sequential, S(1) is its overhead against serial;
    4. fewer than three undisturbed rounds at any number of threads from 2 -> unclear;
    5. going up through the thread counts from 2, N is the last with S(p) / p >= 0.7 -> scales to N;
       where the next count is more than twice N, it might scale to one between them -> unclear;
    6. else by the best S(p): >= 1.1 scales poorly; < 1 / 1.1 slower than serial xK; between: no
       scaling. The lower limit of the best of k counts is the highest of k lower limits at the
       level 1 - (1 - level) / k (Bonferroni), because the best of k is high by chance; its upper
       limit is the highest of the upper limits.
    An interval that straddles a limit it is compared with -> unclear.
    """
    measured = ran(points)
    found = failure(points, measured)

    def intervals(level: float) -> dict[int, Interval]:
        return {
            p: _exactly(point.speedups[0])
            if published
            else estimates.geometric_mean(point.speedups, level, spread)
            for p, point in sorted(measured.items())
            if point.speedups
        }

    speedups = intervals(level)
    if found is not None:
        kind, detail = found
        return _at_best(kind, detail, speedups)
    if not parallel:
        if not speedups:
            return Verdict(
                Kind.SEQUENTIAL, Kind.SEQUENTIAL.value, detail=points[min(points)].lacking
            )
        p = min(speedups)
        detail = f"cannot use a second thread; takes x{1 / speedups[p].estimate:.2f} serial time"
        return _at(Kind.SEQUENTIAL, Kind.SEQUENTIAL.value, detail, p, speedups)
    gap = _gap(points, 1 if published else FEWEST_ROUNDS)
    if gap:
        return _at_best(Kind.UNCLEAR, gap, speedups)
    counts = [p for p in speedups if p >= 2]
    cautious = intervals(1 - (1 - level) / len(counts))
    best = max(counts, key=lambda p: speedups[p].estimate)
    bounds = Interval(
        max(cautious[p].low for p in counts),
        speedups[best].estimate,
        max(speedups[p].high for p in counts),
    )
    return _scaling(counts, best, bounds, speedups)


def _exactly(value: float) -> Interval:
    return Interval(value, value, value)


def limits(speedup: float, threads: int) -> tuple[float, ...]:
    """The limits to which the verdict compares this speed-up."""
    efficient = EFFICIENT * threads
    return (efficient,) if speedup >= efficient else (efficient, GAIN, 1 / GAIN)


def ran(points: Mapping[int, Point]) -> dict[int, Point]:
    """The points at which a process ran."""
    return {
        p: point
        for p, point in points.items()
        if not point.statuses or any(s.ran for s in point.statuses)
    }


def failure(points: Mapping[int, Point], measured: Mapping[int, Point]) -> tuple[Kind, str] | None:
    """The failure and its place, if there is one; `measured` are the points at which a process
    ran."""
    if not points:
        return Kind.DROPPED, "nothing was measured"
    if not measured:
        everything = [s for point in points.values() for s in point.statuses]
        gone = Status.UNAVAILABLE if Status.UNAVAILABLE in everything else Status.DROPPED
        return Kind(gone.value), ""
    known = {p: point for p, point in measured.items() if point.statuses}
    if known and all(
        s is Status.TIMEOUT for point in known.values() for s in point.statuses if s.ran
    ):
        return Kind.TIMEOUT, f"never ended on {_listed(known)}"
    for status, kind in FAILURES.items():
        hit = [p for p, point in measured.items() if status in point.statuses]
        if hit:
            bad = sum(list(measured[p].statuses).count(status) for p in hit)
            tried = sum(sum(s.ran for s in measured[p].statuses) for p in hit)
            return kind, f"{bad} of {tried} processes on {_listed(hit)}"
    return None


def _listed(threads: Sequence[int] | Mapping[int, Point]) -> str:
    names = [str(p) for p in sorted(threads)]
    return f"{', '.join(names)} thread{'s' if names != ['1'] else ''}"


def _gap(points: Mapping[int, Point], fewest: int) -> str:
    """The reason for having no verdict although everything ended well; empty if there is one."""
    judged = {p: point for p, point in sorted(points.items()) if p >= 2}
    if not judged:
        return "measured on one thread only"
    for p, point in judged.items():
        if len(point.speedups) < fewest:
            few = f"{len(point.speedups)} of the {fewest} undisturbed rounds needed"
            return f"{few} on {_listed([p])}" + (f": {point.lacking}" if point.lacking else "")
    return ""


def _at(kind: Kind, label: str, detail: str, p: int, speedups: Mapping[int, Interval]) -> Verdict:
    return Verdict(kind, label, speedups[p], speedups[p].scaled(1 / p), p, detail, speedups)


def _at_best(kind: Kind, detail: str, speedups: Mapping[int, Interval]) -> Verdict:
    if not speedups:
        return Verdict(kind, kind.value, detail=detail)
    return _at(kind, kind.value, detail, _best(speedups), speedups)


def _best(speedups: Mapping[int, Interval]) -> int:
    return max(speedups, key=lambda p: speedups[p].estimate)


def _scaling(
    counts: Sequence[int], best: int, bounds: Interval, speedups: Mapping[int, Interval]
) -> Verdict:
    """Rules 5 and 6. `bounds` is the speed-up at `best`, the count with the highest one."""
    reached = 0
    for p in counts:
        efficiency = speedups[p].scaled(1 / p)
        if efficiency.low >= EFFICIENT:
            reached = p
            continue
        if efficiency.high >= EFFICIENT:
            detail = (
                f"efficiency on {p} threads is {_span(efficiency)}, on both sides of {EFFICIENT}"
            )
            return _at(Kind.UNCLEAR, "unclear", detail, p, speedups)
        if p > 2 * max(1, reached):
            detail = f"efficiency on {p} threads is below {EFFICIENT}; fewer were not measured"
            return _at(Kind.UNCLEAR, "unclear", detail, p, speedups)
        break
    if reached:
        detail = f"efficiency {speedups[reached].estimate / reached:.2f} on {reached} threads"
        if reached != max(counts):
            detail += f"; fastest on {best} with x{speedups[best].estimate:.2f}"
        return _at(Kind.SCALES, f"scales to {reached}", detail, reached, speedups)
    detail = f"at best x{bounds.estimate:.2f} the speed of serial, on {best} threads"
    if 1 in speedups and bounds.estimate < 1:
        gain = bounds.estimate / speedups[1].estimate
        detail += f" (x{gain:.2f} its own speed on one)"
    for limit in (GAIN, 1 / GAIN):
        if bounds.low < limit <= bounds.high:
            detail = f"speed-up on {best} threads is {_span(bounds)}, on both sides of {limit:.2f}"
            return _at(Kind.UNCLEAR, "unclear", detail, best, speedups)
    if bounds.low >= GAIN:
        return _at(Kind.POORLY, "scales poorly", detail, best, speedups)
    if bounds.high < 1 / GAIN:
        label = f"slower than serial x{short_factor(1 / bounds.estimate)}"
        return _at(Kind.SLOWER, label, detail, best, speedups)
    return _at(Kind.NONE, "no scaling", detail, best, speedups)


def short_factor(factor: float) -> str:
    """A factor >= 1 with two or three figures, for labels."""
    return (
        f"{factor:.0f}"
        if factor >= 9.95
        else f"{factor:.1f}"
        if factor >= 1.05
        else f"{factor:.2f}"
    )


def _span(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"

"""verdict(): does this facility scale on this program? One pure function, its rule in its
docstring.

The one thing to know: it decides by confidence intervals, and says `unclear` when an interval
straddles a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from threadmark import statistics
from threadmark.cell import Status
from threadmark.known import FEWEST_UNDISTURBED
from threadmark.statistics import Interval, Spread

EFFICIENT = 0.7  # least speed-up per thread that counts as scaling
GAIN = 1.1  # least speed-up that counts as a gain; 1 / GAIN or less is slower


class Kind(StrEnum):
    """What kind of label it is, without its numbers: chooses symbol and colour."""

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


# The gravest first: one such row anywhere decides, as the times beside it cannot be relied on.
FAILURES = {
    Status.WRONG: Kind.WRONG,
    Status.CRASHED: Kind.CRASHED,
    Status.OUT_OF_MEMORY: Kind.OUT_OF_MEMORY,
    Status.REFUSED: Kind.REFUSED,
    Status.TIMEOUT: Kind.PARTIAL_TIMEOUT,
}


@dataclass(frozen=True)
class Verdict:
    """A label with what it rests on. `speedup` is serial time / time, `efficiency` is speed-up /
    threads."""

    kind: Kind
    label: str  # for people: "scales to 8", "slower than serial x3.1"
    speedup: Interval | None = None  # at `at_threads`; None when there is no time or no serial time
    efficiency: Interval | None = None
    at_threads: int | None = None  # where the label was decided
    detail: str = ""  # one sentence: why
    speedups: Mapping[int, Interval] = field(
        default_factory=dict
    )  # at every thread count with a time


@dataclass(frozen=True)
class Point:
    """What was seen at one number of threads. `disturbed` samples are those of `samples_ns` not to
    rely on."""

    samples_ns: Sequence[float] = ()  # of the processes that ended well and ran side by side
    statuses: Sequence[Status] = ()  # of every process, less time-outs that a busy machine explains
    disturbed: int = 0  # processes that ended well, but whose threads may not have overlapped
    disturbance: str = ""


def verdict(
    serial_ns: Sequence[float],
    points: Mapping[int, Point],
    *,
    parallel: bool = True,
    medians_only: bool = False,
    level: float = 0.95,
    spread: Spread = Spread(),
) -> Verdict:
    """Judges one (program, size, backend, variant, platform, allocator) from its times by threads.

    `serial_ns` are samples of the fastest serial variant on the same platform: the base of every
    speed-up. `parallel` is False for a variant that cannot use more than one thread (serial,
    deferred). `medians_only` takes estimates for facts, for published medians whose samples nobody
    has. `spread` is how samples of this run vary, see statistics.common_spread().

    The rule, first match wins; S(p) = median(serial) / median(T(p)), each with its interval at
    `level`:
    1. every process failed in one way -> that way; every cell dropped or unavailable -> that word;
    2. any failure among successes -> the gravest; time-outs among successes -> partial timeout;
    3. no serial time, no parallel time, or too few undisturbed samples -> unclear;
    4. not parallel -> sequential, S(1) is its overhead against serial;
    5. going up through the thread counts from 2, N is the last with S(p) / p >= 0.7 -> scales to N;
    6. else by the best S(p): >= 1.1 scales poorly; < 1 / 1.1 slower than serial xK; between: no
       scaling.
    An interval that straddles a limit it is compared with -> unclear.
    """
    measured = ran(points)
    found = failure(points, measured)
    speedups = {
        p: statistics.ratio_of_medians(serial_ns, point.samples_ns, level, spread)
        for p, point in sorted(measured.items())
        if serial_ns and point.samples_ns
    }
    if medians_only:
        speedups = {p: Interval(s.estimate, s.estimate, s.estimate) for p, s in speedups.items()}
    if found is not None:
        kind, detail = found
        return _at_best(kind, detail, speedups)
    gap = _gap(serial_ns, measured, parallel)
    if gap:
        return _at_best(Kind.UNCLEAR, gap, speedups)
    if not parallel:
        p = min(measured)
        detail = f"cannot use a second thread; takes x{1 / speedups[p].estimate:.2f} serial time"
        return _at(Kind.SEQUENTIAL, "sequential", detail, p, speedups)
    return _scaling({p: s for p, s in speedups.items() if p >= 2}, speedups)


def ran(points: Mapping[int, Point]) -> dict[int, Point]:
    """The points at which something ran."""
    return {p: point for p, point in points.items() if any(_ran(s) for s in point.statuses)}


def _ran(status: Status) -> bool:
    return status not in (Status.DROPPED, Status.UNAVAILABLE)


def failure(points: Mapping[int, Point], measured: Mapping[int, Point]) -> tuple[Kind, str] | None:
    """What failed and where, if anything did; `measured` are the points at which something ran."""
    everything = [s for point in points.values() for s in point.statuses]
    if not everything:
        return Kind.DROPPED, "nothing was measured"
    if not measured:
        gone = Status.UNAVAILABLE if Status.UNAVAILABLE in everything else Status.DROPPED
        return Kind(gone.value), ""
    if all(s is Status.TIMEOUT for point in measured.values() for s in point.statuses if _ran(s)):
        return Kind.TIMEOUT, f"never ended on {_listed(measured)}"
    for status, kind in FAILURES.items():
        hit = [p for p, point in measured.items() if status in point.statuses]
        if hit:
            bad = sum(list(measured[p].statuses).count(status) for p in hit)
            tried = sum(sum(_ran(s) for s in measured[p].statuses) for p in hit)
            return kind, f"{bad} of {tried} processes on {_listed(hit)}"
    return None


def _listed(threads: Sequence[int] | Mapping[int, Point]) -> str:
    names = [str(p) for p in sorted(threads)]
    return f"{', '.join(names)} thread{'s' if names != ['1'] else ''}"


def _gap(serial_ns: Sequence[float], measured: Mapping[int, Point], parallel: bool) -> str:
    """Why nothing can be said although everything ended well; empty if something can."""
    if not serial_ns:
        return "there is no serial time to compare with"
    judged = [p for p in sorted(measured) if p >= 2] if parallel else [min(measured)]
    if not judged:
        return "measured on one thread only"
    for p in judged:
        point = measured[p]
        if point.disturbed and len(point.samples_ns) < FEWEST_UNDISTURBED:
            ended = len(point.samples_ns) + point.disturbed
            where = _listed([p])
            return f"{point.disturbed} of {ended} samples on {where} disturbed: {point.disturbance}"
    return ""


def _at(kind: Kind, label: str, detail: str, p: int, speedups: Mapping[int, Interval]) -> Verdict:
    return Verdict(kind, label, speedups[p], speedups[p].scaled(1 / p), p, detail, speedups)


def _at_best(kind: Kind, detail: str, speedups: Mapping[int, Interval]) -> Verdict:
    if not speedups:
        return Verdict(kind, kind.value, detail=detail)
    return _at(kind, kind.value, detail, _best(speedups), speedups)


def _best(speedups: Mapping[int, Interval]) -> int:
    return max(speedups, key=lambda p: speedups[p].estimate)


def _scaling(usable: Mapping[int, Interval], speedups: Mapping[int, Interval]) -> Verdict:
    reached = 0
    for p, speedup in usable.items():
        efficiency = speedup.scaled(1 / p)
        if efficiency.low >= EFFICIENT:
            reached = p
            continue
        if efficiency.high >= EFFICIENT:
            detail = (
                f"efficiency on {p} threads is {_span(efficiency)}, on both sides of {EFFICIENT}"
            )
            return _at(Kind.UNCLEAR, "unclear", detail, p, speedups)
        break
    best = _best(usable)
    if reached:
        detail = f"efficiency {usable[reached].estimate / reached:.2f} on {reached} threads"
        if reached != max(usable):
            detail += f"; fastest on {best} with x{usable[best].estimate:.2f}"
        return _at(Kind.SCALES, f"scales to {reached}", detail, reached, speedups)
    speedup = usable[best]
    detail = f"at best x{speedup.estimate:.2f} the speed of serial, on {best} threads"
    if 1 in speedups and speedup.estimate < 1:
        gain = speedup.estimate / speedups[1].estimate
        detail += f" (x{gain:.2f} its own speed on one)"
    for limit in (GAIN, 1 / GAIN):
        if speedup.low < limit <= speedup.high:
            detail = f"speed-up on {best} threads is {_span(speedup)}, on both sides of {limit:.2f}"
            return _at(Kind.UNCLEAR, "unclear", detail, best, speedups)
    if speedup.low >= GAIN:
        return _at(Kind.POORLY, "scales poorly", detail, best, speedups)
    if speedup.high < 1 / GAIN:
        label = f"slower than serial x{short_factor(1 / speedup.estimate)}"
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

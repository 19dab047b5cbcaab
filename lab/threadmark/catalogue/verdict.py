"""verdict(): does a way of writing an operation scale? One pure function, its rule in its
docstring; and the calibration without which nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from threadmark import statistics
from threadmark.catalogue.profiles import BOUND, CALIBRATION, FEWEST_PROCESSES, FREE
from threadmark.statistics import Interval
from threadmark.verdict import (
    EFFICIENT,
    GAIN,
    Kind,
    Point,
    Verdict,
    failure,
    ran,
    short_factor,
)

LEAST_FREE = 0.9  # efficiency that arithmetic in registers must reach
MOST_BOUND = 1.0  # speed-up that a counter which all threads share must not exceed
FEWEST_PAIRS = 9
ORDERED_FROM = 9  # samples from which the interval leaves the lowest and the highest out


@dataclass(frozen=True)
class Calibration:
    """What the two ways of the calibration reached on a platform, on `threads` threads."""

    platform: str
    threads: int
    free: float | None = None  # median speed-up over all rounds; None if too few were undisturbed
    bound: float | None = None

    @property
    def blind(self) -> str:
        """Why no way can be said to scale here; empty if one can: contention is seen."""
        name = f"{CALIBRATION}:{BOUND}"
        if self.bound is None:
            return f"{name} has fewer than {FEWEST_PAIRS} undisturbed rounds"
        if self.bound > MOST_BOUND:
            return f"{name} reached x{self.bound:.2f} on {self.threads} threads, at most 1 is right"
        return ""

    @property
    def cramped(self) -> str:
        """Why no way can be said not to scale here; empty if one can: there is room to scale."""
        name = f"{CALIBRATION}:{FREE}"
        if self.free is None:
            return f"{name} has fewer than {FEWEST_PAIRS} undisturbed rounds"
        if self.free < LEAST_FREE * self.threads:
            least = LEAST_FREE * self.threads
            return f"{name} reached x{self.free:.2f} on {self.threads} threads, {least:.2g} is due"
        return ""

    @property
    def why(self) -> str:
        """Why the run is not valid on this platform; empty if it is."""
        return self.cramped or self.blind


def calibration(
    platform: str, threads: int, free: Sequence[float], bound: Sequence[float]
) -> Calibration:
    """From the speed-ups of every undisturbed round of the two ways."""
    medians = (
        statistics.median(each) if len(each) >= FEWEST_PAIRS else None for each in (free, bound)
    )
    return Calibration(platform, threads, *medians)


def interval(speedups: Sequence[float]) -> Interval:
    """Median of the processes' speed-ups with its 95 % interval.

    Below nine samples that of Student's t on the logarithms, from nine on the one between order
    statistics: at six those are the lowest and the highest sample, at nine the wildest ones are
    left out. Simulated with one process in ten disturbed, both cover as they should.
    """
    if len(speedups) >= ORDERED_FROM:
        return statistics.median_interval(speedups)
    estimate, mean = statistics.median(speedups), statistics.geometric_mean(speedups)
    return Interval(min(mean.low, estimate), estimate, max(mean.high, estimate))


def limits(threads: int) -> tuple[float, float, float]:
    """The speed-ups at which verdicts on this many threads part, from above."""
    return EFFICIENT * threads, GAIN, 1 / GAIN


def is_open(speedups: Sequence[float], threads: int) -> bool:
    """Whether the interval lies on both sides of a limit, so that more samples are wanted."""
    found = interval(speedups)
    return any(found.low < limit <= found.high for limit in limits(threads))


def verdict(
    points: Mapping[int, Point],
    speedups: Mapping[int, Sequence[float]],
    *,
    use: str,
    processors: int,
    calibrated: Calibration | None,
) -> Verdict:
    """Judges one (program, way, platform, allocator). `speedups` are those of undisturbed processes
    by threads: P times what one thread does among P against what it does alone.

    The rule, first match wins; N is the largest number of threads that had a processor each, S its
    median speed-up with its 95 % interval:
    1. every process failed in one way -> that way; every cell dropped or unavailable -> that word;
    2. any failure among successes -> the gravest; time-outs among successes -> partial timeout;
    3. a way of one thread (`alone`) -> sequential;
    4. N is 1, or fewer than three processes whose threads ran side by side -> unclear;
    5. S / N >= 0.7 -> scales; S >= 1.1 -> scales poorly; S < 1 / 1.1 -> slower with threads xK;
       between -> no scaling. An interval that straddles a limit it is compared with -> unclear;
    6. without a counter that all threads share being seen not to scale, nothing scales, and without
       arithmetic being seen to scale nothing else may be said -> unclear.
    """
    measured = ran(points)
    found = failure(points, measured)
    known = {p: interval(each) for p, each in sorted(speedups.items()) if each}
    if found is not None:
        return Verdict(found[0], found[0].value, detail=found[1], speedups=known)
    if use == "alone":
        detail = "on one thread of a process that never had a second"
        return Verdict(Kind.SEQUENTIAL, Kind.SEQUENTIAL.value, detail=detail, speedups=known)
    most = max((p for p in measured if p <= processors), default=1)
    gap = _gap(most, measured)
    if gap and most not in known:
        return Verdict(Kind.UNCLEAR, Kind.UNCLEAR.value, detail=gap, speedups=known)
    said = _said(known[most], most)
    why = gap
    if not why and said.kind is not Kind.UNCLEAR:
        if calibrated is None:
            why = f"{CALIBRATION} was not measured"
        else:
            why = calibrated.blind or (calibrated.cramped if said.kind is not Kind.SCALES else "")
    if why:
        said = Verdict(Kind.UNCLEAR, Kind.UNCLEAR.value, detail=why)
    s = known[most]
    return Verdict(said.kind, said.label, s, s.scaled(1 / most), most, said.detail, known)


def _gap(most: int, measured: Mapping[int, Point]) -> str:
    """Why nothing can be said although every process ended well; empty if something can."""
    if most < 2:
        return "measured on one thread only"
    point = measured[most]
    if len(point.samples_ns) < FEWEST_PROCESSES:
        if point.disturbed:
            ended = len(point.samples_ns) + point.disturbed
            return f"{point.disturbed} of {ended} processes disturbed: {point.disturbance}"
        return f"fewer than {FEWEST_PROCESSES} processes"
    return ""


def _said(speedup: Interval, threads: int) -> Verdict:
    for limit in limits(threads):
        if speedup.low < limit <= speedup.high:
            span = f"{speedup.low:.2f} to {speedup.high:.2f}"
            detail = f"speed-up on {threads} threads is {span}, on both sides of {limit:.2f}"
            return Verdict(Kind.UNCLEAR, Kind.UNCLEAR.value, detail=detail)
    efficient, gain, loss = limits(threads)
    if speedup.low >= efficient:
        return Verdict(Kind.SCALES, Kind.SCALES.value)
    if speedup.low >= gain:
        return Verdict(Kind.POORLY, Kind.POORLY.value)
    if speedup.high < loss:
        factor = short_factor(1 / speedup.estimate)
        return Verdict(Kind.CONTENDED, f"{Kind.CONTENDED.value} x{factor}")
    return Verdict(Kind.NONE, Kind.NONE.value)

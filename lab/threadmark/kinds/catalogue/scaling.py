"""verdict(): does a way of writing an operation scale? One pure function, its rule in its
docstring; the looks at which the sampling of a way may end; and the calibration without which there
is no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from threadmark.judge import estimates
from threadmark.judge.estimates import Interval
from threadmark.judge.verdict import (
    EFFICIENT,
    GAIN,
    Kind,
    Point,
    Verdict,
    failure,
    ran,
    short_factor,
)
from threadmark.kinds.catalogue.profiles import (
    BOUND,
    CALIBRATION,
    ERROR,
    FEWEST_PROCESSES,
    FREE,
    LOOKS,
)

LEAST_FREE = 0.9  # of the processors' capacity, for arithmetic in registers
LEAST_GIVEN = 0.75  # least efficiency of the processors, above EFFICIENT
MOST_BOUND = 1.0  # largest speed-up of a counter that all threads share
FEWEST_PAIRS = 9
LEVEL = 1 - ERROR / len(LOOKS)  # of the interval at each look


@dataclass(frozen=True)
class Calibration:
    """The results of the two ways of the calibration on a platform, on `threads` threads, over all
    processes of the run. A figure is None if too few rounds were undisturbed."""

    platform: str
    threads: int
    free: float | None = None  # median speed-up over all rounds
    bound: float | None = None
    given: float | None = None  # a processor's speed among all by its speed alone, by yardstick
    halves: tuple[Calibration, ...] = ()  # of the rounds, in the order of measuring

    @property
    def why(self) -> str:
        """The reason for which the run is not valid on this platform; empty if it is."""
        if fault := self._fault():
            return fault
        for name, half in zip(("first", "second"), self.halves, strict=False):
            if fault := half._fault():
                return f"in the {name} half of the run {fault}"
        return ""

    def _fault(self) -> str:
        """The fault of the figures of all rounds."""
        free, bound = f"{CALIBRATION}:{FREE}", f"{CALIBRATION}:{BOUND}"
        if self.free is None or self.given is None:
            return f"{free} has fewer than {FEWEST_PAIRS} undisturbed rounds"
        if self.given < LEAST_GIVEN:
            remedy = "; give fewer --threads" if self.threads > 2 else ""
            return (
                f"a core gives {self.given:.2f} of its speed when {self.threads} threads run, and "
                f"verdicts need {LEAST_GIVEN}{remedy}"
            )
        due = max(LEAST_FREE * self.given, LEAST_GIVEN) * self.threads
        if self.free < due:
            return (
                f"{free} reached x{self.free:.2f} on {self.threads} threads instead of x{due:.2f}"
            )
        if self.bound is None:
            return f"{bound} has fewer than {FEWEST_PAIRS} undisturbed rounds"
        if self.bound > MOST_BOUND:
            return f"{bound} reached x{self.bound:.2f} on {self.threads} threads, more than x1"
        return ""


def calibration(
    platform: str,
    threads: int,
    free: Sequence[float],
    bound: Sequence[float],
    slowings: Sequence[float],
) -> Calibration:
    """The calibration from the speed-ups of every undisturbed round of the two ways, and from the
    yardstick's slowings in the rounds of the first way, all in the order of measuring.

    Each half of the rounds must also pass, if both have enough rounds: the median of all rounds is
    in order even if the calibration failed in nearly half of the run.
    """
    every = (free, bound, slowings)
    parts = (
        [each[: len(each) // 2] for each in every],
        [each[len(each) // 2 :] for each in every],
    )
    enough = all(len(each) >= FEWEST_PAIRS for part in parts for each in part)
    halves = tuple(_medians(platform, threads, part) for part in parts) if enough else ()
    return replace(_medians(platform, threads, every), halves=halves)


def _medians(platform: str, threads: int, figures: Sequence[Sequence[float]]) -> Calibration:
    free, bound, slowing = (
        estimates.median(each) if len(each) >= FEWEST_PAIRS else None for each in figures
    )
    return Calibration(platform, threads, free, bound, 1 / slowing if slowing else None)


def interval(speedups: Sequence[float]) -> Interval:
    """Geometric mean of the processes' speed-ups with Student's interval on the logarithms, at the
    level of one look."""
    return estimates.geometric_mean(speedups, LEVEL)


def limits(threads: int) -> tuple[float, float, float]:
    """The limits of speed-ups between the verdicts on this many threads, from above."""
    return EFFICIENT * threads, GAIN, 1 / GAIN


def decisive(speedups: Sequence[float], threads: int) -> Sequence[float]:
    """The speed-ups, in the order of measuring, on which the verdict rests: as many as at the first
    clear look; all if none is clear.

    The schedule ends sampling at that look, and the judge takes the same speed-ups. A run that
    ended between two looks is judged by all its speed-ups, which spends the error of the look that
    it did not reach. So there are never more looks than LOOKS, and a limit is on the wrong side of
    a clear interval in at most ERROR / 2 of all cases (Bonferroni; Jennison & Turnbull, Group
    Sequential Methods, 2000, chapter 4, has narrower limits for normal samples of known variance).
    """
    passed = [speedups[:look] for look in LOOKS if look <= len(speedups)]
    return next((each for each in passed if is_clear(each, threads)), speedups[: LOOKS[-1]])


def is_clear(speedups: Sequence[float], threads: int) -> bool:
    """Whether the interval lies on one side of every limit."""
    found = interval(speedups)
    return not any(found.low < limit <= found.high for limit in limits(threads))


def uncertainty(speedups: Sequence[float], threads: int) -> float:
    """0 when a look was clear or the last look is passed, so that no more samples are needed; else
    the relative half width of the interval."""
    used = decisive(speedups, threads)
    clear = len(used) in LOOKS and is_clear(used, threads)
    return 0.0 if clear or len(speedups) >= LOOKS[-1] else interval(speedups).half_width


def verdict(
    points: Mapping[int, Point],
    *,
    use: str,
    cores: int,
    calibrated: Calibration | None,
) -> Verdict:
    """Judges one (program, way, platform, allocator). The speed-ups of the points are those of
    undisturbed processes, in the order of measuring: P times the rate of one thread among P, by its
    rate alone.

    The rule, first match wins; N is the largest number of threads that had a core each, S the
    geometric mean of the speed-ups on N that are decisive(), with its interval:
    1. every process failed in one way -> that way; every cell dropped or unavailable -> that word;
    2. any failure among successes -> the gravest; time-outs among successes -> partial timeout;
    3. a way of one thread (`alone`) -> sequential;
    4. N is 1, or fewer than three processes whose threads ran side by side -> unclear;
    5. S / N >= 0.7 -> scales; S >= 1.1 -> scales poorly; S < 1 / 1.1 -> slower with threads xK;
       between -> no scaling. An interval that straddles a limit it is compared with -> unclear;
    6. where the calibration failed, or was not measured -> unclear.
    """
    measured = ran(points)
    found = failure(points, measured)
    known = {
        p: interval(point.speedups)
        for p, point in sorted(points.items())
        if p > 1 and point.speedups
    }
    if found is not None:
        return Verdict(found[0], found[0].value, detail=found[1], speedups=known)
    if use == "alone":
        detail = "on one thread of a process that never had a second"
        return Verdict(Kind.SEQUENTIAL, Kind.SEQUENTIAL.value, detail=detail, speedups=known)
    most = max((p for p in measured if p <= cores), default=1)
    gap = _gap(most, measured)
    if gap and most not in known:
        return Verdict(Kind.UNCLEAR, Kind.UNCLEAR.value, detail=gap, speedups=known)
    s = known[most] = interval(decisive(points[most].speedups, most))
    said = _said(s, most)
    why = gap
    if not why and said.kind is not Kind.UNCLEAR:
        why = calibrated.why if calibrated else f"{CALIBRATION} was not measured"
    if why:
        said = Verdict(Kind.UNCLEAR, Kind.UNCLEAR.value, detail=why)
    return Verdict(said.kind, said.label, s, s.scaled(1 / most), most, said.detail, known)


def _gap(most: int, measured: Mapping[int, Point]) -> str:
    """The reason for having no verdict although every process ended well; empty if there is one."""
    if most < 2:
        return "no number of threads above one had a core for each thread"
    point = measured[most]
    if len(point.speedups) < FEWEST_PROCESSES:
        few = f"{len(point.speedups)} of the {FEWEST_PROCESSES} undisturbed processes needed"
        return f"{few}: {point.lacking}" if point.lacking else few
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

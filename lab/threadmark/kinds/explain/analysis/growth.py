"""Finds the places that take more processor time per unit of work with many threads than with one.

The limits of a ratio have two parts: samples are counted (Poisson: the logarithm of a ratio of
counts has the variance 1/a + 1/b), and like runs differ (the noise floor: the range of the
logarithms of their processor times per unit).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from threadmark.judge.estimates import Interval
from threadmark.kinds.explain.analysis.per_unit import Place, Run

_DEVIATIONS = 1.96  # of 95 %
_LEAST_FLOOR = 0.02
_INSTRUCTIONS = 8  # of a function in the list


@dataclass(frozen=True)
class Grown:
    """A place. Times: nanoseconds of processor time per unit of work."""

    place: Place
    frames: tuple[str, ...]  # its heaviest stack with many threads
    share: float  # of the samples with many threads
    one_ns: float
    many_ns: float
    ratio: Interval
    excess_ns: float  # cost of threads, less the loss of other places
    code: tuple[tuple[str, str, float, float], ...]  # place, text, one_ns, many_ns
    same_code: float  # share of many_ns at instructions that one thread also has


def floor(groups: Sequence[Sequence[Run]]) -> float:
    """The difference of like runs, as a logarithm."""
    found = [_LEAST_FLOOR]
    for runs in groups:
        logs = [math.log(run.cpu_ns) for run in runs if run.run_ns > 0]
        if logs:
            found.append(max(logs) - min(logs))
    return max(found)


def per_unit(runs: Sequence[Run]) -> dict[tuple[Place, tuple[str, ...]], float]:
    """Processor time per unit by stack, the mean of the runs."""
    found: Counter[tuple[Place, tuple[str, ...]]] = Counter()
    for run in runs:
        for key, count in run.stacks.items():
            found[key] += count * run.sample_ns / len(runs)  # type: ignore[assignment]
    return dict(found)


def grown(one: Sequence[Run], many: Sequence[Run]) -> list[Grown]:
    """The places that grow beyond the noise, the dearest first."""
    noise = floor([one, many])
    before, after = _Sums(one), _Sums(many)
    found = []
    for place, count in after.samples.items():
        if not place.function:
            continue
        had = before.samples[place]
        one_ns, many_ns = before.ns[place], after.ns[place]
        # No sample means less than one, so half of one stands for it.
        base = one_ns if had else 0.5 * before.sample_ns
        ratio = many_ns / base if base else math.inf
        reach = math.exp(_DEVIATIONS * math.sqrt(1 / count + 1 / max(had, 0.5)) + noise)
        if ratio / reach <= 1:
            continue
        frames = after.heaviest[place]
        limits = Interval(ratio / reach, ratio, ratio * reach)
        share = count / sum(after.samples.values())
        excess = many_ns - one_ns
        code = _code(place, one, many)
        found.append(Grown(place, frames, share, one_ns, many_ns, limits, excess, *code))
    return _net(found, sum(after.ns.values()) - sum(before.ns.values()))


def _net(found: list[Grown], whole_ns: float) -> list[Grown]:
    """Work that only moved from one function to another is no growth."""
    total = sum(each.excess_ns for each in found)
    if total <= 0 or whole_ns <= 0:
        return []
    part = min(1.0, whole_ns / total)
    scaled = [replace(each, excess_ns=part * each.excess_ns) for each in found]
    return sorted(scaled, key=lambda each: (-each.excess_ns, each.place))


class _Sums:
    """The sums of the runs with one number of threads."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.samples: Counter[Place] = Counter()
        self.heaviest: dict[Place, tuple[str, ...]] = {}
        for (place, _), count in chain.from_iterable(run.stacks.items() for run in runs):
            self.samples[place] += count
        self.ns: dict[Place, float] = defaultdict(float)
        stacks = per_unit(runs)
        for (place, frames), ns in sorted(stacks.items(), key=lambda each: (-each[1], each[0])):
            self.ns[place] += ns
            self.heaviest.setdefault(place, frames)
        self.sample_ns = sum(run.sample_ns for run in runs) / len(runs)


def _code(
    place: Place, one: Sequence[Run], many: Sequence[Run]
) -> tuple[tuple[tuple[str, str, float, float], ...], float]:
    times: list[Counter[tuple[str, str]]] = [Counter(), Counter()]
    for sums, runs in zip(times, (one, many), strict=True):
        for run in runs:
            for (at, where, text), count in run.code.items():
                if at == place:
                    sums[where, text] += count * run.sample_ns / len(runs)  # type: ignore[assignment]
    before, after = times
    ordered = sorted(after, key=lambda key: (before[key] - after[key], key))
    same = sum(after[key] for key in before) / (sum(after.values()) or 1.0)
    return tuple((*key, before[key], after[key]) for key in ordered[:_INSTRUCTIONS]), same

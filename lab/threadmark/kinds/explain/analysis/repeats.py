"""A record of only the repeats of a program that a harness repeats: the time between them and the
threads of the harness are cut out, as if they had not existed.

In contrast to a part of a record, the result is a whole: the repeats follow each other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

from threadmark.kinds.explain.analysis.estimating import Estimates
from threadmark.kinds.explain.analysis.part import times
from threadmark.kinds.explain.analysis.recording import (
    Glance,
    Recording,
    Thread,
    Tick,
    short_threads,
)
from threadmark.model.errors import LabError


def only_repeats(
    whole: Recording, repeats: Iterable[tuple[int, int]], without: Collection[int] = ()
) -> Recording:
    """The record of `repeats`, which are begins and ends in the time of the record, with only the
    threads of the program: `without` are the others. LabError if nothing was recorded of them."""
    found = sorted(
        (max(begin, whole.began_ns), min(end, whole.ended_ns))
        for begin, end in repeats
        if begin < whole.ended_ns and end > whole.began_ns
    )
    if not found:
        raise LabError(
            "The repeats had ended before their recording began, because the machine was busy; "
            "try again when it is not."
        )
    span = _Stretches(tuple(b for b, _ in found), tuple(e for _, e in found))
    ticks = [
        replace(each, glances=tuple(g for g in each.glances if g.tid not in without))
        for each in whole.ticks
    ]
    alive = {
        key: each
        for key, each in whole.threads.items()
        if each.tid not in without and span.covered(each.began_ns) < span.covered(each.ended_ns)
    }
    estimates = Estimates(ticks, span.has, lambda tid: tid not in without)
    threads = {
        key: _moved(each, span, alive[key], estimates)
        for key, each in times(alive, ticks, span).items()
    }
    pairs = estimates.pairs(whole, threads.values())
    share = span.length / max(1, whole.wall_ns)
    return replace(
        whole,
        ended_ns=span.began_ns + span.length,
        began_ns=span.began_ns,
        agent_ns=round(whole.agent_ns * share),
        in_storm=bool(short_threads(whole)),
        threads=threads,
        things=estimates.things(whole, pairs, span.length),
        pairs=tuple(each for _, each in pairs if each.waits or each.wait_ns),
        holds=estimates.holds(whole, pairs),
        samples=tuple(
            replace(each, at_ns=span.at(each.at_ns))
            for each in whole.samples
            if span.has(each.at_ns) and each.tid not in without
        ),
        switches=tuple(
            replace(each, at_ns=span.at(each.at_ns))
            for each in whole.switches
            if span.has(each.at_ns) and each.tid not in without
        ),
        ticks=tuple(_ticks(ticks, span, whole.began_ns)),
        files=estimates.files(whole),
    )


@dataclass(frozen=True)
class _Stretches:
    """Stretches of time that do not overlap, in order."""

    begins: tuple[int, ...]
    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        lengths = (end - begin for begin, end in zip(self.begins, self.ends, strict=True))
        object.__setattr__(self, "_before", tuple(accumulate(lengths, initial=0)))

    _before: tuple[int, ...] = ()  # the length of all stretches before each

    @property
    def began_ns(self) -> int:
        return self.begins[0]

    @property
    def ended_ns(self) -> int:
        return self.ends[-1]

    @property
    def length(self) -> int:
        return self._before[-1]

    def covered(self, at_ns: int) -> int:
        """The length of the stretches before a moment."""
        number = bisect_right(self.begins, at_ns) - 1
        if number < 0:
            return 0
        return self._before[number] + min(at_ns, self.ends[number]) - self.begins[number]

    def has(self, at_ns: int) -> bool:
        number = bisect_right(self.begins, at_ns) - 1
        return number >= 0 and at_ns <= self.ends[number]

    def at(self, at_ns: int) -> int:
        """The moment on a time scale on which the stretches follow each other."""
        return self.began_ns + self.covered(at_ns)

    def share(self, began_ns: int, ended_ns: int) -> float:
        """The share of a span of time that lies in the stretches."""
        return (self.covered(ended_ns) - self.covered(began_ns)) / max(1, ended_ns - began_ns)


def _moved(thread: Thread, span: _Stretches, whole: Thread, estimates: Estimates) -> Thread:
    """A thread with its times in the stretches, and the waits that lie in them."""
    began, ended = span.at(whole.began_ns), span.at(whole.ended_ns)
    placed = replace(thread, began_ns=began, ended_ns=ended)
    return replace(placed, totals=estimates.totals(whole, placed))


def _ticks(ticks: Iterable[Tick], span: _Stretches, began_ns: int) -> Iterator[Tick]:
    """The ticks in the stretches. Run time up to a tick that is left out counts for the next tick,
    as far as it lies in the stretches."""
    before = began_ns
    run: Counter[int] = Counter()
    ready: Counter[int] = Counter()
    for tick in ticks:
        share = span.share(before, tick.at_ns)
        before = tick.at_ns
        for glance in tick.glances:
            run[glance.tid] += round(glance.run_ns * share)
            ready[glance.tid] += round(glance.ready_ns * share)
        if not span.has(tick.at_ns):
            continue

        def placed(glance: Glance) -> Glance:
            own = run.pop(glance.tid, 0), ready.pop(glance.tid, 0)
            return replace(glance, run_ns=own[0], ready_ns=own[1])

        yield replace(
            tick, at_ns=span.at(tick.at_ns), glances=tuple(placed(each) for each in tick.glances)
        )

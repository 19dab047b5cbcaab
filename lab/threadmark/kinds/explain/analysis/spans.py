"""Spans of a run: in which only one thread lived, or in which others waited."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from threadmark.kinds.explain.analysis.recording import Glance, Recording, Tick

Spans = list[tuple[int, int]]  # from and to, in order


def spans_of_one(recording: Recording) -> Spans:
    """When only one thread lived."""
    events = [(t.began_ns, 1) for t in recording.threads.values()]
    events += [(t.ended_ns, -1) for t in recording.threads.values()]
    spans: Spans = []
    alive, since = 0, 0
    for at, change in sorted(events):
        if alive == 1:
            spans.append((since, at))
        alive += change
        since = at
    return spans


def is_within(spans: Spans, at_ns: int) -> bool:
    """Whether a moment is in one of them."""
    before = bisect_right(spans, (at_ns, math.inf))
    return before > 0 and at_ns < spans[before - 1][1]


def stacks_within(recording: Recording, spans: Spans) -> Counter[int]:
    """The stacks of the samples in them."""
    return Counter(s.stack for s in recording.samples if is_within(spans, s.at_ns))


def stacks_meanwhile(
    recording: Recording, tid: int, waits: Callable[[Glance], bool]
) -> Counter[int]:
    """The stacks of a thread's samples between two ticks at which another one waits."""

    def another(tick: Tick) -> bool:
        return any(waits(each) for each in tick.glances if each.tid != tid and not each.works)

    spans = [(a.at_ns, b.at_ns) for a, b in pairwise(recording.ticks) if another(a) and another(b)]
    own = (sample for sample in recording.samples if sample.tid == tid)
    return Counter(sample.stack for sample in own if is_within(spans, sample.at_ns))

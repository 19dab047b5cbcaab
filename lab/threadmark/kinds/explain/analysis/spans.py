"""Spans of a run in which only one thread lived, or in which others waited."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise

from threadmark.kinds.explain.analysis.recording import Glance, Recording

Spans = list[tuple[int, int]]  # from and to, in order


def spans_of_one(recording: Recording) -> Spans:
    """The spans in which only one thread lived."""
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


def live_at_once(recording: Recording, tids: Iterable[int]) -> bool:
    """Whether two of these threads lived at the same time. Threads that followed one another may
    use the same memory in turn."""
    threads = (recording.threads[tid] for tid in tids if tid in recording.threads)
    lives = sorted((each.began_ns, each.ended_ns) for each in threads)
    return any(one[1] > next_one[0] for one, next_one in pairwise(lives))


def is_within(spans: Spans, at_ns: int) -> bool:
    """Whether a moment is in one of the spans."""
    before = bisect_right(spans, (at_ns, math.inf))
    return before > 0 and at_ns < spans[before - 1][1]


def stacks_within(recording: Recording, spans: Spans) -> Counter[int]:
    """The stacks of the samples in the spans."""
    return Counter(s.stack for s in recording.samples if is_within(spans, s.at_ns))


class Meanwhile:
    """The stacks of threads while others waited: those of samples between two ticks at which
    another thread waits. `waits` decides that for a thread that does not work."""

    def __init__(self, recording: Recording, waits: Callable[[Glance], bool]) -> None:
        self._recording = recording
        self._waits = waits

    def of(self, tid: int) -> Counter[int]:
        """The stacks of one thread."""
        return self._by_thread[tid]

    @cached_property
    def _by_thread(self) -> dict[int, Counter[int]]:
        times = [tick.at_ns for tick in self._recording.ticks]
        waiting = [
            {each.tid for each in tick.glances if not each.works and self._waits(each)}
            for tick in self._recording.ticks
        ]
        found: dict[int, Counter[int]] = defaultdict(Counter)
        for sample in self._recording.samples:
            at = bisect_right(times, sample.at_ns)
            both = waiting[at - 1 : at + 1] if at else []
            others = [len(each) > (sample.tid in each) for each in both]
            if len(others) == 2 and all(others):
                found[sample.tid][sample.stack] += 1
        return found

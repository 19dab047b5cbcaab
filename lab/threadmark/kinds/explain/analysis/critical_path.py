"""The critical path: the chain of work that the program's end waited for, back to its beginning.

At a tick the path is in one thread. If that thread waits for another's work, lock or end, the path
goes on in the other thread. If the thread was not made yet, the path goes on in its maker. The
path's time in a thread that has a lock for which others wait belongs to the lock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from threadmark.kinds.explain.analysis.accounting import STATE_OF, STATE_OF_UNSEEN
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.naming import Naming
from threadmark.kinds.explain.analysis.path_steps import Look, Step, joined, times_of, who_waits
from threadmark.kinds.explain.analysis.reasons import Reason, Reasons
from threadmark.kinds.explain.analysis.recording import Glance, Recording
from threadmark.kinds.explain.analysis.stacks import Stacks

_TICKS = 8192  # of a record, at most
_SEGMENTS = 2000
_TOTALS = 50
_SHOWN = 5  # beside the answer
_NEAR_NS = 20_000_000  # from a tick to the sample of its function
_HELD = ("lock", "library")


Free = Callable[[Reason], bool]


class CriticalPath:
    """The critical path of one record."""

    def __init__(
        self, recording: Recording, names: Names, knowledge: Knowledge, reasons: Reasons
    ) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._reasons = reasons
        self._stacks = Stacks(recording, names, knowledge)
        self._naming = Naming(recording, names, self._stacks)
        self._names_of: dict[tuple[str, str, int, int], str] = {}

    @cached_property
    def steps(self) -> list[Step]:
        """The whole path, from the beginning to the end."""
        return [self._step(look) for look in self._walk(lambda _: False)][::-1]

    def without(self, free: Free, ran: Mapping[int, float]) -> float:
        """The length of the path in nanoseconds if waits for these reasons cost nothing: the path
        does not leave a thread that waits for such a reason. `ran`: the part of a thread's running
        time that costs nothing either. Time without a processor does not count, because others
        would have no processor."""
        looks = list(self._walk(free))
        freed = [each.reason is not None and free(each.reason) for each in looks]
        saved, counted = Counter[int](), Counter[int]()  # waits of each thread
        for look, is_free in zip(looks, freed, strict=True):
            saved[look.tid] += is_free
            counted[look.tid] += look.waits and not is_free
        total = 0.0
        for look, is_free, times in zip(looks, freed, times_of(looks), strict=True):
            tid = look.tid
            ran_ns, blocked_ns = times
            total += ran_ns * (1 - ran.get(tid, 0.0))
            if look.waits or is_free:
                total += 0.0 if is_free else blocked_ns
            elif saved[tid] or counted[tid]:  # short waits have the reasons of the thread's others
                total += blocked_ns * counted[tid] / (saved[tid] + counted[tid])
            else:
                total += blocked_ns * (1 - ran.get(tid, 0.0))
        return total

    def of_others(self, processors: int) -> float:
        """The part of the path in nanoseconds for which other programs had the processor of its
        thread: the thread was ready most of the time between two ticks, and no more threads of the
        program worked than there are processors."""
        return sum(
            look.parts[1] * max(0, look.until_ns - look.from_ns)
            for look in self._walk(lambda _: False)
            if look.is_ready and sum(each.works for each in look.tick.glances) <= processors
        )

    def shares(self) -> list[dict[str, Any]]:
        """The largest parts of the path, as shares of its time."""
        total = max(1, sum(each.ns for each in self.steps))
        return [
            {"what": what, "state": state, "share": round(ns / total, 4)}
            for (what, state), ns in self._totals()[:_SHOWN]
        ]

    def plain(self) -> dict[str, Any]:
        """Segments and totals as plain values."""
        return {
            "segments": [self._segment(each) for each in self._segments()],
            "totals": [
                {"what": what, "state": state, "s": round(ns / 1e9, 6)}
                for (what, state), ns in self._totals()[:_TOTALS]
            ],
        }

    def _totals(self) -> list[tuple[tuple[str, str], int]]:
        totals: Counter[tuple[str, str]] = Counter()
        for step in self.steps:
            totals[step.what, step.state] += step.ns
        return sorted(totals.items(), key=lambda each: (-each[1], each[0]))

    def _segment(self, step: Step) -> dict[str, Any]:
        thread = self._recording.threads.get(step.tid)
        began = self._recording.began_ns
        return {
            "thread": thread.name if thread else "",
            "tid": step.tid,
            "from_s": round((step.from_ns - began) / 1e9, 6),
            "to_s": round((step.until_ns - began) / 1e9, 6),
            "state": step.state,
            "what": step.what,
        }

    def _segments(self) -> list[Step]:
        """Joins equal steps. If there are too many, each span shows its largest step."""
        found = joined(self.steps)
        span = max(1, self._recording.wall_ns // _SEGMENTS)
        if len(found) <= _SEGMENTS:
            return found
        spans: dict[int, list[Step]] = defaultdict(list)
        for step in self.steps:
            spans[(step.from_ns - self._recording.began_ns) // span].append(step)
        longest = []
        for steps in spans.values():
            times: Counter[tuple[int, str, str]] = Counter()
            for step in steps:
                times[step.tid, step.state, step.what] += step.ns
            tid, state, what = max(times, key=lambda key: (times[key], key))
            ends = (steps[0].from_ns, steps[-1].until_ns)
            longest.append(Step(tid, *ends, state, what))
        return joined(longest)

    def _walk(self, free: Free) -> Iterator[Look]:
        """Walks from the end to the beginning."""
        ticks = self._recording.ticks[:: 1 + len(self._recording.ticks) // _TICKS]
        until = max(self._recording.ended_ns, ticks[-1].at_ns if ticks else 0)
        current = self._last_thread()
        for number in range(len(ticks) - 1, -1, -1):
            tick = ticks[number]
            from_ns = ticks[number - 1].at_ns if number else self._recording.began_ns
            by_tid = {each.tid: each for each in tick.glances}
            current = self._alive(current, by_tid)
            current, reason = self._awaited(by_tid, current)
            if reason is not None and not free(reason):
                goes_on = (each for each in (reason.tid, reason.waiter) if each in by_tid)
                current = next(goes_on, current)
            span_ns = tick.at_ns - (self._before.get(tick.at_ns) or self._recording.began_ns)
            yield Look(tick, by_tid.get(current), current, from_ns, until, span_ns, reason)
            until = from_ns

    @cached_property
    def _before(self) -> dict[int, int]:
        """For each tick, the time of the tick before."""
        times = [each.at_ns for each in self._recording.ticks]
        return dict(zip(times[1:], times, strict=False))

    def _awaited(self, by_tid: dict[int, Glance], tid: int) -> tuple[int, Reason | None]:
        """The reason for which a thread waits. A thread that waits for the end of a thread that
        waits for an event also waits for that event."""
        reason = self._reasons.passed_on(by_tid, tid)
        seen = {tid}
        while reason is not None and (reason.sort, reason.activity) == ("event", "join"):
            awaited = by_tid[tid].awaited
            if awaited in seen or awaited not in by_tid:
                break
            seen.add(tid := awaited)
            reason = self._reasons.passed_on(by_tid, tid)
        return tid, reason

    def _step(self, look: Look) -> Step:
        reason = look.reason or who_waits(look.tick, look.tid)
        ends = (look.from_ns, look.until_ns)
        if reason is not None and reason.sort != "work":
            state = STATE_OF.get(reason.activity) or STATE_OF_UNSEEN.get(reason.activity, "unknown")
            return Step(look.tid, *ends, state, self._what(reason))
        state = "runnable" if look.is_ready else "useful"
        return Step(look.tid, *ends, state, self._function(look.tid, ends))

    def _what(self, reason: Reason) -> str:
        known = self._names_of.get(reason.key)
        if known is None:
            piece = self._knowledge.cause(self._names.frames(reason.stack))
            if piece is not None and reason.sort in _HELD:
                known = piece.name
            else:
                thing = self._recording.things.get(reason.thing)
                known = self._naming.of(reason, thing, reason.stack).name
            self._names_of[reason.key] = known
        return known

    def _last_thread(self) -> int:
        """The first process's first thread, whose end is the program's end."""
        threads = self._recording.threads
        if self._recording.pid in threads:
            return self._recording.pid
        return max(threads, key=lambda tid: (threads[tid].ended_ns, -tid), default=0)

    def _alive(self, tid: int, by_tid: dict[int, Glance]) -> int:
        """The thread, or its maker if the thread does not exist yet."""
        seen = set()
        while tid not in by_tid and tid not in seen:
            seen.add(tid)
            thread = self._recording.threads.get(tid)
            tid = thread.maker if thread else 0
        if tid in by_tid:
            return tid
        works = [each.tid for each in by_tid.values() if each.works]
        return min(works or by_tid, default=tid)

    @cached_property
    def _samples(self) -> dict[int, tuple[list[int], list[int]]]:
        """For each thread, the times of its samples, and their stacks."""
        found: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for sample in sorted(self._recording.samples, key=lambda each: each.at_ns):
            times, stacks = found[sample.tid]
            times.append(sample.at_ns)
            stacks.append(sample.stack)
        return found

    def _function(self, tid: int, ends: tuple[int, int]) -> str:
        """The function that a thread ran in a time, from the sample nearest to the end of that
        time."""
        times, stacks = self._samples.get(tid, ([], []))
        at = bisect_right(times, ends[1])
        near = [i for i in (at - 1, at) if 0 <= i < len(times)]
        near = [i for i in near if ends[0] - _NEAR_NS <= times[i] <= ends[1] + _NEAR_NS]
        if near:
            best = min(near, key=lambda i: abs(times[i] - ends[1]))
            frame = self._stacks.first(stacks[best], exact=True)
            if frame is not None:
                return frame.name
        thread = self._recording.threads.get(tid)
        return thread.name if thread and thread.name else f"thread {tid}"

"""The critical path: what the program's end waited for, back to its beginning.

At a tick the path is in one thread. Where that waits for another's work, lock or end, the path goes
on in the other one. It goes on in the thread's maker where the thread was not made yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from threadmark.kinds.explain.analysis.accounting import STATE_OF, STATE_OF_UNSEEN
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.naming import Naming
from threadmark.kinds.explain.analysis.reasons import LOCKS, Reason, Reasons
from threadmark.kinds.explain.analysis.recording import Glance, Recording, Tick
from threadmark.kinds.explain.analysis.stacks import Stacks

_TICKS = 8192  # of a record that are looked at
_SEGMENTS = 2000
_TOTALS = 50
_NEAR_NS = 20_000_000  # a sample that says what a thread does at a tick
_HELD = ("lock", "library")


@dataclass(frozen=True)
class Step:
    """Where the path is between two looks."""

    tid: int
    from_ns: int
    until_ns: int
    state: str
    what: str
    reason: Reason | None  # why the thread in which the path was waits; None: it works

    @property
    def ns(self) -> int:
        return max(0, self.until_ns - self.from_ns)


Free = Callable[[Reason], bool]


class CriticalPath:
    """That of one record."""

    def __init__(
        self, recording: Recording, names: Names, knowledge: Knowledge, reasons: Reasons
    ) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._reasons = reasons
        self._stacks = Stacks(recording, names, knowledge)
        self._naming = Naming(recording, names, self._stacks)
        self._held: dict[int, Reason] = {}
        self._names_of: dict[tuple[str, str, int, int], str] = {}

    @cached_property
    def steps(self) -> list[Step]:
        """All of it, from the beginning to the end."""
        return list(self._walk(lambda _: False))[::-1]

    def without(self, free: Free, ran: Mapping[int, float]) -> float:
        """How long it takes if waits for these reasons cost nothing, in nanoseconds: a thread that
        waits so does not make the path leave it. `ran`: the part of a thread's running time that
        costs nothing either. Time without a processor does not count, as others would have none."""
        total = 0.0
        for step in self._walk(free):
            if step.state == "useful":
                total += step.ns * (1 - ran.get(step.tid, 0.0))
            elif step.state != "runnable" and (step.reason is None or not free(step.reason)):
                total += step.ns
        return total

    def plain(self) -> dict[str, Any]:
        """Segments and totals as plain values."""
        totals: Counter[tuple[str, str]] = Counter()
        for step in self.steps:
            totals[step.what, step.state] += step.ns
        ordered = sorted(totals.items(), key=lambda each: (-each[1], each[0]))
        return {
            "segments": [self._segment(each) for each in self._segments()],
            "totals": [
                {"what": what, "state": state, "s": round(ns / 1e9, 6)}
                for (what, state), ns in ordered[:_TOTALS]
            ],
        }

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
        """Steps that are alike as one; where there are too many, what a span is mostly."""
        found = _joined(self.steps)
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
            longest.append(Step(tid, *ends, state, what, None))
        return _joined(longest)

    def _walk(self, free: Free) -> Iterator[Step]:
        """From the end to the beginning."""
        ticks = self._recording.ticks[:: 1 + len(self._recording.ticks) // _TICKS]
        until = max(self._recording.ended_ns, ticks[-1].at_ns if ticks else 0)
        current = self._last_thread()
        held = 0
        for number in range(len(ticks) - 1, -1, -1):
            tick = ticks[number]
            from_ns = ticks[number - 1].at_ns if number else self._recording.began_ns
            by_tid = {each.tid: each for each in tick.glances}
            current = self._alive(current, by_tid)
            reason = self._reasons.passed_on(by_tid, current)
            if reason is not None and not free(reason):
                held = reason.thing if reason.sort in _HELD and reason.thing else 0
                current = next((t for t in (reason.tid, reason.waiter) if t in by_tid), current)
            elif reason is None and not _is_awaited(tick, current, held):
                held = 0
            yield self._step(by_tid.get(current), current, (from_ns, until), reason, held)
            until = from_ns

    def _step(
        self,
        glance: Glance | None,
        tid: int,
        ends: tuple[int, int],
        reason: Reason | None,
        held: int,
    ) -> Step:
        if reason is None and held:
            reason = self._held.get(held)  # others wait for what this thread has
        if reason is not None and reason.sort != "work":
            state = STATE_OF.get(reason.activity) or STATE_OF_UNSEEN.get(reason.activity, "unknown")
            what = self._what(reason)
            if reason.sort in _HELD:
                self._held[reason.thing] = reason
            return Step(tid, *ends, state, what, reason)
        ready = glance is not None and glance.ready_ns > glance.run_ns
        state = "runnable" if ready else "useful"
        return Step(tid, *ends, state, self._function(tid, ends), reason)

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
        """The first process's first thread, whose end is the program's."""
        threads = self._recording.threads
        if self._recording.pid in threads:
            return self._recording.pid
        return max(threads, key=lambda tid: (threads[tid].ended_ns, -tid), default=0)

    def _alive(self, tid: int, by_tid: dict[int, Glance]) -> int:
        """The thread, or the one that made it where it is not there yet."""
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
        """Of each thread: the times of its samples, and their stacks."""
        found: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for sample in sorted(self._recording.samples, key=lambda each: each.at_ns):
            times, stacks = found[sample.tid]
            times.append(sample.at_ns)
            stacks.append(sample.stack)
        return found

    def _function(self, tid: int, ends: tuple[int, int]) -> str:
        """What a thread ran then, by the sample nearest to the end of that time."""
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


def _is_awaited(tick: Tick, tid: int, thing: int) -> bool:
    """Whether others wait for a lock that the thread has."""
    return bool(thing) and any(
        each.awaited == tid and each.thing == thing and each.activity in LOCKS
        for each in tick.glances
    )


def _joined(steps: list[Step]) -> list[Step]:
    found: list[Step] = []
    for step in steps:
        last = found[-1] if found else None
        if last and (last.tid, last.state, last.what) == (step.tid, step.state, step.what):
            found[-1] = Step(last.tid, last.from_ns, step.until_ns, *_kind(step))
        else:
            found.append(step)
    return found


def _kind(step: Step) -> tuple[str, str, Reason | None]:
    return step.state, step.what, step.reason

"""Why a thread waits at a tick, waits for others passed on to what those do at that moment.

A wait costs nothing while as many threads work as can: then no processor is free for the waiter.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from threadmark.kinds.explain.analysis.accounting import unseen_kind
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Glance, Recording, Tick
from threadmark.kinds.explain.analysis.roles import Roles, outermost

LOCKS = ("mutex", "relock", "read_lock", "write_lock", "spin_lock", "once", "own_lock")
_POLLS = ("yield", "spin_lock")  # they run, but do nothing
_PLAIN = {
    "creating": "starting",
    "starting": "starting",
    "sleep": "sleep",
    "timed_condition": "sleep",
    "poll": "io",
    "io": "io",
}
EVENTS = ("join", "future", "condition", "barrier", "semaphore", "event")
# Of the others' reasons the first of these is what a waiter for any of them waits for.
_RANK = ("lock", "library", "kernel_memory", "io", "sleep", "starting", "work", "event", "")


@dataclass(frozen=True)
class Reason:
    """`sort`: lock, library, event, work, io, sleep, ... `thing` and `stack` say which; `tid` is
    the thread that works where others wait for its work."""

    sort: str
    activity: str = ""
    thing: int = 0
    stack: int = 0
    tid: int = 0
    waiter: int = 0

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Reasons with the same key are one cause."""
        if self.sort == "work":
            return self.sort, self.activity, 0, self.tid
        return self.sort, self.activity, self.thing, 0 if self.thing else self.stack


class Reasons:
    """The reasons of one record."""

    def __init__(
        self, recording: Recording, names: Names, knowledge: Knowledge, roles: Roles
    ) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._roles = roles

    def of(self, tick: Tick, glance: Glance) -> Reason | None:
        """Why it does not work; None where it works or its wait costs nothing."""
        by_tid = {each.tid: each for each in tick.glances}
        reason = self._of(by_tid, glance, set())
        busy = sum(each.works and each.activity not in _POLLS for each in tick.glances)
        if reason is None or glance.tid in self._roles.background:
            return None
        free = self._roles.capacity - busy
        if reason.sort == "work":
            # Who waits for a lock is why a processor is free, not who waits for the others' end.
            free -= sum(each.activity in LOCKS for each in tick.glances)
        if free <= 0 and reason.sort in ("work", "event", "io", "sleep", "starting"):
            return None
        return reason

    def _of(self, tick: dict[int, Glance], glance: Glance, visited: set[int]) -> Reason | None:
        visited.add(glance.tid)
        activity = glance.activity
        if activity == "futex":
            activity = self.kind_of_futex(glance.thing, glance.stack)
        if activity in LOCKS:
            return self._lock(tick, glance, activity, visited)
        if activity in EVENTS:
            return self._event(tick, glance, activity, visited)
        if activity not in ("yield", "creating", "starting") and not glance.works:
            for other in tick.values():
                if other.awaited == glance.tid and other.activity in LOCKS:
                    # It holds a lock over its input-output: the lock keeps others from theirs.
                    return Reason("lock", other.activity, other.thing, other.stack, 0, glance.tid)
        if activity in _PLAIN:
            return self._plain(_PLAIN[activity], activity, glance)
        if activity == "yield":
            kind = self.kind_of_yield(glance.stack)
            event = kind in EVENTS
            return (
                self._event(tick, glance, kind, visited)
                if event
                else self._plain("spin", activity, glance)
            )
        if glance.state in ("S", "D"):
            return self._unseen(tick, glance, visited)
        return None

    def is_short(self, tid: int) -> bool:
        """Whether it is a thread of a storm."""
        return tid in self._roles.short

    def kind_of_futex(self, thing: int, stack: int) -> str:
        """What a futex is for: a future, a barrier, an event in general, or a lock of the program's
        own."""
        kind = self._knowledge.activity(self._names.frames(stack))
        if kind:
            return self._by_signaller(kind, thing, stack)
        known = self._recording.things.get(thing)
        datum = known and known.module and self._names.datum(known.module, known.offset)
        # libstdc++ waits for an atomic in a pool of its own.
        return "event" if datum and "__waiter_pool" in datum[0] else "own_lock"

    def kind_of_yield(self, stack: int) -> str:
        """What a thread polls for; the samples say it where the wait has no stack."""
        frames = self._names.frames(stack or self._yields)
        return self._by_signaller(self._knowledge.activity(frames), 0, stack or self._yields)

    def _by_signaller(self, kind: str, thing: int, stack: int) -> str:
        """A wait for an atomic word is for what wakes it: a barrier or semaphore in the same
        function of the program, whose own waiting functions are inlined without a name."""
        if kind != "event":
            return kind
        things = [self._recording.things.get(thing)] if thing else self._recording.things.values()
        own = outermost(self._names.frames(stack))
        for each in things:
            if each is not None and each.signal_stack:
                frames = self._names.frames(each.signal_stack)
                wakes = self._knowledge.activity(frames)
                if wakes in ("barrier", "semaphore") and outermost(frames) == own:
                    return wakes
        return kind

    @cached_property
    def _yields(self) -> int:
        """The stack from which most samples gave their processor away."""
        found: Counter[int] = Counter()
        for sample in self._recording.samples:
            names = [each.name for each in self._names.frames(sample.stack)[:4]]
            if any(name in ("sched_yield", "__sched_yield") for name in names):
                found[sample.stack] += 1
        return min(found, key=lambda s: (-found[s], s), default=0)

    @staticmethod
    def _plain(sort: str, activity: str, glance: Glance) -> Reason:
        return Reason(sort, activity, glance.thing, glance.stack, 0, glance.tid)

    def _unseen(self, tick: dict[int, Glance], glance: Glance, visited: set[int]) -> Reason | None:
        kind = unseen_kind(glance, self._names, self._knowledge)
        if kind in EVENTS:
            return self._event(tick, glance, kind, visited)
        if kind == "futex":
            return self._plain("lock", "own_lock", glance)
        return self._plain(kind or "unknown", kind, glance)

    def _lock(
        self, tick: dict[int, Glance], glance: Glance, activity: str, visited: set[int]
    ) -> Reason | None:
        """The lock, or the lock, join or future that its holder waits for."""
        holder = tick.get(glance.awaited)
        if holder is not None and holder.tid not in visited:
            inner = self._of(tick, holder, visited)
            another = inner is not None and (inner.thing != glance.thing or inner.sort != "lock")
            if inner is not None and another and inner.sort in ("lock", "library"):
                return inner
            if inner is not None and holder.activity in ("join", "future"):
                return inner
        return Reason("lock", activity, glance.thing, glance.stack, glance.awaited, glance.tid)

    def _event(
        self, tick: dict[int, Glance], glance: Glance, activity: str, visited: set[int]
    ) -> Reason | None:
        """What those do that could end the wait."""
        thing = self._recording.things.get(glance.thing)
        if activity == "join" and glance.awaited:
            others = [each for each in (glance.awaited,) if each in tick and each not in visited]
        else:
            able = self._roles.signallers(thing) if activity != "barrier" else set()
            others = [each for each in tick if each not in visited and (not able or each in able)]
        others = [each for each in others if each not in self._roles.background]
        if activity == "barrier":
            others = [e for e in others if not _at(tick[e], glance)]
        works = [each for each in others if tick[each].works and tick[each].activity == "running"]
        if works:
            return Reason("work", activity, glance.thing, glance.stack, min(works), glance.tid)
        found = []
        for each in others:
            if each in visited:  # while another was looked at
                continue
            if tick[each].activity != glance.activity or tick[each].thing != glance.thing:
                reason = self._of(tick, tick[each], visited)
                if reason is not None:
                    found.append(reason)
                elif tick[each].works:
                    found.append(Reason("work", activity, glance.thing, glance.stack, each))
        if found:
            return min(found, key=lambda r: (_RANK.index(r.sort) if r.sort in _RANK else 8, r.tid))
        return Reason("event", activity, glance.thing, glance.stack, 0, glance.tid)


def _at(other: Glance, glance: Glance) -> bool:
    """Whether it waits at the same barrier."""
    same = other.thing == glance.thing and other.activity == glance.activity
    return same and bool(other.thing or other.stack == glance.stack)

"""The reason for which a thread waits at a tick. A wait for another thread passes on to that
thread's activity at that moment.

A wait costs nothing while as many threads work as can work, because no processor is free for the
waiter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from threadmark.kinds.explain.analysis.channels import Channels
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Glance, Recording, Tick
from threadmark.kinds.explain.analysis.requests import POLL
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.sleeps import Sleep, Sleeps
from threadmark.kinds.explain.analysis.unneeded import Unneeded
from threadmark.kinds.explain.analysis.waits import EVENTS, Waits

LOCKS = ("mutex", "relock", "read_lock", "write_lock", "spin_lock", "once", "own_lock")
_WORK = ("running", "io", "poll", "creating", "starting")  # others only try or were just woken
_ENDS = ("join", "future")
_PLAIN = {
    "creating": "starting",
    "starting": "starting",
    "sleep": "sleep",
    "timed_condition": "sleep",
    "poll": "io",
    "io": "io",
}
_BEHIND_CALLS = ("lock", "library", "kernel_memory", "sleep", "work")
# A waiter for any of several threads gets the first of these among their reasons.
_RANK = ("lock", "library", "kernel_memory", "io", "sleep", "starting", "work", "event", "")


@dataclass(frozen=True)
class Reason:
    """`sort`: lock, library, event, work, io, sleep, ... `thing` and `stack` identify it; `tid` is
    the working thread if others wait for its work."""

    sort: str
    activity: str = ""
    thing: int = 0
    stack: int = 0
    tid: int = 0
    waiter: int = 0

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Reasons with the same key form one cause."""
        if self.sort == "work":
            return self.sort, self.activity, 0, self.tid
        return self.sort, self.activity, self.thing, 0 if self.thing else self.stack


NEEDLESS = Reason("needless")  # of a wait that costs nothing, also between ticks


class Reasons:
    """The reasons of one record."""

    def __init__(
        self,
        recording: Recording,
        names: Names,
        knowledge: Knowledge,
        roles: Roles,
        sleeps: Sleeps,
        waits: Waits,
    ) -> None:
        self._recording = recording
        self._sleeps = sleeps
        self._waits = waits
        self._names = names
        self._knowledge = knowledge
        self._roles = roles
        self.unneeded = Unneeded(recording, roles, sleeps, waits)
        self.channels = Channels(recording, names)

    def of(self, tick: Tick, glance: Glance) -> Reason | None:
        """The reason for which the thread does not work; None if it works or its wait costs
        nothing."""
        by_tid = {each.tid: each for each in tick.glances}
        reason = self._of(by_tid, glance, set())
        busy = sum(each.works and each.activity in _WORK for each in tick.glances)
        if reason is None or glance.tid in self.unneeded.threads:
            return None
        if glance.works and reason.sort == "io" and (fed := self._fed(by_tid, glance, set())):
            reason, busy = fed, busy - 1  # the thread at the other end has just woken it
        free = self._roles.capacity - busy
        if reason.sort == "work":
            # A processor is free because of threads that wait for a lock, not because of those that
            # wait for others' ends.
            free -= sum(self._wants_lock(by_tid, each) for each in tick.glances)
        if glance.activity in _ENDS:
            others = (*_WORK, *LOCKS, *_ENDS)
            needed = (e for e in tick.glances if e.tid not in self.unneeded.threads)
            free -= sum(each.activity not in others for each in needed)
            free -= sum(not e.works and e.activity in _WORK for e in tick.glances)
        if free <= 0 and reason.sort in ("work", "event", "io", "sleep", "starting"):
            # None also stands for a call that runs.
            asleep = glance.activity == POLL and not glance.works
            return NEEDLESS if asleep or (reason.sort, glance.activity) == ("work", "io") else None
        return reason

    def passed_on(self, tick: dict[int, Glance], tid: int) -> Reason | None:
        """The reason of a thread's wait, whether it has a cost or not; None if the thread works."""
        glance = tick.get(tid)
        return self._of(tick, glance, set()) if glance else None

    def _of(self, tick: dict[int, Glance], glance: Glance, visited: set[int]) -> Reason | None:
        visited.add(glance.tid)
        activity = glance.activity
        if activity in ("futex", "running", "blocked") and self._sleeps.is_unseen(glance):
            return self._unseen(tick, glance, visited)
        if activity in LOCKS:
            return self._lock(tick, glance, activity, visited)
        if activity in EVENTS:
            return self._event(tick, glance, activity, visited)
        if activity not in ("yield", "creating", "starting") and not glance.works:
            for other in tick.values():
                if other.awaited == glance.tid and other.activity in LOCKS:
                    # It holds a lock during its input and output: the lock keeps the others from
                    # theirs.
                    return Reason("lock", other.activity, other.thing, other.stack, 0, glance.tid)
        if (
            activity in ("io", POLL)
            and not glance.works
            and (fed := self._fed(tick, glance, visited))
        ):
            return fed
        if activity in _PLAIN:
            return self._plain(_PLAIN[activity], activity, glance)
        if activity == "yield":
            return self._plain("spin", activity, glance)
        return None

    def _fed(self, tick: dict[int, Glance], glance: Glance, visited: set[int]) -> Reason | None:
        """The activity of the threads that use the other end of a pipe; None if they also only
        call."""
        others = sorted(self.channels.others(glance) & tick.keys() - visited)
        event = "semaphore" if glance.thing in self.channels.permits else "event"
        for each in others:
            calls = tick[each].activity in ("io", POLL) and each in self.channels.computes
            if tick[each].works and (calls or tick[each].activity == "running"):
                return Reason("work", event, glance.thing, glance.stack, each, glance.tid)
        found = (self._of(tick, tick[each], visited) for each in others if each not in visited)
        return next((r for r in found if r is not None and r.sort in _BEHIND_CALLS), None)

    def _wants_lock(self, tick: dict[int, Glance], glance: Glance) -> bool:
        """Whether the thread waits for a lock, tries again and again to take one, or was just woken
        and waits for the mutex of its condition. A lock whose holder waits for another thread's end
        is a wait for that end."""
        if glance.activity in LOCKS:
            holder = tick.get(glance.awaited)
            return holder is None or holder.works or holder.activity not in _ENDS
        woken = glance.activity == "condition" and glance.works
        return glance.activity == "yield" or (woken and not self.bottleneck(glance.thing))

    def bottleneck(self, thing: int) -> int:
        """The thread that worked all the time and wakes the waiters for a condition; 0: none.
        However dear the wake-ups are, the waiters would still wait for the thread's work."""
        signallers = self._roles.signallers(self._recording.things.get(thing))
        return min(signallers & self._roles.saturated, default=0)

    def is_short(self, tid: int) -> bool:
        """Whether the thread belongs to a storm."""
        return tid in self._roles.short

    @staticmethod
    def _plain(sort: str, activity: str, glance: Glance) -> Reason:
        return Reason(sort, activity, glance.thing, glance.stack, 0, glance.tid)

    def _unseen(self, tick: dict[int, Glance], glance: Glance, visited: set[int]) -> Reason | None:
        kind = self._sleeps.of_glance(glance)
        if kind in EVENTS:
            return self._event(tick, glance, kind, visited)
        if kind == POLL and (fed := self._fed(tick, replace(glance, activity=POLL), visited)):
            return fed
        if kind == "futex":
            activity = self._waits.of("futex", glance.thing, glance.stack)
            if activity in EVENTS:
                return self._event(tick, glance, activity, visited)
            return self._plain("lock", activity, glance)
        sort = "lock" if kind in LOCKS else _PLAIN.get(kind, kind)
        return self._plain(sort or "unknown", kind, glance)

    @staticmethod
    def of_sleep(sleep: Sleep, tid: int) -> Reason:
        """The reason of a sleep that no tick saw."""
        sorts = {"futex": "lock", "": "unknown", **dict.fromkeys(EVENTS, "event"), **_PLAIN}
        sorts |= dict.fromkeys(LOCKS, "lock")
        activity = "own_lock" if sleep.kind == "futex" else sleep.kind
        sort = sorts.get(sleep.kind, sleep.kind)
        return Reason(sort, activity, sleep.thing, sleep.stack, 0, tid)

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
        """The activity of the threads that could end the wait."""
        others = self._able(tick, glance, activity, visited)
        works = [each for each in others if tick[each].works and tick[each].activity == "running"]
        if works:
            worker = min(works)
            if activity == "join":
                activity = self._peers_wait(tick, glance.tid, worker, visited) or activity
            return Reason("work", activity, glance.thing, glance.stack, worker, glance.tid)
        if self._is_partner(tick, glance, others):
            return Reason("work", activity, glance.thing, glance.stack, others[0], glance.tid)
        found = []
        for each in others:
            if each in visited:  # during the look at another thread
                continue
            if tick[each].activity != glance.activity or tick[each].thing != glance.thing:
                reason = self._of(tick, tick[each], visited)
                if reason is not None:
                    found.append(reason)
                elif tick[each].works:
                    found.append(Reason("work", activity, glance.thing, glance.stack, each))
        # A thread that also only waits for an event, for instance for this thread's end, is no
        # reason.
        found = [each for each in found if each.sort != "event"]
        if found:
            return min(found, key=lambda r: (_RANK.index(r.sort) if r.sort in _RANK else 8, r.tid))
        return Reason("event", activity, glance.thing, glance.stack, 0, glance.tid)

    def _able(
        self, tick: dict[int, Glance], glance: Glance, activity: str, visited: set[int]
    ) -> list[int]:
        """The threads that could end the wait."""
        thing = self._recording.things.get(glance.thing)
        if activity == "join" and glance.awaited:
            others = [each for each in (glance.awaited,) if each in tick and each not in visited]
        else:
            able = self._roles.signallers(thing) if activity != "barrier" else set()
            others = [each for each in tick if each not in visited and (not able or each in able)]
        others = [each for each in others if each not in self.unneeded.threads]
        if thing is not None and not thing.shared:
            others = [each for each in others if self._roles.one_process(each, glance.tid)]
        if activity == "barrier":
            others = [e for e in others if not _at(tick[e], glance)]
        return others

    def _is_partner(self, tick: dict[int, Glance], glance: Glance, others: list[int]) -> bool:
        """Whether the only thread that could end the wait was woken from a wait for the same thing,
        and does not run yet."""
        able = self._roles.signallers(self._recording.things.get(glance.thing)) & set(others)
        return len(others) == len(able) == 1 and all(
            tick[e].works and _at(tick[e], glance) for e in able
        )

    def _peers_wait(
        self, tick: dict[int, Glance], waiter: int, worker: int, visited: set[int]
    ) -> str:
        """The way in which a thread with the worker's role waits for the worker's work; '': none
        does. If there is one, they do not end late because one of them has more work."""
        for tid, glance in tick.items():
            behind = glance.activity in LOCKS and glance.awaited == waiter and not glance.works
            if behind and self._roles.same(tid, worker):
                return "future"  # both need one result, one after the other
            waits = not glance.works and glance.activity in EVENTS and glance.activity != "join"
            if waits and tid not in visited and self._roles.same(tid, worker):
                reason = self._of(tick, glance, {*visited})
                if reason is not None and (reason.sort, reason.tid) == ("work", worker):
                    return reason.activity
        return ""


def _at(other: Glance, glance: Glance) -> bool:
    """Whether the other thread waits at the same barrier."""
    same = other.thing == glance.thing and other.activity == glance.activity
    return same and bool(other.thing or other.stack == glance.stack)

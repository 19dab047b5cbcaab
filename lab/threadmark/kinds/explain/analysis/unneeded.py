"""Threads whose waits cost nothing, because no thread needs them meanwhile: timers and watchers,
threads that were never woken, and threads that only wait for the end of a process they started."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import pairwise

from threadmark.kinds.explain.analysis.recording import Glance, Recording, Thread
from threadmark.kinds.explain.analysis.requests import serves
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.sleeps import Sleeps
from threadmark.kinds.explain.analysis.waits import EVENTS, Waits

_IDLE = ("sleep", "poll", "timed_condition", "io")
_WANTED = ("mutex", "relock", "read_lock", "write_lock", "spin_lock")
_OF_PROCESSES = (61, 247)  # wait4, waitid
_HARDLY = 0.02  # of its life spent running
_SELDOM = 0.15  # the same in a server, which may do upkeep between requests
_MOSTLY = 0.9  # of its life or its ticks
_ALL = 0.98
_WORKS = 0.5  # of its life
_FEWEST = 8  # ticks for a finding


class Unneeded:
    """The unneeded threads of one record."""

    def __init__(self, recording: Recording, roles: Roles, sleeps: Sleeps, waits: Waits) -> None:
        self._recording = recording
        self._roles = roles
        self._sleeps = sleeps
        self._waits = waits

    @cached_property
    def threads(self) -> set[int]:
        """All unneeded threads."""
        return self._background | self._never_woken | self.launchers

    @property
    def unused(self) -> set[int]:
        """The threads that do no work of the program: spare workers and launchers."""
        return self._never_woken | self.launchers

    @cached_property
    def launchers(self) -> set[int]:
        """The threads that started one process at a time, and only wait for its end: a shell, a
        guard."""
        return {
            each.tid
            for each in self._recording.threads.values()
            if each.run_ns < _HARDLY * each.life_ns
            and self._share(each, "process") > _MOSTLY
            and self._has_one_child(each.tid)
        }

    def _has_one_child(self, tid: int) -> bool:
        """Whether no two processes that the thread started lived at one time."""
        threads = self._recording.threads.values()
        children = [t for t in threads if t.maker == tid and t.process == t.tid]
        spans = sorted((each.began_ns, each.ended_ns) for each in children)
        return bool(spans) and all(a[1] <= b[0] for a, b in pairwise(spans))

    @cached_property
    def _background(self) -> set[int]:
        """Threads that only sleep or poll beside others that want to work: a timer, a watcher. In a
        part of the threads of which none works, they are the subject and so needed. Of threads with
        the same work, either all are idle or none."""
        work = [each for each in self._recording.threads.values() if self._has_work(each)]
        own_work = any(self._recording.counts(each.tid) for each in work)
        threads = self._recording.threads.values()
        wakers = self._wakers({each.tid for each in work})
        busy = {
            self._roles.group(each)
            for each in threads
            if each.tid in wakers or not self._is_idle(each)
        }
        return {
            each.tid
            for each in threads
            if (own_work if self._recording.counts(each.tid) else work)
            and self._roles.group(each) not in busy
        }

    def _wakers(self, work: set[int]) -> set[int]:
        """Threads that wake threads that want to work and wait for them."""
        awaited = {
            glance.thing
            for tick in self._recording.ticks
            for glance in tick.glances
            if glance.tid in work and glance.activity in EVENTS
        }
        things = (self._recording.things.get(each) for each in awaited)
        return set().union(*map(self._roles.signallers, things))

    def _has_work(self, thread: Thread) -> bool:
        """Whether the thread wants to work, or serves requests."""
        if serves(self._recording) and self._share(thread, "poll") > _HARDLY:
            return True
        locks = sum(thread.totals[name].ns for name in _WANTED if name in thread.totals)
        return thread.run_ns + thread.ready_ns + locks > _WORKS * thread.life_ns > 0

    def _is_idle(self, thread: Thread) -> bool:
        alone = not any(self._roles.peers(thread.tid))
        most = _SELDOM if alone and serves(self._recording) else _HARDLY
        if thread.run_ns >= most * thread.life_ns:
            return False
        timed = sum(
            thread.totals[name].ns * self._waits.shares(thread, name).get(name, 0.0)
            for name in _IDLE
            if name in thread.totals
        )
        return timed > _MOSTLY * thread.life_ns or self._share(thread, "idle", "poll") > _MOSTLY

    @cached_property
    def _never_woken(self) -> set[int]:
        """Spare workers: threads that waited for events from the first tick to the last, without a
        signal. If all others also wait for threads, the spare workers are the reason for which
        nothing goes on."""
        threads = self._recording.threads.values()
        found = {
            each.tid
            for each in threads
            if each.tid != (each.process or self._recording.pid)  # that thread may await the end
            and self._share(each, "spare") > _ALL
        }
        rest = [each for each in threads if each.tid not in found]
        goes_on = any(self._share(each, "join") < _WORKS for each in rest)
        return found if goes_on else set()

    def _share(self, thread: Thread, *roles: str) -> float:
        """The share of its ticks in these roles, if there are enough ticks."""
        counts = self._seen.get(thread.tid, Counter())
        total = sum(counts.values())
        return sum(counts[each] for each in roles) / total if total >= _FEWEST else 0.0

    @cached_property
    def _seen(self) -> dict[int, Counter[str]]:
        """By thread, the numbers of ticks in the wait of each role; the empty role is no such
        wait."""
        found: dict[int, Counter[str]] = {}
        for tick in self._recording.ticks:
            for glance in tick.glances:
                found.setdefault(glance.tid, Counter())[self._role(glance)] += 1
        return found

    def _role(self, glance: Glance) -> str:
        if glance.state not in ("S", "D"):
            return ""
        unseen = self._sleeps.is_unseen(glance)
        kind = self._sleeps.of_glance(glance) if unseen else glance.activity
        if glance.call in _OF_PROCESSES:
            return "process"
        if kind in ("condition", "timed_condition", "semaphore") and self._is_idle_wait(glance):
            return "spare"
        if kind in ("join", "poll"):
            return kind
        return "idle" if kind in _IDLE else ""

    def _is_idle_wait(self, glance: Glance) -> bool:
        """Whether no known signal came for the thing that it waits for."""
        thing = self._recording.things.get(glance.thing)
        if thing is None or thing.signals or (thing.sampled and thing.signal_stack):
            return False
        if thing.what != "condition" and not thing.sampled:
            return False
        # A thread that the agent may not have seen has ended each finished wait.
        return thing.wait_ns >= _MOSTLY * self._recording.wall_ns * thing.waits

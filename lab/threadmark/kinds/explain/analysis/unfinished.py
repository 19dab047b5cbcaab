"""Waits, also for a processor, that went on when the record of a thread ended. The agent and the
kernel count a wait when it is over. Helper threads of a program wait when it ends, so most of their
time would be in no wait at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from threadmark.kinds.explain.analysis.recording import Glance, Pair, Recording, Thread, Total

_FEWEST = 3  # ticks
_BLOCKED = ("S", "D")  # states of the kernel
_NOT_TIMED = ("running", "blocked", "starting", "creating", "yield", "spin_lock")


@dataclass
class _Last:
    """The wait of a thread at its last ticks."""

    glance: Glance
    began_ns: int  # the first of these ticks
    ended_ns: int  # the last tick
    ticks: int = 1
    blocked: int = 0  # ticks at which it slept; the end of the program wakes it
    begun: bool = False  # the tick before saw it elsewhere

    def is_of(self, thread: Thread) -> bool:
        """Whether the wait is of this thread, and not of another with a reused number."""
        return thread.began_ns <= self.began_ns and self.ended_ns <= thread.ended_ns


def with_unfinished(recording: Recording) -> Recording:
    """The record in which each such wait counts up to the end of its thread."""
    threads, things = dict(recording.threads), dict(recording.things)
    pairs = list(recording.pairs)
    last_of, queued_since = _last_waits(recording), _queued(recording)
    for key, thread in recording.threads.items():
        last = last_of.get(thread.tid)
        since_ns = queued_since.get(thread.tid, 0)
        if since_ns and last is not None and last.is_of(thread):
            # The kernel counts the time without a processor when the thread gets one again.
            ready_ns = thread.ready_ns + min(thread.ended_ns - since_ns, _not_waited(thread))
            threads[key] = replace(thread, ready_ns=max(thread.ready_ns, ready_ns))
            continue
        if last is None or last.ticks < _FEWEST or not last.is_of(thread) or not thread.totals:
            continue
        glance, thing = last.glance, things.get(last.glance.thing)
        if glance.activity in _NOT_TIMED or 2 * last.blocked < last.ticks:
            continue
        # A wait that returned after the last tick is in the totals already.
        ns = min(thread.ended_ns - last.began_ns, _not_waited(thread))
        if ns <= 0 or (thing is not None and thing.sampled):
            continue
        before = thread.totals.get(glance.activity, Total(0, 0))
        after = Total(before.ns + ns, before.times + 1)
        threads[key] = replace(thread, totals={**thread.totals, glance.activity: after})
        if thing is not None:
            waits, wait_ns = thing.waits + 1, thing.wait_ns + ns
            longest_ns = max(thing.longest_ns, ns)
            things[thing.id] = replace(thing, waits=waits, wait_ns=wait_ns, longest_ns=longest_ns)
        if glance.stack:
            pairs.append(Pair(glance.thing, glance.activity, glance.stack, 0, 1, ns))
    return replace(recording, threads=threads, things=things, pairs=tuple(pairs))


def _not_waited(thread: Thread) -> int:
    """The time for which the thread was blocked outside of waits that returned."""
    waited = sum(each.ns for name, each in thread.totals.items() if name not in _NOT_TIMED)
    return thread.life_ns - thread.run_ns - thread.ready_ns - waited


def _last_waits(recording: Recording) -> dict[int, _Last]:
    found: dict[int, _Last] = {}
    for tick in reversed(recording.ticks):
        for glance in tick.glances:
            last = found.get(glance.tid)
            if last is None:
                found[glance.tid] = last = _Last(glance, tick.at_ns, tick.at_ns)
                last.blocked += glance.state in _BLOCKED
            elif not last.begun and _wait(glance) == _wait(last.glance):
                last.began_ns = tick.at_ns
                last.ticks += 1
                last.blocked += glance.state in _BLOCKED
            else:
                last.begun = True
    return found


def _queued(recording: Recording) -> dict[int, int]:
    """For each thread that was ready at its last tick, the time since which it had not run."""
    found: dict[int, int] = {}
    ran: set[int] = set()  # or were in another state before
    for tick in reversed(recording.ticks):
        for glance in tick.glances:
            if glance.tid in ran:
                continue
            ready = glance.works and glance.activity == "running"
            if ready and (glance.tid in found or not glance.run_ns):
                found[glance.tid] = tick.at_ns
            if not ready or glance.run_ns:
                ran.add(glance.tid)
    return found


def _wait(glance: Glance) -> tuple[str, int, int]:
    return glance.activity, glance.thing, glance.stack

"""Divides each thread's time from birth to end into states.

Running, ready and blocked are exact: run and ready time of schedstat, and the rest. Blocked time
goes to the waits that the agent timed; ticks divide the rest of it. A wait that lasted longer than
the thread was blocked and ready ran in part, which is `spinning`. If the kernel does not count the
time that the host of the machine stole as run time, that is time without a processor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from threadmark.kinds.explain.analysis.looks import Looks
from threadmark.kinds.explain.analysis.recording import Recording, Thread, short_threads
from threadmark.kinds.explain.analysis.sleeps import Sleeps
from threadmark.kinds.explain.analysis.waits import Waits

STATES = (
    "useful", "spinning", "atomic", "waiting", "condition", "barrier", "join", "semaphore", "once",
    "sleep", "io", "kernel_memory", "runnable", "starting", "runtime", "runtime_idle", "unknown",
)  # fmt: skip
STATE_OF = {
    "mutex": "waiting",
    "relock": "waiting",
    "read_lock": "waiting",
    "write_lock": "waiting",
    "condition": "condition",
    "timed_condition": "sleep",
    "barrier": "barrier",
    "semaphore": "semaphore",
    "join": "join",
    "future": "join",
    "once": "once",
    "event": "condition",
    "futex": "waiting",
    "own_lock": "waiting",
    "sleep": "sleep",
    "poll": "io",
    "io": "io",
    "spin_lock": "spinning",
    "yield": "spinning",
    "creating": "starting",
    "starting": "starting",
}
RUNS = ("spin_lock", "yield", "creating")  # waits that take processor time
_CALLS = ("io", "poll")  # system calls that do work
BEFORE = ("starting",)  # before the birth of the thread


def _zeros() -> dict[str, float]:
    return defaultdict(float)


@dataclass
class ThreadTime:
    """Nanoseconds of one thread by state, and of its waits by activity."""

    thread: Thread
    states: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STATES, 0.0))
    waits: dict[str, float] = field(default_factory=_zeros)  # kind -> ns, running part included
    timed_ns: dict[str, float] = field(default_factory=_zeros)  # as the agent timed them
    unseen_ns: float = 0.0  # blocked, but not in a wait of the agent
    called_ns: float = 0.0  # running in calls for input or output
    run_left_ns: float = 0.0  # running, but not in a wait of the agent


@dataclass(frozen=True)
class Account:
    """All threads' time. In a part of a record, only the threads that count."""

    threads: Mapping[int, ThreadTime]
    everyone: Mapping[int, ThreadTime]  # the other threads of the record too
    states: Mapping[str, float]  # ns
    processors: tuple[float, ...]  # share of the time in which 0, 1, 2, ... of them worked

    @property
    def ran_in_calls(self) -> float:
        """The part of the time in calls for input or output that is time on processors."""
        return self._called_ns / max(1.0, self.states["io"])

    @property
    def called_of_run(self) -> float:
        """The part of the time on processors that is in calls for input or output."""
        ran = sum(each.thread.run_ns for each in self.threads.values())
        return self._called_ns / max(1.0, ran)

    @property
    def _called_ns(self) -> float:
        return sum(each.called_ns for each in self.threads.values())

    @property
    def total_ns(self) -> float:
        """The time of all threads."""
        return sum(each.thread.life_ns for each in self.threads.values())


def account(recording: Recording, looks: Looks, sleeps: Sleeps, waits: Waits) -> Account:
    """Divide the time of all threads."""
    storm = short_threads(recording)
    stolen = _stolen(recording)
    everyone = {}
    for key, thread in recording.threads.items():
        time = ThreadTime(thread)
        seen: Counter[str] = Counter()
        for sleep, count in sleeps.of_thread(thread.tid).items():
            seen[STATE_OF_UNSEEN.get(sleep.kind, "unknown")] += count
        short = thread.tid in storm
        seen = Counter({"starting": 1}) if short else seen
        _divide(time, waits, seen, stolen.get(thread.tid, 0.0))
        _divide_running(time, looks.of(thread.tid), looks.polls.get(thread.tid, Counter()))
        everyone[key] = time
    threads = {key: time for key, time in everyone.items() if recording.counts(time.thread.tid)}
    states = {name: sum(t.states[name] for t in threads.values()) for name in STATES}
    return Account(threads, everyone, states, processors(recording))


def _stolen(recording: Recording) -> dict[int, float]:
    """By thread, the time for which the kernel let it run and did not count run time, as far as the
    host of the machine kept processors from it."""
    seen_ns: Counter[int] = Counter()
    able_ns: Counter[int] = Counter()
    before = recording.began_ns
    for tick in recording.ticks if recording.steal_ns else ():
        span = max(0, tick.at_ns - before)
        before += span
        for glance in tick.glances:
            seen_ns[glance.tid] += span
            able_ns[glance.tid] += span * (glance.state == "R")
    found = {}
    for thread in recording.threads.values():
        part = able_ns[thread.tid] / max(1, seen_ns[thread.tid])
        found[thread.tid] = max(0.0, part * thread.life_ns - thread.run_ns - thread.ready_ns)
    most = recording.steal_ns / max(1.0, sum(found.values()))
    return {tid: ns * min(1.0, most) for tid, ns in found.items()}


def _divide(time: ThreadTime, meant: Waits, unseen: Counter[str], stolen: float) -> None:
    thread, states = time.thread, time.states
    life = float(thread.life_ns)
    run, ready = float(thread.run_ns), float(thread.ready_ns)
    if run + ready > life:  # clocks of two sources
        factor = life / (run + ready)
        run, ready = run * factor, ready * factor
    blocked = life - run - ready
    states["runnable"] += ready
    totals = {name: each.ns for name, each in thread.totals.items() if each.ns}
    waits: dict[str, float] = {
        n: ns for n, ns in totals.items() if n not in (*RUNS, *BEFORE, "running")
    }
    waited = float(sum(waits.values()))
    part = min(waited, blocked)
    inside = max(0.0, min(run, waited - blocked - ready))
    run -= inside
    # A call for input or output mostly runs, in the kernel; a wait for a lock that runs spins.
    counted: dict[str, float] = {}
    for name in _CALLS:
        counted[name] = min(inside, waits.get(name, 0))
        waits[name] = waits.get(name, 0) - counted[name]
        states[STATE_OF[name]] += counted[name]
        time.called_ns += counted[name]
        inside -= counted[name]
    waited = max(1.0, float(sum(waits.values())))
    for name, ns in waits.items():
        counted[name] = counted.get(name, 0.0) + ns / waited * (part + inside)
        for kind, share in meant.shares(thread, name).items():
            states[STATE_OF.get(kind, "unknown")] += ns / waited * part * share
    states["spinning"] += inside
    for name in RUNS:
        # A thread that gives its processor away is ready in part of that time.
        running = thread.run_ns / max(1, thread.run_ns + thread.ready_ns)
        taken = min(run, totals.get(name, 0) * running)
        counted[name] = taken
        states[STATE_OF[name]] += taken
        run -= taken
    for name, ns in counted.items():
        for kind, share in meant.shares(thread, name).items() if ns else ():
            time.waits[kind] += ns * share
            time.timed_ns[kind] += totals[name] * share
    time.run_left_ns = run
    stolen = min(stolen, blocked - part)
    states["runnable"] += stolen
    time.unseen_ns = blocked - part - stolen
    looked = sum(unseen.values())
    for state, count in unseen.items():
        states[state] += time.unseen_ns * count / looked
    if not looked:
        states["unknown"] += time.unseen_ns


def _divide_running(time: ThreadTime, looks: Counter[str], polls: Counter[str]) -> None:
    """Divides running time by the samples of the thread; without samples it counts as useful."""
    looked = sum(looks.values())
    for state, count in looks.items():
        time.states[state] += time.run_left_ns * count / looked
    for kind, count in polls.items():  # the agent does not time these
        time.waits[kind] += time.run_left_ns * count / looked
        time.timed_ns[kind] += time.run_left_ns * count / looked
    if not looked:
        time.states["useful"] += time.run_left_ns


STATE_OF_UNSEEN = {
    "io": "io",
    "sleep": "sleep",
    "kernel_memory": "kernel_memory",
    "starting": "starting",
    "yield": "spinning",
    "library": "waiting",
    "future": "join",
    "barrier": "barrier",
    "semaphore": "semaphore",
    "event": "condition",
    "futex": "waiting",
    "": "unknown",
    **{name: state for name, state in STATE_OF.items() if name != "yield"},
}


def processors(recording: Recording) -> tuple[float, ...]:
    """The shares of the time in which 0, 1, 2, ... processors worked for the threads that count."""
    count = recording.processors
    shares = [0.0] * (count + 1)
    unseen = _unseen_runs(recording)
    before = recording.began_ns
    for place, tick in enumerate(recording.ticks):
        span = max(1, tick.at_ns - before)
        before = tick.at_ns
        own = [each for each in tick.glances if recording.counts(each.tid)]
        run = float(sum(each.run_ns for each in own)) + unseen[place]
        if run == 0:
            run = float(span * sum(each.works for each in own))
        # A mean of 1.4 is one processor for six tenths of the time and two for four tenths.
        busy = min(run / span, float(count))
        low = min(int(busy), count - 1)
        shares[low] += span * (1 - (busy - low))
        shares[low + 1] += span * (busy - low)
    total = sum(shares)
    return tuple(share / total for share in shares) if total else ()


def _unseen_runs(recording: Recording) -> list[float]:
    """By tick, the run time before it that no tick shows: the time that threads ran after the last
    tick that saw them. For a thread that lived between two ticks this is all of its run time."""
    times = [tick.at_ns for tick in recording.ticks]
    unseen = [0.0] * len(times)
    seen: Counter[int] = Counter()
    last: dict[int, int] = {}
    for tick in recording.ticks:
        for each in tick.glances:
            seen[each.tid] += each.run_ns
            last[each.tid] = tick.at_ns
    for thread in recording.threads.values():
        left = thread.run_ns - seen[thread.tid]
        since = max(thread.began_ns, last.get(thread.tid, 0))
        if left <= 0 or thread.ended_ns <= since or not recording.counts(thread.tid):
            continue
        rate = left / (thread.ended_ns - since)
        for place in range(bisect_right(times, since), len(times)):
            begin = max(since, times[place - 1] if place else recording.began_ns)
            unseen[place] += rate * max(0, min(thread.ended_ns, times[place]) - begin)
            if times[place] >= thread.ended_ns:
                break
    return unseen

"""The cost of each reason in time of all threads: exact amounts of the agent and the kernel,
divided by the reasons of waits at the ticks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.reasons import LOCKS, NEEDLESS, Reason, Reasons
from threadmark.kinds.explain.analysis.recording import Pair, Recording
from threadmark.kinds.explain.analysis.requests import POLL, serves
from threadmark.kinds.explain.analysis.sleeps import Sleep, Sleeps
from threadmark.kinds.explain.analysis.waits import EVENTS

_GLANCES = 64  # of one tick, at most
_THREADS = 256  # with shares of their own
_THINGS = 1024  # of one activity with shares of their own
_TICKS = 8192  # of a record, at most
_LOOKS = 8_000_000  # at threads of these: a waiter's reason is asked of others
_EXPECTED = 16  # ticks in which a wait should have been seen
_MOSTLY = 0.5  # of them
_HELD = 0.5  # of the time; woken threads may find such a mutex locked
_WORK = ("useful", "atomic", "kernel_memory", "runtime", "runtime_idle")  # states of threads
Bucket = tuple[str, int]  # activity and thing; ("", thread): not seen by the agent


@dataclass
class Cost:
    """The cost of one reason."""

    reason: Reason
    ns: float = 0.0
    seen: int = 0  # ticks that show it
    by_thread: Counter[int] = field(default_factory=Counter)
    waiters: Counter[int] = field(default_factory=Counter)  # stack -> ns
    workers: Counter[int] = field(default_factory=Counter)  # thread that works -> ns
    timed: bool = False  # by the agent, at least in part


@dataclass
class _Evidence:
    reasons: Counter[Reason | None] = field(default_factory=Counter)
    between: Counter[Reason | None] = field(default_factory=Counter)  # at ticks between two moments

    @property
    def total(self) -> int:
        return sum(self.reasons.values())

    def believe(self, part: float) -> None:
        """Count this part of the ticks between two moments, or all of them if no other tick shows
        the wait."""
        for reason, count in self.between.items():
            self.reasons[reason] += round(count * part) if self.total else count


def costs(recording: Recording, account: Account, reasons: Reasons, sleeps: Sleeps) -> list[Cost]:
    """The costs of all reasons."""
    evidence, by_activity = _gather(recording, account, reasons, sleeps)
    found: dict[tuple[str, str, int, int], Cost] = {}
    pairs: dict[Bucket, Pair] = {}
    for pair in recording.pairs:
        most = pairs.setdefault((pair.activity, pair.thing), pair)
        if pair.wait_ns > most.wait_ns:
            pairs[pair.activity, pair.thing] = pair
    for bucket, whole_ns, shares in _buckets(recording, account):
        ns = whole_ns
        alone = not bucket[0] and reasons.is_short(bucket[1])  # a thread of a storm is one bucket
        seen = evidence.get(bucket) or (None if alone else by_activity.get(bucket[0]))
        shown = seen is not None and seen.total > 0
        if not bucket[0]:
            every = not (shown or alone)
            ns -= _by_switches(found, bucket[1], whole_ns, sleeps, every=every)
        late = _late_ns(bucket, ns, evidence, recording) if bucket[0] == "relock" else 0.0
        waking = _waking(_without_ticks(bucket, pairs.get(bucket), reasons)) if late else None
        if waking is not None:
            _add(found, waking, late, 0, shares)
            ns -= late
        if seen is None or not shown:
            reason = _without_ticks(bucket, pairs.get(bucket), reasons)
            if reason is not None:
                needed, of_them = _needed(shares, reasons)
                _add(found, reason, ns * needed, 0, of_them)
            continue
        for each, count in seen.reasons.items():
            reason = each
            if reason is None and bucket[0] in ("io", "poll"):  # a running call also counts
                reason = _without_ticks(bucket, pairs.get(bucket), reasons)
            if reason not in (None, NEEDLESS):
                part = ns * count / seen.total
                own = count if bucket[0] or bucket in evidence else 0  # else other threads' ticks
                _add(found, reason, part, own, shares, timed=bool(bucket[0]))
    return list(found.values())


def _late_ns(
    bucket: Bucket, ns: float, evidence: Mapping[Bucket, _Evidence], recording: Recording
) -> float:
    """The part of the time from a signal to the return that is the wake-up, because the mutex was
    free: threads seldom hold it, or else ticks would have seen the woken thread asleep for it."""
    condition = recording.things.get(bucket[1])
    mutex = recording.things.get(condition.mutex) if condition else None
    expected = ns * len(recording.ticks) / max(1, recording.wall_ns)
    met = evidence[bucket].total if bucket in evidence else 0
    held = mutex is not None and mutex.hold_ns > _HELD * recording.wall_ns
    if held or expected < _EXPECTED or met > _MOSTLY * expected:
        return 0.0
    return ns * (1 - met / expected)


def _waking(reason: Reason | None) -> Reason | None:
    if reason is None or reason.sort != "lock":
        return reason  # a thread that never rests, whose work is awaited
    return replace(reason, sort="event", activity="condition")


def _needed(shares: dict[int, float], reasons: Reasons) -> tuple[float, dict[int, float]]:
    """The part of an amount that belongs to threads whose waits have a cost, and their shares."""
    left = {tid: share for tid, share in shares.items() if tid not in reasons.unneeded.threads}
    if len(left) == len(shares):
        return 1.0, shares
    total = sum(left.values())
    return total, {tid: share / total for tid, share in left.items()}


def _add(
    found: dict[tuple[str, str, int, int], Cost],
    reason: Reason,
    ns: float,
    seen: int,
    shares: dict[int, float],
    *,
    timed: bool = True,
) -> None:
    cost = found.setdefault(reason.key, Cost(reason))
    cost.timed |= timed
    cost.ns += ns
    cost.seen += seen
    if reason.stack:
        cost.waiters[reason.stack] += round(ns)
    if reason.tid:
        cost.workers[reason.tid] += round(ns)
    for tid, share in shares.items():
        cost.by_thread[tid] += round(ns * share)


def _by_switches(
    found: dict[tuple[str, str, int, int], Cost],
    tid: int,
    ns: float,
    sleeps: Sleeps,
    *,
    every: bool = False,
) -> float:
    """Add the part of a thread's unseen time that its switches explain by themselves, and return
    it. Waits for other threads are left to the ticks, which see those threads. `every`: no tick saw
    the waits, so every switch tells what it can."""
    switches = sleeps.switches(tid)
    total = sum(switches.values())
    explained = 0.0
    for sleep, count in switches.items():
        if every or sleep.kind in _BY_THEMSELVES:
            part = ns * count / total
            explained += part
            _add(found, Reasons.of_sleep(sleep, tid), part, count, {tid: 1.0}, timed=False)
    return explained


_BY_THEMSELVES = ("library", "futex", "kernel_memory", *LOCKS)


def _gather(
    recording: Recording, account: Account, reasons: Reasons, sleeps: Sleeps
) -> tuple[dict[Bucket, _Evidence], dict[str, _Evidence]]:
    evidence: dict[Bucket, _Evidence] = defaultdict(_Evidence)
    by_activity: dict[str, _Evidence] = defaultdict(_Evidence)
    working = Counter[int]()  # ticks by how many threads work
    for number, tick in enumerate(recording.ticks[:: _step(recording)]):
        own = [each for each in tick.glances if recording.counts(each.tid)]
        works = sum(each.works and each.activity in ("running", "io") for each in own)
        # The recorder looks at one thread after the other. A thread that runs, but waits by its
        # words, was woken meanwhile, and so the tick missed the end of another thread's work.
        is_between = not works and any(each.works for each in own)
        working[-1 if is_between else works] += 1
        step = 1 + len(own) // _GLANCES  # each tick takes others, because threads may have turns
        for glance in own[number % step :: step]:
            if glance.activity == "running" and glance.state not in ("S", "D"):
                continue
            reason = reasons.of(tick, glance)
            unseen = sleeps.is_unseen(glance)
            if glance.tid in reasons.unneeded.threads:
                reason = NEEDLESS
                if serves(recording) and sleeps.of_glance(glance) == POLL:
                    # The program had no request, which the answer reports.
                    reason = Reasons.of_sleep(Sleep(POLL, glance.stack), glance.tid)
            bucket = ("", glance.tid) if unseen else (glance.activity, glance.thing)
            for each in (evidence[bucket], by_activity[bucket[0]]):
                (each.between if is_between else each.reasons)[reason] += 1
    part = _between(working, account, recording)
    for each in (*evidence.values(), *by_activity.values()):
        each.believe(part)
    return evidence, by_activity


def _between(working: Mapping[int, int], account: Account, recording: Recording) -> float:
    """The plausible part of the ticks at which threads only woke one another. They do not do so
    while threads work, and the time for which they worked is known."""
    ticks = {number: count for number, count in working.items() if number > 0}
    seen = working.get(-1, 0) / max(1, sum(working.values()))
    if not ticks or not seen:
        return 1.0
    at_once = sum(n * count for n, count in ticks.items()) / sum(ticks.values())
    worked_ns = sum(account.states[state] for state in _WORK)
    left = max(0.0, 1 - worked_ns / max(1.0, recording.wall_ns * at_once))
    return min(1.0, left / seen)


def _step(recording: Recording) -> int:
    """The distance between two ticks that the analysis looks at."""
    ticks = recording.ticks
    looks = sum(len(each.glances) * min(len(each.glances), _GLANCES) for each in ticks)
    return 1 + max(len(ticks) // _TICKS, looks // _LOOKS)


def _buckets(
    recording: Recording, account: Account
) -> Iterator[tuple[Bucket, float, dict[int, float]]]:
    """Amounts, each with the share of every thread in it."""
    raw: dict[str, float] = defaultdict(float)
    waits: dict[str, dict[int, float]] = defaultdict(dict)
    for tid, time in account.threads.items():
        for activity, ns in time.waits.items():
            if ns:
                waits[activity][tid] = ns
                raw[activity] += time.timed_ns[activity]
    pairs: dict[str, Counter[int]] = defaultdict(Counter)
    for pair in recording.pairs:
        pairs[pair.activity][pair.thing] += pair.wait_ns
    for activity, by_thread in waits.items():
        total = sum(by_thread.values())
        known = sum(pairs[activity].values())
        scale = total / max(raw[activity], known)
        shares = {tid: ns / total for tid, ns in by_thread.items()}
        if len(shares) > _THREADS:
            shares = {}
        if len(pairs[activity]) > _THINGS:
            yield (activity, 0), known * scale, shares
            continue
        for thing, ns in pairs[activity].items():
            yield (activity, thing), ns * scale, shares
        if known < 0.98 * raw[activity]:
            yield (activity, 0), (raw[activity] - known) * scale, shares
    for tid, time in account.threads.items():
        if time.unseen_ns:
            yield ("", time.thread.tid), time.unseen_ns, {tid: 1.0}


def _without_ticks(bucket: Bucket, pair: Pair | None, reasons: Reasons) -> Reason | None:
    """The reason of a wait that no tick met."""
    activity, thing = bucket
    if not activity:
        return Reason("starting" if reasons.is_short(thing) else "unknown")
    stack = pair.waiter if pair else 0
    if activity == "relock" and reasons.bottleneck(thing):
        return Reason("work", "condition", thing, stack, reasons.bottleneck(thing))
    for sort, activities in _SORTS.items():
        if activity in activities:
            return Reason(sort, activity, thing, stack)
    return Reason("unknown", activity, thing, stack)


_SORTS = {
    "lock": LOCKS,
    "event": EVENTS,
    "starting": ("creating", "starting"),
    "sleep": ("sleep", "timed_condition"),
    "io": ("poll", "io"),
    "spin": ("yield",),
}

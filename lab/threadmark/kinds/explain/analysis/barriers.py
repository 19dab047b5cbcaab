"""Whether threads wait at barriers because of the barriers, or for a thread that has more work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from threadmark.kinds.explain.analysis.accounting import Account, ThreadTime
from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.costs import Cost
from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.looks import POLLED
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.reasons import Reason
from threadmark.kinds.explain.analysis.recording import Recording, Sample, most_at_once
from threadmark.kinds.explain.analysis.roles import Roles, most_common, outermost
from threadmark.kinds.explain.analysis.serial_parts import FOR_ALL, MOSTLY, MUCH, serial_part
from threadmark.kinds.explain.analysis.spans import is_within, spans_of_one

_SHORT_WAIT_NS = 200_000
_MOSTLY_READY = 0.5  # of the waiting time
_HARDLY = 0.1  # of the waits: the threads do next to nothing before them
_EVEN = 0.5  # of the longest
_ALIKE = 0.8  # of the longest
_BARRIER = re.compile(r"std::(__\w+::)?(barrier|__tree_barrier\w*|__barrier_base)::.*")
_POLLS = "__libcpp_timed_backoff_policy::"
_UNDER = 0.5  # of the work
_AWAITED = 0.1  # of the time for which a lock is held
_PART = 0.05  # of the longest: a thread that waits less only made the barrier


def barriers_take_long(recording: Recording, account: Account, costs: Iterable[Cost]) -> bool:
    """Whether all threads wait there briefly, or hardly work otherwise, and wait for about the same
    time: then the barrier is the cause."""
    waited = _waited(recording, account.everyone, "barrier")
    work = sum(account.everyone[key].states["useful"] for key, ns in waited.items() if ns)
    # With more threads than processors a wait lasts a turn of the scheduler, whatever the work.
    if work < _HARDLY * sum(waited.values()):
        brief = True
    elif _has_agent(recording):
        brief = _are_short(recording, account)
    else:
        brief = _work_by_turns(recording, account, waited)
    return brief and _are_even(waited, costs)


@dataclass(frozen=True)
class WorkForAll:
    """The work of one thread while the others wait. `part`: of the time that they wait."""

    part: float = 0.0
    name: str = ""
    where: str = ""
    did: Counter[int] = field(default_factory=Counter)  # stacks
    words: str = FOR_ALL
    doubt: str = "or threads wait for one that has more to do"
    threads: frozenset[int] = frozenset()  # that do it
    is_open: bool = False  # it is not known whether there is such work


class Meetings:
    """The places at which the threads of a record wait until all have come."""

    def __init__(
        self,
        recording: Recording,
        names: Names,
        knowledge: Knowledge,
        roles: Roles,
        account: Account,
    ) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._roles = roles
        self._account = account
        self._alone = spans_of_one(recording)  # when no thread waits
        self._found: dict[str, WorkForAll] = {}

    def awaits_work(self, cost: Cost) -> bool:
        """Whether threads wait for such work, and not for the unequal part of another thread."""
        work = self.work(cost.reason.activity)
        return work.part > 0 and (not cost.reason.tid or cost.reason.tid in work.threads)

    def attributed(self, cost: Cost) -> Cost:
        """The cost of a wait at a barrier for which no tick saw a thread work, as that of the
        thread that has more work. The ticks of a busy machine come when that thread lacks a
        processor."""
        reason = cost.reason
        unseen = (reason.sort, reason.activity) == ("event", "barrier")
        if unseen and self._has_most and not self.awaits_work(cost):
            return replace(cost, reason=replace(reason, sort="work", tid=self._has_most))
        return cost

    @cached_property
    def _has_most(self) -> int:
        """The thread that waits least at barriers, if by the agent's times it works much more than
        the thread that waits longest; else 0."""
        times = self._account.everyone
        waited = {tid: time.timed_ns["barrier"] for tid, time in times.items()}
        least = min((tid for tid, ns in waited.items() if ns), key=waited.__getitem__, default=0)
        if not least or not _has_agent(self._recording):
            return 0
        longest = max(waited, key=waited.__getitem__)
        works = [_EVEN * times[least].states["useful"], times[longest].states["useful"]]
        return least if waited[least] < _EVEN * waited[longest] and works[0] > works[1] else 0

    def work(self, activity: str) -> WorkForAll:
        """The work for all threads in waits of one kind: at barriers, or for conditions of which a
        program makes a barrier."""
        if activity not in self._found:
            self._found[activity] = self._work(activity)
        return self._found[activity]

    def cause(self, cost: Cost) -> Cause:
        """The cause of waits for such work."""
        work = self.work(cost.reason.activity)
        name = work.name or min(self._roles.starts.get(cost.reason.tid, set()), default="")
        found = Cause("serial_dependency", name, work.where, work.words, for_all=True)
        found.did.update(work.did)
        if work.part <= MOSTLY or work.is_open:
            found.doubt(work.doubt)
        return found

    def doubt(self, cause: Cause, reason: Reason) -> None:
        """Notes in a cause of waits, if so, that it is not known whether one thread works for all,
        or whether the parts are equal only on average."""
        activity = reason.activity
        meets = activity in ("barrier", "condition")
        is_open = cause.category == "imbalance" and meets and self.work(activity).is_open
        if is_open or (cause.category == "barrier" and not _has_agent(self._recording)):
            cause.doubt(f"or {FOR_ALL}")
        if cause.category == "barrier" and reason.sort == "work" and self._works_more:
            cause.doubt("or their parts differ from turn to turn")
        if cause.category == "imbalance" and activity == "barrier" and self._work_alike:
            cause.doubt("or the barrier takes longer than the work before it")

    @cached_property
    def _work_alike(self) -> bool:
        """Whether the threads that wait at barriers work for about the same time."""
        times = self._account.everyone.values()
        useful = [time.states["useful"] for time in times if time.timed_ns["barrier"]]
        return len(useful) > 1 and min(useful) > _ALIKE * max(useful)

    @cached_property
    def _works_more(self) -> bool:
        """Whether the threads that wait at barriers work for longer than they wait."""
        them = [time for time in self._account.everyone.values() if time.timed_ns["barrier"]]
        waited = sum(time.timed_ns["barrier"] for time in them)
        return sum(time.states["useful"] for time in them) > waited

    def _work(self, activity: str) -> WorkForAll:
        recording, names = self._recording, self._names
        waited = _waited(recording, self._account.everyone, activity)
        longest = max(waited.values(), default=0.0)
        meet = {tid for tid, ns in waited.items() if ns > _PART * longest}

        def part(did: Sequence[Sample]) -> float:
            others = len(meet | {each.tid for each in did}) - 1
            return len(did) * recording.sample_ns * others / max(1.0, sum(waited.values()))

        if activity == "barrier":
            name, did = _completion(recording, names)
            if part(did) > MUCH:
                words = "one thread runs the completion function of a barrier while the others wait"
                doubt = "or the barrier takes longer than the work before it"
                everyone = frozenset(waited)  # the last one to come
                return WorkForAll(part(did), name, "", _stacks(did), words, doubt, everyone)

        groups = {self._group(tid) for tid, ns in waited.items() if ns}

        def works(sample: Sample) -> bool:
            return self._group(sample.tid) in groups and self._is_work(sample)

        found = serial_part(recording, names, works)
        kept_apart = self._is_under_lock(len(found.samples) * recording.sample_ns)
        if part(found.samples) <= MUCH or kept_apart:
            return WorkForAll(is_open=found.is_open or kept_apart)
        threads = frozenset(each.tid for each in found.samples)
        did_so = _stacks(found.samples)
        return WorkForAll(
            part(found.samples), found.name, found.where, did_so, threads=threads,
            is_open=found.is_open,
        )  # fmt: skip

    def _is_under_lock(self, work_ns: float) -> bool:
        """Whether threads wait for a lock that is held for so much of such work that the lock may
        be the reason for which no two threads do it at once."""
        return any(
            each.hold_ns > _UNDER * work_ns and each.wait_ns > _AWAITED * each.hold_ns
            for each in self._recording.things.values()
        )

    def _group(self, tid: int) -> tuple[int, int]:
        thread = self._roles.thread(tid)
        return self._roles.group(thread) if thread else (-1, tid)

    def _is_work(self, sample: Sample) -> bool:
        frames = self._names.frames(sample.stack, True)
        waits = self._knowledge.activity(frames) in POLLED  # the library looks at a word
        return not waits and not is_within(self._alone, sample.at_ns)


def _stacks(samples: Iterable[Sample]) -> Counter[int]:
    return Counter(each.stack for each in samples)


def _completion(recording: Recording, names: Names) -> tuple[str, list[Sample]]:
    """The program's function that a barrier runs when all have come, and the samples in it."""
    found: Counter[str] = Counter()
    did = []
    for sample in recording.samples:
        frames = names.frames(sample.stack, True)
        at = next((i for i, each in enumerate(frames) if _BARRIER.fullmatch(each.name)), 0)
        if name := outermost(frames[:at]):
            found[name] += 1
            did.append(sample)
    return most_common(found), did


def is_inlined(frames: Iterable[Frame]) -> bool:
    """Whether a wait at a barrier of libc++ has no frame of the barrier. If so, a completion
    function has no frame either, and looks like the threads' own work."""
    names = [each.name for each in frames]
    return any(_POLLS in name for name in names) and not any(map(_BARRIER.fullmatch, names))


def _has_agent(recording: Recording) -> bool:
    return bool(recording.tier.get("agent"))


def _waited(
    recording: Recording, threads: Mapping[int, ThreadTime], activity: str
) -> dict[int, float]:
    """The time for which each thread waited, by the agent. The ticks tell it without an agent, and
    for a runtime, because that makes its own system calls."""
    found = {tid: time.timed_ns[activity] for tid, time in threads.items()}
    if not _has_agent(recording) or not any(found.values()):
        found = {tid: ns + threads[tid].states[activity] for tid, ns in found.items()}
    return found


def _work_by_turns(recording: Recording, account: Account, waited: Mapping[int, float]) -> bool:
    """Whether less than one of these threads works at a time. Threads with unequal work begin
    together."""
    longest = max(waited.values(), default=0.0)
    them = {k: account.everyone[k].thread for k, ns in waited.items() if ns > _PART * longest}
    at_once = most_at_once(replace(recording, threads=them, context=frozenset()))
    ran = sum(each.run_ns for each in them.values())
    return ran * at_once < sum(each.life_ns for each in them.values())


def _are_short(recording: Recording, account: Account) -> bool:
    """Whether most of the time of these waits lies in short ones. While a thread that others wait
    for has no processor, they wait for long. So the longest waits are left out, up to that time. If
    that is most of the waiting time, it does not show how long the other waits are."""
    waited = _waited(recording, account.threads, "barrier")
    whole = sum(waited.values())
    ready = sum(account.threads[tid].thread.ready_ns for tid, ns in waited.items() if ns)
    left_out = float(ready) if ready < _MOSTLY_READY * whole else 0.0
    limit = _SHORT_WAIT_NS * (whole - left_out)
    weighed = 0.0
    found = [p for p in recording.pairs if p.activity == "barrier" and p.waits]
    for each in sorted(found, key=lambda each: -each.wait_ns / each.waits):
        gone = min(left_out, each.wait_ns)
        left_out -= gone
        # The long waits count, not the many looks at a word before them.
        weighed += (each.wait_ns - gone) * each.wait_ns / each.waits
    return bool(found) and weighed < limit


def _are_even(waited: Mapping[int, float], costs: Iterable[Cost]) -> bool:
    """A thread that has more work waits less. The agent's times decide, because ticks in short
    steps show the thread that the ticks delayed."""
    work = [each.reason for each in costs if each.reason.sort == "work"]
    workers = {reason.tid for reason in work if reason.activity == "barrier"}
    longest = max(waited.values(), default=0.0)
    times = [ns for tid, ns in waited.items() if tid in workers or ns > _PART * longest]
    return not times or min(times) >= _EVEN * longest

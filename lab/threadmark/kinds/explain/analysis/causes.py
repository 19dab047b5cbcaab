"""Makes causes of costs: category, name, holders, waiters, certainty, bound of the gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.alike import Equals
from threadmark.kinds.explain.analysis.alone import innermost_of_most
from threadmark.kinds.explain.analysis.barriers import Meetings, barriers_take_long, is_inlined
from threadmark.kinds.explain.analysis.cause import FEWEST_TICKS, SEEKS, Cause, of_piece
from threadmark.kinds.explain.analysis.costs import Cost
from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.lock_causes import Locks
from threadmark.kinds.explain.analysis.looks import Looks
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.naming import Naming
from threadmark.kinds.explain.analysis.reasons import LOCKS, Reason, Reasons
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.requests import (
    POLL,
    POLLS,
    locks_file,
    other_reason,
    receives,
    serves,
)
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.slow_paths import yielding
from threadmark.kinds.explain.analysis.spans import Meanwhile
from threadmark.kinds.explain.analysis.spots import Spot
from threadmark.kinds.explain.analysis.stacks import Stacks
from threadmark.kinds.explain.analysis.written import files_of, shown

_AWAITED = "one thread works while others wait for its result"
_ALONE = 0.95  # of all useful work
_RAN = 0.5  # of the time in calls
_MUCH = 0.25  # of the time on processors
_POLLS = "threads poll and give the processor away (sched_yield)"


class Finder:
    """Finds the causes of one record."""

    def __init__(
        self,
        recording: Recording,
        names: Names,
        knowledge: Knowledge,
        roles: Roles,
        stacks: Stacks,
        reasons: Reasons,
        *,
        account: Account,
    ) -> None:
        self.recording = recording
        self._names = names
        self._knowledge = knowledge
        self._roles = roles
        self._stacks = stacks
        self._reasons = reasons
        self._account = account
        self._meetings = Meetings(recording, names, knowledge, roles, account)
        self._equals = Equals(recording, names, roles)
        self._naming = Naming(recording, names, stacks)
        self.locks = Locks(recording, names, knowledge, self._naming, stacks)

    def of_costs(self, found: list[Cost]) -> list[Cause]:
        """The causes of these costs of waiting."""
        even = barriers_take_long(self.recording, self._account, found)
        self._equals.note(found)
        return [self._of_cost(cost, even=even) for cost in found]

    @cached_property
    def _alone(self) -> int:
        """The thread that does all of the work; 0 if there is none."""
        useful = {tid: time.states["useful"] for tid, time in self._account.everyone.items()}
        total = sum(useful.values())
        return next((tid for tid, ns in useful.items() if ns > _ALONE * total), 0)

    def _of_cost(self, cost: Cost, *, even: bool) -> Cause:
        cost = self._meetings.attributed(cost)
        reason = cost.reason
        make: Callable[[Cost], Cause] = {
            "lock": self.locks.of_cost,
            "library": self._library,
            "work": self._work,
            "event": self._event,
            "io": self._io,
        }.get(reason.sort, self._plain)
        if reason.activity == "barrier" and reason.sort in ("work", "event"):
            if self._meetings.awaits_work(cost):
                make = self._meetings.cause
            elif even:
                make = self._event
        cause = make(cost)
        cause.ns, cause.timed, cause.seen = cost.ns, cost.timed, cost.seen
        cause.by_thread.update(cost.by_thread)
        cause.waiters.update(cost.waiters)
        cause.workers.update(cost.workers)
        stack = self._heaviest(cost)
        frames = self._names.frames(stack) if stack else ()
        cause.in_runtime = bool(stack) and self._knowledge.in_runtime(frames)
        if reason.activity == "barrier" and self._knowledge.seeks_task(frames):
            cause.case = SEEKS
        if make != self._meetings.cause and is_inlined(frames):
            cause.doubt("or the barrier has a completion function that is inlined")
        self._meetings.doubt(cause, reason)
        if reason.thing:
            cause.things.add(reason.thing)
        cause.reasons.add(reason.key)
        return cause

    def _plain(self, cost: Cost) -> Cause:
        sort = cost.reason.sort
        frame = self._stacks.first(self._heaviest(cost)) if cost.waiters else None
        name, where = (frame.name, frame.where) if frame else ("", "")
        found = {
            "starting": ("thread_creation", "threads are made and ended"),
            "sleep": ("sleep", "threads sleep"),
            **dict.fromkeys(("spin", "yield"), ("spin", _POLLS)),
            "kernel_memory": ("kernel_memory", "the kernel maps, unmaps or faults memory in"),
        }
        if sort in ("spin", "yield") and cost.waiters:
            return self._naming.of(cost.reason, None, self._heaviest(cost)).cause(*found[sort])
        if sort in found:
            category, words = found[sort]
            made = Cause(category, name, where, words)
            if sort == "sleep" and name in self._yielding:
                made.doubt("or they poll for one another, as at a barrier of libc++")
            return made
        words = "threads were blocked, and neither the agent nor a tick saw in what"
        return Cause("unknown", name, where, words, certain=False)

    @cached_property
    def _yielding(self) -> set[str]:
        return yielding(self.recording, self._names)

    def _io(self, cost: Cost) -> Cause:
        thing = self.recording.things.get(cost.reason.thing)
        stack = self._heaviest(cost)
        frame = self._stacks.first(stack) if stack else None
        name, where = (frame.name, frame.where) if frame else ("", "")
        called = self._names.frames(stack) if stack else ()
        asked = serves(self.recording)
        if cost.reason.activity == POLL or (asked and receives(called)):
            return self._doubted(Cause("io", name, where, POLLS, case=POLL), cost, called)
        if locks_file(called):
            return Cause("io", name, where, "threads wait for the lock of a file (flock)")
        words = "threads wait for input or output"
        files = self.recording.files
        reads = next((f for f in files if f.thing == cost.reason.thing and not f.writes), None)
        # If the kernel computes, more threads may get more of that done, except of many writes.
        writes = reads is None and any(each.writes for each in files)
        many = writes and self._account.called_of_run >= _MUCH
        certain = self._account.ran_in_calls < _RAN or many
        if reads:
            words += f": {shown(reads.path)}" if reads.path else ""
        elif files:
            most = max(files_of(self.recording), key=lambda each: (each.ns, each.writes, each.path))
            if most.writes:
                name = most.path
                size = most.bytes / most.writes
                words += f": {name}, {most.writes:,} writes of {size:,.0f} bytes"
        elif thing is not None and thing.what == "file":
            name = f"descriptor {thing.address}"
        found = Cause("io", name, where, words, certain=certain)
        if self._reasons.channels.is_unclear(cost.reason.thing):
            found.doubt("or for the thread that works at the other end")
        return self._doubted(found, cost, called)

    def _doubted(self, found: Cause, cost: Cost, called: Sequence[Frame]) -> Cause:
        doubt = other_reason(self.recording, cost.reason.thing, cost.reason.activity, called)
        if doubt:
            found.doubt(doubt)
        return found

    def _library(self, cost: Cost) -> Cause:
        stack = self._heaviest(cost)
        piece = self._knowledge.cause(self._names.frames(stack))
        if piece is None:
            return Cause("unknown", "", "", "threads wait in a library", certain=False)
        frame = self._stacks.first(stack)
        where = frame.where if frame else ""
        return of_piece(piece, where)

    @staticmethod
    def _heaviest(cost: Cost) -> int:
        return min(cost.waiters, key=lambda s: (-cost.waiters[s], s), default=0)

    def _work(self, cost: Cost) -> Cause:
        """The cause of a wait for a thread's work: unequal parts, or a chain."""
        reason = cost.reason
        worker = self._roles.thread(reason.tid)
        starts = self._roles.starts.get(reason.tid, set())
        name = min(starts, default=worker.name if worker else "")
        if reason.tid in self._roles.short and self._roles.making_is_dear:
            words = f"{len(self._roles.short):,} threads were made for short pieces of work"
            return Cause("thread_creation", name, "", words)
        if reason.activity == "once":
            return self.locks.of_cost(cost)
        waits_in = self._names.frames(self._heaviest(cost))
        takes = reason.activity == "semaphore" and self._equals.takes_part(cost, waits_in)
        if takes is not False:
            return self._event(cost) if takes else self._event(cost).doubt(f"or {_AWAITED}")
        idle = self._knowledge.in_runtime(waits_in)
        if idle and reason.tid == self._alone:
            words = "a runtime's other threads find nothing to do while one thread works"
            return Cause("serial_dependency", name, "", words)
        if idle and (outside := self._outside_of_regions(reason.tid)):
            words = "one thread works outside of parallel regions while the others wait for it"
            return Cause("serial_dependency", *innermost_of_most(outside, self._names), words)
        equal = self._equals.has(cost, waits_in)
        if equal and reason.activity == "condition" and self._meetings.awaits_work(cost):
            return self._meetings.cause(cost)
        divides = equal and reason.activity not in ("event", "semaphore")
        if reason.activity == "barrier" or (divides and not self._equals.hands_on(cost)):
            how = {"barrier": "at a barrier", "join": "in a join"}.get(reason.activity, "")
            words = f"threads wait{' ' + how if how else ''} for one that has more to do"
            return Cause("imbalance", name, "", words)
        found = Cause("serial_dependency", name, "", _AWAITED)
        if equal is not False:  # a barrier with inlined functions without names looks alike
            found.doubt("or threads that do the same wait for one that has more to do")
        return found

    def _outside_of_regions(self, worker: int) -> Counter[int]:
        """The stacks of a thread's work while others wait in a runtime, if most of the work lies in
        no parallel region; else empty."""
        did = self._while_idle.of(worker)
        frames = ((self._names.frames(stack, True), count) for stack, count in did.items())
        inside = sum(count for each, count in frames if self._knowledge.in_region(each))
        return did if 2 * inside < did.total() else Counter()

    @cached_property
    def _while_idle(self) -> Meanwhile:
        idle = cache(lambda stack: self._knowledge.in_runtime(self._names.frames(stack)))
        return Meanwhile(self.recording, lambda each: bool(each.stack) and idle(each.stack))

    def _event(self, cost: Cost) -> Cause:
        reason = cost.reason
        thing = self.recording.things.get(reason.thing)
        named = self._naming.of(reason, thing, self._heaviest(cost))
        category = {"future": "join", "event": "condition"}.get(reason.activity, reason.activity)
        words = {
            "condition": "waits to be woken; no thread was seen working on what it waits for",
            "barrier": "waits at a barrier that takes longer than the work before it",
            "join": "waits for the end or the result of a thread that was not seen working",
            "semaphore": "waits for a semaphore",
        }[category]
        short = self._roles.short
        if category == "join" and short and self._roles.making_is_dear:
            words = f"{len(short):,} threads were made for short pieces of work"
            return named.cause("thread_creation", words)
        if thing is not None and self.locks.is_herd(thing):
            return self.locks.after_signal(thing, named, self._heaviest(cost))
        # A lone thread waits for a process that is not in the record.
        sure = cost.seen >= FEWEST_TICKS and len(self.recording.threads) > 1
        found = named.cause(category, words, certain=sure)
        if category == "condition" and self.locks.may_meet(thing):
            found.doubt("or they meet there, as at a barrier")
        return found

    def of_looks(self, looks: Looks) -> list[Cause]:
        """The causes that the samples of running threads show."""
        found = []
        for spot in looks.spots:
            cause = self._of_spot(spot)
            cause.samples.update(spot.stacks)
            for tid, count in spot.samples.items():
                time = self._account.threads.get(tid)
                total = sum(looks.of(tid).values())
                if time and total:
                    cause.by_thread[tid] += round(time.run_left_ns * count / total)
            cause.ns = float(sum(cause.by_thread.values()))
            cause.seen = sum(spot.samples.values())
            cause.certain = cause.seen >= FEWEST_TICKS and spot.certain
            if spot.doubt:
                cause.doubts.add(spot.doubt)
            found.append(cause)
        return found

    def _of_spot(self, spot: Spot) -> Cause:
        made = Cause(spot.category, spot.name, spot.where, spot.words, anywhere=spot.anywhere)
        made.piece, made.things = spot.piece, set(spot.things)
        if not spot.takes:
            return made
        # Locking and unlocking is part of the wait for the lock in that function.
        frame = self._stacks.first(max(spot.stacks, key=lambda s: (spot.stacks[s], -s)), exact=True)
        known = self._naming.taken_in.get(frame.name if frame else "")
        if known is None:
            return made
        sort = "lock" if known.activity in LOCKS else "event"
        found = self._of_cost(
            Cost(Reason(sort, known.activity, known.thing, known.waiter)), even=False
        )
        found.waiters.clear()
        return found

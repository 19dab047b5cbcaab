"""Costs as causes: category, name, who held, who waited, how sure, how much faster without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import FEWEST_TICKS, SHOWN, Cause
from threadmark.kinds.explain.analysis.costs import Cost
from threadmark.kinds.explain.analysis.looks import Looks
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.reasons import Reason, Reasons
from threadmark.kinds.explain.analysis.recording import Pair, Recording, Thing
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.stacks import Stacks

_RUNTIMES = ("libgomp", "libomp", "libtbb", "libiomp")


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
    ) -> None:
        self.recording = recording
        self._names = names
        self._knowledge = knowledge
        self._roles = roles
        self._stacks = stacks
        self._reasons = reasons

    def of_cost(self, cost: Cost) -> Cause:
        """The cause that a cost of waiting belongs to."""
        reason = cost.reason
        make: Callable[[Cost], Cause] = {
            "lock": self._lock,
            "library": self._library,
            "work": self._work,
            "event": self._event,
            "io": self._io,
        }.get(reason.sort, self._plain)
        cause = make(cost)
        cause.ns = cost.ns
        cause.seen = cost.seen
        cause.by_thread.update(cost.by_thread)
        cause.waiters.update(cost.waiters)
        cause.workers.update(cost.workers)
        if reason.thing:
            cause.things.add(reason.thing)
        return cause

    def _plain(self, cost: Cost) -> Cause:
        sort = cost.reason.sort
        frame = self._stacks.first(self._heaviest(cost)) if cost.waiters else None
        name, where = (frame.name, frame.where) if frame else ("", "")
        found = {
            "starting": ("thread_creation", "threads are made and ended"),
            "sleep": ("sleep", "threads sleep"),
            "spin": ("spin", "threads poll and give the processor away (sched_yield)"),
            "yield": ("spin", "threads poll and give the processor away (sched_yield)"),
            "kernel_memory": ("kernel_memory", "the kernel maps, unmaps or faults memory in"),
        }
        if sort in found:
            category, words = found[sort]
            return Cause(category, name, where, words)
        words = "threads were blocked, and neither the agent nor a tick saw in what"
        return Cause("unknown", name, where, words, certain=False)

    def _io(self, cost: Cost) -> Cause:
        thing = self.recording.things.get(cost.reason.thing)
        frame = self._stacks.first(self._heaviest(cost)) if cost.waiters else None
        name, where = (frame.name, frame.where) if frame else ("", "")
        words = "threads wait for input or output"
        if self.recording.files:
            most = max(self.recording.files, key=lambda each: (each.ns, each.writes, each.path))
            if most.writes:
                name = most.path
                words += f": {most.path}, {most.writes:,} writes of "
                words += f"{most.bytes / most.writes:,.0f} bytes"
        elif thing is not None and thing.what == "file":
            name = f"descriptor {thing.address}"
        return Cause("io", name, where, words)

    def _library(self, cost: Cost) -> Cause:
        stack = self._heaviest(cost)
        piece = self._knowledge.cause(self._names.frames(stack))
        if piece is None:
            return Cause("unknown", "", "", "threads wait in a library", certain=False)
        frame = self._stacks.first(stack)
        return Cause(piece.category, piece.name, frame.where if frame else "", piece.words)

    @staticmethod
    def _heaviest(cost: Cost) -> int:
        return min(cost.waiters, key=lambda s: (-cost.waiters[s], s), default=0)

    def _lock(self, cost: Cost) -> Cause:
        reason = cost.reason
        thing = self.recording.things.get(reason.thing)
        pair = self._heaviest_pairs.get(reason.thing)
        stack = pair.waiter if pair else reason.stack
        piece = self._knowledge.cause(self._names.frames(stack))
        name, where = self._named(reason, thing, stack)
        if piece is not None:
            return Cause(piece.category, piece.name, where, piece.words)
        if reason.activity in ("read_lock", "write_lock"):
            return Cause("rwlock", name, where, "waits for a lock for shared use")
        if reason.activity == "spin_lock":
            return Cause("spin", name, where, "spins for a spin lock")
        if reason.activity == "once":
            words = "waits until another thread has initialised something once"
            return Cause("once", name, where, words)
        if reason.activity == "relock":
            words = (
                "woken threads wait for the mutex of their condition (a convoy), or more threads "
                "are woken than find something to do"
            )
            return Cause("mutex", name, where, words, certain=False)
        if reason.activity == "own_lock":
            words = "waits for a futex: a lock of the program's own, or a condition"
            return Cause("mutex", name, where, words, certain=bool(stack) and bool(pair))
        return Cause("mutex", name, where, "waits for a lock")

    @cached_property
    def _heaviest_pairs(self) -> dict[int, Pair]:
        """The pair with the longest waits of each thing."""
        found: dict[int, Pair] = {}
        for pair in self.recording.pairs:
            if pair.thing and pair.wait_ns >= found.setdefault(pair.thing, pair).wait_ns:
                found[pair.thing] = pair
        return found

    def _named(self, reason: Reason, thing: Thing | None, stack: int) -> tuple[str, str]:
        """The object's own name and place, else where it was made, else where it is taken."""
        if thing is not None:
            known = self._names.datum(thing.module, thing.offset) if thing.module else None
            if known:
                return known
            made = self._stacks.first(thing.made_at) if thing.made_at else None
            if made:
                return f"made in {made.name}", made.where
        frame = self._stacks.first(stack)
        kind = {"own_lock": "lock", "relock": "mutex", "event": "atomic"}.get(
            reason.activity, reason.activity.replace("_", " ")
        )
        return (f"{kind} in {frame.name}", frame.where) if frame else (kind, "")

    def _work(self, cost: Cost) -> Cause:
        """A wait for a thread's work: unequal parts, or a chain."""
        reason = cost.reason
        worker = self._roles.thread(reason.tid)
        starts = self._roles.starts.get(reason.tid, set())
        name = min(starts, default=worker.name if worker else "")
        if reason.tid in self._roles.short:
            words = f"{len(self._roles.short):,} threads were made for short pieces of work"
            return Cause("thread_creation", name, "", words)
        if reason.activity == "once":
            return self._lock(cost)
        if reason.activity == "semaphore":
            return self._event(cost)
        equal = self._roles.has_peers(reason.tid)
        if reason.activity == "barrier" or (equal and reason.activity not in ("future", "event")):
            how = {"barrier": "at a barrier", "join": "in a join"}.get(reason.activity, "")
            words = f"threads wait{' ' + how if how else ''} for one that has more to do"
            return Cause("imbalance", name, "", words)
        words = "one thread works while others wait for its result"
        return Cause("serial_dependency", name, "", words)

    def _event(self, cost: Cost) -> Cause:
        reason = cost.reason
        thing = self.recording.things.get(reason.thing)
        name, where = self._named(reason, thing, self._heaviest(cost))
        category = {"future": "join", "event": "condition"}.get(reason.activity, reason.activity)
        words = {
            "condition": "waits to be woken; no thread was seen working on what it waits for",
            "barrier": "waits at a barrier while no thread was seen working",
            "join": "waits for the end or the result of a thread that was not seen working",
            "semaphore": "waits for a semaphore",
        }[category]
        short = self._roles.short
        if category == "join" and short:
            words = f"{len(short):,} threads were made for short pieces of work"
            return Cause("thread_creation", name, where, words)
        return Cause(category, name, where, words, certain=cost.seen >= FEWEST_TICKS)

    def of_looks(self, looks: Looks, account: Account) -> list[Cause]:
        """What the samples show of running threads."""
        found = []
        for spot in looks.spots:
            cause = Cause(spot.category, spot.name, spot.where, spot.words)
            cause.samples.update(spot.stacks)
            for tid, count in spot.samples.items():
                time = account.threads.get(tid)
                total = sum(looks.of(tid).values())
                if time and total:
                    cause.by_thread[tid] += round(time.run_left_ns * count / total)
            cause.ns = float(sum(cause.by_thread.values()))
            cause.seen = sum(spot.samples.values())
            # A runtime spins while it waits for tasks, and while it manages small ones.
            runtime = spot.category == "spin" and self._is_of_a_runtime(spot.stacks)
            cause.certain = cause.seen >= FEWEST_TICKS and not runtime
            if runtime:
                cause.doubts.add("or the runtime manages tasks that are too small")
            found.append(cause)
        return found

    def _is_of_a_runtime(self, stacks: Counter[int]) -> bool:
        """Whether the innermost function of most samples is a task runtime's own."""
        [(stack, _)] = stacks.most_common(1) or [(0, 0)]
        frames = self._names.frames(stack) if stack else ()
        return bool(frames) and frames[0].module.startswith(_RUNTIMES)

    def of_queue(self, account: Account) -> list[Cause]:
        """Threads that were ready without a processor."""
        ready = account.states["runnable"]
        if ready < SHOWN * account.total_ns:
            return []
        by_thread = Counter({t: round(a.states["runnable"]) for t, a in account.threads.items()})
        counts = [sum(g.works for g in tick.glances) for tick in self.recording.ticks]
        own = sum(max(0, c - self._roles.processors) for c in counts)
        crowded = own > 0.25 * ready / max(1, self.recording.tick_ns)
        if self._roles.processors < self.recording.processors and crowded:
            words = (
                f"threads may run on {self._roles.processors} of the machine's "
                f"{self.recording.processors} processors and wait for them"
            )
            return [Cause("affinity", "", "", words, True, ready, by_thread=by_thread)]
        if crowded:
            words = "more threads are ready to run than there are processors"
            return [Cause("run_queue", "", "", words, True, ready, by_thread=by_thread)]
        return []  # other programs had them: that is no property of this one

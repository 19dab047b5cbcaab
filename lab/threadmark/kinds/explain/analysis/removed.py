"""The processor time that causes take of each thread, by the samples that belong to them.

Beside the samples that named the cause these are: locking, unlocking and waking in its functions;
the agent, if the cause is calls; and, if threads contend, instructions that use a cache line that
one thread writes and another uses, because they wait for the line.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.frames import AGENT, is_beneath, without_clock_of_agent
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.shared_memory import SharedMemory
from threadmark.kinds.explain.analysis.slow_paths import wakes
from threadmark.kinds.explain.analysis.stacks import Stacks

_CALLS = ("io", "sleep", "thread_creation")  # the call itself is the cause
_BEGIN_NS = 20_000.0  # of a processor, for the beginning and end of a thread
_CALL_NS = 10_000  # of the kernel, for a wait and its wake
_RUNS = (  # all of it takes processors
    "atomic", "false_sharing", "spin", "rwlock", "kernel_memory", "thread_creation",
)  # fmt: skip
_EVENTS = ("barrier", "condition", "semaphore")
_LOCKS = ("mutex", "rwlock", "spin", "semaphore", "stdio", "loader")
_CONTENDED = (
    "mutex",
    "rwlock",
    "spin",
    "atomic",
    "false_sharing",
    "allocator",
    "stdio",
    "loader",
    *_EVENTS,
)
_MAKES = re.compile(r"clone|m(un)?map|mprotect|madvise|pthread|futex|thread")
_HANDED = 2  # moves of a lock to another thread, for each wait

_Like = tuple[int, int, bool]  # thread, stack, whether in the kernel


class Removed:
    """The removed processor time of one record."""

    def __init__(
        self,
        recording: Recording,
        names: Names,
        knowledge: Knowledge,
        roles: Roles,
        stacks: Stacks,
        account: Account,
    ) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._roles = roles
        self._stacks = stacks
        self._account = account
        self._lines = SharedMemory(recording, names)

    def of(self, causes: Sequence[Cause]) -> dict[int, float]:
        """Processor time of all these causes by the keys of threads, including system calls.
        Without samples it is all of a running cause, and nothing of others."""
        threads = self._account.threads
        ran: dict[int, float] = {}
        if self._recording.samples:
            for tid, count in self._samples_of(causes).items():
                if tid in threads:
                    ran[tid] = threads[tid].thread.run_ns * count / self._sampled[tid]
        for cause in causes:
            self._add_unsampled(ran, cause)
        return {tid: min(ns, float(threads[tid].thread.run_ns)) for tid, ns in ran.items()}

    def _add_unsampled(self, ran: dict[int, float], cause: Cause) -> None:
        """Adds the time that samples do not show."""
        threads = self._account.threads
        if not self._recording.samples and cause.category in _RUNS:
            for tid, ns in cause.by_thread.items():
                if tid in threads:
                    ran[tid] = ran.get(tid, 0.0) + ns
        if cause.category == "thread_creation":
            for key, time in threads.items():  # keys differ from reused numbers
                making = time.thread.totals.get("creating")
                if time.thread.tid in self._roles.short:
                    ran[key] = self._begun_ns(time.thread.run_ns)
                elif making:  # few samples are kept if threads are made all the time
                    ran[key] = max(ran.get(key, 0.0), making.ns)
        if self._recording.samples and not self._recording.tier.get("perf_kernel"):
            for tid, calls_ns in self._calls_ns(cause).items():
                ran[tid] = ran.get(tid, 0.0) + calls_ns

    def _samples_of(self, causes: Sequence[Cause]) -> dict[int, float]:
        """Samples of each thread, less the time of their instructions without contention."""
        parts = [self._parts(cause) for cause in causes]
        found: dict[int, float] = defaultdict(float)
        for key in self._samples:
            found[key[0]] += max(part.get(key, 0.0) for part in parts)
        return found

    def _parts(self, cause: Cause) -> dict[_Like, float]:
        """The number of a cause's samples of each kind."""
        places = self._places(cause)
        contended = cause.category in _CONTENDED
        found: dict[_Like, float] = {}
        moved: dict[_Like, float] = {}
        for key, count in self._samples.items():
            tid, stack, kernel = key
            if stack in cause.samples or self._is_call(stack, cause, places):
                found[key] = count * (1 - self._alone(stack) if contended else 1.0)
            elif contended and self._is_of_allocator(stack, cause):
                found[key] = count
            elif contended and not kernel:
                near = cause.category in _LOCKS and self._is_inside(stack, places)
                moved[key] = self._lines.used(tid, stack, near=near)
        most_ns = self._moves_ns(cause)
        part = min(1.0, most_ns / max(1.0, sum(moved.values()) * self._recording.sample_ns))
        return found | {key: part * count for key, count in moved.items()}

    def _moves_ns(self, cause: Cause) -> float:
        """The longest time that threads wait for lines that come with a lock: the hold time of each
        move of the lock to another thread. Not every move is visible as a wait."""
        things = [self._recording.things.get(each) for each in cause.things]
        known = [each for each in things if each is not None and each.holds]
        if cause.category not in _LOCKS or not known or len(known) < len(things):
            return math.inf
        return sum(_HANDED * each.waits * each.hold_ns / each.holds for each in known)

    def _alone(self, stack: int) -> float:
        """The time of a sample's instruction if no other thread uses its cache line, as a part of
        its time if others do. Loops that wait take nothing then."""
        frames = self._recording.stacks.get(stack, ())
        operand = self._names.operand(*frames[0]) if frames else None
        if operand is None or operand.loops or operand.counts:
            return 0.0
        alone = self._recording.alone
        if operand.exchanges:
            return alone.get("exchange", 0.0)
        return alone.get("write" if operand.plain else "add", 0.0)

    def _is_of_allocator(self, stack: int, cause: Cause) -> bool:
        if cause.category != "allocator":
            return False
        piece = self._knowledge.cause(self._names.frames(stack, True))
        return piece is not None and piece.category == cause.category

    def _is_inside(self, stack: int, places: set[tuple[str, ...]]) -> bool:
        """Whether a function that takes the lock runs, or a function that it calls."""
        names = self._stack(stack)
        return any(names[-len(place) :] == place for place in places)

    def _is_call(self, stack: int, cause: Cause, places: set[tuple[str, ...]]) -> bool:
        """Whether the sample takes or gives back the lock, wakes threads that wait for an event or,
        for some causes, is any call."""
        calls = cause.category in _CALLS
        if calls and self._is_of_agent(stack):
            return True
        if cause.category in _EVENTS and wakes(self._names.frames(stack, True), self._knowledge):
            return True
        if cause.category == "thread_creation":
            anywhere = self._makes_threads(stack)
        else:
            anywhere = self._stack(stack) in places
        if anywhere and cause.category in _CONTENDED and self._is_own_call(stack):
            return True
        return anywhere and self._stacks.is_in_lock(stack, or_call=calls)

    def _makes_threads(self, stack: int) -> bool:
        """Whether a library function that makes, awaits or ends a thread runs. Calls of the
        thread's work are no part of making it."""
        frames = self._names.frames(stack, True)
        inner = takewhile(is_beneath, frames)
        return any(_MAKES.search(frame.name) for frame in inner)

    def _is_own_call(self, stack: int) -> bool:
        """Whether the program's own code makes a system call, as a lock of its own does."""
        frames = self._names.frames(stack, True)
        place = next(iter(self._recording.stacks.get(stack, ())), None)
        if not frames or not frames[0].own or place is None:
            return False
        return self._names.before(*place).startswith("syscall")

    def _is_of_agent(self, stack: int) -> bool:
        """Whether the agent itself runs, which takes no time in a run without a recording."""
        frames = without_clock_of_agent(self._names.frames(stack, True))
        return bool(frames) and frames[0].module.startswith(AGENT)

    def _begun_ns(self, run_ns: int) -> float:
        """The time of the beginning and the end of a short-lived thread: the part of the samples of
        all such threads in which the program's own code does not run, at least a usual time."""
        return min(float(run_ns), max(_BEGIN_NS, run_ns * self._begins))

    @cached_property
    def _begins(self) -> float:
        short = [each for each in self._recording.samples if each.tid in self._roles.short]
        calls = sum(self._stacks.is_in_lock(each.stack, or_call=True) for each in short)
        return calls / len(short) if short else 1.0

    def _calls_ns(self, cause: Cause) -> dict[int, float]:
        """If the kernel is not sampled: the longest time of the system calls of the cause's
        waits."""
        total = sum(cause.by_thread.values())
        left = {tid: self._unsampled_ns(tid) for tid in cause.by_thread}
        return {
            tid: min(left[tid], _CALL_NS * cause.waits * ns / total)
            for tid, ns in cause.by_thread.items()
            if total and tid in self._account.threads
        }

    def _unsampled_ns(self, tid: int) -> float:
        time = self._account.threads.get(tid)
        seen = self._sampled[tid] * self._recording.sample_ns
        return max(0.0, time.thread.run_ns - seen) if time else 0.0

    def _places(self, cause: Cause) -> set[tuple[str, ...]]:
        """The functions that wait for the cause, or release it."""
        stacks = set(cause.waiters)
        for pair in self._recording.pairs:
            if pair.thing in cause.things:
                stacks |= {pair.waiter, pair.holder}
        stacks |= {wake.stack for wake in self._recording.wakes if wake.thing in cause.things}
        places = {self._stacks.names(stack) for stack in stacks if stack}
        # These names have no functions of a lock: samples beside its atomics also belong to the
        # lock.
        return (places | {self._stack(stack) for stack in cause.samples}) - {()}

    def _stack(self, stack: int) -> tuple[str, ...]:
        return self._stacks.names(stack, exact=True)

    @cached_property
    def _samples(self) -> Counter[_Like]:
        return Counter((each.tid, each.stack, each.kernel) for each in self._recording.samples)

    @cached_property
    def _sampled(self) -> Counter[int]:
        """Samples of each thread."""
        return Counter(each.tid for each in self._recording.samples)

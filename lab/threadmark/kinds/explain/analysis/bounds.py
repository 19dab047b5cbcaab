"""How many times faster a program could be at most if one cause cost nothing.

docs/explain.md has the formula. What is left takes no less than each of three times: the work on
the processors that there are, the longest thread, and the critical path.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.critical_path import CriticalPath
from threadmark.kinds.explain.analysis.reasons import Reason
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.stacks import Stacks

_MOST = 1000.0
_CALLS = ("io", "sleep", "thread_creation")  # the call itself is the cause
_BEGIN_NS = 20_000.0  # of a processor, for the begin and the end of a thread
_CALL_NS = 10_000  # of the kernel, for a wait and its wake
_SPREAD = ("imbalance", "serial_dependency")  # work that could be divided among all
_RUNS = ("atomic", "false_sharing", "spin", "rwlock", "kernel_memory")  # all of it takes processors


class Bounds:
    """Those of one record."""

    def __init__(
        self,
        recording: Recording,
        roles: Roles,
        stacks: Stacks,
        account: Account,
        path: CriticalPath,
    ) -> None:
        self._recording = recording
        self._roles = roles
        self._stacks = stacks
        self._account = account
        self._path = path

    def of(self, cause: Cause) -> float | None:
        """None where it is not known what would be left."""
        recording = self._recording
        ran_before = recording.tier.get("attached") or recording.tier.get("late")
        whole = not ran_before and recording.part is None
        if not whole or recording.wall_ns <= 0 or cause.category in ("unknown", "none"):
            return None
        shortest = max(self._work_ns(cause), self._chain_ns(cause), 1.0)
        return max(1.0, min(_MOST, recording.wall_ns / shortest))

    def _work_ns(self, cause: Cause) -> float:
        """All processor time but the cause's, on all processors."""
        processors = self._roles.processors
        if cause.category == "affinity":
            processors = self._recording.processors
        threads = self._account.threads
        run = float(sum(each.thread.run_ns for each in threads.values()))
        run -= sum(self._ran_ns(cause).values())
        return run / min(processors, max(1, len(threads)))

    def _chain_ns(self, cause: Cause) -> float:
        """What has to come one after the other without the cause."""
        if cause.category in _SPREAD:
            return 0.0
        ran = self._ran_ns(cause)
        parts = {
            tid: min(1.0, ns / self._account.threads[tid].thread.run_ns)
            for tid, ns in ran.items()
            if self._account.threads[tid].thread.run_ns
        }

        # At some ticks the same wait cost nothing or was for another thread: it is the cause's too.
        kinds = {key[:3] for key in cause.reasons}

        def free(reason: Reason) -> bool:
            return bool(kinds & {reason.key[:3], (*reason.key[:2], 0)})

        return self._path.without(free, parts)

    def _ran_ns(self, cause: Cause) -> dict[int, float]:
        """Processor time of each thread that the cause took: by the samples that belong to it, of
        system calls too. Without samples it is all of a cause that runs, and nothing of others."""
        if not self._recording.samples:
            runs = cause.by_thread.items() if cause.category in _RUNS else ()
            return {tid: float(ns) for tid, ns in runs if tid in self._account.threads}
        places = self._places(cause)
        calls, makes = cause.category in _CALLS, cause.category == "thread_creation"
        found: Counter[int] = Counter()
        for (tid, stack), count in self._samples.items():
            waits = self._stacks.is_in_lock(stack, or_call=calls) and (
                makes or self._stack(stack) in places
            )
            if stack in cause.samples or waits:
                found[tid] += count
        threads = self._account.threads
        ran = {
            tid: threads[tid].thread.run_ns * count / self._sampled[tid]
            for tid, count in found.items()
            if tid in threads
        }
        if makes:
            for tid in self._roles.short & set(threads):
                ran[tid] = self._begun_ns(threads[tid].thread.run_ns)
        if not self._recording.tier.get("perf_kernel"):
            for tid, ns in self._calls_ns(cause).items():
                ran[tid] = ran.get(tid, 0.0) + ns
        return ran

    def _begun_ns(self, run_ns: int) -> float:
        """What the begin and the end took of a thread that lived shortly: the part of the samples
        of all such threads in which the program's own code does not run, at least a usual time."""
        return min(float(run_ns), max(_BEGIN_NS, run_ns * self._begins))

    @cached_property
    def _begins(self) -> float:
        short = [each for each in self._recording.samples if each.tid in self._roles.short]
        calls = sum(self._stacks.is_in_lock(each.stack, or_call=True) for each in short)
        return calls / len(short) if short else 0.0

    def _calls_ns(self, cause: Cause) -> dict[int, float]:
        """Where the kernel is not sampled: what the system calls of so many waits took at most."""
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
        """The functions that wait for the cause, or let it go."""
        stacks = set(cause.waiters)
        for pair in self._recording.pairs:
            if pair.thing in cause.things:
                stacks |= {pair.waiter, pair.holder}
        stacks |= {wake.stack for wake in self._recording.wakes if wake.thing in cause.things}
        places = {self._stacks.names(stack) for stack in stacks if stack}
        # A lock's functions are left out of these names: samples beside its atomics are its too.
        return (places | {self._stack(stack) for stack in cause.samples}) - {()}

    def _stack(self, stack: int) -> tuple[str, ...]:
        return self._stacks.names(stack, exact=True)

    @cached_property
    def _samples(self) -> Counter[tuple[int, int]]:
        return Counter((each.tid, each.stack) for each in self._recording.samples)

    @cached_property
    def _sampled(self) -> Counter[int]:
        """Samples of each thread."""
        return Counter(each.tid for each in self._recording.samples)

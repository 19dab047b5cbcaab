"""The sleeps of threads without the agent's knowledge.

Samples of the moments at which threads left their processors show them, including short waits,
which ticks almost wholly miss. If the kernel does not allow such samples, ticks show them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from threadmark.kinds.explain.analysis.calls import (
    RESTARTED,
    UNTIMED,
    kind_of_call,
    kind_of_kernel,
)
from threadmark.kinds.explain.analysis.frames import AGENT, Frame
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Glance, Recording, Sample

MAKING = "thread_creation"
_ENOUGH = 10  # switches of one thread that show more than its ticks


@dataclass(frozen=True)
class Sleep:
    """`kind`: library (a lock of one), futex, future, barrier, semaphore, event, join, io, sleep,
    kernel_memory, starting, yield, or empty if it is not known."""

    kind: str
    stack: int = 0
    thing: int = 0


class Sleeps:
    """The sleeps of one record."""

    def __init__(self, recording: Recording, names: Names, knowledge: Knowledge) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._seen: Counter[int] = Counter()  # samples of switches by thread
        self._kind_of = cache(self._of_words)  # ticks repeat the same arguments

    def of_thread(self, tid: int) -> Counter[Sleep]:
        """The number of observations of a thread in each sleep; those of all threads if there is
        none of that thread."""
        switches = self.switches(tid)
        if switches:
            return switches
        few = self._switches.get(tid, Counter())
        return self._ticks.get(tid) or few or self._ticks.get(0, Counter())

    def switches(self, tid: int) -> Counter[Sleep]:
        """The sleeps that its switches show, if they are enough."""
        found = self._switches.get(tid, Counter())
        return found if self._seen[tid] >= _ENOUGH else Counter()

    def is_unseen(self, glance: Glance) -> bool:
        """Whether the thread is blocked in a way that the agent did not time. If there is no agent,
        or if code makes the system call itself, the recorder notes its own observation."""
        if glance.state not in ("S", "D"):
            return False
        if glance.activity in ("running", "blocked") or glance.call in UNTIMED:
            return True
        thread = self._recording.threads.get(glance.tid)
        if thread is None:
            return False
        thing = self._recording.things.get(glance.thing)
        if not thread.totals or thing is None:
            return not thread.totals
        # A thread that wakes the waiters for a condition may have to wait within the C library.
        timed = glance.activity != "futex" or "futex" in thread.totals
        return thing.sampled or not (timed or thing.what == "futex")

    def of_glance(self, glance: Glance) -> str:
        """The kind of a sleep at a tick."""
        return self._kind_of(glance.activity, glance.state, glance.call, glance.stack)

    def _of_words(self, activity: str, state: str, call: int, stack: int) -> str:
        if activity not in ("futex", "running", "blocked"):
            return activity
        frames = self._names.frames(stack) if stack else ()
        kind = "futex" if activity == "futex" else kind_of_call(call)
        if kind == "futex":
            return self._of_futex(stack)
        if not kind and state == "D":
            return "kernel_memory"  # no system call: a page fault
        kind = self._of_memory(kind, frames)
        if call == RESTARTED:  # it was stopped meanwhile; the C library's function tells
            kind = self._knowledge.futex(frames) or self._knowledge.call(frames)
        return kind or self._knowledge.activity(frames)

    def _of_memory(self, kind: str, frames: Sequence[Frame]) -> str:
        """The memory of a thread's stack belongs to the making and ending of threads."""
        piece = self._knowledge.cause(frames) if kind == "kernel_memory" else None
        return "starting" if piece is not None and piece.category == MAKING else kind

    def _of_futex(self, stack: int) -> str:
        frames = self._names.frames(stack) if stack else ()
        if self._knowledge.cause(frames):
            return "library"
        return self._knowledge.activity(frames) or self._knowledge.futex(frames) or "futex"

    @cached_property
    def _ticks(self) -> dict[int, Counter[Sleep]]:
        """The sleeps that ticks show, by thread; 0: of all."""
        found: dict[int, Counter[Sleep]] = defaultdict(Counter)
        for tick in self._recording.ticks:
            for each in tick.glances:
                if self.is_unseen(each):
                    sleep = Sleep(self.of_glance(each), each.stack, each.thing)
                    found[each.tid][sleep] += 1
                    found[0][sleep] += 1
        return found

    @cached_property
    def _switches(self) -> dict[int, Counter[Sleep]]:
        found: dict[int, Counter[Sleep]] = defaultdict(Counter)
        words = {t.address: t.id for t in self._recording.things.values() if t.what == "futex"}
        for sample in self._recording.switches:
            if not sample.preempted:
                sleep = self._of_switch(sample, words)
                if sleep is not None:
                    found[sample.tid][sleep] += sample.weight
                    self._seen[sample.tid] += 1
        return found

    def _of_switch(self, sample: Sample, words: dict[int, int]) -> Sleep | None:
        frames = self._names.frames(sample.stack, True)
        if any(each.module.startswith(AGENT) for each in frames):
            return None  # the agent timed it
        if sample.entry == "fault":
            return Sleep("kernel_memory", sample.stack)
        called = self._knowledge.call(frames)
        kind = kind_of_kernel(sample.sleeps_in) or called
        if sample.entry == "call" and called == "io" and kind == "kernel_memory":
            kind = "io"  # the lock of a directory or file
        in_futex = kind in ("", "futex")
        if in_futex:
            known = self._of_futex(sample.stack)
            kind = known if kind or known != "futex" else ""
        kind = self._of_memory(kind, frames)
        thing = words.get(sample.registers.get("di", 0), 0) if in_futex else 0
        return Sleep(kind, sample.stack, thing)

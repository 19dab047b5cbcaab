"""Whether a sample of a running thread lies within a lock, a wake-up, or the kernel's memory."""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile

from threadmark.kinds.explain.analysis.frames import AGENT, Frame, is_beneath, is_of_library
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Recording, Sample

_WAKES = re.compile(r"lll_lock_wake|futex_wake|lll_futex_wake")
_WAITS = re.compile(r"lll_lock_wait|lll_futex|futex_(abstimed_)?wait")
# They enter the kernel to wake a thread. fread_unlocked takes no lock.
_UNLOCKS = re.compile(r"unlock(?!ed)|sem_post|cond_(signal|broadcast)")
_YIELDS = ("sched_yield", "__sched_yield")
_CALL = 4  # frames of a call and its wrapper, one of the agent's
_ONCE = re.compile(r"pthread_once")
_BEGINS = re.compile(r"start_of_thread$")  # the agent's function that calls each thread's work
_WAKES_OTHERS = re.compile(r"notify|wake|cond_(signal|broadcast)")


def part_of_lock(frames: tuple[Frame, ...], *, kernel: bool) -> str:
    """Whether a running thread is inside a lock's slow path: `wait` if the agent has its time,
    `lock` if the agent does not; else empty."""
    inner = list(takewhile(lambda f: is_beneath(f) and not _BEGINS.search(f.name), frames))
    if any(_ONCE.search(each.name) for each in inner):
        return ""  # its end wakes waiters even if there are none
    by_agent = any(each.module.startswith(AGENT) for each in inner)
    if any(_WAKES.search(e.name) or (kernel and _UNLOCKS.search(e.name)) for e in inner):
        return "lock"
    if by_agent:
        # The agent tries a lock first, and does not time that.
        waits = not inner[0].module.startswith(AGENT) and "trylock" not in inner[0].name
        return "wait" if waits else ""
    return "lock" if any(_WAITS.search(each.name) for each in inner) else ""


def wakes(frames: tuple[Frame, ...], knowledge: Knowledge) -> bool:
    """Whether the library wakes the threads that wait."""
    return any(_WAKES_OTHERS.search(each.name) for each in knowledge.library_part(frames))


def in_memory(sample: Sample, frames: tuple[Frame, ...], knowledge: Knowledge) -> bool:
    """Whether the kernel maps memory or a page fault fills it."""
    if sample.kernel and sample.entry == "fault":
        return True
    if not frames or frames[0].own:
        return False
    piece = knowledge.cause(frames[:1])
    return piece is not None and piece.category == "kernel_memory"


def innermost_own(frames: tuple[Frame, ...]) -> Frame:
    """The innermost function of the program; a frame without a name if there is none."""
    return next((each for each in frames if not is_of_library(each)), Frame(""))


def yields(recording: Recording, names: Names) -> Counter[int]:
    """Samples of threads that give their processor away, by stack."""
    found = Counter(sample.stack for sample in recording.samples)
    return Counter({
        stack: count
        for stack, count in found.items()
        if any(each.name in _YIELDS for each in names.frames(stack)[:_CALL])
    })  # fmt: skip


def yielding(recording: Recording, names: Names) -> set[str]:
    """The functions of the program that give their processors away."""
    stacks = {p.waiter for p in recording.pairs if p.activity == "yield" and p.waiter}
    stacks |= set(yields(recording, names))
    return {innermost_own(names.frames(stack)).name for stack in stacks} - {""}

"""The answer if no cause costs enough: the program scales, or the reason is not known."""

from __future__ import annotations

from dataclasses import replace

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import INTERRUPTED, LEAST, PASSED_ON, Cause
from threadmark.kinds.explain.analysis.reasons import Reasons
from threadmark.kinds.explain.analysis.recording import Recording, most_at_once
from threadmark.kinds.explain.analysis.requests import serves

_LOST = (  # without sleep, because a timer may sleep
    "spinning", "atomic", "waiting", "condition", "barrier", "semaphore", "once", "io",
    "kernel_memory",
)  # fmt: skip
_NO_LOSS = ("sleep", "run_queue", "affinity")
_HIDES = 0.25  # of thread time: threads that seldom run together hardly contend
_QUEUE = 0.1  # of thread time: less is chance
_UNEXPLAINED = 0.1  # of thread time: a program that loses more surely does not scale
_SHOWN = 0.85  # of the run time: samples without the kernel show a program's own code
_RAN = 0.5  # of thread time
_SHORTEST_NS = 50_000_000  # of a run with enough ticks
_SEEN_NS = 50_000_000  # of processor time, which has samples wherever they are taken


def no_cause(
    recording: Recording, reasons: Reasons, times: Account, causes: list[Cause], idle: str
) -> Cause:
    """`causes`: those found, the dearest first. `idle`: words for a program that waited for
    requests."""
    if alone := _of_one_thread(recording, reasons, times):
        return alone
    states = times.states
    total = max(1.0, times.total_ns)
    if states["unknown"] > 0.25 * total:
        words = "A quarter of the threads' time or more could not be accounted for."
        return Cause("unknown", "", "", words, certain=False, ns=states["unknown"])
    # A thread that waits while as many threads work as can work loses nothing: its waits are no
    # causes.
    lost = min(
        sum(states[name] for name in _LOST),
        sum(each.ns for each in causes if each.category not in _NO_LOSS),
    )
    if lost > _UNEXPLAINED * total:
        words = (
            f"The threads spent {100 * lost / total:.0f} % of their time waiting, spinning or in "
            "the kernel, and no one object or place accounts for more than a few per cent of it."
        )
        return Cause("unknown", "", "", words, certain=False, ns=lost)
    words = idle or (
        "Nothing costs more than a few per cent: no thread keeps another one from its work. "
        "A comparison of numbers of threads (--threads 1,2) shows whether the work itself grows."
    )
    if recording.part:
        words = "Nothing costs more than a few per cent in this part of the program."
    enough = recording.wall_ns >= _SHORTEST_NS and bool(recording.ticks)
    if any(each.category == "run_queue" and each.ns >= _QUEUE * total for each in causes):
        words = (
            "Nothing costs more than a few per cent. There are more threads than processors, but "
            "all processors work while a thread waits for one."
        )
        return Cause("none", "", "", words, certain=False)
    if states["runnable"] > _HIDES * total:
        words = (
            "Nothing of the program costs more than a few per cent, but other programs had the "
            "processors: it scales, or its threads hardly ran at the same time."
        )
        enough = False
    elif not enough:
        words = "The record is too short to say what costs time."
        return Cause("unknown", "", "", words, certain=False)
    elif not recording.sample_ns and sum(t.run_ns for t in recording.threads.values()) > _SEEN_NS:
        words = (
            "No thread keeps another one waiting, but running code was not sampled: whether "
            "threads spin or contend for memory is not known."
        )
        enough = False
    elif not idle and _hides_kernel(recording):
        words = (
            "Nothing that samples show costs more than a few per cent, but they do not show all "
            "time in the kernel."
        )
        enough = False
    elif not idle and (first := next(iter(causes), None)) and first.ns >= LEAST * total:
        awaited = {
            **dict.fromkeys(PASSED_ON, "the ends or results of others"),
            **dict.fromkeys(INTERRUPTED, "a lock"),
            "barrier": "one another at a barrier",
        }.get(first.category)
        if awaited:
            words = (
                f"Nothing costs more than a few per cent, but threads waited for {awaited} for "
                f"{100 * first.ns / total:.0f} % of their time, which may be chance."
            )
            enough = False
    return Cause("none", "", "", words, certain=enough and not idle)


def _of_one_thread(recording: Recording, reasons: Reasons, times: Account) -> Cause | None:
    """The cause if no two threads are needed at one time; else None."""
    unneeded = reasons.unneeded
    # Beside the only thread that works a timer does not matter. A server may serve by such threads.
    idle = unneeded.unused if serves(recording) else unneeded.threads
    needed = {k: t for k, t in recording.threads.items() if t.tid not in idle}
    if not needed:
        words = "No thread of the program was seen."
        return Cause("unknown", "", "", words, certain=False, ns=times.total_ns)
    if most_at_once(replace(recording, threads=needed, context=frozenset())) > 1:
        return None
    whose = "This part of the program" if recording.part else "The program"
    ran = sum(each.run_ns for each in needed.values())
    if ran < _RAN * sum(each.life_ns for each in needed.values()):
        words = f"{whose} has one thread, which mostly waits for something outside of it."
        return Cause("unknown", "main", "", words, certain=False, ns=times.total_ns)
    words = f"{whose} has one thread: nothing can wait, and nothing scales."
    if len(needed) < len(recording.threads):
        words = f"{whose} has one thread that works: nothing scales."
    seen = recording.own_ticks
    return Cause("serial_dependency", "main", "", words, ns=times.total_ns, seen=seen)


def _hides_kernel(recording: Recording) -> bool:
    """Whether much of the run time may be the kernel's without a sample that shows it."""
    tier = recording.tier
    if tier.get("perf_kernel") or not recording.samples:
        return False
    ran = sum(each.run_ns for each in recording.threads.values())
    if len(recording.samples) * recording.sample_ns < _SHOWN * ran:
        return True
    # ptrace shows only finished calls and, by an estimate, page faults.
    kernel_ns = tier.get("kernel_ns") or ran
    return not tier.get("perf") and kernel_ns > (1 - _SHOWN) * ran

"""The doubts about causes: further explanations, chance, and too few observations."""

from __future__ import annotations

from threadmark.kinds.explain.analysis.cause import (
    AWAITED,
    FEW,
    FEWEST_TICKS,
    INTERRUPTED,
    LITTLE,
    MUCH,
    PASSED_ON,
    SOME,
    TAKEN,
    Cause,
)

_CHANCE = 0.15  # of thread time
_NEARLY = 0.75  # of another cause
# Waits that also show a lock that the program made.
_OWN_LOCKS = {"serial_dependency": ("event", "condition"), "imbalance": ("condition",)}
_RIVALS = {
    "imbalance": "or the work is divided unequally",
    "serial_dependency": "or one thread works while the others wait for its result",
}


def _ends_and_locks(causes: list[Cause]) -> None:
    """If threads that end late cost about as much as a lock, the lock comes first, because a thread
    that waits for it ends later. Neither cause is certain then."""
    if len(causes) < 2:
        return
    first, second = causes[:2]
    lock, end = (first, second) if first.category in TAKEN else (second, first)
    apart = second.ns <= (MUCH if end.is_by_turns(MUCH) else _NEARLY) * first.ns
    if apart or lock.category not in TAKEN or end.category not in PASSED_ON:
        return
    for cause, other in ((lock, end), (end, lock)):
        cause.doubt(_RIVALS.get(other.category, "or threads wait for a lock"))
    causes[:2] = [lock, end]


def doubted(
    causes: list[Cause], total_ns: float, *, has_tasks: bool = False, ready_ns: float = 0.0
) -> None:
    """If unequal parts and a chain both explain much, neither is certain. `has_tasks`: a runtime
    has tasks, which may be too small for other threads to take. `ready_ns`: the time for which
    threads had no processor."""
    _ends_and_locks(causes)
    rivals = [c for c in causes if c.category in ("imbalance", "serial_dependency")]
    if len(rivals) == 2 and rivals[1].ns > 0.5 * rivals[0].ns:
        for cause, other in (rivals, rivals[::-1]):
            cause.doubt(_RIVALS.get(other.category, "or threads wait for a lock"))
    for cause in causes:
        # Threads of a runtime also wait when the tasks of one thread are not worth taking.
        if has_tasks and cause.in_runtime and cause.category in PASSED_ON:
            cause.doubt("or the tasks are too small to be worth sharing")
        passed_on = cause.category in ("imbalance", "serial_dependency", "condition", "join")
        if (passed_on or not cause.timed) and cause.seen < FEWEST_TICKS:
            cause.doubt(FEW)
        # Mostly only names show a lock that the program made of a word or a condition.
        ways = _OWN_LOCKS.get(cause.category, ())
        own = any(key[0] == "work" and key[1] in ways for key in cause.reasons)
        if own and cause.is_by_turns(SOME):
            cause.doubt("or threads take turns at a lock or semaphore of the program's own")
        if has_tasks and cause.category == "run_queue":
            cause.doubt("or threads of a runtime are woken for tasks that are too small")
        # A thread that another program interrupts keeps the threads waiting that need it.
        if cause.category in (*INTERRUPTED, AWAITED) and cause.ns < LITTLE * total_ns:
            had = "that worked" if cause.category == AWAITED else "that had it"
            cause.doubt(f"or other programs interrupted a thread {had}")
        # Other programs may cause a few per cent without a processor.
        if cause.category == "run_queue" and cause.ns < _CHANCE * total_ns:
            cause.doubt("or other programs have the processors")
        # Threads with the same work also end at different moments by chance. One that awaits the
        # other's end looks as if it needed a result.
        ends = cause.category == "imbalance" or (
            cause.category == AWAITED
            and not cause.for_all
            and any(key[1] in ("join", "future") for key in cause.reasons)
        )
        if ends and cause.ns < _CHANCE * total_ns:
            cause.doubt("or they ended at different moments by chance")
        elif cause.category == "imbalance" and cause.ns - ready_ns < _CHANCE * total_ns:
            cause.doubt("or one of them ended later because it lacked a processor")

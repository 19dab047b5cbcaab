"""Threads that were ready without a processor: because of one another, or of other programs."""

from __future__ import annotations

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import SHOWN, Cause
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.roles import Roles

_OWN = 0.25  # of the ready time: less comes from other programs
_HAD = 0.8  # of the processors' time: less means that other programs had them too


def queue_causes(recording: Recording, roles: Roles, account: Account) -> list[Cause]:
    """At most one."""
    ready = account.states["runnable"]
    if ready < SHOWN * account.total_ns:
        return []
    own_ns, had = _crowd(recording, roles.processors)
    all_ready = sum(time.states["runnable"] for time in account.everyone.values())
    if own_ns <= _OWN * all_ready:
        return []  # other programs had them: that is no property of this one
    category, words = "run_queue", "more threads are ready to run than there are processors"
    # A woken thread is also ready for a while where the system puts it behind another one.
    part = min(1.0, own_ns / all_ready)
    if roles.processors < recording.processors:
        category = "affinity"
        words = (
            f"threads may run on {roles.processors} of the machine's {recording.processors} "
            "processors and wait for them"
        )
        part = 1.0
    cause = Cause(category, "", "", words, had >= _HAD, ready * part)
    for tid, time in account.threads.items():
        cause.by_thread[tid] = round(time.states["runnable"] * part)
    if not cause.certain:
        cause.doubts.add("or other programs have the processors")
    return [cause]


def _crowd(recording: Recording, processors: int) -> tuple[float, float]:
    """Time for which more threads could run than processors can, times their surplus; and what
    share of the processors' time the program had meanwhile."""
    surplus_ns = run_ns = whole_ns = 0
    before = recording.began_ns
    for tick in recording.ticks:
        span, before = tick.at_ns - before, tick.at_ns
        surplus = sum(each.works for each in tick.glances) - processors
        if surplus > 0:
            surplus_ns += surplus * span
            run_ns += sum(each.run_ns for each in tick.glances)
            whole_ns += processors * span
    return surplus_ns, run_ns / max(1, whole_ns)

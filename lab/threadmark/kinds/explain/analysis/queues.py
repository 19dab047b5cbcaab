"""Threads that were ready without a processor, because of one another or of other programs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import SHOWN, SPINNERS, Cause
from threadmark.kinds.explain.analysis.looks import Looks
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.roles import Roles

_OWN = 0.25  # of the ready time: less comes from other programs
_HAD = 0.8  # of the processors' time: less means that other programs also had them
_NOTABLE = 0.25  # of the queue's time
_FASTER = 1.25  # times as fast as without the queue
_SPUN = 0.5  # of the ready time: waiting threads spin so long on processors that others lack


def queue_causes(recording: Recording, roles: Roles, account: Account, seen: Looks) -> list[Cause]:
    """The cause of a run queue: at most one."""
    ready = account.states["runnable"]
    if ready < SHOWN * account.total_ns:
        return []
    own_ns, had, crowded = _crowd(recording, roles.processors)
    all_ready = sum(time.states["runnable"] for time in account.everyone.values())
    if own_ns <= _OWN * all_ready:
        return []  # other programs had them, which is no property of this one
    category, words = "run_queue", "more threads are ready to run than there are processors"
    # A woken thread is also ready for a while when the system puts it behind another thread.
    part = min(1.0, own_ns / all_ready)
    if roles.processors < recording.processors:
        category = "affinity"
        words = (
            f"threads may run on {roles.processors} of the machine's {recording.processors} "
            "processors and wait for them"
        )
        part = 1.0
    cause = Cause(category, "", "", words, had >= _HAD, ready * part)
    ends = [each.at_ns for each in recording.ticks]
    spun = [each for each in seen.idle if bisect_left(ends, each.at_ns) in crowded]
    if len(spun) * recording.sample_ns >= _SPUN * cause.ns:
        cause.case = SPINNERS
        cause.words += ", and threads that wait in a task runtime spin on these"
        cause.samples.update(each.stack for each in spun)
    for tid, time in account.threads.items():
        cause.by_thread[tid] = round(time.states["runnable"] * part)
    if not cause.certain:
        cause.doubts.add("or other programs have the processors")
    return [cause]


def in_order(found: Sequence[tuple[str, float, float | None]]) -> list[int]:
    """The places of causes (category, time, bound) in the order in which they are listed. The
    dearest one stands first in `found`. Threads that wait for processors that all work lose
    nothing, so a cause without which the program may be clearly faster comes before the queue."""
    category, queue_time, gain = found[0] if found else ("", 0.0, None)

    def comes_first(place: int) -> bool:
        category, time, bound = found[place]
        if gain is None or bound is None or not place:
            return False
        # The bound of the queue also leaves out the spinning for threads that have no processor.
        least = gain if category == "spin" else _FASTER * gain
        return time >= _NOTABLE * queue_time and bound >= least

    places = range(len(found))
    if category != "run_queue":
        return [*places]
    return sorted(places, key=lambda place: not comes_first(place))


def _crowd(recording: Recording, processors: int) -> tuple[float, float, set[int]]:
    """The time for which more threads could run than there are processors, times their surplus; the
    program's share of the processors' time meanwhile; and the numbers of the ticks that end it."""
    surplus_ns = run_ns = whole_ns = 0
    crowded = set()
    before = recording.began_ns
    for number, tick in enumerate(recording.ticks):
        span = max(0, tick.at_ns - before)
        before += span
        surplus = sum(each.works for each in tick.glances) - processors
        if surplus > 0:
            surplus_ns += surplus * span
            run_ns += sum(each.run_ns for each in tick.glances)
            whole_ns += processors * span
            crowded.add(number)
    return surplus_ns, run_ns / max(1, whole_ns), crowded

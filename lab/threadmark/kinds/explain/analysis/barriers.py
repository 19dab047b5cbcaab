"""Whether threads wait at barriers because of the barriers, or for one that has more to do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.costs import Cost
from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.roles import most_common, outermost

_SHORT_WAIT_NS = 200_000
_EVEN = 0.5  # of the longest
_BARRIER = re.compile(r"std::(__\w+::)?(barrier|__tree_barrier\w*|__barrier_base)::.*")
_POLLS = "__libcpp_timed_backoff_policy::"
_PART = 0.05  # of the longest: a thread that waits less only made the barrier


def barriers_take_long(recording: Recording, account: Account, costs: Iterable[Cost]) -> bool:
    """Whether all threads wait there briefly and about as long: then it is the barrier."""
    counted, waited = (
        {tid: time.timed_ns["barrier"] for tid, time in threads.items()}
        for threads in (account.threads, account.everyone)
    )
    return _are_short(recording, counted) and _are_even(waited, costs)


def completion(recording: Recording, names: Names, account: Account) -> tuple[str, float]:
    """The program's function that a barrier runs when all have come, and its part of the waits."""
    found: Counter[str] = Counter()
    for sample in recording.samples:
        frames = names.frames(sample.stack, True)
        at = next((i for i, each in enumerate(frames) if _BARRIER.fullmatch(each.name)), 0)
        if name := outermost(frames[:at]):
            found[name] += 1
    waited = [time.timed_ns["barrier"] for time in account.everyone.values()]
    longest = max(waited, default=0.0)
    others = sum(ns > _PART * longest for ns in waited) - 1
    awaited_ns = found.total() * recording.sample_ns * others
    return most_common(found), awaited_ns / max(1.0, sum(waited))


def is_inlined(frames: Iterable[Frame]) -> bool:
    """Whether a wait at a barrier of libc++ has no frame of the barrier. Then a completion function
    has none either, and looks like the threads' own work."""
    names = [each.name for each in frames]
    return any(_POLLS in name for name in names) and not any(map(_BARRIER.fullmatch, names))


def _are_short(recording: Recording, waited: Mapping[int, float]) -> bool:
    found = [p for p in recording.pairs if p.activity == "barrier" and p.waits]
    # The long waits count, not the many looks at a word before them.
    weighed = sum(each.wait_ns * each.wait_ns / each.waits for each in found)
    return bool(found) and weighed < _SHORT_WAIT_NS * sum(waited.values())


def _are_even(waited: Mapping[int, float], costs: Iterable[Cost]) -> bool:
    """A thread that has more to do waits less. The agent's times say it: of short steps, ticks show
    which thread they delayed."""
    work = [each.reason for each in costs if each.reason.sort == "work"]
    workers = {reason.tid for reason in work if reason.activity == "barrier"}
    longest = max(waited.values(), default=0.0)
    times = [ns for tid, ns in waited.items() if tid in workers or ns > _PART * longest]
    return not times or min(times) >= _EVEN * longest

"""Threads that do the same: those that were made at one place, and others with the same work, such
as the main thread beside those that it made, or threads of several statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from threadmark.kinds.explain.analysis.costs import Cost
from threadmark.kinds.explain.analysis.frames import Frame, is_of_library
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.serial_parts import are_side_by_side

_MEET = ("condition", "future", "join")  # waits of threads with parts of one work
_OFTEN = 0.1  # of a cost
_READY = 0.1  # of the life of a thread that lacked a processor
_SAME = 0.5  # of the samples are in the same functions
_NAMELESS = ("{lambda", "$_", "+0x")  # in names that several functions may have


def is_equal(
    cost: Cost, waits_in: Sequence[Frame], recording: Recording, names: Names, roles: Roles
) -> bool | None:
    """Whether the awaited thread does the same as other threads; None if that is not known.
    `waits_in`: the frames of the wait."""
    reason, worker = cost.reason, cost.reason.tid
    equal = roles.has_peers(worker)
    ends = reason.activity in ("future", "join")
    if ends:  # one thread awaits parts, or it is a chain
        peers = (ns for tid, ns in cost.by_thread.items() if roles.same(worker, tid))
        equal = equal and sum(peers) <= _OFTEN * cost.ns and roles.does_more(worker)
    others = {tid: ns for tid, ns in cost.by_thread.items() if tid != worker}
    if equal or not others or reason.activity not in _MEET:
        return equal
    waiter = min(others, key=lambda tid: (-others[tid], tid))
    return _do_the_same(recording, names, worker, waiter, None if ends else waits_in)


def _do_the_same(
    recording: Recording, names: Names, worker: int, waiter: int, waits_in: Iterable[Frame] | None
) -> bool | None:
    """Whether a thread works at the same time as the one that it later waits for, and mostly in the
    same innermost functions. Threads that meet again and again also wait within a function that
    has most of the work; for a wait for an end `waits_in` is None. It is not known whether threads
    that took turns on a processor would have worked at the same time."""
    one, other = recording.threads.get(worker), recording.threads.get(waiter)
    if one is None or other is None:
        return False
    began_ns, ended_ns = max(one.began_ns, other.began_ns), min(one.ended_ns, other.ended_ns)
    samples = [each for each in recording.samples if began_ns <= each.at_ns <= ended_ns]
    work = {tid: _work(samples, names, tid) for tid in (worker, waiter)}
    leaves = {tid: Counter(each[0] for each in found) for tid, found in work.items()}
    if not all(leaves.values()):
        return False
    own, others = leaves[worker], leaves[waiter]
    same = sum(min(n / own.total(), others[name] / others.total()) for name, n in own.items())
    around = {each.name for each in waits_in or () if _has_own_name(each)}
    shared = Counter(name for each in work[worker] for name in around & set(each))
    within = waits_in is None or max(shared.values(), default=0) >= _SAME * own.total()
    if same < _SAME or not within:
        return False
    if are_side_by_side(recording, [each for each in samples if each.tid in work]):
        return True
    took_turns = any(each.ready_ns > _READY * each.life_ns for each in (one, other))
    return None if took_turns else False


def _work(samples: Iterable[Sample], names: Names, tid: int) -> list[Sequence[str]]:
    """For each sample of a thread in the program, the functions, innermost first."""
    stacks = Counter(each.stack for each in samples if each.tid == tid)
    found: list[Sequence[str]] = []
    for stack, count in stacks.items():
        frames = [each.name for each in names.frames(stack, True) if _has_own_name(each)]
        found += [frames] * count if frames else []
    return found


def _has_own_name(frame: Frame) -> bool:
    return not is_of_library(frame) and not any(each in frame.name for each in _NAMELESS)

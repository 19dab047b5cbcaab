"""Threads that do the same: those that were made at one place, and others with the same work, such
as the main thread beside those that it made, or threads of several statements."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from threadmark.kinds.explain.analysis.costs import Cost
from threadmark.kinds.explain.analysis.frames import Frame, is_of_library
from threadmark.kinds.explain.analysis.handmade import is_for_all
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.roles import Roles, outermost
from threadmark.kinds.explain.analysis.serial_parts import BUCKET, are_side_by_side

_ENDS = ("future", "join")
_MEET = ("condition", "event", "semaphore", *_ENDS)  # waits of threads with parts of one work
_OFTEN = 0.1  # of a cost
_TAKES = 0.02  # of the time, a thread that takes permits waits for one
_SEEN = 20  # ticks that show a wait
_FEWEST = 5  # samples of a thread that works
_LESS = 0.9  # of the work of a thread
_LOOKED_AT = 64  # threads
_ORDER = (False, None, True)
_READY = 0.1  # of the life of a thread that lacked a processor
_SAME = 0.5  # of the samples are in the same functions
_SAME_CODE = 0.4  # are at the same instructions, which copies of a function hardly change
_OTHER_CODE = 0.1  # of other functions are so by chance
_NAMELESS = ("{lambda", "$_", "+0x")  # in names that several functions may have

_T = TypeVar("_T")


class Equals:
    """Finds the threads of one record that do the same."""

    def __init__(self, recording: Recording, names: Names, roles: Roles) -> None:
        self._recording = recording
        self._names = names
        self._roles = roles
        self._awaited: Counter[tuple[int, int]] = Counter()  # waiter and worker -> ns

    def note(self, costs: Iterable[Cost]) -> None:
        """Note which threads wait for the ends or results of which others."""
        for cost in costs:
            if cost.reason.activity in _ENDS:
                for tid, ns in cost.by_thread.items():
                    self._awaited[tid, cost.reason.tid] += ns

    def has(self, cost: Cost, waits_in: Sequence[Frame]) -> bool | None:
        """Whether the awaited thread does the same as other threads; None if that is not known.
        `waits_in`: the frames of the wait."""
        reason, worker = cost.reason, cost.reason.tid
        made_alike = list(self._roles.peers(worker))
        equal = bool(made_alike)
        ends = reason.activity in _ENDS
        if ends:  # one thread awaits parts, or it is a chain
            peers = (ns for tid, ns in cost.by_thread.items() if self._roles.same(worker, tid))
            equal = equal and sum(peers) <= _OFTEN * cost.ns and self._roles.does_more(worker)
        others = {tid: ns for tid, ns in cost.by_thread.items() if tid != worker}
        if not others or reason.activity not in _MEET:
            return equal
        waiter = min(others, key=lambda tid: (-others[tid], tid))
        if equal:  # a loop may also make the stages of a pipeline
            most = max(made_alike, key=lambda each: (each.run_ns, -each.tid)).tid
            other = waiter if self._roles.same(worker, waiter) else most
            return None if not ends and self._differ(worker, other) else True
        if ends and self._await_each_other(worker, waiter):
            return False
        same = self._do_the_same(worker, waiter, None if ends else waits_in)
        waiters = {tid for tid, ns in others.items() if ns > _OFTEN * cost.ns}
        own = self._samples[worker]
        beside = self._beside(worker, waiters)
        found = [self.did_the_same(own, self._samples[each]) for each in beside]
        if not ends and any(found):  # it may wait for the ends of them, or for one's results
            found = [None]
        return max([same, *found], key=_ORDER.index)

    def goes_on(self, before: Sequence[Sample], after: Sequence[Sample]) -> bool:
        """Whether a thread mostly was in one call and at the same code in both parts of its
        samples."""
        one, other = (Counter(map(self._place, samples)) for samples in (before, after))
        return _alike(one, other) >= _SAME

    def _place(self, sample: Sample) -> Sequence[tuple[int, int]]:
        (module, address), *calls = self._recording.stacks.get(sample.stack) or [(0, 0)]
        return (module, address // BUCKET), *calls

    def share_a_caller(self, *parts: Sequence[Sample]) -> bool:
        """Whether a function that does not call itself has called most of the work of each part."""
        callers = []
        for samples in parts:
            counts = Counter(
                name
                for functions in self._work(samples)
                for name, times in Counter(functions[1:]).items()
                if times == 1 and name != functions[0]
            )
            callers.append({name for name, n in counts.items() if n >= _SAME * len(samples)})
        return bool(set.intersection(*callers))

    def did_the_same(self, one: Sequence[Sample], other: Sequence[Sample]) -> bool | None:
        """Whether the samples of two threads are mostly in the same innermost functions, or in
        copies of one function, which the compiler may have made part of others. None if that is not
        known."""
        named = [Counter(each[0] for each in self._work(samples)) for samples in (one, other)]
        code = [self._code(samples) for samples in (one, other)]
        if _alike(*named) >= _SAME or _alike(*code) >= _SAME_CODE:
            return True
        if all(named) or (all(code) and _alike(*map(_in_any_order, code)) < _OTHER_CODE):
            return False
        return None if one and len(other) >= _FEWEST else False

    def _beside(self, tid: int, waiters: set[int]) -> list[int]:
        """The threads that were made at other places, lived at the same time, and worked less. None
        if one thread made the thread and a waiter, as in a chain."""
        threads = self._recording.threads
        own = threads.get(tid)
        if own is None or own.maker in {threads[each].maker for each in waiters & threads.keys()}:
            return []
        return [
            each.tid
            for each in threads.values()
            if each.process == own.process
            and each.tid not in waiters
            and min(each.ended_ns, own.ended_ns) > max(each.began_ns, own.began_ns)
            and each.run_ns < _LESS * own.run_ns
            and not self._roles.same(tid, each.tid)
        ][:_LOOKED_AT]

    def _differ(self, *tids: int) -> bool:
        """Whether the threads mostly work in different innermost functions."""
        named = [Counter(e[0] for e in self._work(self._samples[tid])) for tid in tids]
        code = [self._code(self._samples[tid]) for tid in tids]
        return all(named) and _alike(*named) < _SAME and _alike(*code) < _SAME_CODE

    def _await_each_other(self, worker: int, waiter: int) -> bool:
        """Whether the worker waits for results of the waiter too, like threads with a chain of
        results. A thread that awaits parts of its work is not awaited."""
        back = self._awaited[worker, waiter]
        return back > _OFTEN * self._awaited[waiter, worker]

    def takes_part(self, cost: Cost, waits_in: Sequence[Frame]) -> bool | None:
        """Whether the awaited thread also takes what the others wait for, like a permit: it was
        made where they were, or waits there too. It may do so, and the result is None, if it works
        in a function around the wait, or if that is not known. `waits_in`: the frames of the
        wait."""
        reason, worker = cost.reason, cost.reason.tid
        own = [e for tick in self._recording.ticks for e in tick.glances if e.tid == worker]
        waits = sum(
            e.thing == reason.thing and (e.activity == reason.activity or not e.works) for e in own
        )
        # Its own time may be that of waits for other things.
        if any(self._roles.same(worker, tid) for tid in cost.by_thread if tid != worker):
            # Stages of a pipeline may be made in one place too, but only the next one waits there.
            return bool(waits) or cost.seen < _SEEN
        if waits > _TAKES * len(own):
            return True
        # Functions may have one name, but those with other names are others.
        around = {each.name for each in waits_in if _is_own(each)}
        work = self._work(self._samples[worker], _is_own)
        known = around and work and cost.seen >= _SEEN
        return False if known and all(around.isdisjoint(each) for each in work) else None

    def hands_on(self, cost: Cost) -> bool:
        """Whether threads that do the same mostly wake one another, one at a time, as those of a
        pool do whose tasks make other tasks ready. At a barrier one wakes all. Those with a chain
        of results may each wait for another condition."""
        worker = cost.reason.tid
        same = {worker, *(tid for tid in cost.by_thread if self._roles.same(tid, worker))}
        apart = self._wait_apart(same)
        starts = {name for tid in same for name in self._roles.starts.get(tid, ())}
        by_them: Counter[bool] = Counter()
        for pair in self._recording.pairs:
            thing = self._recording.things.get(pair.thing)
            if thing is None or thing.what != "condition":
                continue
            if pair.activity == "condition" and pair.holder:
                waiter, waker = (
                    outermost(self._names.frames(each)) for each in (pair.waiter, pair.holder)
                )
                if waiter in starts:
                    one = apart or not is_for_all(thing)
                    by_them[waker in starts and one] += pair.wait_ns
        return by_them[True] > by_them[False]

    def _wait_apart(self, tids: set[int]) -> bool:
        """Whether threads that wait at the same time mostly wait for different conditions."""
        found: Counter[bool] = Counter()
        for tick in self._recording.ticks:
            things = [
                each.thing
                for each in tick.glances
                if each.tid in tids and each.activity == "condition" and each.thing
            ]
            if len(things) > 1:
                found[len(set(things)) == len(things)] += 1
        return found[True] > found[False]

    def _do_the_same(
        self, worker: int, waiter: int, waits_in: Iterable[Frame] | None
    ) -> bool | None:
        """Whether a thread works at the same time as the one that it later waits for, and mostly in
        the same innermost functions. Threads that meet again and again also wait within a function
        that has most of the work; for a wait for an end `waits_in` is None. If they never work at
        the same time, it is not known whether they take turns at one work, or whether in each part
        of it one of them has hardly anything to do. Nor is it known whether threads that took turns
        on a processor would have worked at the same time."""
        threads = self._recording.threads
        one, other = threads.get(worker), threads.get(waiter)
        if one is None or other is None:
            return False
        began_ns, ended_ns = max(one.began_ns, other.began_ns), min(one.ended_ns, other.ended_ns)
        samples = {tid: self._between(tid, began_ns, ended_ns) for tid in (worker, waiter)}
        same = self.did_the_same(samples[worker], samples[waiter])
        if not same:
            return same
        if waits_in is not None and not self._is_around(waits_in, *samples.values()):
            return None
        if are_side_by_side(self._recording, [*samples[worker], *samples[waiter]]):
            return True
        took_turns = any(each.ready_ns > _READY * each.life_ns for each in (one, other))
        return None if took_turns or waits_in is not None else False

    def _is_around(
        self, wait: Iterable[Frame], work: Sequence[Sample], other: Sequence[Sample]
    ) -> bool:
        """Whether a function around a wait has most of the work of the first samples. Functions
        without names of their own count if both samples are of the same code."""
        same_code = _alike(self._code(work), self._code(other)) >= _SAME_CODE
        has_name = _is_own if same_code else _has_own_name
        around = {each.name for each in wait if has_name(each)}
        functions = self._work(work, has_name)
        shared = Counter(name for each in functions for name in around & set(each))
        return max(shared.values(), default=0) >= _SAME * len(functions) > 0

    def _between(self, tid: int, began_ns: int, ended_ns: int) -> list[Sample]:
        found = self._samples[tid]
        begin, end = (
            bisect(found, at, key=lambda each: each.at_ns)
            for bisect, at in ((bisect_left, began_ns), (bisect_right, ended_ns))
        )
        return found[begin:end]

    @cached_property
    def _samples(self) -> dict[int, list[Sample]]:
        found: dict[int, list[Sample]] = defaultdict(list)
        for sample in sorted(self._recording.samples, key=lambda each: each.at_ns):
            found[sample.tid].append(sample)
        return found

    def _code(self, samples: Iterable[Sample]) -> Counter[tuple[str, ...]]:
        """The code of the program at the samples."""
        return Counter(code for each in samples if (code := self._names.doing(each.stack)))

    def _work(
        self, samples: Iterable[Sample], counts: Callable[[Frame], bool] | None = None
    ) -> list[Sequence[str]]:
        """For each sample in the program, the functions that count, innermost first; without
        `counts` those with names of their own."""
        found: list[Sequence[str]] = []
        for stack, count in Counter(each.stack for each in samples).items():
            frames = [
                f.name for f in self._names.frames(stack, True) if (counts or _has_own_name)(f)
            ]
            found += [frames] * count if frames else []
        return found


def _in_any_order(code: Counter[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """The same code as a compiler may arrange it in another copy."""
    found: Counter[tuple[str, ...]] = Counter()
    for each, count in code.items():
        found[tuple(sorted(each))] += count
    return found


def _alike(one: Counter[_T], other: Counter[_T]) -> float:
    """The share that two divisions have in common."""
    if not other:
        return 0
    return sum(min(n / one.total(), other[each] / other.total()) for each, n in one.items())


def _is_own(frame: Frame) -> bool:
    return not is_of_library(frame)


def _has_own_name(frame: Frame) -> bool:
    return _is_own(frame) and not any(each in frame.name for each in _NAMELESS)

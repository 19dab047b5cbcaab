"""Conditions with a mutex of their own: those of std::condition_variable_any and QWaitCondition. A
woken thread then takes the lock of the program, and that is a part of its wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from threadmark.kinds.explain.analysis.frames import AGENT, Frame, is_of_library
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording, Thing

_WAITS = ("condition_variable_any::wait", "QWaitCondition::wait")
_LOCKS = ("condition_variable", "mutex", "lock", "futex")  # in names of functions
_TOGETHER = 1.5  # waits for each signal: it wakes several threads
_NOTHING_NS = 3_000  # of work after a wait, as the agent counts a wait that ended for nothing
_FEWEST = 10  # samples of the threads
Place = tuple[str, ...]  # the functions that wait, innermost first


class AnyConditions:
    """Those of one record."""

    def __init__(self, recording: Recording, names: Names) -> None:
        self._recording = recording
        self._names = names

    def of(self, stack: int) -> int:
        """The condition in whose wait a stack takes a mutex; 0: none. If the wait is inlined, it is
        the one of the same functions, of which threads wake for nothing."""
        frames = self._names.frames(stack) if stack else ()
        if place := _place(frames):
            return self._conditions.get(place, 0)
        return self._inlined.get(_own(frames), 0)

    def has(self, condition: Thing) -> bool:
        """Whether the condition has a mutex of its own. Which of its waits ended for nothing is not
        known then."""
        return condition.id in self._conditions.values()

    def wakes_for_nothing(self, condition: Thing) -> bool:
        """Whether several threads wake at once, and hardly work before they wait again. If there
        are too few samples, the name of the wait decides."""
        tids = self._waiters.get(condition.id)
        if not tids or condition.waits < _TOGETHER * max(1, condition.signals):
            return False
        samples = [each for each in self._recording.samples if each.tid in tids]
        if len(samples) < _FEWEST:
            return self.has(condition)
        work = sum(not self._locks(each.stack) for each in samples) / len(samples)
        threads = self._recording.threads
        ran_ns = sum(threads[tid].run_ns for tid in tids & threads.keys())
        return work * ran_ns < _NOTHING_NS * condition.waits

    @cached_property
    def _conditions(self) -> dict[Place, int]:
        return {place: thing.id for thing, frames in self._waits() if (place := _place(frames))}

    @cached_property
    def _inlined(self) -> dict[Place, int]:
        return {
            place: thing.id
            for thing, frames in self._waits()
            if not _place(frames) and (place := _own(frames)) and self.wakes_for_nothing(thing)
        }

    def _waits(self) -> Iterator[tuple[Thing, Sequence[Frame]]]:
        for pair in self._recording.pairs:
            known = self._recording.things.get(pair.thing)
            if known is not None and known.what == "condition" and pair.waiter:
                yield known, self._names.frames(pair.waiter)

    @cached_property
    def _waiters(self) -> dict[int, set[int]]:
        """The threads that ticks saw in the functions of waits, by condition."""
        places: dict[int, set[Place]] = defaultdict(set)
        for thing, frames in self._waits():
            places[thing.id].add(_own(frames))
        found: dict[int, set[int]] = defaultdict(set)
        for tick in self._recording.ticks:
            for each in tick.glances:
                if _own(self._names.frames(each.stack)) in places.get(each.thing, ()):
                    found[each.thing].add(each.tid)
        return found

    def _locks(self, stack: int) -> bool:
        """Whether a sample is in a wait or a lock, or in the agent."""
        frames = self._names.frames(stack, True)
        inside = any(word in each.name for each in frames for word in _LOCKS)
        return inside or any(each.module.startswith(AGENT) for each in frames)


def _place(frames: Sequence[Frame]) -> Place:
    """The wait and the functions around it; empty if the stack has no such wait."""
    names = [each.name for each in frames]
    waits = (i for i, name in enumerate(names) if any(each in name for each in _WAITS))
    return tuple(names[max(waits, default=len(names)) :])


def _own(frames: Sequence[Frame]) -> Place:
    return tuple(each.name for each in frames if not is_of_library(each))

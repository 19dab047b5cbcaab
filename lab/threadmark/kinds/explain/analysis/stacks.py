"""Stacks in the form of the answer, and holders and waiters by stack."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeVar

from threadmark.kinds.explain.analysis.frames import (
    AGENT,
    Frame,
    gives_back_a_lock,
    is_beneath,
    is_glue,
    is_guard,
    takes_a_lock,
    without_aliases,
)
from threadmark.kinds.explain.analysis.handmade import HandMade
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Pair, Recording
from threadmark.kinds.explain.analysis.spans import Meanwhile, is_within, spans_of_one

MOST_FRAMES = 16
_MOST_STACKS = 8
_SHARED = ("read_lock", "write_lock")
_INNER = 8  # frames of a lock's own functions
_OUTSIDE = re.compile(
    r"_start|__libc_start\w*|start_thread|clone3?|__clone3?|execute_native_thread_routine|"
    r"__pthread_once_slow|__gthread_once|std::.*|"
    r"libc\.so\S*\+0x\w+|libstdc\+\+\S*\+0x\w+|ld-linux\S*\+0x\w+"
)
_Key = TypeVar("_Key", str, int, tuple[str, ...])


@dataclass(frozen=True)
class Party:
    """One stack with its share in its list."""

    share: float
    frames: tuple[str, ...]
    hold_us: float | None = None
    held_ns: int = 0  # all of its holds


class Stacks:
    """The stacks of one record, bare of wrappers and glue."""

    def __init__(self, recording: Recording, names: Names, knowledge: Knowledge) -> None:
        self.recording = recording
        self._names = names
        self._knowledge = knowledge
        self._guards = HandMade(recording, names).guards
        self._bare = cache(self._without_others)
        self.is_in_lock = cache(self._is_in_lock)

    def frames(self, stack: int, exact: bool = False) -> tuple[Frame, ...]:
        """The frames, innermost first, without wrappers of locks, glue and frames outside the
        program."""
        return self._bare(stack, exact)

    def _without_others(self, stack: int, exact: bool) -> tuple[Frame, ...]:
        whole = self._names.frames(stack, exact)
        known = without_aliases(self._without_own_lock(self._knowledge.bare(whole)))
        own = [f for f in known if not f.module.startswith(AGENT)]
        bare = [f for f in own if not is_glue(f)]
        while len(bare) > 1 and _OUTSIDE.fullmatch(bare[-1].name):
            bare.pop()
        return tuple(bare[:MOST_FRAMES])

    def _is_in_lock(self, stack: int, *, or_call: bool = False) -> bool:
        """Whether the innermost function of a sample is a function of a lock; `or_call`: or is not
        the program's own."""
        whole = self._names.frames(stack, True)
        if or_call and (not whole or not whole[0].own):
            return True
        bare = self._without_own_lock(self._knowledge.bare(whole))
        return bool(whole) and (not bare or bare[0] != whole[0])

    def _without_own_lock(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        """The frames without the functions of a lock that the program made itself: functions that
        the library's lock_guard or unique_lock or the program's own guard calls, or that have the
        usual names of locks."""
        inner = frames[:_INNER]
        guards = [i for i, frame in enumerate(inner) if is_guard(frame.name)]
        if guards:
            return self._knowledge.bare(frames[guards[-1] :])
        guards = [i for i, frame in enumerate(inner) if frame.name in self._guards]
        if guards and len(frames) > guards[-1] + 1:
            return frames[guards[-1] + 1 :]
        its_own = [
            i
            for i, frame in enumerate(inner)
            if frame.own and (takes_a_lock(frame.name) or gives_back_a_lock(frame.name))
        ]
        return frames[its_own[-1] + 1 :] if its_own and len(frames) > its_own[-1] + 1 else frames

    def parties(
        self,
        weights: Mapping[int, float],
        exact: bool = False,
        held: Mapping[int, tuple[int, int]] | None = None,
    ) -> list[Party]:
        """The parties, with equal-looking stacks joined, the heaviest first. `held`: stack -> holds
        and time."""
        found: Counter[tuple[str, ...]] = Counter()
        holds: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
        for stack, weight in weights.items():
            names = self.names(stack, exact=exact)
            if names and weight > 0:
                found[names] += round(weight)
                number, ns = (held or {}).get(stack, (0, 0))
                holds[names][0] += number
                holds[names][1] += ns
        total = sum(found.values())
        self._complete(found, holds)
        return [
            Party(
                weight / total,
                names,
                round(holds[names][1] / holds[names][0] / 1e3, 3) if holds[names][0] else None,
                holds[names][1],
            )
            for names, weight in in_order(found)[:_MOST_STACKS]
            if total
        ]

    @staticmethod
    def _complete(found: Counter[tuple[str, ...]], holds: dict[tuple[str, ...], list[int]]) -> None:
        """Joins a stack whose walk ended early with the only stack that goes on at its end."""
        kept: list[tuple[str, ...]] = []
        for names in sorted(found, reverse=True):  # longer stacks come before their beginnings
            longer = [each for each in kept[-2:] if each[: len(names)] == names]
            if len(longer) != 1:
                kept.append(names)
                continue
            found[longer[0]] += found.pop(names)
            for i, value in enumerate(holds.pop(names, [0, 0])):
                holds[longer[0]][i] += value

    def names(self, stack: int, *, exact: bool = False) -> tuple[str, ...]:
        """The functions of `frames`."""
        return tuple(each.name for each in self.frames(stack, exact))

    def holders(self, things: Iterable[int]) -> list[Party]:
        """The holders of these things while others waited, by the time of each hold times the
        threads that waited then. If no hold was timed, by the waits that began during it. A wait is
        not divided among the holds that follow one another while it lasts."""
        wanted = set(things)
        held = {h.stack: (h.holds, h.hold_ns) for h in self.recording.holds if h.thing in wanted}
        weights: Counter[int] = Counter()
        for hold in self.recording.holds:
            if hold.thing in wanted - self._inner and hold.blamed_ns:
                weights[hold.stack] += hold.blamed_ns
        if not weights:
            pairs = [p for p in self.recording.pairs if p.thing in wanted and p.holder]
            # A thread that gave a lock for shared use back had it; the others only held its inner
            # mutex.
            gave = [p for p in pairs if p.activity in _SHARED and self._gives_back(p.holder)]
            for pair in gave or pairs:
                weights[pair.holder] += pair.wait_ns
        return self.parties(dict(weights), held=held)

    def _gives_back(self, stack: int) -> bool:
        frames = self._names.frames(stack)
        return bool(frames) and gives_back_a_lock(frames[0].name)

    @cached_property
    def _inner(self) -> set[int]:
        """Mutexes inside locks for shared use: threads hold them only to change the state of the
        lock."""
        things = self.recording.things
        shared = {p.thing for p in self.recording.pairs if p.activity in _SHARED}
        return {each for each in shared if each in things and things[each].what == "mutex"}

    def waiters(self, pairs: Iterable[Pair]) -> list[Party]:
        """The threads that waited."""
        weights: Counter[int] = Counter()
        for pair in pairs:
            weights[pair.waiter] += pair.wait_ns
        return self.parties(dict(weights))

    def working(self, threads: Mapping[int, float], did: Counter[int]) -> list[Party]:
        """The stacks of these threads in samples while others waited, or while no other thread
        lived; all their stacks if there are no such samples. `did`: stacks of work while others
        spun."""
        own = [each for each in self.recording.samples if each.tid in threads]
        alone = spans_of_one(self.recording)
        weights = did + Counter(each.stack for each in own if is_within(alone, each.at_ns))
        for tid in threads:
            weights += self._meanwhile.of(tid)
        weights = weights or Counter(each.stack for each in own)
        return self.parties(dict(weights), exact=True)

    @cached_property
    def _meanwhile(self) -> Meanwhile:
        return Meanwhile(self.recording, lambda _: True)

    def first(self, stack: int, *, exact: bool = False) -> Frame | None:
        """The innermost function of a stack that is the program's own, else the innermost one."""
        frames = self.frames(stack, exact)
        program = [each for each in frames if each.own and not is_beneath(each)]
        own = [each for each in program if not each.name.startswith("std::")]
        return next(iter(own or frames), None)


def in_order(counts: Counter[_Key]) -> list[tuple[_Key, int]]:
    """The most frequent first, equals by their keys, so that results repeat."""
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))

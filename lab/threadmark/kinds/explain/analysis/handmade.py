"""Locks that a program makes of a condition. Names show them: the waiting function has the name of
a function that takes a lock, or is the constructor of an object whose destructor signals. If these
functions are inlined in the function that has the lock, samples show the lock: threads wait in a
function that others signal in, and these others have worked in it about as long as the threads have
waited. A barrier looks alike, but each of its signals ends waits, and the signal of a free lock
ends none. If the thread that gives such a lock back often takes it again at once, woken threads
find it taken."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from threadmark.kinds.explain.analysis.frames import Frame, is_of_library, takes_a_lock
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Pair, Recording, Thing
from threadmark.kinds.explain.analysis.serial_parts import are_side_by_side
from threadmark.kinds.explain.analysis.slow_paths import innermost_own

_ABOUT = 0.5  # of the waiting time, others work in the function
_NOT_ALL = 0.98  # of the threads' work
_FREE = 1.005  # signals for each wait
_FEW = 2  # signals at the end
_OFTEN = 10  # ticks or samples
_FUTILE = 0.3  # of the waits end for nothing
_HARDLY = 0.02  # of the waits end for nothing
_SEVERAL = 1.5  # waits for each signal
_WAITS = ("condition", "own_lock")  # the second is the purpose of the first
_MEETS = re.compile(r"(?i)barrier|rendez_?vous|meet|arrive|phaser|wait_?for_?(all|others|everyone)")
Chain = tuple[str, ...]  # the program's functions of a stack, innermost first


class _Inside(NamedTuple):
    """The samples in a function, all samples of the threads that call it, their number, those of
    them that are often in it, and whether two of them work in it at the same time."""

    samples: int
    of_threads: int
    threads: int
    often: set[int]
    together: bool


class HandMade:
    """The hand-made locks of one record."""

    def __init__(self, recording: Recording, names: Names) -> None:
        self._recording = recording
        self._names = names
        self._inside = cache(self._samples_inside)
        self._did = cache(self._chain_of_work)

    @cached_property
    def conditions(self) -> frozenset[int]:
        """The conditions of which locks are made."""
        by_thing: dict[int, Counter[bool]] = defaultdict(Counter)
        for pair in self._pairs():
            is_lock = bool(self._guards(pair)) or self._is_lock(pair)
            by_thing[pair.thing][is_lock] += pair.wait_ns
        own = frozenset(thing for thing, ns in by_thing.items() if ns[True] > ns[False])
        return own | self.shared

    @cached_property
    def shared(self) -> frozenset[int]:
        """The conditions of which locks for shared use are made: a signal of one condition lets all
        readers go on, and a signal of the other condition one writer. Both have one mutex. All
        threads that signal also wait, and some wait in the function in which others signal."""
        pairs: dict[int, list[Pair]] = defaultdict(list)
        for pair in self._pairs():
            # If the record has the purposes of waits already, a lock again has no waits of its own.
            if pair.waits and pair.activity in _WAITS:
                pairs[self._recording.things[pair.thing].mutex].append(pair)
        return frozenset(
            pair.thing
            for mutex, waits in pairs.items()
            if mutex and self._is_shared(waits)
            for pair in waits
        )

    def _is_shared(self, pairs: Sequence[Pair]) -> bool:
        """`pairs`: the waits for conditions with one mutex."""
        things = {pair.thing: self._recording.things[pair.thing] for pair in pairs}
        if {is_for_all(each) for each in things.values()} != {True, False}:
            return False
        takes = {name for pair in pairs for name in self._chain(pair.waiter)[:2]}
        known = [pair for pair in pairs if pair.holder]
        gives = [(pair, set(self._chain(pair.holder)[:2])) for pair in known]
        also_wait = all(takes & names for _, names in gives)
        return also_wait and any(names & set(self._chain(pair.waiter)[:2]) for pair, names in gives)

    @cached_property
    def events(self) -> frozenset[int]:
        """The words that threads wait for, but that are no locks: the functions that wake others
        never wait there. A thread that gives a lock back has taken it, and so waits for it too. Or
        each thread sleeps at a word of its own."""
        waits: dict[int, set[str]] = defaultdict(set)
        wakes: dict[int, set[str]] = defaultdict(set)
        for pair in self._recording.pairs:
            if pair.activity == "futex" and pair.waiter and pair.holder:
                takes, gives = self._chain(pair.waiter), self._chain(pair.holder)
                if takes[1:] and gives[1:] and takes[0] == gives[0]:  # it makes the system call
                    takes, gives = takes[1:], gives[1:]
                waits[pair.thing] |= set(takes)
                wakes[pair.thing] |= set(gives)
        return frozenset(
            thing
            for thing, names in waits.items()
            if wakes[thing] and names.isdisjoint(wakes[thing])
        ) | frozenset(self._own_words())

    def _own_words(self) -> Iterator[int]:
        """The words of threads that sleep each at a word of its own. Threads that want one lock
        mostly wait for one word; those of a queue lock without names look like these."""
        waiters: dict[Chain, dict[int, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
        for tick in self._recording.ticks:
            for each in tick.glances:
                if each.activity == "futex" and each.thing and each.stack:
                    waiters[self._chain(each.stack)][each.thing][each.tid] += 1
        for words in waiters.values():
            often = {word: by for word, by in words.items() if by.total() >= _OFTEN}
            threads = Counter(tid for by in often.values() for tid in by)
            if len(often) == len(threads) == threads.total() > 1:
                yield from often

    @cached_property
    def barriers(self) -> frozenset[int]:
        """The conditions of barriers: functions around the waits have such names, or each signal
        wakes several threads, and none of them for nothing."""
        things = self._recording.things
        return frozenset(
            pair.thing
            for pair in self._pairs()
            if pair.activity != "relock"  # whose holder is that of the mutex
            and may_meet(things[pair.thing], pair, self._names)
            and (self.is_named_so(pair.waiter) or _lets_all_go_on(things[pair.thing]))
        )

    def is_named_so(self, waiter: int) -> bool:
        """Whether functions around a wait have the name of a barrier."""
        return any(map(_MEETS.search, self._chain(waiter)[:2]))

    @cached_property
    def guards(self) -> frozenset[str]:
        """The constructors and destructors of objects that hold such a lock."""
        return frozenset(name for pair in self._pairs() for name in self._guards(pair))

    def _pairs(self) -> Iterator[Pair]:
        """The waits for conditions."""
        for pair in self._recording.pairs:
            known = self._recording.things.get(pair.thing)
            if known is not None and known.what == "condition" and pair.waiter:
                yield pair

    def _guards(self, pair: Pair) -> set[str]:
        takes, gives = self._chain(pair.waiter), self._chain(pair.holder)
        classes = _classes(takes, "") & _classes(gives, "~")
        return {f"{c}::{mark}{c.rpartition('::')[2]}" for c in classes for mark in ("", "~")}

    def _is_lock(self, pair: Pair) -> bool:
        takes, gives = self._chain(pair.waiter), self._chain(pair.holder)
        if takes and takes_a_lock(takes[0]):
            return True
        known = self._recording.things[pair.thing]
        if not takes or takes != gives or known.signals <= _FREE * known.waits + _FEW:
            return False
        inside = self._inside(takes)
        if is_for_all(known) and not inside.often <= self._waiters[pair.thing]:
            return False  # threads that only signal have no lock
        if known.futile > _FUTILE * known.waits:
            return True
        # Work that threads do all the time is no part that a lock guards.
        part = inside.samples < _NOT_ALL * inside.of_threads
        # While one thread has the lock, all others may wait for it.
        alone = inside.threads > 2 and not inside.together
        waits_ns = pair.wait_ns / (inside.threads - 1 if alone else 1)
        return part and inside.samples * self._recording.sample_ns > _ABOUT * waits_ns

    def _samples_inside(self, function: Chain) -> _Inside:
        samples = [
            each
            for each in self._recording.samples
            if self._did(each.stack)[-len(function) :] == function
        ]
        threads = Counter(each.tid for each in samples)
        of_threads = sum(self._worked[tid] for tid in threads)
        together = are_side_by_side(self._recording, samples)
        often = {tid for tid, count in threads.items() if count >= _OFTEN}
        return _Inside(len(samples), of_threads, len(threads), often, together)

    @cached_property
    def _waiters(self) -> Mapping[int, set[int]]:
        """By condition, the threads that ticks saw waiting to be woken."""
        found: dict[int, set[int]] = defaultdict(set)
        for tick in self._recording.ticks:
            for each in tick.glances:
                if each.activity in _WAITS:
                    found[each.thing].add(each.tid)
        return found

    def _chain(self, stack: int, exact: bool = False) -> Chain:
        frames = self._names.frames(stack, exact) if stack else ()
        return tuple(each.name for each in frames if _is_of_program(each))

    @cached_property
    def _worked(self) -> Counter[int]:
        """The samples of each thread in functions of the program."""
        return Counter(each.tid for each in self._recording.samples if self._did(each.stack))

    def _chain_of_work(self, stack: int) -> Chain:
        frames = self._names.frames(stack, True)
        return self._chain(stack, True) if frames and _is_of_program(frames[0]) else ()


def may_meet(condition: Thing, pair: Pair, names: Names) -> bool:
    """Whether threads may meet at a condition: all signals end waits, and threads signal in a
    function in which they wait. A signal in a tail call leaves its function out. Threads that spin
    first need not sleep at a word, so its signals may end no waits."""
    ends_waits = condition.signals <= _FREE * condition.waits + _FEW or condition.what == "futex"
    return ends_waits and are_in_one(pair.waiter, pair.holder, names)


def are_in_one(waiter: int, signaller: int, names: Names) -> bool:
    """Whether a thread signals in a function in which another one waits."""
    if not signaller:
        return False
    waits = {each.name for each in names.frames(waiter) if _is_of_program(each)}
    return innermost_own(names.frames(signaller)).name in waits


def _lets_all_go_on(condition: Thing) -> bool:
    several = condition.waits > _SEVERAL * condition.signals
    return several and is_for_all(condition) and condition.futile < _HARDLY * condition.waits


def is_for_all(thing: Thing) -> bool:
    """Whether most signals wake all waiters."""
    return 2 * thing.broadcasts > thing.signals


def _is_of_program(frame: Frame) -> bool:
    return frame.own and not is_of_library(frame)


def _classes(chain: Chain, mark: str) -> set[str]:
    """The classes whose constructors (or destructors, with a tilde as the mark) are in the
    chain."""
    scopes = ((name.rpartition("::")[0], name.rpartition("::")[2]) for name in chain)
    return {scope for scope, last in scopes if last == mark + scope.rpartition("::")[2]}

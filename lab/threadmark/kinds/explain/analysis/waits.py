"""The purpose of each wait. The agent knows calls of the C library: a futex, a condition, a sleep.
The functions around the call tell whether that is a future, a barrier or a lock of the C++
library."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property

from threadmark.kinds.explain.analysis.any_conditions import AnyConditions
from threadmark.kinds.explain.analysis.frames import takes_a_lock
from threadmark.kinds.explain.analysis.handmade import HandMade, are_in_one, is_for_all
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Glance, Pair, Recording, Thing, Thread
from threadmark.kinds.explain.analysis.roles import outermost
from threadmark.kinds.explain.analysis.sleeps import Sleeps
from threadmark.kinds.explain.analysis.slow_paths import innermost_own, yields

EVENTS = ("join", "future", "condition", "barrier", "semaphore", "event")
# Calls that the C++ library makes as parts of other waits.
_CARRIERS = ("mutex", "relock", "condition", "timed_condition", "sleep")
_OFTEN = 0.1  # of the waits
_FEW = 2  # signals
HASH = "std::_Hash_bytes"
BARRIER = 1024  # bytes of code that wait at a barrier
_ENOUGH = 8  # ticks of a thread that show more than the waits of all


class Waits:
    """The waits of one record."""

    def __init__(
        self, recording: Recording, names: Names, knowledge: Knowledge, sleeps: Sleeps
    ) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._sleeps = sleeps
        self._hand_made = HandMade(recording, names)
        self._any = AnyConditions(recording, names)
        self.of = cache(self._of)

    def _of(self, activity: str, thing: int, stack: int) -> str:
        """The purpose of a wait that the agent calls `activity`."""
        if activity in ("mutex", "futex") and self._any.of(stack):
            return "relock"
        if activity == "futex":
            return self._of_futex(thing, stack)
        if activity == "yield":
            stack = self._stack(activity, stack)
            if self._knowledge.is_lock_of_runtime(self._names.frames(stack)):
                return "own_lock"
            kind = self._knowledge.activity(self._names.frames(stack))
            return self._by_signaller(kind, 0, stack) or self._before_sleep(stack)[0] or activity
        stack = self._stack(activity, stack)
        if activity in _CARRIERS and stack:
            activity = self._knowledge.activity(self._names.frames(stack)) or activity
        if activity in ("condition", "timed_condition"):
            activity = self._by_end(activity, thing, stack)
        if activity in ("condition", "relock") and thing in self._hand_made.barriers:
            return "barrier"
        is_lock = activity in ("condition", "relock") and thing in self._hand_made.conditions
        return "own_lock" if is_lock else activity

    def _by_end(self, activity: str, thing: int, stack: int) -> str:
        """The purpose of a wait for a condition. One with a deadline that is seldom woken is a
        timer, though waits in other functions are woken."""
        known = self._recording.things.get(thing)
        late = self._ended["timed_condition", thing, stack]
        woken = self._ended["condition", thing, stack] + self._ended["condition", thing, 0]
        if late and woken < _OFTEN * late:
            return "timed_condition"
        return "condition" if known and known.signals > _OFTEN * known.waits else activity

    @cached_property
    def _ended(self) -> Counter[tuple[str, int, int]]:
        """How many waits ended, by activity, thing and stack. The activity of a wait that ended at
        its deadline is timed."""
        found: Counter[tuple[str, int, int]] = Counter()
        for pair in self._recording.pairs:
            found[pair.activity, pair.thing, pair.waiter] += pair.waits
        return found

    def meant(self) -> Recording:
        """The record with each wait named by its purpose. The totals of threads stay as the agent
        counted them, because some calls run and others block; see `shares`."""
        record = self._recording
        pairs = (
            replace(
                each,
                activity=self.of(each.activity, each.thing, each.waiter),
                thing=self._thing(each.activity, each.thing, each.waiter),
                waiter=self._stack(each.activity, each.waiter),
                waits=0 if self._goes_on(each) else each.waits,
            )
            for each in record.pairs
        )
        ticks = (
            replace(each, glances=tuple(self._glance(glance) for glance in each.glances))
            for each in record.ticks
        )
        return replace(record, pairs=tuple(pairs), ticks=tuple(ticks))

    def _goes_on(self, pair: Pair) -> bool:
        """Whether the pair is the second part of a wait that is counted already."""
        return pair.activity == "relock" and pair.thing in self._hand_made.conditions

    def shares(self, thread: Thread, activity: str) -> Mapping[str, float]:
        """The purposes of the thread's waits of an activity, as shares of their time."""
        ticks = self._by_thread.get((thread.tid, activity), Counter())
        if sum(ticks.values()) >= _ENOUGH:
            return _shares(ticks)
        return _shares(self._by_pairs.get(activity) or ticks) or {self.of(activity, 0, 0): 1.0}

    def _glance(self, glance: Glance) -> Glance:
        if self._sleeps.is_unseen(glance):
            return glance  # the recorder saw it, not the agent
        kind = self.of(glance.activity, glance.thing, glance.stack)
        stack = self._stack(glance.activity, glance.stack)
        if kind == glance.activity and stack == glance.stack:
            return glance
        thing = self._thing(glance.activity, glance.thing, glance.stack)
        return replace(glance, activity=kind, thing=thing, stack=stack)

    def _thing(self, activity: str, thing: int, stack: int) -> int:
        """The object that a thread waits for. The mutex of a woken thread stands for its
        condition. A thread that gives its processor away before it sleeps wants the same lock."""
        if activity == "yield" and self.of(activity, thing, stack) == "own_lock":
            return self._before_sleep(self._stack(activity, stack))[1]
        return (self._any.of(stack) if activity in ("mutex", "futex") else 0) or thing

    @cached_property
    def _by_pairs(self) -> Mapping[str, Counter[str]]:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for pair in self._recording.pairs:
            kind = self.of(pair.activity, pair.thing, pair.waiter)
            found[pair.activity][kind] += max(1, pair.wait_ns)
        return found

    @cached_property
    def _by_thread(self) -> Mapping[tuple[int, str], Counter[str]]:
        found: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
        for tick in self._recording.ticks:
            for each in tick.glances:
                if each.activity != "running" and not self._sleeps.is_unseen(each):
                    kind = self.of(each.activity, each.thing, each.stack)
                    found[each.tid, each.activity][kind] += 1
        return found

    def _of_futex(self, thing: int, stack: int) -> str:
        """The purpose of a futex: a future, a barrier, an event in general, or a lock of the
        program's own."""
        frames = self._names.frames(stack)
        if self._knowledge.is_lock_of_runtime(frames):
            return "own_lock"
        kind = self._knowledge.activity(frames)
        if kind:
            return self._by_signaller(kind, thing, stack)
        known = self._recording.things.get(thing)
        if known and known.what == "condition":
            return "relock"  # signalling takes a lock within the condition
        datum = known and known.module and self._names.datum(known.module, known.offset)
        # libstdc++ waits for an atomic in its own pool, and wakes all waiters there.
        in_pool = bool(datum and "__waiter_pool" in datum[0])
        is_lock = any(takes_a_lock(each.name) for each in frames)
        if known and not is_lock and self._meet_at(known, stack, in_pool=in_pool):
            return "barrier"
        is_event = thing in self._hand_made.events and not is_lock
        return "event" if is_event or in_pool else "own_lock"

    def _meet_at(self, word: Thing, stack: int, *, in_pool: bool) -> bool:
        """Whether threads meet at a word: a signal lets all of them go on, in the function in which
        they wait. As a lock may do so too, a name shows a barrier. A latch does so only once. At a
        barrier of libstdc++ a thread first takes a place by its hash."""
        if not is_for_all(word) or not are_in_one(stack, word.signal_stack, self._names):
            return False
        hashes = in_pool and HASH in self._names.near(stack, BARRIER)
        once = not in_pool and word.signals <= _FEW
        return hashes or once or self._hand_made.is_named_so(stack)

    def _by_signaller(self, kind: str, thing: int, stack: int) -> str:
        """The purpose of a wait for an atomic word is that of its waker: a barrier or semaphore in
        the same function of the program, whose own waiting functions are inlined without a name. A
        function of the program with the name of a function that takes a lock waits for that
        lock."""
        if kind != "event":
            return kind
        if takes_a_lock(innermost_own(self._names.frames(stack)).name):
            return "own_lock"
        things = [self._recording.things.get(thing)] if thing else self._recording.things.values()
        own = outermost(self._names.frames(stack))
        for each in things:
            if each is not None and each.signal_stack:
                frames = self._names.frames(each.signal_stack)
                wakes = self._knowledge.activity(frames)
                if wakes in ("barrier", "semaphore") and outermost(frames) == own:
                    return wakes
        return kind

    def _before_sleep(self, stack: int) -> tuple[str, int]:
        """The purpose of a yield and the object. A function that gives its processor away, and
        sleeps on a word if that does not help, waits for one thing. Inlined library code lies in it
        without a name."""
        own = innermost_own(self._names.frames(stack)).name if stack else ""
        return self._sleeps_in.get(own, ("", 0)) if own else ("", 0)

    @cached_property
    def _sleeps_in(self) -> Mapping[str, tuple[str, int]]:
        """By function of the program, the purpose and the word of its longest sleep on a word."""
        found: dict[str, tuple[str, int]] = {}
        slept: Counter[str] = Counter()
        threads = self._recording.threads.values()
        gave_ns = sum(t.totals["yield"].ns for t in threads if "yield" in t.totals)
        for pair in sorted(self._recording.pairs, key=lambda each: each.wait_ns):
            if pair.activity == "futex" and pair.waiter:
                kind = self._of_futex(pair.thing, pair.waiter)
                if kind in (*EVENTS, "own_lock"):
                    own = innermost_own(self._names.frames(pair.waiter)).name
                    found[own] = kind, pair.thing
                    slept[own] += pair.wait_ns
        return {own: known for own, known in found.items() if slept[own] > _OFTEN * gave_ns}

    def _stack(self, activity: str, stack: int) -> int:
        """The wait's own stack, or the usual one if the call is too short for the agent to take
        one."""
        if activity not in ("yield", "sleep"):
            return stack
        if self._is_whole(stack):
            return stack
        return (self._usual_yield if activity == "yield" else self._usual_sleep) or stack

    def _is_whole(self, stack: int) -> bool:
        """Whether there is a stack that reaches the program: the walk may end in the C library."""
        return bool(stack) and any(each.own for each in self._names.frames(stack))

    @cached_property
    def _usual_yield(self) -> int:
        """The stack with most samples of giving a processor away, or else with the longest such
        calls that the agent saw."""
        return _most(yields(self._recording, self._names) or self._longest("yield"))

    @cached_property
    def _usual_sleep(self) -> int:
        """The stack of the longest sleeps. A wait that polls gives its processor away first, and
        then sleeps for longer and longer: some of these calls are too short to have a stack."""
        known = _most(self._longest("sleep"))
        polls = self._usual_yield
        waits = polls and self._knowledge.activity(self._names.frames(polls))
        return known or (polls if waits else 0)

    def _longest(self, activity: str) -> Counter[int]:
        """By stack, the time of calls of this kind that the agent took a stack of."""
        found: Counter[int] = Counter()
        for pair in self._recording.pairs:
            if pair.activity == activity and self._is_whole(pair.waiter):
                found[pair.waiter] += pair.wait_ns
        return found


def _most(counts: Counter[int]) -> int:
    return min(counts, key=lambda key: (-counts[key], key), default=0)


def _shares(counts: Counter[str]) -> Mapping[str, float]:
    total = sum(counts.values())
    return {kind: count / total for kind, count in counts.items()} if total else {}

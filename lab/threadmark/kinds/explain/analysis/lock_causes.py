"""Makes causes of waits for locks: the owner of the lock, a convoy, a herd, and threads that take
turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from threadmark.kinds.explain.analysis.any_conditions import AnyConditions
from threadmark.kinds.explain.analysis.cause import Cause, merged, of_piece
from threadmark.kinds.explain.analysis.costs import Cost
from threadmark.kinds.explain.analysis.frames import takes_a_lock
from threadmark.kinds.explain.analysis.handmade import HandMade, is_for_all, may_meet
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.naming import INNER, Named, Naming
from threadmark.kinds.explain.analysis.pieces import Piece
from threadmark.kinds.explain.analysis.reasons import Reason
from threadmark.kinds.explain.analysis.recording import Recording, Thing
from threadmark.kinds.explain.analysis.roles import outermost
from threadmark.kinds.explain.analysis.slow_paths import innermost_own, wakes
from threadmark.kinds.explain.analysis.stacks import Stacks

_FUTILE = 0.2  # of the waits: threads are woken for nothing
_SURELY = 0.3  # of the waits
_HARDLY = 0.1  # of the waits
_HELD = 0.25  # of the time
_HOLDS = 8  # fewer are no turns
_NEARLY_ALL = 0.8  # of the time
_TURNS = 0.25  # of the longest work: a thread that works less takes no turns
_MUCH = 0.25  # of the time without a processor
_WORDS_OF_LOCKS = {
    "read_lock": ("rwlock", "waits for a lock for shared use"),
    "write_lock": ("rwlock", "waits for a lock for shared use"),
    "spin_lock": ("spin", "spins for a spin lock"),
    "once": ("once", "waits until another thread has initialised something once"),
}


class Locks:
    """The locks of one record."""

    def __init__(
        self,
        recording: Recording,
        names: Names,
        knowledge: Knowledge,
        naming: Naming,
        stacks: Stacks,
    ) -> None:
        self._stacks = stacks
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._naming = naming
        self._any = AnyConditions(recording, names)
        self._shared = HandMade(recording, names).shared

    def of_cost(self, cost: Cost) -> Cause:
        """The cause of waits for one lock: a cause of the library that has the lock, or of the
        program."""
        reason = cost.reason
        thing = self._recording.things.get(reason.thing)
        pair = self._naming.heaviest.get(reason.thing)
        stack = pair.waiter if pair else reason.stack
        named = self._naming.of(reason, thing, stack)
        piece = self._knowledge.owner(self._names, stack)
        if piece is not None:
            return self._of_library(piece, named, stack)
        if reason.activity == "relock" and thing is not None:
            return self.after_signal(thing, named, stack)
        if reason.activity in _WORDS_OF_LOCKS:
            category, words = _WORDS_OF_LOCKS[reason.activity]
            return named.cause(category, words)
        if reason.activity == "own_lock":
            inner = self._names.frames(stack)[:INNER] if stack else ()
            if any(takes_a_lock(frame.name) for frame in inner):
                return named.cause("mutex", "waits for a lock")
            words = "waits for a futex: a lock of the program's own, or a condition"
            category = "mutex"
            if thing is not None and thing.what == "condition":
                words = "waits for a lock that the program makes of a condition, or for its turn"
                if thing.id in self._shared:
                    category = "rwlock"
                    words = "waits for a lock for shared use that the program makes of conditions"
            return named.cause(category, words, certain=False)
        return named.cause("mutex", "waits for a lock")

    def _of_library(self, piece: Piece, named: Named, stack: int) -> Cause:
        user = self._stacks.first(stack)
        is_flag = piece.category == "once"  # the program's; its name does not tell
        found = of_piece(piece, user.where if user and not is_flag else named.where)
        if user and is_flag:
            found.name = f"{piece.name} in {user.name}"
        return found

    def after_signal(self, condition: Thing, named: Named, stack: int) -> Cause:
        """The cause of woken threads that wait for the mutex of their condition."""
        mutex = self._recording.things.get(condition.mutex)
        event = self._naming.of(Reason("event", "condition"), condition, stack)
        if self.is_herd(condition):
            how = (
                "threads are woken together, one finds something to do, and the others sleep again"
                if is_for_all(condition)
                else "others have taken what the threads are woken for"
            )
            words = f"of {condition.waits:,} waits {condition.futile:,} ended for nothing: {how}"
            if not condition.futile:
                words = (
                    f"{condition.signals:,} signals ended {condition.waits:,} waits: threads are "
                    "woken together, and hardly work before they wait again"
                )
            found = event.cause("condition", words, case="herd")
            if _HARDLY * condition.waits < condition.futile < _SURELY * condition.waits:
                found.doubt("or they wait for the mutex of their condition (a convoy)")
            if condition.futile and not is_for_all(condition):
                found.doubt("or their tasks are too small")
            return found
        if mutex is None:
            words = (
                "woken threads wait for the mutex of their condition (a convoy), or more threads "
                "are woken than find something to do"
            )
            return named.cause("mutex", words, certain=False)
        words = f"threads that {event.name} wakes wait for its mutex (a convoy)"
        found = self._naming.of(Reason("lock", "relock"), mutex, stack).cause(
            "mutex", words, case="convoy"
        )
        found.things.add(mutex.id)
        if condition.futile > _HARDLY * condition.waits:
            found.doubt(f"or threads are woken for nothing, as in {condition.futile:,} waits")
        elif self._any.has(condition):
            found.doubt("or threads are woken for nothing")
        return found

    def may_meet(self, condition: Thing | None) -> bool:
        """Whether threads may meet at the condition, as at a barrier."""
        pair = self._naming.heaviest.get(condition.id) if condition else None
        return bool(condition and pair and may_meet(condition, pair, self._names))

    def is_herd(self, condition: Thing) -> bool:
        """Whether threads are woken for nothing, and not because a thread works with the mutex
        locked."""
        mutex = self._recording.things.get(condition.mutex)
        often = condition.futile > _FUTILE * condition.waits
        often = often or self._any.wakes_for_nothing(condition)
        return often and self._worked_in(mutex) < _HELD * self._recording.wall_ns

    def _worked_in(self, mutex: Thing | None) -> float:
        """The time for which a mutex was held, in nanoseconds, without that in which its holders
        woke others, as far as samples show it."""
        if mutex is None or not mutex.hold_ns:
            return 0.0
        held = [self._names.frames(e.stack) for e in self._recording.holds if e.thing == mutex.id]
        takers = {innermost_own(frames).name for frames in held} - {""}
        counts = Counter(each.stack for each in self._recording.samples)
        stacks = ((self._names.frames(stack, True), n) for stack, n in counts.items())
        woke = sum(
            count
            for frames, count in stacks
            if innermost_own(frames).name in takers and wakes(frames, self._knowledge)
        )
        return mutex.hold_ns - woke * self._recording.sample_ns

    def _held_in(self, lock: Thing, starts: set[str]) -> int:
        """The time for which threads that begin with these functions held a lock, if they often
        did."""
        holds = (each for each in self._recording.holds if each.thing == lock.id)
        them = [e for e in holds if outermost(self._names.frames(e.stack)) in starts]
        return sum(e.hold_ns for e in them) if sum(e.holds for e in them) >= _HOLDS else 0

    def by_turns(self, causes: list[Cause], starts: Mapping[int, set[str]]) -> list[Cause]:
        """If threads with the same work take turns, and one lock is held nearly all the time, their
        waits for one another are waits for the lock. Such a thread may find its processor and the
        lock free at the same moment, and then never waits for the lock itself. Ticks that see one
        thread more often than the other do not make their work unequal, because the lock keeps them
        apart."""
        turns = [c for c in causes if c.category == "imbalance" and c.is_by_turns(_TURNS)]
        long = _NEARLY_ALL * self._recording.wall_ns
        things = self._recording.things.values()
        own = {name for each in turns for tid in each.workers for name in starts.get(tid, ())}
        locks = [t for t in things if t.what == "mutex" and self._held_in(t, own) > long]
        if not locks:
            return causes
        lock = max(locks, key=lambda each: each.hold_ns)
        found = self.of_cost(Cost(Reason("lock", "mutex", lock.id)))
        found.things.add(lock.id)
        held = 100 * lock.hold_ns / self._recording.wall_ns
        found.words += f"; it is held {held:.0f} % of the time"
        for each in turns:
            found.take(each)
        return merged([*(c for c in causes if c not in turns), found])

    def over_queue(self, causes: list[Cause]) -> list[Cause]:
        """If one lock is held nearly all the time, only one thread can work. So other ready threads
        do not lack a processor: they have the lock or are about to ask for it."""
        queue = next((c for c in causes if c.category == "run_queue" and not c.certain), None)
        long = _NEARLY_ALL * self._recording.wall_ns
        held = {t.id for t in self._recording.things.values() if t.hold_ns > long}
        lock = next((c for c in causes if c.category == "mutex" and c.things & held), None)
        if queue is None or lock is None or lock.ns < _MUCH * queue.ns:
            return causes
        lock.unite(queue)
        return merged([each for each in causes if each is not queue])

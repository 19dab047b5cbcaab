"""The holders of the things that others waited for, and their work meanwhile.

The agent knows the stack that took a lock. Ticks add the call in which the holder slept, and
samples the function in which it ran. For a lock that the agent does not know, the holder is the
thread that wakes the waiters, if the kernel shows it. Else the code that takes the lock is the
holder, as with a spin lock of the program's own: the samples of that code show the place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from functools import cached_property
from itertools import takewhile

from threadmark.kinds.explain.analysis.calls import name_of_call
from threadmark.kinds.explain.analysis.channels import Channels
from threadmark.kinds.explain.analysis.reasons import LOCKS
from threadmark.kinds.explain.analysis.recording import Glance, Pair, Recording
from threadmark.kinds.explain.analysis.stacks import MOST_FRAMES, Party, Stacks, in_order
from threadmark.kinds.explain.analysis.wakes import wakers

_SLEEPS = ("io", "poll", "sleep", "timed_condition", "join", "condition", "barrier", "semaphore")
_OFTEN = 0.3  # of the ticks at which the holder is known
_MOSTLY = 0.6  # of the observations agree
_MOST_OF = 0.8  # of the time in a function, a lock is held
_FEWEST = 3
Names = tuple[str, ...]


class Holders:
    """The holders of one record."""

    def __init__(self, recording: Recording, stacks: Stacks, channels: Channels) -> None:
        self._recording = recording
        self._stacks = stacks
        self._permits = channels.permits

    def of(self, things: Iterable[int], waited: list[Party], *, inside: bool) -> list[Party]:
        """The holders of these things; `waited` are the stacks that waited, which also take the
        things. `inside`: a holder runs the code that the others wait for."""
        wanted = set(things)
        if wanted & self._hand_made:  # a thread holds their mutex only to change the flag
            wanted = {each for each in wanted if self._what(each) != "mutex"}
        pipes = wanted & set(self._permits)
        held = [each for pipe in pipes for each in self._stacks.parties(self._permits[pipe])]
        if not held:
            held = self._stacks.holders(wanted)
        if not held:
            held = self._stacks.parties(wakers(self._recording, wanted), exact=True)
        if not held:
            held = self._by_code(waited)
        # The agent does not time holds of these: the usual work of a taker counts as its work
        # meanwhile.
        kinds = {self._recording.things[each].what for each in wanted & set(self._recording.things)}
        permits = kinds == {"semaphore"} or bool(pipes)
        inside = inside or permits or kinds <= {"futex", "semaphore"}
        if permits:
            held = [self._with_permit(each, waited, wanted) for each in held]
        asleep = self._asleep(wanted)
        return [self._extended(party, asleep, inside) for party in held]

    def _with_permit(self, gives: Party, waited: list[Party], wanted: Set[int]) -> Party:
        """If all threads that give a semaphore back also take it: the function in which they have
        it."""
        glances = (each for tick in self._recording.ticks for each in tick.glances)
        takers = {each.tid for each in glances if each.thing in wanted}
        samples = (
            (s.tid, self._stacks.names(s.stack, exact=True)) for s in self._recording.samples
        )
        givers = {tid for tid, names in samples if names[-1:] == gives.frames[-1:]}
        both: Names = ()
        for takes in waited if givers and givers <= takers else ():
            pairs = zip(reversed(gives.frames), reversed(takes.frames), strict=False)
            common = tuple(name for name, _ in takewhile(lambda each: each[0] == each[1], pairs))
            both = max(both, common[::-1], key=len)
        return Party(gives.share, both, gives.hold_us, gives.held_ns) if both else gives

    def _what(self, thing: int) -> str:
        known = self._recording.things.get(thing)
        return known.what if known else ""

    @cached_property
    def _hand_made(self) -> set[int]:
        """The conditions of which the program makes locks."""
        own = {pair.thing for pair in self._recording.pairs if pair.activity == "own_lock"}
        return {each for each in own if self._what(each) == "condition"}

    def _extended(self, party: Party, asleep: Counter[Names], inside: bool) -> Party:
        """The party, with the calls in which it sleeps or, if a hold is long, works."""
        inner = Counter({n: c for n, c in asleep.items() if _ends(n, party.frames) and c})
        unknown = sum(asleep.values()) - sum(inner.values())
        if not inner or sum(inner.values()) < max(
            _FEWEST, _OFTEN * (unknown + sum(inner.values()))
        ):
            inner = Counter({n: c for n, c in self._samples.items() if _ends(n, party.frames)})
            runs_ns = sum(inner.values()) * self._recording.sample_ns
            if not inside and (not runs_ns or party.held_ns < _MOST_OF * runs_ns):
                return party  # it may sleep before or after the hold
        frames = party.frames
        while sum(inner.values()) >= _FEWEST:
            nexts: Counter[str] = Counter()
            for names, count in inner.items():
                if len(names) > len(frames):
                    nexts[names[-len(frames) - 1]] += count
            [(name, count)] = in_order(nexts)[:1] or [("", 0)]
            if count < _MOSTLY * sum(inner.values()):
                break
            frames = (name, *frames)
            inner = Counter({n: c for n, c in inner.items() if _ends(n, frames)})
        return Party(party.share, frames[-MOST_FRAMES:], party.hold_us, party.held_ns)

    @cached_property
    def _samples(self) -> Counter[Names]:
        """The work of running threads, without taking and giving back locks."""
        found: Counter[Names] = Counter()
        for sample in self._recording.samples:
            names = self._stacks.names(sample.stack, exact=True)
            if names and not self._stacks.is_in_lock(sample.stack):
                found[names] += 1
        return found

    def _asleep(self, wanted: set[int]) -> Counter[Names]:
        """The stacks in which holders slept while others waited for them; the empty stack: they
        ran."""
        found: Counter[Names] = Counter()
        for tick in self._recording.ticks:
            holders = {g.awaited for g in tick.glances if g.thing in wanted and g.awaited}
            for glance in tick.glances:
                if glance.tid in holders and glance.thing not in wanted:
                    sleeps = not glance.works and glance.activity in _SLEEPS
                    found[self._sleeping(glance) if sleeps else ()] += 1
        return found

    def _sleeping(self, glance: Glance) -> Names:
        """The stack, from the system call on."""
        stack = glance.stack or self._usual.get((glance.activity, glance.thing), 0)
        names = self._stacks.names(stack)
        call = name_of_call(glance.call)
        known = any(call in name for name in names[:2])
        return names if known or not call else (call, *names)

    @cached_property
    def _usual(self) -> dict[tuple[str, int], int]:
        """The stack of the longest waits for each thing: brief calls have no stack of their own."""
        found: dict[tuple[str, int], Pair] = {}
        for pair in self._recording.pairs:
            key = (pair.activity, pair.thing)
            if pair.wait_ns >= found.setdefault(key, pair).wait_ns:
                found[key] = pair
        return {key: pair.waiter for key, pair in found.items()}

    def _by_code(self, waited: list[Party]) -> list[Party]:
        """The holders by the samples of the functions that take the lock."""
        takers = {party.frames[0]: party for party in reversed(waited) if party.frames}
        found: Counter[Names] = Counter()
        for names, count in self._samples.items():
            at = next((i for i, name in enumerate(names) if name in takers), None)
            if at is not None:
                found[names[at:]] += count
        total = sum(found.values())
        if not total:
            return [Party(party.share, party.frames) for party in waited]
        return [Party(count / total, names) for names, count in in_order(found)[: len(takers) + 3]]


def _ends(names: Names, frames: Names) -> bool:
    return len(names) >= len(frames) and names[len(names) - len(frames) :] == frames


def waits_for(things: Set[int], recording: Recording, held: bool) -> tuple[int, int, list[Pair]]:
    """The number of waits for these things, their time, and the pairs that show them. A wait for a
    condition is no wait for its mutex, which is `held`, but the relock is."""
    known = [recording.things[each] for each in things if each in recording.things]
    pairs = [each for each in recording.pairs if each.thing in things]
    if not held or all(each.what != "condition" for each in known):
        return sum(each.waits for each in known), sum(each.wait_ns for each in known), pairs
    pairs = [each for each in pairs if each.activity in LOCKS]
    return sum(each.waits for each in pairs), sum(each.wait_ns for each in pairs), pairs

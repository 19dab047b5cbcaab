"""Names of locks and other objects: their own name, the place that made them, or the place that
takes them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property
from typing import NamedTuple

from threadmark.kinds.explain.analysis.cause import USED_IN, Cause
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.reasons import LOCKS, Reason
from threadmark.kinds.explain.analysis.recording import Pair, Recording, Sample, Thing
from threadmark.kinds.explain.analysis.spots import address_of, operand_of
from threadmark.kinds.explain.analysis.stacks import Stacks

INNER = 6  # frames in which a wait may be
_NAMES = 3  # of a library's locks in the list
_KINDS = re.compile(r"std::(__\w+::)?(barrier|latch|counting_semaphore|binary_semaphore)::.*")


class Named(NamedTuple):
    """Name and place of an object. `by_function`: the object has no name of its own, so it is the
    same object wherever the function meets it."""

    name: str
    where: str = ""
    by_function: bool = False

    def cause(self, category: str, words: str, *, certain: bool = True, case: str = "") -> Cause:
        found = Cause(category, self.name, self.where, words, certain=certain, case=case)
        found.anywhere = self.by_function
        return found


class Naming:
    """The objects of one record."""

    def __init__(self, recording: Recording, names: Names, stacks: Stacks) -> None:
        self._recording = recording
        self._names = names
        self._stacks = stacks

    def of(self, reason: Reason, thing: Thing | None, stack: int) -> Named:
        """The object's own name and place, else the place that made it, else the place that takes
        it."""
        if thing is not None:
            known = self._names.datum(thing.module, thing.offset) if thing.module else None
            if known and "__waiter_pool" not in known[0]:  # the library's pool for all waits
                return Named(*known)
        if own := self._member_or_made(thing, stack, reason.activity):
            return own
        kind = {"own_lock": "lock", "relock": "mutex", "event": "atomic", "yield": "loop"}.get(
            reason.activity, reason.activity.replace("_", " ")
        )
        frame = self._stacks.first(stack)
        if reason.activity == "yield" and frame and frame.name in self._polled:
            return Named(*self._polled[frame.name])
        if reason.activity == "yield" and (known := self._names.awaited(stack)):
            return Named(*known)
        for each in self._names.frames(stack)[:INNER]:
            if found := _KINDS.fullmatch(each.name):
                kind = found[2].replace("_", " ")
        return Named(f"{kind} in {frame.name}", frame.where, True) if frame else Named(kind)

    def own(self, thing: Thing) -> Named | None:
        """The name by the member that the code with the longest waits takes, else by the place that
        made it."""
        pair = self.heaviest.get(thing.id)
        return self._member_or_made(thing, *((pair.waiter, pair.activity) if pair else (0, "")))

    def _member_or_made(self, thing: Thing | None, stack: int, activity: str) -> Named | None:
        region = thing.region if thing else ""
        if activity == "own_lock" and thing is not None and thing.what == "condition":
            activity = "condition"  # the condition is the argument, not the mutex
        member = self._names.member_at_call(stack, activity, region) if stack else None
        if member:
            return Named(*member)
        return self.made(thing) if thing else None

    def made(self, thing: Thing) -> Named | None:
        """The name by the function that made the object and the function with the longest waits for
        it."""
        maker = self._stacks.first(thing.made_at) if thing.made_at else None
        if maker is None:
            return None
        pair = self.heaviest.get(thing.id)
        user = self._stacks.first(pair.waiter) if pair else None
        used = f"{USED_IN}{user.name}" if user and user.name != maker.name else ""
        return Named(f"made in {maker.name}{used}", maker.where)

    @cached_property
    def heaviest(self) -> dict[int, Pair]:
        """The pair with the longest waits for each thing, among pairs with a stack if there are
        any."""
        found: dict[int, Pair] = {}
        for pair in self._recording.pairs:
            most = found.setdefault(pair.thing, pair)
            if (pair.waiter != 0, pair.wait_ns) >= (most.waiter != 0, most.wait_ns):
                found[pair.thing] = pair
        found.pop(0, None)
        return found

    @cached_property
    def _polled(self) -> dict[str, tuple[str, str]]:
        """For each function of the program, the object that its waiting or atomic instructions read
        most often."""
        found: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        for sample in self._recording.samples:
            known = _polled_at(sample, self._recording, self._names)
            frame = self._stacks.first(sample.stack, exact=True)
            if known and frame:
                found[frame.name][known] += 1
        return {name: counts.most_common(1)[0][0] for name, counts in found.items()}

    @cached_property
    def taken_in(self) -> dict[str, Pair]:
        """The lock with the longest waits in each of the program's functions."""
        found: dict[str, Pair] = {}
        for pair in self.heaviest.values():
            frame = self._stacks.first(pair.waiter)
            if frame and pair.activity in (*LOCKS, "semaphore"):
                most = found.setdefault(frame.name, pair)
                if pair.wait_ns > most.wait_ns:
                    found[frame.name] = pair
        return found


def add_own_names(cause: Cause, recording: Recording, names: Names) -> None:
    """Add the program's names of a library's locks, if it has given them names."""
    patterns = cause.piece.names if cause.piece else ()
    found = Counter[str]()
    for sample in recording.samples if patterns else ():
        known = _polled_at(sample, recording, names) if sample.stack in cause.samples else None
        given = (pattern.fullmatch(known[0]) for pattern in patterns) if known else ()
        found.update(each[1] for each in given if each)
    if found:
        cause.name += " " + ", ".join(sorted(name for name, _ in found.most_common(_NAMES)))


def _polled_at(sample: Sample, recording: Recording, names: Names) -> tuple[str, str] | None:
    """The named object of a waiting or atomic instruction."""
    operand = operand_of(sample, recording, names)
    if sample.kernel or operand is None or (operand.plain and not operand.counts):
        return None
    address = address_of(operand, sample)
    return None if address is None else names.datum(0, address)

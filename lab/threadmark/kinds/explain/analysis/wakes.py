"""The kernel's wakes of threads by threads. For locks and events of which the agent sees neither
the holder nor the signaller, the waking thread counts as such."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import replace

from threadmark.kinds.explain.analysis.recording import Recording

_ENOUGH = 5  # wakes for one thing that identify its waker


def with_signallers(recording: Recording) -> Recording:
    """The record with the usual waker of each thing without a known signaller."""
    usual = {
        thing: min(stacks, key=lambda s: (-stacks[s], s))
        for thing, stacks in _by_thing(recording).items()
    }
    things = {
        number: replace(thing, signal_stack=usual[number])
        if number in usual and not thing.signal_stack
        else thing
        for number, thing in recording.things.items()
    }
    return replace(recording, things=things)


def wakers(recording: Recording, things: Set[int]) -> dict[int, float]:
    """The stacks that woke waiters for one of these things, with their weights."""
    found: Counter[int] = Counter()
    for stacks in _by_thing(recording, things).values():
        found.update(stacks)
    return {stack: float(weight) for stack, weight in found.items()}


def _by_thing(recording: Recording, only: Set[int] | None = None) -> dict[int, Counter[int]]:
    """thing -> stack of the waker -> weight, of things with enough wakes."""
    found: dict[int, Counter[int]] = defaultdict(Counter)
    seen: Counter[int] = Counter()
    for wake in recording.wakes:
        if wake.thing and wake.stack and (only is None or wake.thing in only):
            found[wake.thing][wake.stack] += wake.weight
            seen[wake.thing] += 1
    return {thing: stacks for thing, stacks in found.items() if seen[thing] >= _ENOUGH}

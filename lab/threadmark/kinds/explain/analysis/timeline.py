"""Each thread's samples and waits with their times, for profilers that draw them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from threadmark.kinds.explain.analysis.over_time import state_of
from threadmark.kinds.explain.analysis.recording import Glance, Recording
from threadmark.kinds.explain.analysis.sleeps import Sleeps
from threadmark.kinds.explain.analysis.stacks import Stacks

_WAITS = 40_000  # of all threads; the shortest are left out
_SAMPLES = 40_000
_RAN = ("useful", "runnable")  # states with better information in samples
_GAP = 2.5  # ticks apart that may still be one wait


@dataclass
class _Wait:
    tid: int
    from_ns: int
    until_ns: int
    state: str
    thing: int
    stack: int
    awaited: int

    def goes_on(self, other: _Wait) -> bool:
        """Whether `other` is this wait at a later tick."""
        return (self.state, self.thing, self.stack) == (other.state, other.thing, other.stack)


class _Numbers(dict[Any, int]):
    """Numbers things in the order of their first use."""

    def __missing__(self, key: Any) -> int:
        return self.setdefault(key, len(self))


def timeline(
    recording: Recording, sleeps: Sleeps, stacks: Stacks, names: Mapping[int, str]
) -> dict[str, Any]:
    """`names` are those of objects. Times are microseconds since the start of the record: samples
    are [at, stack], waits [from, until, state, name, stack, awaited thread]; stacks are frames,
    innermost first, and frames, names and stacks are numbers in their tables. Each sample stands
    for `sample_us` of processor time."""
    frames, objects, numbered = _Numbers(), _Numbers(), _Numbers()

    @cache
    def stack(number: int, *, exact: bool) -> int:
        return numbered[tuple(frames[each] for each in stacks.names(number, exact=exact))]

    def at(ns: int) -> int:
        return (ns - recording.began_ns) // 1000

    samples: dict[int, list[int]] = defaultdict(list)
    own = list(recording.own_samples)
    kept = max(1, -(-len(own) // _SAMPLES))
    for sample in own[::kept]:
        samples[sample.tid] += [at(sample.at_ns), stack(sample.stack, exact=True)]
    waits: dict[int, list[Any]] = defaultdict(list)
    for each in _longest(recording, sleeps):
        waits[each.tid].append([
            at(each.from_ns), at(each.until_ns), each.state,
            objects[names.get(each.thing, "")], stack(each.stack, exact=False), each.awaited,
        ])  # fmt: skip
    return {
        "sample_us": recording.sample_ns * kept / 1000,
        "tick_us": recording.tick_ns / 1000,
        "threads": [
            {
                "tid": each.tid,
                "name": each.name,
                "process": each.process or recording.pid,
                "from": at(each.began_ns),
                "until": at(each.ended_ns),
                "samples": samples[tid],
                "waits": waits[tid],
            }
            for tid, each in recording.threads.items()
            if recording.counts(tid) and (samples[tid] or waits[tid])
        ],
        "frames": list(frames),
        "stacks": [list(each) for each in numbered],
        "objects": list(objects),
    }


def _longest(recording: Recording, sleeps: Sleeps) -> list[_Wait]:
    """The waits that ticks saw, by their beginnings; a wait lasts to the tick after it."""
    found: list[_Wait] = []
    current: dict[int, _Wait] = {}
    for tick in recording.ticks:
        for glance in tick.glances:
            wait = _seen(glance, tick.at_ns, state_of(glance, sleeps))
            before = current.get(glance.tid)
            if before is not None and tick.at_ns - before.until_ns < _GAP * recording.tick_ns:
                before.until_ns = tick.at_ns
                if before.goes_on(wait):
                    continue
            current[glance.tid] = wait
            found.append(wait)
    found = [each for each in found if each.state not in _RAN]
    if len(found) > _WAITS:
        found.sort(key=lambda each: each.from_ns - each.until_ns)
        found = sorted(found[:_WAITS], key=lambda each: each.from_ns)
    return found


def _seen(glance: Glance, at_ns: int, state: str) -> _Wait:
    return _Wait(glance.tid, at_ns, at_ns, state, glance.thing, glance.stack, glance.awaited)

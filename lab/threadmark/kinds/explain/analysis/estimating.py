"""Estimates the share of each wait that lies in a part of a record.

The agent counts the waits of a thread, and the waits and holds of a thing, without their moments.
Ticks have moments: the part has the same share of a wait as of the ticks that met the wait. The
time for which a thread was blocked in the part is known, and the estimates are scaled to fit into
it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from threadmark.kinds.explain.analysis.accounting import BEFORE, RUNS
from threadmark.kinds.explain.analysis.recording import (
    Hold,
    Pair,
    Recording,
    Thing,
    Thread,
    Tick,
    Total,
    Written,
)

_FITS = 2.0  # times an estimate: chance explains no more than that
_Key = tuple[object, ...]
_Met = tuple[int, str, int, int, bool]  # thread, activity, thing, stack, and whether it works


class Estimates:
    """The waits in a range of time, and the share of the chosen threads in them."""

    def __init__(
        self, ticks: Iterable[Tick], within: Callable[[int], bool], chosen: Callable[[int], bool]
    ) -> None:
        met: tuple[Counter[_Met], Counter[_Met]] = (Counter(), Counter())  # outside, within
        for tick in ticks:
            met[within(tick.at_ns)].update(
                (g.tid, g.activity, g.thing, g.stack, g.works) for g in tick.glances
            )
        self._all: Counter[_Key] = Counter()
        self._within: Counter[_Key] = Counter()
        self._chosen: Counter[_Key] = Counter()
        for inside in (False, True):
            for each, count in met[inside].items():
                for key in _keys(*each):
                    self._all[key] += count
                    if inside:
                        self._within[key] += count
                        self._chosen[key] += count if chosen(each[0]) else 0

    def _share(self, counter: Counter[_Key], keys: Iterable[_Key], otherwise: float) -> float:
        """The share of the first of these keys that ticks met."""
        key = next((each for each in keys if self._all[each]), None)
        return otherwise if key is None else counter[key] / self._all[key]

    def totals(self, whole: Thread, part: Thread) -> Mapping[str, Total]:
        """The waits of a thread. `part` has its life, run and ready time in the part."""
        blocked, blocked_part = _blocked(whole), _blocked(part)
        otherwise = blocked_part / blocked if blocked else 0.0

        def share(what: str) -> float:
            return self._share(self._within, [(whole.tid, what)], otherwise)

        ns = {name: total.ns * share(name) for name, total in whole.totals.items()}
        for name in BEFORE:
            if name in ns and part.began_ns == whole.began_ns:
                ns[name] = whole.totals[name].ns
        sleeping = [name for name in ns if name not in (*RUNS, *BEFORE, "running")]
        waited = sum(whole.totals[name].ns for name in sleeping)
        unseen = max(0, blocked - waited) * share(_UNSEEN)
        # In the rest of the waits the thread did not sleep: it ran or was ready.
        awake = max(0, waited - blocked) * share(_AWAKE)
        estimated = sum(ns[name] for name in sleeping) + unseen
        scale = min(_FITS, (blocked_part + awake) / estimated) if estimated else 1.0
        for name in sleeping:
            ns[name] *= scale
        return {
            name: Total(round(ns[name]), round(total.times * ns[name] / max(1, total.ns)))
            for name, total in whole.totals.items()
        }

    def pairs(self, whole: Recording, threads: Iterable[Thread]) -> list[tuple[Pair, Pair]]:
        """Each pair twice: with the waits of all threads in the range, and with the waits of the
        chosen `threads`, which have their totals in the part."""
        within = [self._pair(self._within, each) for each in whole.pairs]
        chosen = [self._pair(self._chosen, each) for each in whole.pairs]
        before, after = _by_activity(whole.threads.values()), _by_activity(threads)
        known: Counter[str] = Counter()
        estimated: Counter[str] = Counter()
        for pair, share in zip(whole.pairs, chosen, strict=True):
            known[pair.activity] += pair.wait_ns
            estimated[pair.activity] += round(pair.wait_ns * share)
        found = []
        for pair, one, other in zip(whole.pairs, within, chosen, strict=True):
            total, share = before[pair.activity], other
            if total:  # else no agent counted, and there are only ticks
                ratio = after[pair.activity] / total
                got = estimated[pair.activity]
                share = other * ratio * known[pair.activity] / got if got else ratio
            found.append((_scaled(pair, one), _scaled(pair, share)))
        return found

    def _pair(self, counter: Counter[_Key], pair: Pair) -> float:
        what = pair.activity, pair.thing
        return self._share(counter, [(*what, pair.waiter), what, (pair.activity,)], 0.0)

    def things(
        self, whole: Recording, pairs: Iterable[tuple[Pair, Pair]], longest_ns: int
    ) -> dict[int, Thing]:
        """Waits are those of the chosen threads; any thread may hold and signal. Waits in different
        functions differ in length, so number and time have shares of their own."""
        own = [each for _, each in pairs]
        before, after = _by_thing(whole.pairs), _by_thing(own)
        found = {}
        for number, thing in whole.things.items():
            held = self._share(self._within, [(_THING, number)], 0.0)
            waited = self._share(self._chosen, [(_THING, number)], 0.0)
            times = waited
            if before[number].wait_ns:
                waited = after[number].wait_ns / before[number].wait_ns
                times = after[number].waits / max(1, before[number].waits)
            found[number] = replace(
                thing,
                waits=round(thing.waits * times),
                wait_ns=round(thing.wait_ns * waited),
                futile=round(thing.futile * times),
                longest_ns=min(thing.longest_ns, longest_ns),
                holds=round(thing.holds * held),
                hold_ns=round(thing.hold_ns * held),
                signals=round(thing.signals * held),
                broadcasts=round(thing.broadcasts * held),
            )
        return found

    def holds(self, whole: Recording, pairs: Iterable[tuple[Pair, Pair]]) -> tuple[Hold, ...]:
        """The holds of a stack, with the same share as the waits for it."""
        before, within, chosen = (
            _by_holder(each)
            for each in (whole.pairs, (one for one, _ in pairs), (own for _, own in pairs))
        )
        found = []
        for hold in whole.holds:
            key = hold.thing, hold.stack
            held = self._share(self._within, [(_THING, hold.thing)], 0.0)
            blamed = self._share(self._chosen, [(_THING, hold.thing)], 0.0)
            if before[key]:
                held, blamed = within[key] / before[key], chosen[key] / before[key]
            found.append(
                replace(
                    hold,
                    holds=round(hold.holds * held),
                    hold_ns=round(hold.hold_ns * held),
                    blamed_ns=round(hold.blamed_ns * blamed),
                )
            )
        return tuple(each for each in found if each.holds or each.blamed_ns)

    def files(self, whole: Recording) -> tuple[Written, ...]:
        """The files that the chosen threads wrote, and those that were only read."""
        found = []
        for file in whole.files:
            share = self._share(self._chosen, [("io", file.thing), ("io",)], 0.0)
            writes = round(file.writes * share)
            if writes or not file.writes:  # one that is only read may be the end of a pipe
                size, ns = round(file.bytes * share), round(file.ns * share)
                found.append(replace(file, writes=writes, bytes=size, ns=ns))
        return tuple(found)


_UNSEEN, _AWAKE, _THING = "(unseen)", "(awake)", "(thing)"  # no activities


def _keys(tid: int, activity: str, thing: int, stack: int, works: bool) -> list[_Key]:
    """The keys for which a tick that met a thread is evidence."""
    if activity in ("running", "blocked"):
        return [] if works else [(tid, _UNSEEN)]
    found: list[_Key] = [(tid, activity), (activity,), (activity, thing), (activity, thing, stack)]
    if thing:
        found.append((_THING, thing))
    if works and activity not in RUNS:
        found.append((tid, _AWAKE))
    return found


def _blocked(thread: Thread) -> int:
    return max(0, thread.life_ns - thread.run_ns - thread.ready_ns)


def _by_activity(threads: Iterable[Thread]) -> Counter[str]:
    found: Counter[str] = Counter()
    for thread in threads:
        for name, total in thread.totals.items():
            found[name] += total.ns
    return found


@dataclass
class _Waits:
    waits: int = 0
    wait_ns: int = 0


def _by_thing(pairs: Iterable[Pair]) -> defaultdict[int, _Waits]:
    found: defaultdict[int, _Waits] = defaultdict(_Waits)
    for pair in pairs:
        found[pair.thing].waits += pair.waits
        found[pair.thing].wait_ns += pair.wait_ns
    return found


def _by_holder(pairs: Iterable[Pair]) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for pair in pairs:
        found[pair.thing, pair.holder] += pair.wait_ns
    return found


def _scaled(pair: Pair, share: float) -> Pair:
    return replace(pair, waits=round(pair.waits * share), wait_ns=round(pair.wait_ns * share))

"""The data of a page and the exports beside the answer: states over time by thread, flames,
locks."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.naming import Naming
from threadmark.kinds.explain.analysis.over_time import over_time
from threadmark.kinds.explain.analysis.recording import Recording, Thing
from threadmark.kinds.explain.analysis.sleeps import Sleeps
from threadmark.kinds.explain.analysis.stacks import Stacks, in_order
from threadmark.kinds.explain.analysis.timeline import timeline

_HOT = 64  # functions
_HOT_PLACES = 12  # of each
_FLAMES = 2000  # stacks of each kind
_LOCKS = 100
_PARTIES = 6  # stacks of waiters and of holders of a lock; the rest count as one


def details(
    recording: Recording, names: Names, sleeps: Sleeps, stacks: Stacks, times: Account
) -> dict[str, Any]:
    """All details as plain values."""
    named = _named(recording, names, stacks)
    return {
        "began_s": 0.0,
        "wall_s": recording.wall_ns / 1e9,
        "sample_ns": recording.sample_ns,
        **over_time(recording, sleeps, stacks, times),
        "running": _running(recording, stacks),
        "waiting": _waiting(recording, stacks),
        "hot": _hot(recording, names, stacks),
        "locks": _locks(recording, stacks, named),
        "timeline": timeline(
            recording, sleeps, stacks, {number: name for number, (name, _) in named.items()}
        ),
    }


def _running(recording: Recording, stacks: Stacks) -> list[list[Any]]:
    """[frames, samples] on a processor."""
    found: Counter[tuple[str, ...]] = Counter()
    for stack, count in Counter(each.stack for each in recording.own_samples).items():
        found[stacks.names(stack, exact=True)] += count
    return [[list(f), count] for f, count in found.most_common(_FLAMES) if f]


def _hot(recording: Recording, names: Names, stacks: Stacks) -> dict[str, dict[str, Any]]:
    """By function: [place, samples] of lines, and [place, text, samples] of instructions."""
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    code: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    for stack, count in Counter(each.stack for each in recording.own_samples).items():
        inner = next(iter(stacks.frames(stack, True)), None)
        if inner is not None:
            lines[inner.name][inner.where] += count
            # The functions of a lock count as part of their caller, but their code lies elsewhere.
            if names.frames(stack, True)[0].module == inner.module:
                code[inner.name][recording.stacks[stack][0]] += count
    hottest = sorted(lines, key=lambda name: (-lines[name].total(), name))[:_HOT]
    return {
        name: {
            "lines": [[at, n] for at, n in lines[name].most_common(_HOT_PLACES) if "+0x" not in at],
            "instructions": [
                [*names.instruction(*at), n] for at, n in code[name].most_common(_HOT_PLACES)
            ],
        }
        for name in hottest
    }


def _waiting(recording: Recording, stacks: Stacks) -> list[list[Any]]:
    """[frames, microseconds, activity, waits]."""
    times: Counter[tuple[tuple[str, ...], str]] = Counter()
    counts: Counter[tuple[tuple[str, ...], str]] = Counter()
    for pair in recording.pairs:
        key = stacks.names(pair.waiter), pair.activity
        times[key] += pair.wait_ns
        counts[key] += pair.waits
    return [
        [list(frames), ns // 1000, activity, counts[frames, activity]]
        for (frames, activity), ns in times.most_common(_FLAMES)
        if frames
    ]


def _named(recording: Recording, names: Names, stacks: Stacks) -> dict[int, tuple[str, str]]:
    """Name and place of the objects with the longest waits, the longest first."""
    naming = Naming(recording, names, stacks)
    things = sorted(recording.things.values(), key=lambda t: (-t.wait_ns, t.id))
    return {thing.id: _name(thing, names, naming, stacks) for thing in things[:_LOCKS]}


def _name(thing: Thing, names: Names, naming: Naming, stacks: Stacks) -> tuple[str, str]:
    known = names.datum(thing.module, thing.offset) if thing.module else None
    if known:
        return known
    if own := naming.own(thing):
        return own.name, own.where
    if held := stacks.holders([thing.id]):
        return f"{thing.what} in {held[0].frames[0]}", ""
    return thing.what, ""


def _locks(
    recording: Recording, stacks: Stacks, named: dict[int, tuple[str, str]]
) -> list[dict[str, Any]]:
    """The locks; objects of one name are one lock."""
    found = []
    alike: dict[tuple[str, str, str], list[Thing]] = defaultdict(list)
    for number, (name, where) in named.items():
        thing = recording.things[number]
        alike[thing.what, name, where].append(thing)
    for (what, name, where), things in alike.items():
        found.append({
            "what": what,
            "name": name,
            "where": where,
            "objects": len(things),
            "waits": sum(each.waits for each in things),
            "wait_s": sum(each.wait_ns for each in things) / 1e9,
            "longest_s": max(each.longest_ns for each in things) / 1e9,
            "holds": sum(each.holds for each in things),
            "hold_s": sum(each.hold_ns for each in things) / 1e9,
            **_matrix(recording, stacks, {each.id for each in things}),
        })  # fmt: skip
    return sorted(found, key=lambda lock: -lock["wait_s"])


def _matrix(recording: Recording, stacks: Stacks, things: set[int]) -> dict[str, Any]:
    """`waiters` and `holders` are stacks, the heaviest first and empty if they are not known;
    `matrix` has [waiter, holder, waits, microseconds] by their numbers; -1 is any other stack.
    `held` has [holds, microseconds] for each holder."""
    cells: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(lambda: [0, 0])
    ends: tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]] = Counter(), Counter()
    for pair in recording.pairs:
        if pair.thing in things:
            key = stacks.names(pair.waiter), stacks.names(pair.holder)
            cells[key][0] += pair.waits
            cells[key][1] += pair.wait_ns // 1000
            for end, names in zip(ends, key, strict=True):
                end[names] += pair.wait_ns
    waiters, holders = ([names for names, _ in in_order(end)[:_PARTIES]] for end in ends)
    matrix: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for (waiter, holder), counts in cells.items():
        at = (
            waiters.index(waiter) if waiter in waiters else -1,
            holders.index(holder) if holder in holders else -1,
        )
        matrix[at] = [a + b for a, b in zip(matrix[at], counts, strict=True)]
    held = {names: [0, 0] for names in holders}
    for hold in recording.holds:
        if hold.thing in things and (names := stacks.names(hold.stack)) in held:
            held[names] = [held[names][0] + hold.holds, held[names][1] + hold.hold_ns // 1000]
    return {
        "waiters": [list(each) for each in waiters],
        "holders": [list(each) for each in holders],
        "held": list(held.values()),
        "matrix": [[*at, *counts] for at, counts in sorted(matrix.items())],
    }

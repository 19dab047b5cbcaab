"""What a page and the exports show beside the answer: states over time by thread, flames, locks."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from threadmark.kinds.explain.analysis.accounting import (
    STATE_OF,
    STATE_OF_UNSEEN,
    Account,
)
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.naming import Naming
from threadmark.kinds.explain.analysis.recording import Glance, Recording
from threadmark.kinds.explain.analysis.sleeps import Sleeps
from threadmark.kinds.explain.analysis.stacks import Stacks

_SLICES = 240  # of the time
_THREADS = 64  # with a bar
_HOT = 64  # functions
_HOT_PLACES = 12  # of each
_FLAMES = 2000  # stacks of each kind


def details(
    recording: Recording, names: Names, sleeps: Sleeps, stacks: Stacks, times: Account
) -> dict[str, Any]:
    """All of it as plain values."""
    longest = sorted(times.threads.values(), key=lambda t: (-t.thread.life_ns, t.thread.tid))
    shown = longest[:_THREADS]
    bars = _bars(recording, sleeps, {t.thread.tid for t in shown})
    return {
        "began_s": 0.0,
        "wall_s": recording.wall_ns / 1e9,
        "threads": [
            {
                "tid": time.thread.tid,
                "name": time.thread.name,
                "from_s": (time.thread.began_ns - recording.began_ns) / 1e9,
                "until_s": (time.thread.ended_ns - recording.began_ns) / 1e9,
                "states": {n: ns / 1e9 for n, ns in time.states.items() if ns > 0},
                "slices": bars.get(time.thread.tid, []),
            }
            for time in sorted(shown, key=lambda t: (t.thread.began_ns, t.thread.tid))
        ],
        "threads_left_out": len(longest) - len(shown),
        "slice_s": recording.wall_ns / 1e9 / _SLICES,
        "running": _running(recording, stacks),
        "waiting": _waiting(recording, stacks),
        "hot": _hot(recording, names, stacks),
        "locks": _locks(recording, names, stacks),
    }


def _state(glance: Glance, sleeps: Sleeps) -> str:
    if sleeps.is_unseen(glance):
        return STATE_OF_UNSEEN.get(sleeps.of_glance(glance), "unknown")
    if glance.activity != "running":
        return STATE_OF.get(glance.activity, "unknown")
    return "runnable" if glance.ready_ns > glance.run_ns else "useful"


def _bars(recording: Recording, sleeps: Sleeps, shown: set[int]) -> dict[int, list[list[Any]]]:
    """For each thread [slice, state] where the state of most ticks of a slice changes."""
    found: dict[int, dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    span = max(1, recording.wall_ns)
    for tick in recording.ticks:
        at = min(_SLICES - 1, max(0, (tick.at_ns - recording.began_ns) * _SLICES // span))
        for each in tick.glances:
            if each.tid in shown:
                found[each.tid][at][_state(each, sleeps)] += 1
    return {
        tid: [[at, counts.most_common(1)[0][0]] for at, counts in sorted(slices.items())]
        for tid, slices in found.items()
    }


def _running(recording: Recording, stacks: Stacks) -> list[list[Any]]:
    """[frames, samples] on a processor."""
    found: Counter[tuple[str, ...]] = Counter()
    for sample in recording.own_samples:
        found[tuple(f.name for f in stacks.frames(sample.stack, True))] += 1
    return [[list(f), count] for f, count in found.most_common(_FLAMES) if f]


def _hot(recording: Recording, names: Names, stacks: Stacks) -> dict[str, dict[str, Any]]:
    """By function: [place, samples] of lines, and [place, text, samples] of instructions."""
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    code: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    for sample in recording.own_samples:
        inner = next(iter(stacks.frames(sample.stack, True)), None)
        if inner is not None:
            lines[inner.name][inner.where] += 1
            # The functions of a lock count as part of their caller; their code is another's.
            if names.frames(sample.stack, True)[0].module == inner.module:
                code[inner.name][recording.stacks[sample.stack][0]] += 1
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
    """[frames, microseconds, activity] of waits."""
    found: Counter[tuple[tuple[str, ...], str]] = Counter()
    for pair in recording.pairs:
        names = tuple(f.name for f in stacks.frames(pair.waiter))
        found[names, pair.activity] += pair.wait_ns
    return [[list(f), ns // 1000, a] for (f, a), ns in found.most_common(_FLAMES) if f]


def _locks(recording: Recording, names: Names, stacks: Stacks) -> list[dict[str, Any]]:
    found = []
    naming = Naming(recording, names, stacks)
    things = sorted(recording.things.values(), key=lambda t: (-t.wait_ns, t.id))
    for thing in things[:50]:
        known = names.datum(thing.module, thing.offset) if thing.module else None
        made = None if known else naming.made(thing)
        held = stacks.holders([thing.id])
        if made:
            known = (made.name, made.where)
        elif known is None and held:
            known = (f"{thing.what} in {held[0].frames[0]}", "")
        name, where = known or (thing.what, "")
        found.append({
            "what": thing.what,
            "name": name,
            "where": where,
            "waits": thing.waits,
            "wait_s": thing.wait_ns / 1e9,
            "longest_s": thing.longest_ns / 1e9,
            "holds": thing.holds,
            "hold_s": thing.hold_ns / 1e9,
            "matrix": _matrix(recording, stacks, thing.id),
        })  # fmt: skip
    return found


def _matrix(recording: Recording, stacks: Stacks, thing: int) -> list[list[Any]]:
    """[waiter, holder, waits, microseconds] by innermost function."""
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for pair in recording.pairs:
        if pair.thing == thing:
            ends = [stacks.first(stack) for stack in (pair.waiter, pair.holder)]
            key = tuple(each.name if each else "not known" for each in ends)
            found[key[0], key[1]][0] += pair.waits
            found[key[0], key[1]][1] += pair.wait_ns // 1000
    ordered = sorted(found.items(), key=lambda each: (-each[1][1], each[0]))
    return [[*key, *counts] for key, counts in ordered[:25]]

"""The states of threads over the time of a run: for each thread, and for the threads made at one
place."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from threadmark.kinds.explain.analysis.accounting import (
    STATE_OF,
    STATE_OF_UNSEEN,
    Account,
    ThreadTime,
)
from threadmark.kinds.explain.analysis.recording import Glance, Recording
from threadmark.kinds.explain.analysis.sleeps import Sleeps
from threadmark.kinds.explain.analysis.stacks import Stacks

_SLICES = 240  # of the time
_BRIDGED = 2.5  # times between two ticks for which a state lasts
_LEAST = 3  # slices
_THREADS = 200  # with states of their own
_GROUPS = 16
_MAIN = "main thread"


def state_of(glance: Glance, sleeps: Sleeps) -> str:
    """The state of a thread at a tick."""
    if sleeps.is_unseen(glance):
        return STATE_OF_UNSEEN.get(sleeps.of_glance(glance), "unknown")
    if glance.activity != "running":
        return STATE_OF.get(glance.activity, "unknown")
    return "runnable" if glance.ready_ns > glance.run_ns else "useful"


@dataclass
class _Group:
    """Threads that were made at one place."""

    name: str
    where: str
    threads: list[ThreadTime] = field(default_factory=list)
    seen: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def over_time(
    recording: Recording, sleeps: Sleeps, stacks: Stacks, times: Account
) -> dict[str, Any]:
    """`threads` have [slice, state] at each change of their state, '' when they were not seen.
    `groups` have for each state the number of their threads in it, by slice."""
    longest = sorted(times.threads.values(), key=lambda t: (-t.thread.life_ns, t.thread.tid))
    shown = {t.thread.tid for t in longest[:_THREADS]}
    groups = _groups(recording, stacks, longest)
    of_thread = {t.thread.tid: group for group in groups for t in group.threads}
    seen: dict[int, dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    ticks: Counter[int] = Counter()
    span = max(1, recording.wall_ns)
    kept = max(_LEAST, round(_BRIDGED * _SLICES / max(1, len(recording.ticks))))
    for tick in recording.ticks:
        at = min(_SLICES - 1, max(0, (tick.at_ns - recording.began_ns) * _SLICES // span))
        ticks[at] += 1
        for each in tick.glances:
            state = state_of(each, sleeps)
            if each.tid in of_thread:
                of_thread[each.tid].seen[at][state] += 1
            if each.tid in shown:
                seen[each.tid][at][state] += 1
    born = sorted(longest[:_THREADS], key=lambda t: (t.thread.began_ns, t.thread.tid))
    return {
        "slice_s": recording.wall_ns / 1e9 / _SLICES,
        "threads": [_thread(recording, t, _changes(seen[t.thread.tid], kept)) for t in born],
        "threads_left_out": len(longest) - len(born),
        "groups": [_group(each, ticks, shown, kept) for each in groups],
    }


def _thread(recording: Recording, time: ThreadTime, slices: list[list[Any]]) -> dict[str, Any]:
    return {
        "tid": time.thread.tid,
        "name": time.thread.name,
        "from_s": (time.thread.began_ns - recording.began_ns) / 1e9,
        "until_s": (time.thread.ended_ns - recording.began_ns) / 1e9,
        "states": {n: ns / 1e9 for n, ns in time.states.items() if ns > 0},
        "slices": slices,
    }


def _changes(seen: dict[int, Counter[str]], kept: int) -> list[list[Any]]:
    """[slice, state] where the state of most ticks of a slice changes."""
    found: list[list[Any]] = []
    for at, after in pairwise([*sorted(seen), _SLICES]):
        state = seen[at].most_common(1)[0][0]
        if not found or found[-1][1] != state:
            found.append([at, state])
        if after - at > kept:
            found.append([at + kept, ""])
    return found


def _groups(recording: Recording, stacks: Stacks, threads: list[ThreadTime]) -> list[_Group]:
    """The groups, the largest first; if there are many, the smallest form one group."""
    found: dict[tuple[str, str], _Group] = {}
    for time in threads:
        key = (_MAIN, "")
        if time.thread.tid not in (recording.pid, time.thread.process):
            maker = stacks.first(time.thread.made_at) if time.thread.made_at else None
            key = (maker.name, maker.where) if maker else ("", "")
        found.setdefault(key, _Group(*key)).threads.append(time)
    ordered = sorted(found.values(), key=lambda g: (-len(g.threads), g.name, g.where))
    if len(ordered) > _GROUPS:
        rest = _Group("", "")
        for group in ordered[_GROUPS - 1 :]:
            rest.threads += group.threads
        ordered[_GROUPS - 1 :] = [rest]
    return sorted(ordered, key=lambda g: g.name != _MAIN)


def _group(group: _Group, ticks: Counter[int], shown: set[int], kept: int) -> dict[str, Any]:
    states: Counter[str] = Counter()
    for time in group.threads:
        states.update({n: ns / 1e9 for n, ns in time.states.items() if ns > 0})
    bands: dict[str, list[float]] = defaultdict(lambda: [0.0] * _SLICES)
    for at, after in pairwise([*sorted(ticks), _SLICES]):
        for state, count in group.seen.get(at, Counter()).items():
            for each in range(at, min(after, at + kept)):
                bands[state][each] = round(count / ticks[at], 2)
    return {
        "name": group.name,
        "where": group.where,
        "threads": len(group.threads),
        "tids": [t.thread.tid for t in group.threads if t.thread.tid in shown],
        "states": dict(states),
        "bands": dict(bands),
    }

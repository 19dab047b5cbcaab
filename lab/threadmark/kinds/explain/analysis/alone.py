"""Work of one thread before the others are made or after they have ended: Amdahl's serial part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.alike import Equals
from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.frames import (
    Frame,
    is_beneath,
    is_of_library,
    is_template,
)
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.spans import Spans, is_within, spans_of_one, stacks_within

LEAST_ALONE = 0.3  # of the run: any program has less at its beginning and end
_SURE = 0.5  # of the run


def innermost_of_most(stacks: Counter[int], names: Names) -> tuple[str, str]:
    """Name and place of the innermost function of the program that has half of the samples or, if
    it has no name, of a library that does work of its own."""
    found = _innermost(stacks, names, is_of_library)
    if found[0] and "+0x" not in found[0]:
        return found
    return _innermost(stacks, names, lambda each: is_beneath(each) or is_template(each))


def _innermost(
    stacks: Counter[int], names: Names, left_out: Callable[[Frame], bool]
) -> tuple[str, str]:
    found: Counter[str] = Counter()
    depths: Counter[str] = Counter()  # from the outermost
    places: dict[str, str] = {}
    for stack, count in stacks.items():
        own = [each for each in names.frames(stack, True) if not left_out(each)]
        outer: set[str] = set()
        for depth, frame in enumerate(reversed(own)):
            if frame.name not in outer:  # a recursion counts once
                found[frame.name] += count
                depths[frame.name] += depth * count
            outer.add(frame.name)
            places.setdefault(frame.name, frame.where)
    most = [name for name, count in found.items() if 2 * count >= stacks.total()]
    name = max(most, key=lambda each: (depths[each] / found[each], each), default="")
    return name, places.get(name, "")


def alone_causes(recording: Recording, names: Names, roles: Roles, account: Account) -> list[Cause]:
    """At most one cause. It costs the time for which the other processors had no thread. Its share
    is of the threads' time plus the time of the threads that did not exist."""
    late = recording.tier.get("attached") or recording.tier.get("late")
    if late or recording.part is not None or roles.capacity < 2:
        return []
    spans = spans_of_one(recording)
    workers: Counter[int] = Counter()
    seen = 0
    before = recording.began_ns
    for tick in recording.ticks:
        span = max(0, tick.at_ns - before)
        before += span
        working = [each.tid for each in tick.glances if each.works]
        if len(working) == 1 and is_within(spans, tick.at_ns):
            workers[working[0]] += span
            seen += 1
    # A thread that makes others one by one works alone meanwhile.
    for tid in workers:
        thread = roles.thread(tid)
        making = thread.totals.get("creating") if thread else None
        workers[tid] = max(0, workers[tid] - (making.ns if making else 0))
    part = workers.total() / max(1, recording.wall_ns)
    if part < LEAST_ALONE:
        return []
    ran = stacks_within(recording, spans)
    name, where = innermost_of_most(ran, names)
    words = f"for {100 * part:.0f} % of the run one thread works and no other one exists"
    cause = Cause("serial_dependency", name, where, words, certain=part >= _SURE)
    lost = float(workers.total() * (roles.capacity - 1))
    cause.ns = account.total_ns * lost / (account.total_ns + lost)
    cause.by_thread.update(workers)
    cause.workers.update(workers)
    cause.seen = seen
    if not cause.certain:
        cause.doubts.add("or the work of the others is too short to matter")
    lone, own, others = _parts(recording, spans, set(workers))
    equals = Equals(recording, names, roles)
    same = equals.did_the_same(lone, others)
    if same is not False:
        cause.certain = False
        if same and (equals.goes_on(own, lone) or equals.share_a_caller(lone, own, others)):
            cause.category = "imbalance"
            cause.doubts.add("or it has to come after the work of the others")
        else:
            cause.doubts.add("or it is a larger part of the work that the others did")
    return [cause]


def _parts(
    recording: Recording, spans: Spans, workers: AbstractSet[int]
) -> tuple[list[Sample], list[Sample], list[Sample]]:
    """The samples of the workers while each of them was alone, their other samples, and those of
    the other threads."""
    found: tuple[list[Sample], list[Sample], list[Sample]] = [], [], []
    for each in recording.samples:
        lone = is_within(spans, each.at_ns)
        found[0 if lone else 1 if each.tid in workers else 2].append(each)
    return found

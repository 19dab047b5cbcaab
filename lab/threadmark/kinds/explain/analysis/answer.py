"""The whole analysis: from a record to the document of the contract, threadmark.explain 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from threadmark.kinds.explain.analysis.accounting import STATES, Account, account
from threadmark.kinds.explain.analysis.advice import advised, known, libraries
from threadmark.kinds.explain.analysis.alone import alone_causes
from threadmark.kinds.explain.analysis.bounds import Bounds
from threadmark.kinds.explain.analysis.cause import (
    FEW,
    SHOWN,
    Cause,
    is_minor,
    merged,
    unite_tasks,
)
from threadmark.kinds.explain.analysis.causes import Finder
from threadmark.kinds.explain.analysis.costs import costs
from threadmark.kinds.explain.analysis.critical_path import CriticalPath
from threadmark.kinds.explain.analysis.details import details
from threadmark.kinds.explain.analysis.doubts import doubted
from threadmark.kinds.explain.analysis.holders import Holders, waits_for
from threadmark.kinds.explain.analysis.languages import limits_of_languages
from threadmark.kinds.explain.analysis.looks import looks
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.naming import add_own_names
from threadmark.kinds.explain.analysis.no_cause import no_cause
from threadmark.kinds.explain.analysis.queues import in_order, queue_causes
from threadmark.kinds.explain.analysis.reasons import Reasons
from threadmark.kinds.explain.analysis.recording import Recording, most_at_once
from threadmark.kinds.explain.analysis.removed import Removed
from threadmark.kinds.explain.analysis.requests import idle_words, requests_apart
from threadmark.kinds.explain.analysis.retries import instead_of
from threadmark.kinds.explain.analysis.roles import Roles
from threadmark.kinds.explain.analysis.runtimes import Runtime
from threadmark.kinds.explain.analysis.sleeps import Sleeps
from threadmark.kinds.explain.analysis.stacks import Party, Stacks
from threadmark.kinds.explain.analysis.unfinished import with_unfinished
from threadmark.kinds.explain.analysis.waits import Waits
from threadmark.kinds.explain.analysis.wakes import with_signallers
from threadmark.kinds.explain.analysis.wakeups import Wakeups
from threadmark.kinds.explain.analysis.within_locks import lock_before_its_calls, say_within

SCHEMA = "threadmark.explain"
VERSION = 1
_MOST = 12  # causes in the list
_MOSTLY = 0.5  # of the processors' time
_TIMED = 0.1  # of the waits: the agent timed them
_MINOR = 0.1  # of the threads' time: the program may scale although it has the cause
_OF_OTHERS = 0.1  # of thread time: less waiting for other programs is usual
_HELD = ("mutex", "rwlock", "spin", "once", "semaphore", "stdio", "loader", "allocator")
_FEWEST_OF_PART = 25  # ticks of a part with certain results
_FEWEST_OF_CAUSE = 8  # ticks or samples that make a cause of a part certain
_EXACT = ("none", "run_queue", "affinity", "thread_creation")  # not estimated from ticks


# For causes of the document: names of settings, each with the places of the causes it can help
# with.
Helping = Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Sequence[int]]]


def answer(recording: Recording, names: Names, knowledge: Knowledge) -> dict[str, Any]:
    """The output of `explain --json`."""
    return analyse(recording, names, knowledge)[0]


def analyse(
    recording: Recording, names: Names, knowledge: Knowledge, helping: Helping = lambda causes: {}
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document of the contract, and the further data of a page."""
    recording = with_signallers(with_unfinished(recording))
    seen = looks(recording, names, knowledge)
    sleeps = Sleeps(recording, names, knowledge)
    waits = Waits(recording, names, knowledge, sleeps)
    recording = waits.meant()
    times = account(recording, seen, sleeps, waits)
    roles = Roles(recording, names)
    stacks = Stacks(recording, names, knowledge)
    reasons = Reasons(recording, names, knowledge, roles, sleeps, waits)
    finder = Finder(recording, names, knowledge, roles, stacks, reasons, account=times)
    found = finder.of_costs(costs(recording, times, reasons, sleeps))
    found += finder.of_looks(seen) + queue_causes(recording, roles, times, seen)
    runtime = Runtime(recording, names, knowledge, seen)
    found += runtime.causes(times) + alone_causes(recording, names, roles, times)
    locks = finder.locks
    merged_ones = locks.over_queue(locks.by_turns(merged(found), roles.starts))
    united = lock_before_its_calls(unite_tasks(merged_ones, times.states["useful"]), recording)
    causes, requests = requests_apart(united, recording)
    total = max(1.0, times.total_ns)
    doubted(causes, total, has_tasks=runtime.has_tasks(), ready_ns=times.states["runnable"])
    # The cost of waiting for other programs hides causes, so causes count against the remaining
    # time.
    spare = reasons.unneeded.threads - reasons.unneeded.launchers
    idle_ns = sum(t.thread.life_ns for t in times.threads.values() if t.thread.tid in spare)
    rest = total - times.states["runnable"] - idle_ns

    has_little = partial(is_minor, rest=rest)
    first = next((each for each in causes if not has_little(each)), None)
    causes.sort(key=has_little)  # a dearer one may be too little for a cause of its category
    listed = [each for each in [*causes, *requests] if each.ns >= SHOWN * total][:_MOST]
    if first is None:
        idle = idle_words(requests, total)
        nothing = no_cause(recording, reasons, times, causes, idle)
        listed = [instead_of(nothing, seen, recording, names, knowledge)]
    elif first.ns < _MINOR * rest:
        # A longer queue for processors may stand behind them.
        for cause in (each for each in listed if each.ns < _MINOR * rest):
            cause.doubt("it takes less than a tenth of the threads' time")
    holders = Holders(recording, stacks, reasons.channels)
    path = CriticalPath(recording, names, knowledge, reasons)
    removed = Removed(recording, names, knowledge, roles, stacks, times)
    bounds = Bounds(recording, roles, removed, times, path, listed)
    for cause in listed:
        _complete(cause, recording, names, stacks, holders)
        say_within(cause, recording)
        cause.bound = bounds.of([cause])
        cause.piece = cause.piece or advised(cause, recording, names, knowledge)
    versions = libraries(recording)
    unknown = times.states["unknown"] / total
    hidden = limits_of_languages(recording)
    listed = _ordered(
        listed, recording, bounds, times.states["runnable"], rest=rest, hidden=bool(hidden)
    )
    records = [
        {**_record(each, total), **known(each.piece, knowledge, versions)} for each in listed
    ]
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "command": list(recording.command),
        "threads": most_at_once(recording),
        "wall_s": _rounded(recording.wall_ns / 1e9),
        "thread_s": _rounded(times.total_ns / 1e9),
        "accounted": _rounded(1 - unknown),
        "unknown": _rounded(unknown),
        "speedup": None,
        "states": {name: _rounded(times.states[name] / total) for name in STATES},
        "causes": records,
        "fixes": [
            {"name": name, "bound": bounds.of([listed[place] for place in places])}
            for name, places in helping(records).items()
        ],
        "limits": _limits(recording, times, listed, hidden),
        "processors": [_rounded(share) for share in times.processors],
        "critical_path": path.shares(),
        "exit_status": recording.exit_status,
        "signal": recording.signal,
        "part": _part(recording),
    }
    wakeups = Wakeups(recording, names, knowledge, roles, stacks, times).graph()
    beside = {"critical_path": path.plain(), "wakeups": wakeups}
    return document, details(recording, names, sleeps, stacks, times) | beside


def _ordered(
    listed: list[Cause],
    recording: Recording,
    bounds: Bounds,
    ready_ns: float,
    *,
    rest: float,
    hidden: bool,
) -> list[Cause]:
    """The causes in their order, with the doubts that the time without a processor leaves, and
    those of a part. `rest`: the other time. `hidden`: explain does not see a part of the
    program."""
    if not (listed and listed[0].case):  # threads that spin in a runtime keep others waiting
        order = in_order([(each.category, each.ns, each.bound) for each in listed])
        listed = [listed[place] for place in order]
    queue = next((each for each in listed if each.category == "run_queue"), None)
    for cause in listed:
        # Threads that waited longer for processors than for this cause would behave otherwise with
        # processors, unless the cause is most of the work of threads that had all processors.
        others = cause.category not in ("run_queue", "affinity", "thread_creation", "none")
        had = queue is not None and queue.certain and bounds.part_of_run(cause) >= _MOSTLY
        if hidden:  # a sentence says so
            cause.certain = False
        if others and cause.ns < ready_ns and not had:
            cause.doubt("or threads lack processors, for which they waited longer")
        elif cause.category == "barrier" and cause.ns < 2 * ready_ns:
            cause.doubt("or a thread that lacks a processor keeps the others waiting")
        if recording.part and not _is_clear(cause, recording):
            cause.doubt(FEW)
    return listed


def _part(recording: Recording) -> dict[str, Any] | None:
    part = recording.part
    if part is None:
        return None
    return {"threads": list(part.threads), "from_s": part.from_s, "to_s": part.to_s}


def _is_clear(cause: Cause, recording: Recording) -> bool:
    """Whether there are enough observations of a cause of a part, whose waits are estimated."""
    enough = recording.own_ticks >= _FEWEST_OF_PART
    return enough and (cause.category in _EXACT or cause.seen >= _FEWEST_OF_CAUSE)


def _complete(
    cause: Cause, recording: Recording, names: Names, stacks: Stacks, holders: Holders
) -> None:
    add_own_names(cause, recording, names)
    if cause.category == "none":
        return
    waits, wait_ns, pairs = waits_for(cause.things, recording, cause.category in _HELD)
    if wait_ns >= _TIMED * cause.waiters.total():  # else nearly all of them had no thing
        cause.waits, cause.wait_ns = waits, wait_ns
        cause.waited = stacks.waiters(pairs)
    if not cause.waited:
        cause.waited = stacks.parties(dict(cause.waiters)) or stacks.parties(
            dict(cause.samples), exact=True
        )
    if cause.category in _HELD:
        cause.held = holders.of(cause.things, cause.waited, inside=cause.category == "once")
    elif cause.workers:
        cause.held = stacks.working({} if cause.for_all else cause.workers, cause.did)


def _record(cause: Cause, total: float) -> dict[str, Any]:
    words = "; ".join([cause.words, *(() if cause.certain else sorted(cause.doubts))])
    return {
        "category": cause.category,
        "share": _rounded(min(1.0, cause.ns / total)),
        "certain": cause.certain,
        "name": cause.name,
        "where": cause.where,
        "words": words,
        "waits": cause.waits,
        "wait_us": _rounded(cause.wait_ns / cause.waits / 1e3) if cause.waits else None,
        "bound": cause.bound,
        "holders": [_party(each) for each in cause.held],
        "waiters": [_party(each) for each in cause.waited],
    }


def _party(party: Party) -> dict[str, Any]:
    held = {} if party.hold_us is None else {"hold_us": party.hold_us}
    return {"share": _rounded(party.share), **held, "frames": list(party.frames)}


def _limits(
    recording: Recording, times: Account, causes: list[Cause], hidden: list[str]
) -> list[str]:
    found = [*recording.limits, *hidden]
    if recording.part:
        found.insert(
            0,
            f"This answer is of a part of the record: {recording.part.words}. Counts and times of "
            f"its waits and holds are estimated from {recording.own_ticks:,} ticks.",
        )
    if not recording.threads:
        found.append("The record has no thread; the program ended before it was seen.")
    if not recording.samples and any(t.run_ns for t in recording.threads.values()):
        found.append(
            "Running code was not sampled, so spinning and contended atomics count as useful."
        )
    ready = times.states["runnable"] / max(1.0, times.total_ns)
    if ready >= _OF_OTHERS and not any(c.category in ("run_queue", "affinity") for c in causes):
        found.append(
            f"Threads were ready without a processor for {100 * ready:.0f} % of their time, though "
            "hardly more of them than there are processors: other programs had these, or the host "
            "of a virtual machine, or the system put several threads on one. On a quiet machine "
            "other causes may show."
        )
    if 0 < recording.agent_ns < times.total_ns:  # a part of a record may have less
        share = recording.agent_ns / times.total_ns
        found.append(f"The agent itself took {100 * share:.1f} % of the threads' time.")
    if recording.signal:
        found.append(f"The program was ended by signal {recording.signal}.")
    return list(dict.fromkeys(found))


def _rounded(value: float) -> float:
    return round(value, 4)

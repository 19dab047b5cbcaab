"""Tasks that a program hands out itself, as function objects or with the futures of the C++
library. No runtime shows that they are too small."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.frames import Frame, is_of_library
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.roles import most_common

_MUCH = 0.4  # of the samples
_TASKS = 0.25  # of the samples are in function objects
_FEWEST = 50  # samples
_SOME = 0.02  # of a function's samples within the library: fewer may have a wrong name
_FUTURES = re.compile(
    r"std::(__\w+::)?(__future_base|packaged_task|__packaged_task|promise|(shared_)?future\b"
    r"|__create_task_state|__assoc_)"
)
_OBJECT = re.compile(r"std::(__\w+::)?(_Function_|function\b|move_only_function|__function::)")
_INVOKES = re.compile(r"std::(__\w+::)?(_Function_handler::_M_invoke|__function::__func::op.*)")
_LOCKS = re.compile(r"_*pthread_mutex_(un)?lock\w*|std::(__\w+::)?mutex::\w+")
_MATHS = ("libm.", "libm-")


def in_locks(recording: Recording, names: Names) -> tuple[float, str]:
    """The part of the samples that locks and unlocks mutexes, and the function with most of
    them."""
    counts = Counter(each.stack for each in recording.samples if recording.counts(each.tid))
    inside: Counter[str] = Counter()
    for stack, count in counts.items():
        each = _Stack(names.frames(stack, True))
        if each.calls(_LOCKS):
            inside[each.name] += count
    return inside.total() / max(1, counts.total()), most_common(inside)


def too_small(recording: Recording, names: Names) -> Cause | None:
    """The cause of tasks whose making, handing out and awaiting takes nearly as long as their work.
    In functions that use futures or call function objects, the time within the library counts as
    such. Where function objects do the work, so do locks and the objects themselves."""
    samples = Counter(each.stack for each in recording.samples if recording.counts(each.tid))
    stacks = {stack: _Stack(names.frames(stack, True)) for stack in samples}
    total = samples.total()
    in_objects = sum(count for stack, count in samples.items() if stacks[stack].caller)
    callers = {each.caller for each in stacks.values()} - {""}
    has_tasks = in_objects >= _TASKS * total
    within, of_futures = Counter[str](), Counter[str]()
    for stack, count in samples.items():
        each = stacks[stack]
        within[each.name] += count if each.inner else 0
        of_futures[each.name] += count if each.calls(_FUTURES) else 0
    uses = {name for name, count in of_futures.items() if count > _SOME * within[name]}
    uses |= callers if has_tasks else set()
    managing = Counter({
        stack: count
        for stack, count in samples.items()
        if (each := stacks[stack]).inner
        and (each.name in uses or (has_tasks and each.calls(_LOCKS, _OBJECT)))
    })  # fmt: skip
    share = managing.total() / max(1, total)
    if total < _FEWEST or share < _MUCH:
        return None
    by_function: Counter[str] = Counter()
    for stack, count in managing.items():
        by_function[stacks[stack].name] += count
    name = most_common(by_function)
    words = (
        "the tasks that the program hands out are so small that making them, handing them out and "
        f"awaiting them takes {share / max(0.01, 1 - share):.2g} times as long as their work; or "
        "the work itself is in functions of the library"
    )
    where = next(each.where for each in stacks.values() if each.name == name)
    ns = share * sum(t.run_ns for tid, t in recording.threads.items() if recording.counts(tid))
    shown = name.partition("::{lambda")[0]
    made = Cause("task_overhead", shown, where, words, certain=False, ns=ns)
    made.seen = managing.total()
    made.samples.update(managing)
    return made


class _Stack:
    """The innermost frames of libraries, apart from those that only compute, and the function of
    the program that calls them. `caller`: the function that calls a function object."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        at = next((i for i, each in enumerate(frames) if not is_of_library(each)), len(frames))
        computes = any(each.module.startswith(_MATHS) for each in frames[:at])
        self.inner = () if computes or at == len(frames) else tuple(frames[:at])
        self.name = frames[at].name if at < len(frames) else ""
        self.where = frames[at].where if at < len(frames) else ""
        called = (i for i, each in enumerate(frames) if _INVOKES.match(each.name))
        outside = frames[next(called, len(frames)) :]
        self.caller = next((each.name for each in outside if not is_of_library(each)), "")

    def calls(self, *patterns: re.Pattern[str]) -> bool:
        """Whether a function of the library is one of these."""
        return any(pattern.match(each.name) for pattern in patterns for each in self.inner)

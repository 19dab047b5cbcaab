"""Work that may be lost although no sample shows it: work that is repeated when a compare-exchange
fails, atomic instructions of tasks or locks without a name, locks that are free, and work of a task
runtime's templates, in which the work of tasks may be inlined."""

from __future__ import annotations

import re
from collections import Counter

from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.looks import Looks
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.own_tasks import in_locks, too_small
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.roles import most_common

_DEEP = 6  # frames from the innermost that may have the loop
_ATOMIC = re.compile(r"lock |mfence|xchg .*\[")
_ATOMICS = 0.15  # of the samples
_MUCH = 0.25  # of the samples: too much to be sure that nothing is lost


def instead_of(
    nothing: Cause, seen: Looks, recording: Recording, names: Names, knowledge: Knowledge
) -> Cause:
    """The finding itself if it is not "nothing costs time"; else the cause of tasks that cost much
    of the work, or the finding, which is not certain if much work may be lost."""
    if nothing.category != "none":
        return nothing
    if tasks := too_small(recording, names):
        return tasks
    part = seen.unclear / max(1, len(recording.samples))
    if nothing.certain and part >= _MUCH:
        nothing.certain = False
        nothing.words = (
            f"Nothing that samples show costs more than a few per cent, but {100 * part:.0f} % of "
            "them are at atomics of very many objects. Whether threads share these shows only the "
            "comparison of numbers of threads (--threads 1,2)."
        )
    for doubt in (_doubt_retries, _doubt_templates, _doubt_atomics, _doubt_locks):
        if nothing.certain:
            doubt(nothing, recording, names, knowledge)
    return nothing


def _doubt_retries(none: Cause, recording: Recording, names: Names, knowledge: Knowledge) -> None:
    part, function = _retried(recording, names, knowledge)
    if part < _MUCH:
        return
    none.certain = False
    none.words = (
        f"Nothing that samples show costs more than a few per cent, but {100 * part:.0f} % of them "
        f"are in work, as of {function}, that is done again where a compare-exchange fails. How "
        "often it fails shows only the comparison of numbers of threads (--threads 1,2)."
    )


def _doubt_templates(none: Cause, recording: Recording, names: Names, knowledge: Knowledge) -> None:
    """Doubts the finding if functions that make tasks do much work, and no line numbers show their
    own work."""
    samples = [s for s in recording.samples if not s.kernel and recording.counts(s.tid)]
    inside: Counter[str] = Counter()
    for sample in samples:
        inner = names.frames(sample.stack, True)[:1]
        if knowledge.within_task(inner) and not knowledge.is_runtime(inner[0]):
            inside[inner[0].name] += 1
    part = inside.total() / max(1, len(samples))
    if part < _MUCH:
        return
    none.certain = False
    none.words = (
        f"Nothing that samples show costs more than a few per cent, but {100 * part:.0f} % of them "
        f"are in {most_common(inside)}, which makes tasks. Only debug information (-g) tells its "
        "own work from that of the tasks."
    )


def _doubt_atomics(none: Cause, recording: Recording, names: Names, knowledge: Knowledge) -> None:
    """Doubts the finding if threads spend much time at atomic instructions and fences, although
    they do not contend."""
    counts = Counter(s.stack for s in recording.samples if not s.kernel and recording.counts(s.tid))
    inside: Counter[str] = Counter()
    for stack, count in counts.items():
        module, address = next(iter(recording.stacks.get(stack, ())), (0, 0))
        if _ATOMIC.match(names.before(module, address)):
            own = (each.name for each in names.frames(stack, True) if each.own)
            inside[next(own, "")] += count
    part = inside.total() / max(1, counts.total())
    if part < _ATOMICS:
        return
    none.certain = False
    none.words = (
        f"Nothing that samples show costs more than a few per cent, but {100 * part:.0f} % of them "
        f"are at atomic instructions, as of {most_common(inside)}. Without them, as with larger "
        "tasks or a lock for more work at once, the program may be faster."
    )


def _doubt_locks(none: Cause, recording: Recording, names: Names, knowledge: Knowledge) -> None:
    """Doubts the finding if threads spend much time in locks that they do not wait for."""
    part, function = in_locks(recording, names)
    if part < _MUCH:
        return
    none.certain = False
    none.words = (
        f"Nothing that samples show costs more than a few per cent, but {100 * part:.0f} % of them "
        f"lock and unlock mutexes, as of {function}. With larger pieces of work for each lock, "
        "such as larger tasks, the program may be faster."
    )


def _retried(recording: Recording, names: Names, knowledge: Knowledge) -> tuple[float, str]:
    """The part of the samples in loops that a failing compare-exchange repeats, and the function
    with most of them. A task runtime's loop runs tasks, which are done once."""
    runtimes = {
        number
        for number, module in recording.modules.items()
        if module.path.rpartition("/")[2].startswith(knowledge.runtimes)
    }
    samples = [s for s in recording.samples if not s.kernel and recording.counts(s.tid)]
    inside: Counter[str] = Counter()
    for sample in samples:
        frames = recording.stacks.get(sample.stack, ())[:_DEEP]
        own = [each for each in frames if each[0] not in runtimes]
        if any(names.retried(module, address) for module, address in own):
            functions = (each.name for each in names.frames(sample.stack, True) if each.own)
            inside[next(functions, "")] += 1
    return sum(inside.values()) / max(1, len(samples)), most_common(inside)

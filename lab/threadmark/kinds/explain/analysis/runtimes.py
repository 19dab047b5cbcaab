"""Time within a task runtime: managing tasks, or waiting for the others' work.

A runtime's threads spin before they sleep, so that a wait looks like work. The activity of the
other threads at the same moment tells which it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache, cached_property
from itertools import takewhile

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import FEWEST_TICKS, RUNTIME, Cause
from threadmark.kinds.explain.analysis.frames import Frame, is_glue
from threadmark.kinds.explain.analysis.looks import Looks
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.moments import Moments
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.roles import is_uneven, most_common, outermost
from threadmark.kinds.explain.analysis.serial_parts import (
    FOR_ALL,
    MOSTLY,
    MUCH,
    SerialPart,
    serial_part,
)
from threadmark.kinds.explain.analysis.spots import operand_of

_MAKES_TASKS = 0.03  # of all samples: tasks are made all the time, not now and then
_NEAR_NS = 6_000_000  # two samples of about one moment
_SAME = 0.05  # of the time between two samples of a thread: those of one moment, however short
_FEWEST = 10  # such pairs of samples for a finding
_TASK = re.compile(r"omp_task_entry")  # clang's name of a task
_TASKS = 0.1  # of the samples are in functions that make or run tasks
_WHOLE = 0.95  # of the samples of a function
_ALL = 1.0  # of them
_OUTER = 2  # functions that identify a task's work
_DEALS = re.compile(r"libtbb")
_IDLE = "while one thread works on a task the others find none that is ready"
_IN_BETWEEN = 0.5  # of the samples: a barrier that is the cause takes longer than the work
_WORKS = 0.5  # of the moments of a wait, another thread works
_KNOWN = 0.1  # of the samples in a runtime: its waiting loops are known
_LONG = 0.7  # of them
_SEEKS = 3.0  # times the time of making tasks: threads lack tasks


class Runtime:
    """The runtime of one record."""

    def __init__(
        self, recording: Recording, names: Names, knowledge: Knowledge, looks: Looks
    ) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._inside = looks.runtime
        self._looks = looks

    def causes(self, account: Account) -> list[Cause]:
        """At most one cause."""
        own = [each for each in self._inside if self._recording.counts(each.tid)]
        if len(own) < FEWEST_TICKS:
            return []
        by_thread: Counter[int] = Counter()
        for sample in own:
            time = account.threads.get(sample.tid)
            total = sum(self._looks.of(sample.tid).values())
            if time and total:
                by_thread[sample.tid] += round(time.run_left_ns / total)
        cause = self._managing() or self._waiting()
        cause.ns = float(sum(by_thread.values()))
        cause.by_thread.update(by_thread)
        cause.samples.update(sample.stack for sample in own)
        cause.seen = len(own)
        cause.case = RUNTIME
        return [cause]

    def has_tasks(self) -> bool:
        """Whether threads spend their time in tasks of a runtime, or in making them."""
        samples = self._recording.samples
        inside = sum(self._knowledge.within_task(self._frames(each)) for each in samples)
        return inside > _TASKS * max(1, len(samples))

    def _managing(self) -> Cause | None:
        """The cause of tasks that are made and handed out all the time."""
        made = [s for s in self._inside if self._knowledge.makes_task(self._frames(s))]
        if len(made) < _MAKES_TASKS * max(1, len(self._recording.samples)):
            return None
        # A thread that awaits tasks looks for others, in vain while a single thread works.
        seeking = [s for s in self._inside if self._knowledge.seeks_task(self._frames(s))]
        in_vain = sum(self._other(each) is not None for each in seeking)
        if in_vain > max(_SEEKS * (len(self._inside) - len(seeking)), _WORKS * len(seeking)):
            return None
        return self._overhead(made)

    def _overhead(self, made: list[Sample]) -> Cause:
        share = len(self._inside) / max(1, len(self._recording.samples))
        name, where = self._own(made)
        words = (
            "tasks are so small that making, handing out and awaiting them takes "
            f"{share / max(0.01, 1 - share):.2g} times as long as their work"
        )
        return Cause("task_overhead", name, where, words)

    def _waiting(self) -> Cause:
        """The cause of waits for the others at the end of a parallel region, or for the next
        region."""
        workers: Counter[int] = Counter()
        stages: list[Sample] = []
        for sample in self._inside:
            other = self._other(sample)
            if other is not None:
                workers[other.tid] += 1
                if self._knowledge.within_stage(self._frames(other)):
                    stages.append(other)
        cause = self._waiting_for(workers, stages)
        if cause.workers and not cause.for_all:
            cause.did.update(self._did())
        return cause

    def _waiting_for(self, workers: Counter[int], stages: list[Sample]) -> Cause:
        if len(stages) >= _WORKS * len(self._inside):
            name, where = self._own(stages)
            words = "one stage of a pipeline or graph works while the others lack its results"
            return Cause("serial_dependency", name, where, words, workers=workers)
        functions = Counter(self._part(s) for s in self._outside if s.tid in workers)
        name = most_common(+functions)
        works = workers.total() >= _WORKS * len(self._inside)
        if works and is_uneven(workers):
            did = [self._names.frames(stack, True) for stack in self._did().elements()]
            if 2 * sum(map(self._knowledge.in_region, did)) < len(did):
                words = "one thread works outside of parallel regions while the others wait for it"
                return Cause("serial_dependency", name, "", words, workers=workers)
            return self._in_one_region(name, workers)
        name, where = self._own(list(self._inside))
        if self._has_tasks:
            if works:
                return Cause("task_idle", name, where, _IDLE, workers=workers)
            return self._overhead(list(self._inside))
        if self._are_short:
            return _short_regions(name)
        if len(self._inside) < _IN_BETWEEN * len(self._recording.samples):
            return self._for_all(workers) or self._in_turns(workers)
        words = "threads wait for one another in a task runtime, and hardly work in between"
        return Cause("barrier", f"barrier in {name}" if name else "", where, words)

    @cached_property
    def _serial_part(self) -> SerialPart:
        own = {id(each) for each in self._outside if self._in_region(each)}
        return serial_part(self._recording, self._names, lambda each: id(each) in own)

    def _for_all(self, workers: Counter[int]) -> Cause | None:
        """The cause of waits for work that one thread does for all, within a parallel region."""
        found = self._serial_part
        threads = {each.tid for each in (*self._inside, *found.samples)}
        part = len(found.samples) * (len(threads) - 1) / len(self._inside)
        if part <= MUCH:
            return None
        words = "one thread works in a part of the region while the others wait for it"
        name = found.name or most_common(Counter(map(self._part, found.samples)))
        cause = Cause("serial_dependency", name, found.where, words, for_all=True, workers=workers)
        cause.did.update(each.stack for each in found.samples)
        if part <= MOSTLY or found.is_open:
            cause.doubt("or threads wait for one that has more to do")
        return cause

    def _in_turns(self, workers: Counter[int]) -> Cause:
        """The cause of waits for each of several threads."""
        part = most_common(+Counter(self._part(each) for each in self._outside))
        words = "threads wait in turns, in a task runtime, for one that has more to do"
        found = Cause("imbalance", part, "", words, certain=False, workers=workers)
        found.doubts.add(f"or {FOR_ALL}")
        return found

    def _in_one_region(self, name: str, workers: Counter[int]) -> Cause:
        """The cause of waits for one thread that works within a parallel region."""
        worker = max(workers, key=workers.__getitem__)
        if self._are_short:
            return _short_regions(name)
        if not self._is_whole(worker, _WHOLE):
            if found := self._for_all(workers):
                return found
            words = "threads wait at the end of a parallel region for one that has more to do"
            uneven = Cause("imbalance", name, "", words, workers=workers)
            if self._serial_part.is_open:
                uneven.doubt(f"or {FOR_ALL}")
            return uneven
        idle = Cause("task_idle", name, "", _IDLE, workers=workers)
        if not self._is_whole(worker, _ALL):
            idle.doubt("or one part is far larger than the others")
        return idle

    @property
    def _are_short(self) -> bool:
        """Whether parallel regions begin and end all the time. Else nearly all of a wait is the
        loop that waits, if that loop is known, or one function and the function that it calls. A
        runtime that only hands out tasks would make tasks all the time."""
        if any(map(self._deals, self._inside)):
            return False
        whole = len(self._inside)
        loops = sum(self._waits(each) for each in self._inside)
        if loops > _KNOWN * whole or self._has_tasks:
            return _KNOWN * whole < loops < _LONG * whole
        functions = Counter(self._frames(each)[0].name for each in self._inside)
        return sum(count for _, count in functions.most_common(2)) < _LONG * whole

    def _waits(self, sample: Sample) -> bool:
        operand = None if sample.kernel else operand_of(sample, self._recording, self._names)
        return operand is not None and operand.loops

    def _is_whole(self, worker: int, part: float) -> bool:
        """Whether a thread's largest work is a single task, of which the others get nothing. Loops
        of OpenMP are divided before they begin, so each thread has a part."""
        if not self._has_tasks:
            return False
        parts: dict[tuple[str, ...], Counter[bool]] = defaultdict(Counter)
        for sample in self._outside:
            if self._in_region(sample):
                inner = takewhile(lambda f: not self._knowledge.is_runtime(f), self._frames(sample))
                own = [f.name for f in inner if f.own and not is_glue(f)]
                parts[tuple(own[-_OUTER:])][sample.tid == worker] += 1
        most = max(parts.values(), key=lambda by: by[True], default=Counter[bool]())
        return most[True] >= part * most.total() > 0

    def _deals(self, sample: Sample) -> bool:
        """Whether the sample is in a runtime that only hands out tasks."""
        return any(_DEALS.match(each.module) for each in self._frames(sample))

    def _in_region(self, sample: Sample) -> bool:
        return self._knowledge.in_region(self._frames(sample))

    def _part(self, sample: Sample) -> str:
        """The function that a parallel region calls, or else the outermost function."""
        known = self._knowledge.is_runtime
        inner = list(takewhile(lambda f: not known(f), self._frames(sample)))
        return outermost(inner)

    def _own(self, samples: list[Sample]) -> tuple[str, str]:
        """The program's function with most of these samples."""
        found: Counter[str] = Counter()
        places: dict[str, str] = {}
        for sample in samples:
            frames = self._frames(sample)
            outside = frames[len(self._knowledge.library_part(frames, len(frames))) :]
            known = self._knowledge.is_runtime
            own = (f for f in outside if f.own and not is_glue(f) and not known(f))
            frame = next(own, None)
            if frame is not None:
                found[frame.name] += 1
                places.setdefault(frame.name, frame.where)
        name = most_common(found)
        return name, places.get(name, "")

    @property
    def _has_tasks(self) -> bool:
        """Whether the runtime runs tasks, and not only loops."""
        made = sum(self._knowledge.makes_task(self._frames(s)) for s in self._inside)
        if any(map(self._deals, self._inside)):
            return True
        ran = sum(any(_TASK.search(f.name) for f in self._frames(s)) for s in self._outside)
        return made > _TASKS * len(self._inside) or ran > _TASKS * len(self._outside)

    def _frames(self, sample: Sample) -> tuple[Frame, ...]:
        return self._names.frames(sample.stack, True)

    @cached_property
    def _outside(self) -> list[Sample]:
        """Samples of the program's own work. A thread that gives its processor away in the runtime
        does no such work."""
        inside = {id(sample) for sample in self._inside}
        waits = cache(lambda stack: self._knowledge.in_runtime(self._names.frames(stack, True)))
        samples = self._recording.samples
        return [each for each in samples if id(each) not in inside and not waits(each.stack)]

    @cached_property
    def _work(self) -> Moments:
        return Moments(self._outside)

    def _other(self, sample: Sample, within_ns: float = _NEAR_NS) -> Sample | None:
        """The work of another thread at about the same moment."""
        return next(self._work.others(sample, within_ns), None)

    def _did(self) -> Counter[int]:
        """The stacks of threads that worked at the moments at which others waited."""
        for within_ns in (_SAME * self._recording.sample_ns, _NEAR_NS):
            found = (self._other(each, within_ns) for each in self._inside)
            did = Counter(each.stack for each in found if each is not None)
            if did.total() >= _FEWEST:
                break
        return did


def _short_regions(name: str) -> Cause:
    words = "parallel regions are so short that beginning and ending them costs most"
    return Cause("barrier", f"barrier in {name}" if name else "", "", words)

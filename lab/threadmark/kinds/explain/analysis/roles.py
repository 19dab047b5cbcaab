"""The threads with the same work, the threads that could signal a condition, and the number of
threads that can work at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from statistics import median

from threadmark.kinds.explain.analysis.frames import Frame, is_beneath
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording, Thing, Thread, short_threads

_GLUE = ("std::", "_start", "__gnu_cxx::", "__gthr", "__pthread_once", "tbb::detail::")
_LOOKED_AT = 256  # threads of one group
_DEAR = 0.4  # of the time that the threads run
_MORE = 1.1  # times what its peers run
_AT_ONCE = 0.01  # of the life of a thread, others begin
_NEEDS = 0.05  # of its life
_UNEVEN = 0.7  # of the others' waiting time, they wait for one thread
_OFTEN = 0.1  # of the waits for a condition
_SIGNALLED = ("condition", "event", "semaphore")
_SATURATED = 0.9  # of the record
_RARE = 0.02  # of the ticks: a rarer event is chance


class Roles:
    """The threads of a record as groups."""

    def __init__(self, recording: Recording, names: Names) -> None:
        self._recording = recording
        self._names = names

    @cached_property
    def capacity(self) -> int:
        """The number of threads that can work at once: no more than processors, and no more than
        did at some time. It is at least two, even if never more than one worked."""
        if len(self._recording.threads) < 2:
            return 1
        counts = [sum(g.works for g in tick.glances) for tick in self._recording.ticks]
        most = 0
        for count in sorted(set(counts)):
            if sum(c >= count for c in counts) >= _RARE * len(counts):
                most = count
        return min(self.processors, max(2, most))

    @cached_property
    def processors(self) -> int:
        """The number of processors that the program may use."""
        threads = self._recording.threads.values()
        # Threads that only wait do not need the processors that they may run on.
        busy = [t for t in threads if t.run_ns + t.ready_ns > _NEEDS * t.life_ns]
        allowed = {cpu for each in busy for cpu in each.allowed}
        count = len(allowed) or len(self._recording.cpus) or self._recording.processors
        return max(1, min(self._recording.processors, count))

    def thread(self, tid: int) -> Thread | None:
        """A thread by its number."""
        return self._recording.threads.get(tid)

    @cached_property
    def _groups(self) -> dict[tuple[int, int], list[Thread]]:
        found: dict[tuple[int, int], list[Thread]] = defaultdict(list)
        for thread in self._recording.threads.values():
            found[self.group(thread)].append(thread)
        return found

    def group(self, thread: Thread) -> tuple[int, int]:
        """The place that made the thread: threads of one group do the same."""
        place = self._places.get((thread.maker, thread.made_at), 0)
        return (thread.maker, place) if place else (-1, thread.tid)

    @cached_property
    def _places(self) -> dict[tuple[int, int], int]:
        """By maker and stack, one stack that stands for all of one loop. An unrolled loop, or one
        that lets a vector grow, has several stacks: they differ only in the innermost function of
        the program, and their threads begin in the same function or have not been seen at work."""
        starts: dict[tuple[int, int], set[str]] = defaultdict(set)
        for each in self._recording.threads.values():
            if each.made_at:
                starts[each.maker, each.made_at] |= self.starts.get(each.tid, set())
        found: dict[tuple[int, int], int] = {}
        loops: dict[tuple[int, tuple[str, ...]], list[tuple[set[str], int]]] = defaultdict(list)
        for (maker, stack), begin in sorted(starts.items(), key=lambda e: (not e[1], e[0])):
            own = [frame for frame in self._names.frames(stack) if _is_own(frame)]
            around = tuple(text for each in own[1:] for text in (each.name, each.where))
            like = loops[maker, (own[0].name, *around)] if own else []
            known = (place for others, place in like if not begin or begin == others)
            found[maker, stack] = next(known, stack)
            like.append((begin, found[maker, stack]))
        return found

    def same(self, a: int, b: int) -> bool:
        """Whether two threads were made at the same place."""
        one, other = self.thread(a), self.thread(b)
        return bool(one and other and self.group(one) == self.group(other))

    def peers(self, tid: int) -> Iterator[Thread]:
        """The other threads made at the same place that lived or began at the same time: a thread
        without a part of the work ends at once."""
        own = self.thread(tid)
        if own is None:
            return
        for each in self._groups[self.group(own)][:_LOOKED_AT]:
            both = min(each.ended_ns, own.ended_ns) > max(each.began_ns, own.began_ns)
            apart_ns = abs(each.began_ns - own.began_ns)
            if each is not own and (both or apart_ns < _AT_ONCE * (own.ended_ns - own.began_ns)):
                yield each

    def does_more(self, tid: int) -> bool:
        """Whether the thread ran longer than its peers do, so that it ends later because of its own
        work, and not because it waited for theirs."""
        own = self.thread(tid)
        ran = [each.run_ns for each in self.peers(tid)]
        return own is not None and bool(ran) and own.run_ns > _MORE * median(ran)

    @cached_property
    def starts(self) -> dict[int, set[str]]:
        """The outermost function of the program in each thread's stacks."""
        found: dict[int, set[str]] = defaultdict(set)
        seen: set[tuple[int, int]] = set()
        for tick in self._recording.ticks:
            seen |= {(each.tid, each.stack) for each in tick.glances if each.stack}
        seen |= {(each.tid, each.stack) for each in self._recording.samples}
        for tid, stack in seen:
            name = outermost(self._names.frames(stack))
            if name:
                found[tid].add(name)
        return found

    def one_process(self, tid: int, another: int) -> bool:
        """Whether two threads belong to one process."""
        one, other = self.thread(tid), self.thread(another)
        return one is None or other is None or one.process == other.process

    def signallers(self, thing: Thing | None) -> set[int]:
        """The threads that may signal the thing; empty if they are not known."""
        if thing is None or not thing.signal_stack:
            return set()
        stacks = {thing.signal_stack} | self._woke.get(thing.id, set())
        names = {outermost(self._names.frames(each)) for each in stacks} - {""}
        return {tid for tid, starts in self.starts.items() if names & starts}

    @cached_property
    def _woke(self) -> dict[int, set[int]]:
        """By thing, the stacks that ended a good part of the waits for it."""
        waits: dict[int, Counter[int]] = defaultdict(Counter)
        for pair in self._recording.pairs:
            if pair.activity in _SIGNALLED and pair.holder:
                waits[pair.thing][pair.holder] += pair.waits
        return {
            thing: {stack for stack, count in by.items() if count >= _OFTEN * by.total()}
            for thing, by in waits.items()
        }

    @cached_property
    def saturated(self) -> set[int]:
        """Threads that ran nearly all of the time."""
        wall = self._recording.wall_ns
        return {
            each.tid
            for each in self._recording.threads.values()
            if each.run_ns + each.ready_ns > _SATURATED * wall
        }

    @cached_property
    def short(self) -> set[int]:
        """Threads of a storm."""
        return short_threads(self._recording)

    @cached_property
    def making_is_dear(self) -> bool:
        """Whether making the threads of a storm takes long in relation to their work, or is not
        known. Else a wait for such a thread is for its work."""
        threads = self._recording.threads
        creating = sum(t.totals["creating"].ns for t in threads.values() if "creating" in t.totals)
        storm = [each for each in threads.values() if each.tid in self.short]
        starting = sum(t.totals["starting"].ns for t in storm if "starting" in t.totals)
        ran = sum(each.run_ns for each in storm)
        return not creating + starting or creating + starting > _DEAR * ran


def outermost(frames: Sequence[Frame]) -> str:
    """The outermost function of the program's own, not a template of the library."""
    return next(iter(outer(frames, 1)), "")


def outer(frames: Sequence[Frame], most: int) -> tuple[str, ...]:
    """The `most` outermost functions, the outermost first."""
    return tuple(islice((f.name for f in reversed(frames) if _is_own(f)), most))


def _is_own(frame: Frame) -> bool:
    return frame.own and not is_beneath(frame) and not frame.name.startswith(_GLUE)


def is_uneven(workers: Counter[int]) -> bool:
    """Whether the others wait for one thread far more often than for the rest."""
    return max(workers.values(), default=0) >= _UNEVEN * sum(workers.values())


def most_common(counts: Counter[str]) -> str:
    """The most frequent key; the first by name among equals, so that results repeat."""
    return min(counts, key=lambda key: (-counts[key], key), default="")

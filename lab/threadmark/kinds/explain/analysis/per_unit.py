"""The cost of one recorded run of a comparison, per unit of work that it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from threadmark.kinds.explain.analysis.accounting import processors
from threadmark.kinds.explain.analysis.looks import POLLED
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Recording, most_at_once
from threadmark.kinds.explain.analysis.slow_paths import part_of_lock
from threadmark.kinds.explain.analysis.stacks import Stacks

_WORKS = 0.05  # of the processor time: a thread with less is no worker
_ANYTHING = 0.01  # of the processor time: a thread with less does nothing for the others


@dataclass(frozen=True, order=True)
class Place:
    """A function, and the kind of its work: its own (empty), `kernel`, `lock` or `runtime`."""

    function: str
    sort: str = ""


@dataclass(frozen=True)
class Run:
    """One run, with its samples by bare stack and by instruction."""

    threads: int  # as requested
    units: float
    bare_ns: float | None  # per unit of work, of a run without the recorder; None: not made
    wall_ns: int
    run_ns: int
    ready_ns: int
    steal_ns: int
    processors: int
    allowed: int  # processors that its workers may use; 0: not known
    at_once: int  # threads
    working: int  # threads at once that do work
    busy: tuple[float, ...]  # share of the time in which 0, 1, 2, ... processors worked
    stacks: Mapping[tuple[Place, tuple[str, ...]], int]
    code: Mapping[tuple[Place, str, str], int]  # place and text of an instruction

    @property
    def time_ns(self) -> float:
        """The time per unit of work, without the recorder if that was measured."""
        return self.recorded_ns if self.bare_ns is None else self.bare_ns

    @property
    def recorded_ns(self) -> float:
        """The time per unit of work with the recorder."""
        return self.wall_ns / self.units

    @property
    def cpu_ns(self) -> float:
        """Processor time of all threads per unit of work."""
        return self.run_ns / self.units

    @property
    def sample_ns(self) -> float:
        """The processor time per unit of work that one sample stands for."""
        return self.cpu_ns / max(1, sum(self.stacks.values()))


class Places:
    """Tells the place of each sample of one record."""

    def __init__(self, recording: Recording, names: Names, knowledge: Knowledge) -> None:
        self._names = names
        self._knowledge = knowledge
        self.stacks = Stacks(recording, names, knowledge)
        self._known: dict[tuple[int, bool], Place] = {}

    def at(self, stack: int, *, kernel: bool) -> Place:
        """The place of a thread with this sampled stack."""
        key = (stack, kernel)
        if key not in self._known:
            inner = next(iter(self.stacks.frames(stack, True)), None)
            self._known[key] = Place(inner.name if inner else "", self._sort(*key))
        return self._known[key]

    def _sort(self, stack: int, kernel: bool) -> str:
        frames = self._names.frames(stack, True)
        if self._knowledge.in_runtime(frames):
            return "runtime"
        if self._knowledge.activity(frames) in POLLED:
            return "lock"
        if part_of_lock(frames, kernel=kernel) or self.stacks.is_in_lock(stack):
            return "lock"
        return "kernel" if kernel else ""


def run_of(
    recording: Recording,
    names: Names,
    knowledge: Knowledge,
    *,
    threads: int,
    units: float,
    bare_ns: float | None = None,
) -> Run:
    """The run of a record."""
    places = Places(recording, names, knowledge)
    stacks: Counter[tuple[Place, tuple[str, ...]]] = Counter()
    code: Counter[tuple[Place, str, str]] = Counter()
    counts = Counter((sample.stack, sample.kernel) for sample in recording.samples)
    for (stack, kernel), count in counts.items():
        place = places.at(stack, kernel=kernel)
        stacks[place, places.stacks.names(stack, exact=True)] += count
        at = recording.stacks.get(stack, ())
        if at and not place.sort:
            code[place, *names.instruction(*at[0])] += count
    total = sum(each.run_ns for each in recording.threads.values())
    workers = [t for t in recording.threads.values() if t.run_ns >= _WORKS * total]
    working = sum(t.run_ns >= _ANYTHING * total for t in recording.threads.values())
    at_once = most_at_once(recording)
    return Run(
        threads=threads,
        units=units,
        bare_ns=bare_ns,
        wall_ns=recording.wall_ns,
        run_ns=total,
        ready_ns=sum(each.ready_ns for each in recording.threads.values()),
        steal_ns=recording.steal_ns,
        processors=recording.processors,
        allowed=len({cpu for each in workers for cpu in each.allowed}),
        at_once=at_once,
        working=max(threads, min(at_once, working)),
        busy=processors(recording),
        stacks=stacks,
        code=code,
    )

"""Samples of running threads: useful, at a contended atomic, in a loop that waits, or in the
kernel for memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from threadmark.kinds.explain.analysis.frames import Frame, takes_a_lock
from threadmark.kinds.explain.analysis.kernel_spots import calls, in_kernel
from threadmark.kinds.explain.analysis.many_lines import of_many_lines, plain_on_many_lines
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.pieces import Piece
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.slow_paths import (
    in_memory,
    innermost_own,
    part_of_lock,
    wakes,
    yielding,
)
from threadmark.kinds.explain.analysis.spots import (
    FEWEST,
    Spot,
    address_of,
    contended,
    contended_bytes,
    frame_of,
    loop,
    operand_of,
    side_by_side,
    spot_of,
    stopped_at,
    taking,
)

POLLED = ("barrier", "semaphore", "event")  # the library polls a word before it sleeps
_PART = 0.1  # of all samples: else a line that threads share costs little
_CALLS = 0.25  # of all samples
_HOT = 0.03  # of all samples


@dataclass(frozen=True)
class Looks:
    """The samples of a record, by state and thread, and the spots that they show."""

    by_thread: Mapping[int, Counter[str]]
    spots: tuple[Spot, ...]
    runtime: tuple[Sample, ...] = ()  # threads within a task runtime
    idle: tuple[Sample, ...] = ()  # those that spin while they wait
    polls: Mapping[int, Counter[str]] = field(default_factory=dict)  # by thread: kinds of wait
    unclear: int = 0  # at atomics of many objects: not known whether threads share these

    def of(self, tid: int) -> Counter[str]:
        """Samples of a thread by state."""
        return self.by_thread.get(tid, Counter())


def looks(recording: Recording, names: Names, knowledge: Knowledge) -> Looks:
    """Sort all samples."""
    sorted_ = _Sorted(recording, names, knowledge)
    for sample in recording.samples:
        sorted_.put(sample)
    by_thread = sorted_.by_thread
    spots = sorted_.spots()
    for spot in spots:
        for sample in spot.looks:
            by_thread[sample.tid]["useful"] -= 1
            by_thread[sample.tid][spot.state] += 1
        own = [each for each in spot.looks if recording.counts(each.tid)]
        spot.samples.update(sample.tid for sample in own)
        spot.stacks.update(sample.stack for sample in own)
    for sample, idle in sorted_.runtime:
        by_thread[sample.tid]["useful"] -= 1
        by_thread[sample.tid]["runtime_idle" if idle else "runtime"] += 1
    ran = tuple(sample for sample, _ in sorted_.runtime)
    waited = tuple(sample for sample, idle in sorted_.runtime if idle)
    counted = {tid: +counts for tid, counts in by_thread.items()}
    found = tuple(each for each in spots if each.samples)
    return Looks(counted, found, ran, waited, sorted_.polls, sorted_.unclear)


class _Sorted:
    """The samples, sorted by state."""

    def __init__(self, recording: Recording, names: Names, knowledge: Knowledge) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._line = contended_bytes(recording)
        self.by_thread: dict[int, Counter[str]] = defaultdict(Counter)
        self.polls: dict[int, Counter[str]] = defaultdict(Counter)
        self.runtime: list[tuple[Sample, bool]] = []  # and whether the thread only waits
        self._lines: dict[int, list[tuple[Sample, int]]] = defaultdict(list)
        self.unclear = 0
        self._plain: dict[int, list[tuple[Sample, int, bool]]] = defaultdict(list)
        self._loops: dict[tuple[str, str], list[Sample]] = defaultdict(list)
        self._memory: list[Sample] = []
        self._files: list[Sample] = []  # in calls that the agent does not time
        self._yielding = yielding(recording, names)
        self._code = _code(recording, names, knowledge)
        self._slow: dict[Piece, list[Sample]] = defaultdict(list)
        self._taken: dict[tuple[Piece | None, str], list[Sample]] = defaultdict(list)

    def put(self, sample: Sample) -> None:
        """Sort one sample."""
        frames = self._names.frames(sample.stack, True)
        part = part_of_lock(frames, kernel=sample.kernel)
        runtime = self._knowledge.in_runtime(frames)
        of_runtime = runtime
        if self._knowledge.is_lock_of_runtime(frames):
            runtime, part = False, "lock"
        operand = None if sample.kernel else operand_of(sample, self._recording, self._names)
        address = None if operand is None else address_of(operand, sample)
        polled = "" if of_runtime or self._is_word(address) else self._knowledge.activity(frames)
        if polled in POLLED and (part != "wait" or wakes(frames, self._knowledge)):
            self.by_thread[sample.tid]["spinning"] += 1
            self.polls[sample.tid][polled] += 1
            return
        if part == "wait":
            return  # the agent knows the running part of the wait
        self.by_thread[sample.tid]["useful"] += 1
        slow = None if sample.kernel else self._code.get(stopped_at(sample, self._recording))
        if runtime:
            self.runtime.append((sample, operand is not None and operand.loops))
        elif part == "lock":
            piece = self._knowledge.cause(frames)
            own = next((each for each in frames if each.own), None)
            self._taken[piece, "" if piece or own is None else own.name].append(sample)
        elif slow is not None:
            self._slow[slow].append(sample)
        elif operand is not None and (operand.loops or (operand.counts and self._waits_in(frames))):
            frame = frame_of(sample, self._names, self._knowledge)
            self._loops[frame.name, str(address or "")].append(sample)
        elif address is not None and operand is not None and operand.plain:
            self._plain[address // self._line].append((sample, address, operand.writes))
        elif address is not None:
            self._lines[address // self._line].append((sample, address))
        elif in_memory(sample, frames, self._knowledge):
            self._memory.append(sample)
        elif sample.kernel and self._knowledge.call(frames) == "io":
            self._files.append(sample)

    def _is_word(self, address: int | None) -> bool:
        """Whether the address is a word of a library that has other uses than the wait."""
        known = self._names.datum(0, address) if address else None
        return known is not None and self._knowledge.words.of_object(known[0]) is not None

    def _waits_in(self, frames: tuple[Frame, ...]) -> bool:
        """Whether the function takes a lock according to its name, or gives its processor away
        elsewhere."""
        inner = innermost_own(frames).name
        return takes_a_lock(inner) or inner in self._yielding

    def _count(self) -> int:
        return sum(sum(counts.values()) for counts in self.by_thread.values())

    def _of_lines(self) -> list[Spot]:
        """The spots of lines of memory that atomics write."""
        names, knowledge = self._names, self._knowledge
        spots: list[Spot] = []
        unclear = []
        for touches in self._lines.values():
            spot = contended(touches, self._recording, names, knowledge)
            if spot is None:
                unclear.append(touches)
            else:
                spots.append(spot)
        shared, self.unclear = of_many_lines(unclear, self._recording, names, knowledge)
        for spot in shared:
            same = (e for e in spots if (e.category, e.name) == (spot.category, spot.name))
            if known := next(same, None):  # other lines have enough samples
                spot.certain, spot.words = known.certain, known.words
        return [*spots, *shared]

    def spots(self) -> list[Spot]:
        """The spots with enough samples."""
        names, knowledge = self._names, self._knowledge
        spots = self._of_lines()
        least = _PART * self._count()
        for touched in self._plain.values():
            if len(touched) >= max(FEWEST, least):
                spots += side_by_side(touched, self._recording, names, knowledge)
        seldom = [each for each in self._plain.values() if len(each) < max(FEWEST, least)]
        many = plain_on_many_lines(seldom, self._line, self._recording, names, knowledge)
        spots += [each for each in many if len(each.looks) >= least]
        for looped in self._loops.values():
            if len(looped) >= FEWEST:
                spots.append(loop(looped, self._recording, names, knowledge))
        for known, waited in self._slow.items():
            own = innermost_own(names.frames(waited[0].stack, True))
            spots.append(
                spot_of(
                    known.category,
                    ("spinning", known.name, own.where),
                    known.words,
                    waited,
                    piece=known,
                )
            )
        spots += in_kernel(self._memory, names, knowledge)
        # The calls of several threads may run side by side, so a few calls prove nothing.
        if len(self._files) >= max(FEWEST, _CALLS * self._count()):
            spots.append(calls(self._files, names))
        for (piece, _), slow in self._taken.items():
            if len(slow) >= FEWEST:
                spots.append(taking(piece, slow, names, knowledge))
        return spots


def _code(
    recording: Recording, names: Names, knowledge: Knowledge
) -> Mapping[tuple[int, int], Piece]:
    """Places where many samples stopped, behind an instruction that is known to take long."""
    counts = Counter(stopped_at(each, recording) for each in recording.samples if not each.kernel)
    least = max(FEWEST, _HOT * counts.total())
    found = {}
    for place, count in counts.items():
        if count >= least and (piece := knowledge.code.of_code(frozenset(), names.before(*place))):
            found[place] = piece
    return found

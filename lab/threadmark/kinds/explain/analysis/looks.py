"""Samples of running threads: useful, at a contended atomic, in a loop that waits, or in the
kernel for memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from threadmark.kinds.explain.analysis.frames import Frame, takes_a_lock
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names, Operand, Piece
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.slow_paths import (
    in_memory,
    innermost_own,
    part_of_lock,
    wakes,
    yielding,
)
from threadmark.kinds.explain.analysis.stacks import in_order

LINE = 128  # bytes: adjacent lines are fetched together
POLLED = ("barrier", "semaphore", "event")  # the library looks at a word before it sleeps
_STACKS = 8  # of one line that are looked at
_FEWEST = 5  # samples that say something
_PART = 0.1  # of all samples: else a line that threads share costs little
_BOTH = 0.1  # of the samples at a line come from each of two threads that contend


@dataclass
class Spot:
    """Where threads contend without waiting in the kernel."""

    category: str  # atomic, false_sharing, spin, rwlock, allocator, ...
    state: str
    name: str
    where: str
    words: str
    anywhere: bool = False
    certain: bool = True
    takes: bool = False  # time in which a lock of the program is taken and given back
    looks: list[Sample] = field(default_factory=list)
    samples: Counter[int] = field(default_factory=Counter)  # by thread that counts
    stacks: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class Looks:
    """The samples of a record, by state and thread, and the spots that they show."""

    by_thread: Mapping[int, Counter[str]]
    spots: tuple[Spot, ...]
    runtime: tuple[Sample, ...] = ()  # threads within a task runtime
    polls: Mapping[int, Counter[str]] = field(default_factory=dict)  # by thread: kinds of wait

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
    counted = {tid: +counts for tid, counts in by_thread.items()}
    return Looks(counted, tuple(each for each in spots if each.samples), ran, sorted_.polls)


class _Sorted:
    """Samples by what they show."""

    def __init__(self, recording: Recording, names: Names, knowledge: Knowledge) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self.by_thread: dict[int, Counter[str]] = defaultdict(Counter)
        self.polls: dict[int, Counter[str]] = defaultdict(Counter)
        self.runtime: list[tuple[Sample, bool]] = []  # and whether it only waits
        self._lines: dict[int, list[tuple[Sample, int]]] = defaultdict(list)
        self._plain: dict[int, list[tuple[Sample, int, bool]]] = defaultdict(list)
        self._loops: dict[tuple[str, str], list[Sample]] = defaultdict(list)
        self._memory: list[Sample] = []
        self._yielding = yielding(recording, names)
        self._taken: dict[tuple[Piece | None, str], list[Sample]] = defaultdict(list)

    def put(self, sample: Sample) -> None:
        """Sort one sample."""
        frames = self._names.frames(sample.stack, True)
        part = part_of_lock(frames, kernel=sample.kernel)
        runtime = self._knowledge.in_runtime(frames)
        polled = "" if runtime else self._knowledge.activity(frames)
        if polled in POLLED and (part != "wait" or wakes(frames, self._knowledge)):
            self.by_thread[sample.tid]["spinning"] += 1
            self.polls[sample.tid][polled] += 1
            return
        if part == "wait":
            return  # the agent knows how much of the wait ran
        self.by_thread[sample.tid]["useful"] += 1
        operand = None if sample.kernel else operand_of(sample, self._recording, self._names)
        address = None if operand is None else address_of(operand, sample)
        if runtime:
            self.runtime.append((sample, operand is not None and operand.loops))
        elif part == "lock":
            piece = self._knowledge.cause(frames)
            own = next((each for each in frames if each.own), None)
            self._taken[piece, "" if piece or own is None else own.name].append(sample)
        elif operand is not None and (operand.loops or (operand.counts and self._waits_in(frames))):
            frame = _frame(sample, self._names, self._knowledge)
            self._loops[frame.name, str(address or "")].append(sample)
        elif address is not None and operand is not None and operand.plain:
            self._plain[address // LINE].append((sample, address, operand.writes))
        elif address is not None:
            self._lines[address // LINE].append((sample, address))
        elif in_memory(sample, frames, self._knowledge):
            self._memory.append(sample)

    def _waits_in(self, frames: tuple[Frame, ...]) -> bool:
        """Whether the function takes a lock by its name, or gives its processor away elsewhere."""
        inner = innermost_own(frames).name
        return takes_a_lock(inner) or inner in self._yielding

    def spots(self) -> list[Spot]:
        """What enough samples show."""
        names, knowledge = self._names, self._knowledge
        lines = [_contended(line, s, names, knowledge) for line, s in self._lines.items()]
        spots = [spot for spot in lines if spot is not None]
        least = _PART * sum(sum(counts.values()) for counts in self.by_thread.values())
        for touched in self._plain.values():
            if len(touched) >= max(_FEWEST, least):
                spots += side_by_side(touched, names, knowledge)
        for looped in self._loops.values():
            if len(looped) >= _FEWEST:
                spots.append(_loop(looped, self._recording, names, knowledge))
        if self._memory:
            spots.append(_memory(self._memory, names, knowledge))
        for (piece, _), slow in self._taken.items():
            if len(slow) >= _FEWEST:
                spots.append(_taking(piece, slow, names, knowledge))
        return spots


def operand_of(sample: Sample, recording: Recording, names: Names) -> Operand | None:
    """Of the instruction that a sample stands for."""
    frames = recording.stacks.get(sample.stack, ())
    return names.operand(*frames[0]) if frames else None


def address_of(operand: Operand, sample: Sample) -> int | None:
    """Where it reads or writes; None if a register is not known."""
    if operand.absolute is not None:
        return operand.absolute
    registers = sample.registers
    if operand.base not in registers or (operand.index and operand.index not in registers):
        return None
    index = registers[operand.index] * operand.scale if operand.index else 0
    return (registers[operand.base] + index + operand.offset) % (1 << 64)


def _contended(
    line: int, found: list[tuple[Sample, int]], names: Names, knowledge: Knowledge
) -> Spot | None:
    """The spot of one line, if two threads or more share it."""
    threads = Counter(sample.tid for sample, _ in found)
    often = [tid for tid, count in threads.items() if count >= _BOTH * len(found)]
    if len(found) < _FEWEST or len(often) < 2:
        return None
    by_thread = {t: Counter(a for s, a in found if s.tid == t).most_common(1)[0][0] for t in often}
    apart = len(set(by_thread.values())) > 1
    samples = [sample for sample, _ in found]
    address = Counter(address for _, address in found).most_common(1)[0][0]
    frames = names.frames(samples[0].stack, True)
    known = names.datum(0, address)
    frame = _frame(samples[0], names, knowledge)
    member = None if known else names.member_at_call(samples[0].stack, "atomic")
    name, where = known or member or (f"atomic in {frame.name}", frame.where)
    if any("rwlock" in each.name or "shared_mutex" in each.name for each in frames[:4]):
        words = "readers and writers change the word of one lock for shared use"
        if not known:
            member = names.member_at_call(samples[0].stack, "rwlock")
            name, where = member or (f"rwlock in {frame.name}", frame.where)
        return _spot("rwlock", ("atomic", name, where), words, samples)
    piece = knowledge.cause(frames)
    if apart and piece is None:
        words = "threads write different words of one cache line"
        return _spot("false_sharing", ("atomic", name, where), words, samples)
    # Some samples lie behind the inlined function that tells it.
    stacks = in_order(Counter(sample.stack for sample in samples))[:_STACKS]
    known_to = (knowledge.atomic(names.frames(stack, True)) for stack, _ in stacks)
    library = next((each for each in known_to if each), None)
    if library:
        shown = known[0] if known else library.name
        return _spot("atomic", ("atomic", shown, where), library.words, samples)
    if piece is not None:
        spot = ("atomic", piece.name, innermost_own(names.frames(samples[0].stack, True)).where)
        return _spot(piece.category, spot, piece.words, samples, anywhere=True)
    words = "threads write one atomic"
    return _spot("atomic", ("atomic", name, where), words, samples)


def side_by_side(
    found: list[tuple[Sample, int, bool]], names: Names, knowledge: Knowledge
) -> list[Spot]:
    """The spot of a line of which threads use different words by plain instructions. Only a
    comparison with one thread would prove that this takes long."""
    words: dict[int, set[int]] = defaultdict(set)
    threads: Counter[int] = Counter()
    for sample, address, _ in found:
        words[sample.tid].add(address)
        threads[sample.tid] += 1
    often = [tid for tid, count in threads.items() if count >= _BOTH * len(found)]
    apart = all(not words[a] & words[b] for a in often for b in often if a < b)
    writers = {sample.tid for sample, _, writes in found if writes}
    if len(often) < 2 or not apart or not writers & set(often):
        return []
    samples = [sample for sample, _, _ in found]
    frame = _frame(samples[0], names, knowledge)
    known = names.datum(0, found[0][1])
    known = known or names.member_at_call(samples[0].stack, "false_sharing")
    name, where = known or (f"words in {frame.name}", frame.where)
    text = "threads use different words of one cache line, one of them by writing; a run with one "
    text += "thread would tell how much that costs"
    spot = _spot("false_sharing", ("atomic", name, where), text, samples)
    spot.certain = False
    return [spot]


def _loop(samples: list[Sample], recording: Recording, names: Names, knowledge: Knowledge) -> Spot:
    operand = operand_of(samples[0], recording, names)
    address = operand and address_of(operand, samples[0])
    known = names.datum(0, address) if address else None
    known = known or names.member_at_call(samples[0].stack, "spin")
    frame = _frame(samples[0], names, knowledge)
    name, where = known or (f"loop in {frame.name}", frame.where)
    return _spot("spin", ("spinning", name, where), "threads spin in a loop", samples)


def _taking(piece: Piece | None, samples: list[Sample], names: Names, knowledge: Knowledge) -> Spot:
    """Time in the slow path of a lock that the agent does not see as a wait."""
    frame = _frame(samples[0], names, knowledge)
    if piece is not None:
        found = ("spinning", piece.name, innermost_own(names.frames(samples[0].stack, True)).where)
        return _spot(piece.category, found, piece.words, samples, anywhere=True)
    found = ("spinning", f"mutex in {frame.name}", frame.where)
    words = "threads take and give back a lock that others wait for"
    spot = _spot("mutex", found, words, samples)
    spot.takes = True
    return spot


def _memory(samples: list[Sample], names: Names, knowledge: Knowledge) -> Spot:
    """Page faults and mappings, with the allocator named if it asks for them."""
    words = "the kernel maps and unmaps memory, and page faults fill it"
    asked = 0
    for sample in samples:
        piece = knowledge.cause(names.frames(sample.stack, True)[1:])
        asked += piece is not None and piece.category == "allocator"
    if asked > _BOTH * len(samples):
        words += "; the allocator gives memory back and takes it again (malloc, free)"
    heaviest = Counter(sample.stack for sample in samples).most_common(1)[0][0]
    first = next(sample for sample in samples if sample.stack == heaviest)
    own = innermost_own(names.frames(first.stack, True))
    found = ("kernel_memory", own.name, own.where)
    return _spot("kernel_memory", found, words, samples)


def _frame(sample: Sample, names: Names, knowledge: Knowledge) -> Frame:
    frames = names.frames(sample.stack, True)
    return next(iter(knowledge.bare(frames) or frames), Frame("an unknown function"))


def _spot(
    category: str,
    found: tuple[str, str, str],
    words: str,
    samples: list[Sample],
    *,
    anywhere: bool = False,
) -> Spot:
    state, name, where = found
    return Spot(category, state, name, where, words, anywhere, looks=samples)

"""Samples of running threads: useful, at a contended atomic, in a loop that waits, or in the
kernel for memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names, Operand
from threadmark.kinds.explain.analysis.recording import Recording, Sample

LINE = 128  # bytes: adjacent lines are fetched together
_FEWEST = 5  # samples that say something
_BOTH = 0.1  # of the samples at a line come from each of two threads that contend


@dataclass
class Spot:
    """Where threads contend without waiting in the kernel."""

    category: str  # atomic, false_sharing, spin, rwlock, allocator, ...
    state: str
    name: str
    where: str
    words: str
    samples: Counter[int] = field(default_factory=Counter)  # by thread
    stacks: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class Looks:
    """The samples of a record, by state and thread, and the spots that they show."""

    by_thread: Mapping[int, Counter[str]]
    spots: tuple[Spot, ...]

    def of(self, tid: int) -> Counter[str]:
        """Samples of a thread by state."""
        return self.by_thread.get(tid, Counter())


def looks(recording: Recording, names: Names, knowledge: Knowledge) -> Looks:
    """Sort all samples."""
    by_thread: dict[int, Counter[str]] = defaultdict(Counter)
    lines: dict[int, list[tuple[Sample, int]]] = defaultdict(list)
    loops: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    memory: list[Sample] = []
    for sample in recording.samples:
        by_thread[sample.tid]["useful"] += 1
        operand = None if sample.kernel else _operand(sample, recording, names)
        address = None if operand is None else _address(operand, sample)
        if operand is not None and operand.loops:
            frame = _frame(sample, names, knowledge)
            loops[frame.name, str(address or "")].append(sample)
        elif address is not None:
            lines[address // LINE].append((sample, address))
        elif _in_memory(names.frames(sample.stack, True), knowledge):
            memory.append(sample)
    spots = []
    for line, found in lines.items():
        spot = _contended(line, found, names, knowledge)
        if spot:
            spots.append(spot)
    for looped in loops.values():
        if len(looped) >= _FEWEST:
            spots.append(_loop(looped, recording, names, knowledge))
    if memory:
        words = "the kernel maps and unmaps memory"
        spots.append(_spot("kernel_memory", ("kernel_memory", "", ""), words, memory))
    for spot in spots:
        for tid, count in spot.samples.items():
            by_thread[tid]["useful"] -= count
            by_thread[tid][spot.state] += count
    return Looks({tid: +counts for tid, counts in by_thread.items()}, tuple(spots))


def _operand(sample: Sample, recording: Recording, names: Names) -> Operand | None:
    frames = recording.stacks.get(sample.stack, ())
    return names.operand(*frames[0]) if frames else None


def _address(operand: Operand, sample: Sample) -> int | None:
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
    name, where = known or (f"atomic in {frame.name}", frame.where)
    if any("rwlock" in each.name or "shared_mutex" in each.name for each in frames[:4]):
        words = "readers and writers change the word of one lock for shared use"
        return _spot("rwlock", ("atomic", name, where), words, samples)
    piece = knowledge.cause(frames)
    if apart and piece is None:
        words = "threads write different words of one cache line"
        return _spot("false_sharing", ("atomic", name, where), words, samples)
    library = knowledge.atomic(frames)
    if library:
        shown = known[0] if known else library.name
        return _spot("atomic", ("atomic", shown, where), library.words, samples)
    if piece is not None:
        return _spot(piece.category, ("atomic", piece.name, frame.where), piece.words, samples)
    words = "threads write one atomic"
    return _spot("atomic", ("atomic", name, where), words, samples)


def _loop(samples: list[Sample], recording: Recording, names: Names, knowledge: Knowledge) -> Spot:
    operand = _operand(samples[0], recording, names)
    address = operand and _address(operand, samples[0])
    known = names.datum(0, address) if address else None
    frame = _frame(samples[0], names, knowledge)
    name, where = known or (f"loop in {frame.name}", frame.where)
    return _spot("spin", ("spinning", name, where), "threads spin in a loop", samples)


def _in_memory(frames: tuple[Frame, ...], knowledge: Knowledge) -> bool:
    if not frames or frames[0].own:
        return False
    piece = knowledge.cause(frames[:1])
    return piece is not None and piece.category == "kernel_memory"


def _frame(sample: Sample, names: Names, knowledge: Knowledge) -> Frame:
    frames = names.frames(sample.stack, True)
    bare = knowledge.bare(frames) or frames
    return bare[0] if bare else Frame("an unknown function")


def _spot(category: str, found: tuple[str, str, str], words: str, samples: list[Sample]) -> Spot:
    state, name, where = found
    spot = Spot(category, state, name, where, words)
    spot.samples.update(sample.tid for sample in samples)
    spot.stacks.update(sample.stack for sample in samples)
    return spot

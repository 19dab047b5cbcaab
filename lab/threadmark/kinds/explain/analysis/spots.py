"""The spots at which running threads contend, from samples of one line, loop or lock."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import permutations

from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names, Operand
from threadmark.kinds.explain.analysis.pieces import Piece
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.slow_paths import innermost_own
from threadmark.kinds.explain.analysis.spans import live_at_once
from threadmark.kinds.explain.analysis.stacks import in_order

LINE = 64  # bytes that move between processors as one
_APART = 0.8  # of what an operation costs beside the line of another thread, alone
COMPARE = "a comparison of numbers of threads (--threads 1,2) shows how much that costs"
TAKEN = "threads take and give back a lock that others wait for"
FEWEST = 5  # samples for a finding
_STACKS = 8  # of one line, at most
_MUTEX = re.compile(r"pthread_(mutex|spin)_\w*lock")
_BOTH = 1 / 9  # of the samples of the thread that has most: of two, the other has a tenth of all
_PART = 0.1  # of samples; fewer may be chance
_TELL = 20  # samples at a line that tell several words from one


@dataclass
class Spot:
    """A place at which threads contend without waiting in the kernel."""

    category: str  # atomic, false_sharing, spin, rwlock, allocator, ...
    state: str
    name: str
    where: str
    words: str
    anywhere: bool = False
    certain: bool = True
    takes: bool = False  # time of taking and giving back a lock of the program
    looks: list[Sample] = field(default_factory=list)
    samples: Counter[int] = field(default_factory=Counter)  # by thread that counts
    stacks: Counter[int] = field(default_factory=Counter)
    piece: Piece | None = None
    doubt: str = ""  # the reason for which it is not certain
    things: frozenset[int] = frozenset()  # the futex at the word


def contended_bytes(recording: Recording) -> int:
    """The size of the memory for which threads contend: two lines if the processor fetches adjacent
    lines together, or if that was not measured."""
    return LINE if recording.alone.get("beside", 0.0) > _APART else 2 * LINE


def stopped_at(sample: Sample, recording: Recording) -> tuple[int, int]:
    """Module and address at which a sample stopped."""
    return next(iter(recording.stacks.get(sample.stack, ())), (0, 0))


def operand_of(sample: Sample, recording: Recording, names: Names) -> Operand | None:
    """The operand of the instruction that a sample stands for."""
    frames = recording.stacks.get(sample.stack, ())
    return names.operand(*frames[0]) if frames else None


def address_of(operand: Operand, sample: Sample) -> int | None:
    """The address that the operand reads or writes; None if a register is not known."""
    if operand.absolute is not None:
        return operand.absolute
    registers = sample.registers
    if operand.base not in registers or (operand.index and operand.index not in registers):
        return None
    index = registers[operand.index] * operand.scale if operand.index else 0
    return (registers[operand.base] + index + operand.offset) % (1 << 64)


def _contenders(threads: Counter[int]) -> list[int]:
    """The threads that are often at a line, among those with samples there. If there are many
    threads, each has a small part of all samples."""
    most = max(threads.values(), default=0)
    return [tid for tid, count in threads.items() if count >= _BOTH * most]


def contended(
    found: list[tuple[Sample, int]], recording: Recording, names: Names, knowledge: Knowledge
) -> Spot | None:
    """The spot of one line, if two threads or more share it."""
    threads = Counter(sample.tid for sample, _ in found)
    often = _contenders(threads)
    # Threads that follow one another may have the same memory for words of their own.
    if len(found) < FEWEST or not live_at_once(recording, often):
        return None
    apart = _are_apart(found, often, recording)
    samples = [sample for sample, _ in found]
    address = Counter(address for _, address in found).most_common(1)[0][0]
    frames = names.frames(samples[0].stack, True)
    known = names.datum(0, address)
    frame = frame_of(samples[0], names, knowledge)
    member = None if known else names.member_at_call(samples[0].stack, "atomic")
    name, where = known or member or (f"atomic in {frame.name}", frame.where)
    # Some samples lie behind the inlined function that shows the use.
    stacks = in_order(Counter(sample.stack for sample in samples))[:_STACKS]
    in_lock = knowledge.bare(frames) != frames
    known_to = (_word_of(stack, recording, names, knowledge) for stack, _ in stacks)
    word = None if in_lock else next(filter(None, known_to), None)
    word = (knowledge.words.of_object(known[0]) if known else None) or word
    locks = (knowledge.cause(names.frames(stack, True)) for stack, _ in stacks)
    piece = next(filter(None, locks), None)
    if piece is None and in_lock:
        piece = knowledge.locks.of_code(names.near(stacks[0][0]))
    if word and (not apart or piece or word.objects):
        shown = known[0] if known and not word.objects else word.name
        spot = spot_of("atomic", ("atomic", shown, where), word.words, samples)
        spot.piece = word
        spot.anywhere = shown == word.name
        return spot
    if piece is not None:
        found_in = ("atomic", piece.name, innermost_own(frames).where)
        return spot_of(piece.category, found_in, piece.words, samples, piece=piece)
    if any("rwlock" in each.name or "shared_mutex" in each.name for each in frames[:4]):
        words = "readers and writers change the word of one lock for shared use"
        if not known:
            member = names.member_at_call(samples[0].stack, "rwlock")
            name, where = member or (f"rwlock in {frame.name}", frame.where)
        return spot_of("rwlock", ("atomic", name, where), words, samples)
    if not apart and any(_MUTEX.search(each.name) for each in frames[:4]):
        member = None if known else names.member_at_call(samples[0].stack, "mutex")
        name, where = known or member or (f"mutex in {frame.name}", frame.where)
        spot = spot_of("mutex", ("spinning", name, where), TAKEN, samples)
        spot.takes = True
        return spot
    if apart:
        return _of_words(found, (name, where), recording, names, anonymous=known is None)
    spot = spot_of("atomic", ("atomic", name, where), "threads write one atomic", samples)
    things = recording.things.values()
    spot.things = frozenset(t.id for t in things if t.what == "futex" and t.address == address)
    spot.certain = len({_process(tid, recording) for tid in often}) < len(often)
    if not spot.certain:
        spot.doubt = "or each process has one of its own"
    return spot


def _process(tid: int, recording: Recording) -> int:
    return recording.threads[tid].process if tid in recording.threads else 0


def _are_apart(found: list[tuple[Sample, int]], often: list[int], recording: Recording) -> bool:
    """Whether each of the threads that are often at a line uses words of its own."""
    by_thread = {t: Counter(a for s, a in found if s.tid == t).most_common(1)[0][0] for t in often}
    users: dict[int, set[int]] = defaultdict(set)
    for sample, address in found:
        users[address] |= {sample.tid} & set(often)
    # Few samples of several words that threads share may show each thread at another word. Threads
    # that follow one another may use a word in turn.
    shared = {address for address, tids in users.items() if live_at_once(recording, tids)}
    both = sum(address in shared for _, address in found)
    return len(set(by_thread.values())) > 1 and both <= _PART * len(found)


def _of_words(
    found: list[tuple[Sample, int]],
    named: tuple[str, str],
    recording: Recording,
    names: Names,
    *,
    anonymous: bool,
) -> Spot:
    """The spot of a line of which threads write different words."""
    samples = [sample for sample, _ in found]
    if anonymous:  # members have one name for all lines, whatever word has most samples in each
        stacks = {sample.stack for sample in samples}
        members = [m for stack in stacks if (m := names.member_at_call(stack, "atomic"))]
        named = min(members, key=lambda each: (len(each[1]), each[1], each[0]), default=named)
    one_line = len({address // LINE for _, address in found}) == 1
    words = f"threads write different words of {_lines(one_line)}"
    if not one_line and "beside" not in recording.alone:
        words += "; or they share none, if this processor takes each line alone"
    spot = spot_of("false_sharing", ("atomic", *named), words, samples)
    spot.certain = len(found) >= _TELL and (one_line or "beside" in recording.alone)
    return spot


def _lines(one: bool) -> str:
    """The shared memory of the words, in words. The processor may fetch two adjacent lines
    together."""
    return "one cache line" if one else "two adjacent cache lines"


def _word_of(stack: int, recording: Recording, names: Names, knowledge: Knowledge) -> Piece | None:
    """The library's word that a sample with this stack wrote."""
    found = knowledge.atomic(names.frames(stack, True))
    if found is not None:
        return found
    place = next(iter(recording.stacks.get(stack, ())), (0, 0))
    return knowledge.words.of_code(names.near(stack), names.before(*place))


def side_by_side(
    found: list[tuple[Sample, int, bool]], recording: Recording, names: Names, knowledge: Knowledge
) -> list[Spot]:
    """The spot of a line of which threads use different words by plain instructions. Only a
    comparison with one thread would prove that this takes long."""
    words: dict[int, set[int]] = defaultdict(set)
    written: dict[int, set[int]] = defaultdict(set)
    threads: Counter[int] = Counter()
    for sample, address, writes in found:
        words[sample.tid].add(address)
        threads[sample.tid] += 1
        if writes:
            written[sample.tid].add(address)
    often = _contenders(threads)
    # Sharing a word that all of them only read costs nothing.
    shared = (pair for pair in permutations(often, 2) if written[pair[0]] & words[pair[1]])
    apart = not any(live_at_once(recording, pair) for pair in shared)
    if len(often) < 2 or not apart or not any(written[tid] for tid in often):
        return []
    one_line = len({address // LINE for _, address, _ in found}) == 1
    samples = [sample for sample, _, _ in found]
    return [beside(samples, found[0], _lines(one_line), names, knowledge)]


def beside(
    samples: list[Sample],
    use: tuple[Sample, int, bool],
    lines: str,
    names: Names,
    knowledge: Knowledge,
) -> Spot:
    """The spot of these samples at different words of `lines`. It has the name of one use."""
    sample, address, _ = use
    frame = frame_of(sample, names, knowledge)
    known = names.datum(0, address)
    known = known or names.member_at_call(sample.stack, "false_sharing")
    name, where = known or (f"words in {frame.name}", frame.where)
    text = f"threads use different words of {lines}, one of them by writing; {COMPARE}"
    spot = spot_of("false_sharing", ("atomic", name, where), text, samples)
    spot.certain = False
    return spot


def loop(samples: list[Sample], recording: Recording, names: Names, knowledge: Knowledge) -> Spot:
    operand = operand_of(samples[0], recording, names)
    address = operand and address_of(operand, samples[0])
    known = names.datum(0, address) if address else None
    known = known or names.member_at_call(samples[0].stack, "spin")
    frame = frame_of(samples[0], names, knowledge)
    name, where = known or (f"loop in {frame.name}", frame.where)
    return spot_of("spin", ("spinning", name, where), "threads spin in a loop", samples)


def taking(piece: Piece | None, samples: list[Sample], names: Names, knowledge: Knowledge) -> Spot:
    """Time in the slow path of a lock that the agent does not see as a wait."""
    frame = frame_of(samples[0], names, knowledge)
    if piece is not None:
        found = ("spinning", piece.name, innermost_own(names.frames(samples[0].stack, True)).where)
        return spot_of(piece.category, found, piece.words, samples, piece=piece)
    found = ("spinning", f"mutex in {frame.name}", frame.where)
    spot = spot_of("mutex", found, TAKEN, samples)
    spot.takes = True
    return spot


def frame_of(sample: Sample, names: Names, knowledge: Knowledge) -> Frame:
    """The innermost function of the program behind those of the lock. An inlined function of a
    library, such as an iterator's, names no place."""
    frames = names.frames(sample.stack, True)
    bare = knowledge.bare(frames) or frames
    own = innermost_own(bare)
    return own if own.name else next(iter(bare), Frame("an unknown function"))


def spot_of(
    category: str,
    found: tuple[str, str, str],
    words: str,
    samples: list[Sample],
    *,
    piece: Piece | None = None,
) -> Spot:
    state, name, where = found
    anywhere = piece is not None
    return Spot(category, state, name, where, words, anywhere, looks=samples, piece=piece)

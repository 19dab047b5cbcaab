"""Words of many objects: each cache line has too few samples for a finding, but together they show
whether threads share such lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.spans import live_at_once
from threadmark.kinds.explain.analysis.spots import (
    COMPARE,
    FEWEST,
    Spot,
    address_of,
    beside,
    contended,
    frame_of,
)

Touches = list[tuple[Sample, int]]  # samples and addresses
Uses = Sequence[tuple[Sample, int, bool]]  # and whether the address is written
_WORDS = {
    "atomic": "threads write the same atomics, those of many objects",
    "false_sharing": "threads write different words of the same lines, those of many objects",
}
_AS_IF_ALL = 0.5  # of the lines with several threads, if all threads used all lines
_FEWEST_LINES = 5
_MEANWHILE_NS = 8_000_000  # between samples of threads that use an object at the same time
_MOST_THREADS = 16  # that use one object


def of_many_lines(
    lines: Iterable[Touches], recording: Recording, names: Names, knowledge: Knowledge
) -> tuple[list[Spot], int]:
    """A spot for each function whose atomics on these lines are shared by threads, and the number
    of other samples, on lines with few of them, for which this is not known. Few samples hit one
    line twice, so the lines with two samples or more stand for all lines of the function.

    No such spot is certain. Threads that are at the same objects at the same time wait long for
    their lines, as threads that walk one tree. Others seldom meet, and the shared lines cost them
    little. For that reason many locks are no spot."""
    by_function: dict[str, list[Touches]] = defaultdict(list)
    for touches in lines:
        within: dict[str, Touches] = defaultdict(list)
        for sample, address in touches:
            within[frame_of(sample, names, knowledge).name].append((sample, address))
        for function, inside in within.items():
            by_function[function].append(inside)
    spots = []
    unknown = 0
    for found in by_function.values():
        samples = [sample for touches in found for sample, _ in touches]
        threads = Counter(each.tid for each in samples)
        several, expected = _shared(found, threads, recording)
        if len(threads) > 1 and expected < _FEWEST_LINES:
            unknown += sum(len(each) for each in found if len(each) < FEWEST)
        elif several and len(several) >= _AS_IF_ALL * expected:
            whole = [touch for touches in several for touch in touches]
            spot = contended(whole, recording, names, knowledge)
            if spot is not None and spot.category in _WORDS:
                spot.looks = samples
                spot.certain = False
                words = spot.words if spot.piece else _WORDS[spot.category]
                spot.words = f"{words}; {COMPARE}"
                spots.append(spot)
    return spots, unknown


def _shared(
    lines: Iterable[Touches], threads: Counter[int], recording: Recording
) -> tuple[list[Touches], float]:
    """The lines on which several threads were seen, and the number of these if each sample of a
    line were of any thread."""
    several = [e for e in lines if live_at_once(recording, {sample.tid for sample, _ in e})]
    parts = [count / threads.total() for count in threads.values()]
    return several, sum(1 - sum(part ** len(each) for part in parts) for each in lines)


def plain_on_many_lines(
    lines: Iterable[Uses], size: int, recording: Recording, names: Names, knowledge: Knowledge
) -> list[Spot]:
    """A spot of lines of this size on which threads use different words by plain instructions at
    the same time, one of them by writing. Words that are written soon after a sample count too,
    because a line has few samples."""
    used: dict[int, list[tuple[Sample, int, bool]]] = defaultdict(list)
    for uses in lines:
        for sample, address, writes in uses:
            used[address // size].append((sample, address, writes))
            at = recording.stacks.get(sample.stack, ())
            for operand in names.written_next(*at[0]) if at else ():
                if (next_one := address_of(operand, sample)) is not None:
                    used[next_one // size].append((sample, next_one, True))
    found = [use for uses in used.values() if _are_beside(uses, recording) for use in uses]
    samples = {id(sample): sample for sample, _, _ in found}
    if len(samples) < FEWEST:
        return []
    [(most, _)] = Counter(each.stack for each in samples.values()).most_common(1)
    first = next(use for use in found if use[0].stack == most)
    lines_of_many = "the same lines, those of many objects"
    return [beside([*samples.values()], first, lines_of_many, names, knowledge)]


def _are_beside(uses: Uses, recording: Recording) -> bool:
    """Whether two threads use different words of a line at about the same time, and one writes."""
    words: dict[int, set[int]] = defaultdict(set)
    written: dict[int, set[int]] = defaultdict(set)
    times: dict[int, list[int]] = defaultdict(list)
    for sample, address, writes in uses:
        words[sample.tid].add(address)
        times[sample.tid].append(sample.at_ns)
        if writes:
            written[sample.tid].add(address)
    if len(times) > _MOST_THREADS:
        return False

    def contend(a: int, b: int) -> bool:
        near = max(min(times[a]), min(times[b])) - min(max(times[a]), max(times[b]))
        one_word = written[a] & words[b] or written[b] & words[a]
        writes = bool(written[a] or written[b])
        return near <= _MEANWHILE_NS and writes and not one_word and live_at_once(recording, (a, b))

    return any(contend(a, b) for a, b in combinations(times, 2))

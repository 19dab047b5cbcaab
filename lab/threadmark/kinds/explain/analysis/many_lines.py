"""Atomics of many objects: each cache line has too few samples for a finding, but together they
show whether threads share such lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.spots import (
    COMPARE,
    FEWEST,
    Spot,
    contended,
    frame_of,
)

Touches = list[tuple[Sample, int]]  # samples and addresses
_WORDS = {
    "atomic": "threads write the same atomics, those of many objects",
    "false_sharing": "threads write different words of the same lines, those of many objects",
}
_AS_IF_ALL = 0.5  # of the lines with several threads, if all threads used all lines
_FEWEST_LINES = 5


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
        several, expected = _shared(found, threads)
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


def _shared(lines: Iterable[Touches], threads: Counter[int]) -> tuple[list[Touches], float]:
    """The lines on which several threads were seen, and the number of these if each sample of a
    line were of any thread."""
    several = [each for each in lines if len({sample.tid for sample, _ in each}) > 1]
    parts = [count / threads.total() for count in threads.values()]
    return several, sum(1 - sum(part ** len(each) for part in parts) for each in lines)

"""Code that one thread runs while the others wait, told from work that is dealt unevenly.

Threads with unequal parts of some work run the same code, and at times side by side. What one
thread does for all is never run while another thread works. The samples show which: where two
threads work at the same time, samples of both lie close together now and then.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from threadmark.kinds.explain.analysis.frames import is_beneath
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording, Sample

# As parts of the time between two samples of a thread. Samples that are further apart than a phase
# of the program is long make no code look serial that is not.
_CLOSE = (0.025, 0.05, 0.1, 0.25, 0.5)
_BUCKET = 64  # bytes of code, in which samples of one loop meet
# Samples that lie close to another thread's, of those that would if that one worked all the time.
_SERIAL = 0.05
_PARALLEL = 0.3
_LIKELIER = math.log(10)  # code is serial where that is so many times likelier
_FEWEST = 4  # close samples of the other code
_LARGE = 0.15  # of the samples

Place = str | tuple[int, int]  # a function, or module and address of code


@dataclass(frozen=True)
class SerialPart:
    """The work of one thread for all, and its function where that has a name. `is_open`: whether
    more samples could show such work."""

    name: str = ""
    where: str = ""
    samples: Sequence[Sample] = ()
    is_open: bool = False


def serial_part(recording: Recording, names: Names, works: Callable[[Sample], bool]) -> SerialPart:
    """That of all samples of work."""
    samples = sorted(filter(works, recording.samples), key=lambda each: each.at_ns)
    places = {each.stack: set(_places(recording, names, each.stack)) for each in samples}
    found = (_serial_part(recording, names, samples, places, part) for part in _CLOSE)
    most = max(found, key=lambda each: len(each.samples))
    return most if most.samples else SerialPart(is_open=_is_open(recording, samples, places))


def _serial_part(
    recording: Recording,
    names: Names,
    samples: Sequence[Sample],
    places: Mapping[int, set[Place]],
    within: float,
) -> SerialPart:
    close = list(_are_close(samples, within * recording.sample_ns))
    expected = 2 * within
    seen = _seen(samples, close, places)
    serial = {p for p, count in seen.items() if _how_serial(count, expected) > _LIKELIER}
    is_in = [not serial.isdisjoint(places[each.stack]) for each in samples]
    others = sum(c for c, i in zip(close, is_in, strict=True) if not i)
    if others < max(_FEWEST, _PARALLEL * expected * is_in.count(False)):
        return SerialPart()  # all code looks serial where nothing is done side by side
    inside = [each for each, i in zip(samples, is_in, strict=True) if i]
    return SerialPart(*_named(names, inside, serial), inside)


def _is_open(
    recording: Recording, samples: Sequence[Sample], places: Mapping[int, set[Place]]
) -> bool:
    """Whether it cannot be told of a function with much of the work."""
    shortest = _CLOSE[0]
    seen = _seen(samples, _are_close(samples, shortest * recording.sample_ns), places)
    large = (n for p, n in seen.items() if isinstance(p, str) and n.total() > _LARGE * len(samples))
    return any(abs(_how_serial(count, 2 * shortest)) <= _LIKELIER for count in large)


def _seen(
    samples: Sequence[Sample], close: Iterable[bool], places: Mapping[int, set[Place]]
) -> dict[Place, Counter[bool]]:
    """How many samples of each place are close to another thread's."""
    seen: dict[Place, Counter[bool]] = defaultdict(Counter)
    for sample, beside in zip(samples, close, strict=True):
        for place in places[sample.stack]:
            seen[place][beside] += 1
    return seen


def _how_serial(count: Counter[bool], expected: float) -> float:
    """How much likelier this is where code is run alone than where it is run side by side, as a
    logarithm: the counts of close samples are Poisson's."""
    would = expected * count.total()
    return count[True] * math.log(_SERIAL / _PARALLEL) + would * (_PARALLEL - _SERIAL)


def _are_close(samples: Sequence[Sample], within_ns: float) -> Iterator[bool]:
    """Of each, whether one of another thread is so close."""
    times = [each.at_ns for each in samples]
    for sample in samples:
        begin = bisect_left(times, sample.at_ns - within_ns)
        end = bisect_left(times, sample.at_ns + within_ns)
        yield any(each.tid != sample.tid for each in samples[begin:end])


def _places(recording: Recording, names: Names, stack: int) -> Iterator[Place]:
    for frame in names.frames(stack, True):
        if not is_beneath(frame):
            yield frame.name
    for depth, (module, address) in enumerate(recording.stacks.get(stack, ())):
        yield module, address if depth else -(address // _BUCKET)


def _named(names: Names, samples: Sequence[Sample], serial: set[Place]) -> tuple[str, str]:
    """The outermost of the functions in which most of these are."""
    found: Counter[str] = Counter()
    places: dict[str, str] = {}
    for sample in samples:
        own = {f.name: f.where for f in names.frames(sample.stack, True) if f.name in serial}
        outermost = next(reversed(own), "")
        found[outermost] += 1
        places[outermost] = own.get(outermost, "")
    [(name, _)] = found.most_common(1) or [("", 0)]
    return name, places.get(name, "")

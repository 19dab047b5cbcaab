"""Finds code that one thread runs while the others wait, and tells it from unevenly divided work.

Threads with unequal parts of some work run the same code, and at times side by side. Work that one
thread does for all never runs while another thread works. The samples show the difference: if two
threads work at the same time, samples of both lie close together now and then.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from threadmark.kinds.explain.analysis.frames import is_beneath
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.own_code import Place, of_one_thread, own_functions
from threadmark.kinds.explain.analysis.recording import Recording, Sample

FOR_ALL = "one thread works for all of them while the others wait"
MUCH = 0.25  # of the others' waiting time: they wait for such work
MOSTLY = 0.5  # of that time: then it is sure

# As parts of the time between two samples of a thread. Several are tried, because a distance that
# is longer than a phase of the program hides serial code. No distance makes parallel code look
# serial.
_CLOSE = (0.025, 0.05, 0.1, 0.25, 0.5)
BUCKET = 64  # bytes of code, in which samples of one loop meet
# Parts of the samples that would lie close if another thread worked all the time: serial code has
# fewer than the first, parallel code more than the second.
_SERIAL = 0.05
_PARALLEL = 0.3
_LIKELIER = math.log(10)  # a function is serial if that is so many times likelier
_LIKELY = math.log(2)  # a function that may be parallel is more likely serial
_OF_CODE = math.log(1000)  # code without a name, because a program has many pieces of it
_FEWEST = 4  # close samples of the other code
_BESIDE = 0.4  # of those that would lie close: it runs side by side
_SHARED = 1.04  # times the samples of a piece of code: others also run it
_LARGE = 0.15  # of the samples
_NEARLY_ALL = 0.8  # of the samples
_ENOUGH = 0.1  # of the samples: threads with unequal parts would often meet
_APART = 0.1  # of those samples that would lie close if they met


@dataclass(frozen=True)
class SerialPart:
    """The work of one thread for all, and its function if that has a name. `is_open`: the samples
    do not decide whether there is such work, or whether these samples are of it."""

    name: str = ""
    where: str = ""
    samples: Sequence[Sample] = ()
    is_open: bool = False


def serial_part(recording: Recording, names: Names, works: Callable[[Sample], bool]) -> SerialPart:
    """Finds the serial part among the samples that `works` accepts."""
    samples = sorted(filter(works, recording.samples), key=lambda each: each.at_ns)
    distances = _distances(samples)
    places = {each: set(_places(recording, names, each)) for each in {s.stack for s in samples}}
    close = {w: [each < w * recording.sample_ns for each in distances] for w in _CLOSE}
    seen = {within: _seen(samples, close[within], places) for within in _CLOSE}
    weights = _weights(samples, places)
    odds = {within: _odds(seen[within], weights, within) for within in _CLOSE}
    undecided = _undecided(seen, odds[_CLOSE[0]], close)
    part_in = partial(_serial_part, recording, names, samples, places)
    found = [part_in(_serial(odds[w]), w) for w in _CLOSE]
    likely = {place for place, how_serial in undecided.items() if how_serial > _LIKELY}
    found.append(part_in(likely))
    best = max(found, key=lambda each: (not each.is_open and bool(each.samples), len(each.samples)))
    if best.samples:
        return best
    if _are_apart(recording, samples, close[_CLOSE[-1]]):
        own = {place for each in places.values() for place in each}
        return SerialPart(*_named(names, samples, own), samples, is_open=True)
    if not (any(each.is_open for each in found) or undecided):
        return SerialPart()
    inside = of_one_thread(samples, lambda each: _code(recording, each.stack))
    own = own_functions(inside, samples, names)
    return SerialPart(*_named(names, inside, own), inside, is_open=True)


def are_side_by_side(recording: Recording, samples: Iterable[Sample]) -> bool:
    """Whether two threads, of which these are samples, often work at the same time: so many samples
    of the thread that works less lie close to the other's, whatever counts as close. Few samples
    show nothing."""
    in_order = sorted(samples, key=lambda each: each.at_ns)
    counts = Counter(each.tid for each in in_order)
    less = min(counts, key=lambda tid: (counts[tid], tid), default=0)
    pairs = zip(_distances(in_order), in_order, strict=True)
    distances = [distance for distance, each in pairs if each.tid == less]
    looks = [within for within in _CLOSE if 2 * within * len(distances) >= 2 * _FEWEST]
    return (
        len(counts) > 1
        and bool(looks)
        and all(
            _is_beside(
                Counter(each < within * recording.sample_ns for each in distances), 2 * within
            )
            for within in looks
        )
    )


def _serial(odds: Mapping[Place, float]) -> set[Place]:
    """The places that are serial by these odds."""
    return {
        place
        for place, how_serial in odds.items()
        if how_serial > (_LIKELIER if isinstance(place, str) else _OF_CODE)
    }


def _serial_part(
    recording: Recording,
    names: Names,
    samples: Sequence[Sample],
    places: Mapping[int, set[Place]],
    serial: set[Place],
    by: float | None = None,
) -> SerialPart:
    """The part in the `serial` places. `places`: those of each stack. `by`: the distance that shows
    that they are serial. The rest must run side by side, or else all code looks serial. Another
    distance than `by` shows that less surely."""
    stacks = {stack for stack, found in places.items() if not serial.isdisjoint(found)}
    inside = [each for each in samples if each.stack in stacks]
    if not inside:
        return SerialPart()

    rest = _distances([each for each in samples if each.stack not in stacks])

    def rest_is_beside(within: float) -> bool:
        close = Counter(each < within * recording.sample_ns for each in rest)
        return _is_beside(close, 2 * within)

    if not any(map(rest_is_beside, _CLOSE)):
        return SerialPart(is_open=True)
    code = Counter(_code(recording, each.stack) for each in inside)
    whole = Counter(_code(recording, each.stack) for each in samples)
    is_shared = sum(n for each, n in code.items() if whole[each] > _SHARED * n) > len(inside) / 2
    if is_shared and not _is_called_in_parallel_code(names, samples, stacks, serial):
        return SerialPart(is_open=True)  # one thread has far more of the others' work
    sure = by is not None and rest_is_beside(by)
    return SerialPart(*_named(names, inside, serial), inside, is_open=not sure)


def _are_apart(recording: Recording, samples: Sequence[Sample], close: Sequence[bool]) -> bool:
    """Whether several threads work and no two at a time, although they have processors. `close` is
    that of half the time between two samples: each sample is close to one of a thread that
    works."""
    counts = Counter(each.tid for each in samples)
    threads = [each for tid, each in recording.threads.items() if tid in counts]
    waited_ns = sum(each.ready_ns for each in threads)
    if waited_ns > _APART * sum(each.run_ns for each in threads):
        return False
    most = max(counts, key=counts.__getitem__, default=0)
    others = [beside for beside, each in zip(close, samples, strict=True) if each.tid != most]
    enough = len(others) >= max(_FEWEST / _APART, _ENOUGH * len(samples))
    return enough and sum(others) < _APART * len(others)


def _is_called_in_parallel_code(
    names: Names, samples: Sequence[Sample], stacks: set[int], serial: set[Place]
) -> bool:
    """Whether most samples in these stacks are in a serial function that is called in a function of
    the other samples. So it is a part of the common work, and not the work of one thread that runs
    other functions from its start on."""
    others = {
        frame.name
        for stack in {each.stack for each in samples} - stacks
        for frame in names.frames(stack, True)
        if not is_beneath(frame)
    } - serial
    called = set()
    for stack in stacks:
        own = [each.name for each in names.frames(stack, True) if not is_beneath(each)]
        inner = next((at for at, name in enumerate(own) if name in serial), len(own))
        if not others.isdisjoint(own[inner:]):
            called.add(stack)
    counts = Counter(each.stack for each in samples if each.stack in stacks)
    return 2 * sum(counts[each] for each in called) > counts.total()


def _undecided(
    seen: Mapping[float, Mapping[Place, Counter[bool]]],
    odds: Mapping[Place, float],
    close: Mapping[float, Sequence[bool]],
) -> dict[Place, float]:
    """The functions with much of the work for which the samples do not decide, although the rest
    runs side by side, with their odds. Only the shortest distance, of which `odds` are, shows
    something about short phases of a function, but any distance shows that the rest runs side by
    side."""
    whole = {within: Counter(each) for within, each in close.items()}
    found = {}
    for place, count in seen[_CLOSE[0]].items():
        large = isinstance(place, str) and count.total() > _LARGE * whole[_CLOSE[0]].total()
        if large and abs(odds[place]) <= _LIKELIER:
            rest = {within: whole[within] - each[place] for within, each in seen.items()}
            if any(_is_beside(each, 2 * within) for within, each in rest.items()):
                found[place] = odds[place]
    return found


def _is_beside(count: Counter[bool], expected: float) -> bool:
    """Whether code runs side by side for much of its time."""
    return count[True] >= max(_FEWEST, _BESIDE * expected * count.total())


def _seen(
    samples: Sequence[Sample], close: Sequence[bool], places: Mapping[int, set[Place]]
) -> dict[Place, Counter[bool]]:
    """The numbers of samples of each place that are close to another thread's, and that are not."""
    pairs = Counter((each.stack, beside) for each, beside in zip(samples, close, strict=True))
    seen: dict[Place, Counter[bool]] = defaultdict(Counter)
    for (stack, beside), count in pairs.items():
        for place in places[stack]:
            seen[place][beside] += count
    return seen


def _weights(samples: Sequence[Sample], places: Mapping[int, set[Place]]) -> dict[Place, float]:
    """The samples of each place that would lie close to another thread's at any distance, if all
    threads worked side by side. Where several threads run the code, one with few samples is seldom
    close to one with many."""
    threads = Counter(each.tid for each in samples)
    most = max(threads.values(), default=1)
    beside = {tid: min(1.0, (threads.total() - n) / most) for tid, n in threads.items()}
    found: dict[Place, Counter[int]] = defaultdict(Counter)
    for (stack, tid), count in Counter((each.stack, each.tid) for each in samples).items():
        for place in places[stack]:
            found[place][tid] += count
    return {
        place: sum(n * beside[tid] for tid, n in by.items()) if len(by) > 1 else by.total()
        for place, by in found.items()
    }


def _odds(
    seen: Mapping[Place, Counter[bool]], weights: Mapping[Place, float], within: float
) -> dict[Place, float]:
    """For each place the likelihood ratio of code that runs alone to code that runs side by side,
    as a logarithm: the counts of close samples are Poisson's."""
    return {
        place: count[True] * math.log(_SERIAL / _PARALLEL)
        + 2 * within * weights[place] * (_PARALLEL - _SERIAL)
        for place, count in seen.items()
    }


def _distances(samples: Sequence[Sample]) -> list[float]:
    """For each sample, the time to the nearest sample of another thread."""
    after = reversed(list(_gaps(samples[::-1])))
    return [min(pair) for pair in zip(_gaps(samples), after, strict=True)]


def _gaps(samples: Iterable[Sample]) -> Iterator[float]:
    """For each sample, the time since the last sample of another thread."""
    newest = other = (0, math.inf)  # thread and time; `other`: of another thread than the newest
    for sample in samples:
        if sample.tid != newest[0]:
            other = newest
        yield abs(sample.at_ns - other[1])
        newest = (sample.tid, sample.at_ns)


def _code(recording: Recording, stack: int) -> Place:
    """The piece of code in which a sample was taken."""
    [(module, address), *_] = recording.stacks.get(stack) or [(0, 0)]
    return module, -(address // BUCKET)


def _places(recording: Recording, names: Names, stack: int) -> Iterator[Place]:
    for frame in names.frames(stack, True):
        if not is_beneath(frame):
            yield frame.name
    yield _code(recording, stack)
    yield from recording.stacks.get(stack, ())[1:]


def _named(names: Names, samples: Sequence[Sample], serial: set[Place]) -> tuple[str, str]:
    """The innermost function that has nearly all of these samples."""
    found: Counter[str] = Counter()
    depths: Counter[str] = Counter()  # from the innermost
    places: dict[str, str] = {}
    for sample in samples:
        own = {f.name: f.where for f in names.frames(sample.stack, True) if f.name in serial}
        found.update(own.keys())
        for depth, name in enumerate(own):
            depths[name] += depth
        places |= own
    most = [name for name, count in found.items() if count >= _NEARLY_ALL * len(samples)]
    name = min(most, key=lambda each: (depths[each] / found[each], each), default="")
    return name, places.get(name, "")

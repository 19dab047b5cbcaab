"""The places that make threads. Several places of one function may make threads with the same work,
because a compiler unrolls a loop, or because the program has a statement for each thread."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from threadmark.kinds.explain.analysis.frames import Frame, is_of_library
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording, Thread
from threadmark.kinds.explain.analysis.slow_paths import innermost_own

SAME = 0.5  # of the samples are in the same functions
_ENOUGH = 3  # samples of a place's threads
_PASS_ON = ("libc.", "libc-", "libc+", "libpthread", "libstdc++")  # they make threads for others
_NAMELESS = ("{lambda", "$_", "+0x")  # in names that several functions may have
Place = tuple[int, int]  # the maker and its stack; of other threads -1 and the thread


def place_of(thread: Thread) -> Place:
    """The place that made the thread."""
    return (thread.maker, thread.made_at) if thread.made_at else (-1, thread.tid)


def united_places(
    recording: Recording, names: Names, starts: Mapping[int, set[str]]
) -> dict[Place, Place]:
    """For each place whose threads do the same as those of another one, that one. Both places lie
    in one function, or in one library that has threads of its own. The threads begin in the same
    functions and mostly work in the same ones: stages of a pipeline only begin in the same ones."""
    threads: dict[Place, set[int]] = defaultdict(set)
    for thread in recording.threads.values():
        if thread.made_at:
            threads[place_of(thread)].add(thread.tid)
    origins: dict[tuple[int, str], list[Place]] = defaultdict(list)
    for place in sorted(threads):
        origins[_maker(place, names)].append(place)
    samples: dict[int, Counter[int]] = defaultdict(Counter)
    for sample in recording.samples:
        samples[sample.tid][sample.stack] += 1
    found: dict[Place, Place] = {}
    for (_, function), places in origins.items():
        first: list[tuple[Place, set[str], Counter[str]]] = []
        for place in places if function and len(places) > 1 else ():
            begin = set().union(*(starts.get(tid, set()) for tid in threads[place]))
            stacks = sum((samples[tid] for tid in threads[place]), Counter[int]())
            did = Counter(each[0] for each in work_in(names, stacks))
            same = (p for p, began, work in first if begin & began and alike(did, work) >= SAME)
            united = next(same, None)
            if united:
                found[place] = united
            elif did.total() >= _ENOUGH:
                first.append((place, begin, did))
    return found


def _maker(place: Place, names: Names) -> tuple[int, str]:
    """The thread and the function that make threads, or a library in any thread."""
    frames = names.frames(place[1])
    library = frames[0].module if frames and not frames[0].own else ""
    if library and not library.startswith(_PASS_ON):
        return 0, library
    return place[0], innermost_own(frames).name


def work_in(names: Names, stacks: Mapping[int, int]) -> list[Sequence[str]]:
    """For each sample in the program, the functions, innermost first; `stacks` are those of the
    samples, with their numbers."""
    found: list[Sequence[str]] = []
    for stack, count in stacks.items():
        functions = [f.name for f in names.frames(stack, True) if has_own_name(f)]
        found += [functions] * count if functions else []
    return found


def alike(one: Counter[str], other: Counter[str]) -> float:
    """The share that two divisions have in common; 0 if one of them is empty."""
    if not one or not other:
        return 0.0
    return sum(min(n / one.total(), other[name] / other.total()) for name, n in one.items())


def has_own_name(frame: Frame) -> bool:
    """Whether the frame is a function of the program with a name that no other one has."""
    return not is_of_library(frame) and not any(each in frame.name for each in _NAMELESS)

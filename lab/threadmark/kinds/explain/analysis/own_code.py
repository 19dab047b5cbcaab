"""Code that one thread has of its own, beside code that all threads have in common. The samples may
be too few to show whether threads run side by side, but they show such code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from threadmark.kinds.explain.analysis.frames import is_of_library
from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Sample

Place = str | tuple[int, int]  # a function, or module and address of code

_MUCH = 0.3  # of a thread's samples
_NOT_CHANCE = 8  # samples of a piece of code: others would have some there if they ran it
_FEWEST = 4  # samples in common code


def of_one_thread(samples: Sequence[Sample], code: Callable[[Sample], Place]) -> list[Sample]:
    """The samples of the thread with most code of its own, if that is much of its work, and the
    rest of its work and nearly all of the others' are in common code. Else none. `code`: the piece
    of code of a sample."""
    by: dict[Place, Counter[int]] = defaultdict(Counter)
    for each in samples:
        by[code(each)][each.tid] += 1
    own_code = {k: n for k, n in by.items() if len(n) == 1 and n.total() >= _NOT_CHANCE}
    own = sum(own_code.values(), Counter[int]())
    whole = sum(by.values(), Counter[int]())
    tid = max(own, key=own.__getitem__, default=0)
    others = whole.total() - whole[tid]
    takes_part = own[tid] <= whole[tid] - _FEWEST and own.total() - own[tid] < _MUCH * others
    if own[tid] < _MUCH * whole[tid] or not takes_part:
        return []
    return [each for each in samples if each.tid == tid and code(each) in own_code]


def own_functions(own: Sequence[Sample], samples: Sequence[Sample], names: Names) -> set[Place]:
    """The program's functions that only the thread with the `own` samples runs."""
    threads = {each.tid for each in own}

    def functions(stacks: set[int]) -> set[Place]:
        frames = (frame for stack in stacks for frame in names.frames(stack, True))
        return {frame.name for frame in frames if not is_of_library(frame)}

    others = {each.stack for each in samples if each.tid not in threads}
    return functions({each.stack for each in own}) - functions(others)

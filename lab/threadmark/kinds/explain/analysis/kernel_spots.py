"""The spots at which running threads are in the kernel: memory, the making of threads, files."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.pieces import Piece
from threadmark.kinds.explain.analysis.recording import Sample
from threadmark.kinds.explain.analysis.sleeps import MAKING
from threadmark.kinds.explain.analysis.slow_paths import innermost_own
from threadmark.kinds.explain.analysis.spots import Spot, spot_of

_PART = 0.1  # of samples; fewer may be chance
_NAMED = 3  # functions
_OF_LIBRARY = re.compile(r"^_*(GI_|libc_)?_*|64$")  # additions of the C library's own names


def in_kernel(samples: list[Sample], names: Names, knowledge: Knowledge) -> list[Spot]:
    """Page faults and mappings; those of threads' stacks are a spot of their own."""
    of_threads: dict[Piece, list[Sample]] = defaultdict(list)
    rest = []
    for sample in samples:
        piece = knowledge.cause(names.frames(sample.stack, True))
        if piece is not None and piece.category == MAKING:
            of_threads[piece].append(sample)
        else:
            rest.append(sample)
    spots = [_memory(rest, names, knowledge)] if rest else []
    for piece, found in of_threads.items():
        own = innermost_own(names.frames(found[0].stack, True))
        made = ("starting", piece.name, own.where)
        spots.append(spot_of(MAKING, made, piece.words, found, piece=piece))
    return spots


def _memory(samples: list[Sample], names: Names, knowledge: Knowledge) -> Spot:
    """Page faults and mappings, with the name of the allocator if it asks for them."""
    words = "the kernel maps and unmaps memory, and page faults fill it"
    asked = 0
    for sample in samples:
        piece = knowledge.cause(names.frames(sample.stack, True)[1:])
        asked += piece is not None and piece.category == "allocator"
    if asked > _PART * len(samples):
        words += "; the allocator gives memory back and takes it again (malloc, free)"
    heaviest = Counter(sample.stack for sample in samples).most_common(1)[0][0]
    first = next(sample for sample in samples if sample.stack == heaviest)
    own = innermost_own(names.frames(first.stack, True))
    found = ("kernel_memory", own.name, own.where)
    return spot_of("kernel_memory", found, words, samples)


def calls(samples: list[Sample], names: Names) -> Spot:
    """System calls for files, by the functions of the C library that make most of them."""
    stacks = [names.frames(sample.stack, True) for sample in samples]
    named = Counter(_OF_LIBRARY.sub("", frames[0].name) for frames in stacks)
    often = [name for name, _ in named.most_common(_NAMED)]
    words = f"threads run in the kernel, in calls for files ({', '.join(often)})"
    own = Counter(innermost_own(frames) for frames in stacks).most_common(1)[0][0]
    spot = spot_of("io", ("io", own.name, own.where), words, samples)
    spot.certain = False
    spot.doubt = "or the calls of several threads run side by side"
    return spot

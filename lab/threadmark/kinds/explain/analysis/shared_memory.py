"""Finds the samples of useful code at memory that several threads use, so that its cache lines move
between processors."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cached_property

from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.spots import LINE, address_of, operand_of

_PAGE = 4096
_PART = 0.5  # of the samples at such pages are at lines that others changed


class SharedMemory:
    """The shared memory of one record."""

    def __init__(self, recording: Recording, names: Names) -> None:
        self._recording = recording
        self._names = names

    def used(self, tid: int, stack: int, *, near: bool) -> float:
        """The number of samples of a thread with this stack at a line that one thread writes and
        another uses. `near`: samples at a page that another thread uses count half, because a line
        of a large heap is sampled once, and threads with a lock work at data that others change.
        """
        lines, pages = (found[tid, stack] for found in self._at)
        return lines + (_PART * (pages - lines) if near else 0.0)

    @cached_property
    def _at(self) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
        users: dict[int, set[int]] = defaultdict(set)  # by line, and by page
        written: set[int] = set()
        touched: list[tuple[int, int, int]] = []  # thread, stack, address
        for sample in self._recording.samples:
            operand = None if sample.kernel else operand_of(sample, self._recording, self._names)
            address = None if operand is None else address_of(operand, sample)
            if operand is None or address is None:
                continue
            touched.append((sample.tid, sample.stack, address))
            users[address // LINE].add(sample.tid)
            users[-1 - address // _PAGE].add(sample.tid)
            if operand.writes or not operand.plain:
                written.add(address // LINE)
        lines, pages = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
        for tid, stack, address in touched:
            line = address // LINE
            lines[tid, stack] += line in written and len(users[line]) > 1
            pages[tid, stack] += len(users[-1 - address // _PAGE]) > 1
        return lines, pages

"""Stacks as the answer shows them, and who held and who waited, by stack."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.recording import Recording

MOST_FRAMES = 16
_MOST_STACKS = 8
_GLUE = re.compile(
    r"__invoke(_impl)?|std::(__\w+::)?(__invoke\w*|thread::_Invoker::.*|thread::_State_impl::.*|"
    r"_Function_handler::.*|function::operator\(\)|__function::.*|__thread_proxy|"
    r"__thread_execute|__async_func::.*|invoke|__apply_impl|apply)"
)
_OUTSIDE = re.compile(
    r"_start|__libc_start\w*|start_thread|clone3?|__clone3?|execute_native_thread_routine|std::.*|"
    r"libc\.so\S*\+0x\w+|libstdc\+\+\S*\+0x\w+|ld-linux\S*\+0x\w+"
)


@dataclass(frozen=True)
class Party:
    """One stack with its share of what it is listed for."""

    share: float
    frames: tuple[str, ...]
    hold_us: float | None = None


class Stacks:
    """The stacks of one record, bare of wrappers and glue."""

    def __init__(self, recording: Recording, names: Names, knowledge: Knowledge) -> None:
        self.recording = recording
        self._names = names
        self._knowledge = knowledge

    def frames(self, stack: int, exact: bool = False) -> tuple[Frame, ...]:
        """Innermost first, without wrappers of locks, glue and what lies outside the program."""
        whole = self._names.frames(stack, exact)
        bare = [f for f in self._knowledge.bare(whole) if not _GLUE.fullmatch(f.name)]
        while len(bare) > 1 and _OUTSIDE.fullmatch(bare[-1].name):
            bare.pop()
        return tuple(bare[:MOST_FRAMES])

    def parties(
        self,
        weights: Mapping[int, float],
        exact: bool = False,
        held: Mapping[int, tuple[int, int]] | None = None,
    ) -> list[Party]:
        """Stacks that look alike as one, the heaviest first. `held`: stack -> holds and time."""
        found: Counter[tuple[str, ...]] = Counter()
        holds: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
        for stack, weight in weights.items():
            names = tuple(each.name for each in self.frames(stack, exact))
            if names and weight > 0:
                found[names] += round(weight)
                number, ns = (held or {}).get(stack, (0, 0))
                holds[names][0] += number
                holds[names][1] += ns
        total = sum(found.values())
        ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
        return [
            Party(
                weight / total,
                names,
                round(holds[names][1] / holds[names][0] / 1e3, 3) if holds[names][0] else None,
            )
            for names, weight in ordered[:_MOST_STACKS]
            if total
        ]

    def holders(self, things: Iterable[int]) -> list[Party]:
        """Who held these things while others waited."""
        wanted = set(things)
        held = {h.stack: (h.holds, h.hold_ns) for h in self.recording.holds if h.thing in wanted}
        weights: Counter[int] = Counter()
        for pair in self.recording.pairs:
            if pair.thing in wanted and pair.holder:
                weights[pair.holder] += pair.wait_ns
        if not weights:
            for hold in self.recording.holds:
                if hold.thing in wanted:
                    weights[hold.stack] += hold.blamed_ns or hold.hold_ns
        return self.parties(dict(weights), held=held)

    def waiters(self, things: Iterable[int]) -> list[Party]:
        """Who waited for them."""
        wanted = set(things)
        weights: Counter[int] = Counter()
        for pair in self.recording.pairs:
            if pair.thing in wanted:
                weights[pair.waiter] += pair.wait_ns
        return self.parties(dict(weights))

    def working(self, threads: Mapping[int, float]) -> list[Party]:
        """What these threads did when they were sampled."""
        weights: Counter[int] = Counter()
        for sample in self.recording.samples:
            if sample.tid in threads:
                weights[sample.stack] += 1
        return self.parties(dict(weights), exact=True)

    def first(self, stack: int) -> Frame | None:
        """The innermost function of a stack that is the program's own, else the innermost."""
        frames = self.frames(stack)
        own = [each for each in frames if each.own and not each.name.startswith("std::")]
        return next(iter(own or frames), None)

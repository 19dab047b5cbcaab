"""Pipes and eventfds between threads of one process: a thread that waits in a call on such a
descriptor waits for the work of the threads that use its other end."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cached_property

from threadmark.kinds.explain.analysis.meaning import Names
from threadmark.kinds.explain.analysis.recording import Glance, Recording
from threadmark.kinds.explain.analysis.requests import POLL
from threadmark.kinds.explain.analysis.roles import outer

_PIPE = re.compile(r"pipe:\[\d+\]")  # both ends have its number
_EVENT = "anon_inode:[eventfd]"  # has a single end, and no number
_POLLED = re.compile(r"socket:|/dev/(tty|pts|input)|anon_inode:(?!\[event)|inotify")
_OUTER = 2  # functions of a role: threads may all begin in a lambda of one function
Role = tuple[str, ...]


class Channels:
    """The channels of one record."""

    def __init__(self, recording: Recording, names: Names) -> None:
        self._recording = recording
        self._names = names

    def others(self, glance: Glance) -> set[int]:
        """The threads of the process that use the other end; empty if it is no such channel. A
        thread that polls waits for those at the other ends of the channels that it reads, or for
        any thread if it is not known which it reads. A program with other descriptors that one
        polls may wait for one of those."""
        if glance.activity != POLL:
            return self._at_end(glance.tid, glance.thing)
        if self._polls_others:
            return set()
        known = [e for e in self._read if self._users.get(e, set()) & self._roles[glance.tid]]
        found = set().union(*(self._at_end(glance.tid, each) for each in known))
        own = self._recording.threads.get(glance.tid)
        if found or not self._read or own is None:
            return found
        threads = self._recording.threads.values()
        return {each.tid for each in threads if each.process == own.process} - {own.tid}

    def _at_end(self, tid: int, thing: int) -> set[int]:
        ends = self._opposite.get(thing, set())
        own = self._recording.threads.get(tid)
        if not ends or own is None:
            return set()
        roles = set().union(*(self._users.get(each, set()) for each in ends))
        if thing in ends:
            roles -= self._roles[tid]
        return {
            each
            for each, them in self._roles.items()
            if each != tid
            and roles & them
            and (other := self._recording.threads.get(each))
            and other.process == own.process
        }

    def is_unclear(self, thing: int) -> bool:
        """Whether a descriptor has another end in the program whose users are not known: without
        debug information inlined functions have no name."""
        ends = self._opposite.get(thing, set())
        return bool(ends) and not any(role for each in ends for role in self._users.get(each, ()))

    @cached_property
    def computes(self) -> set[int]:
        """The threads that mostly run code of their own, and little of the kernel's. If such a
        thread runs in a call on a channel, it has just got a result or hands one on."""
        ran: Counter[tuple[int, bool]] = Counter(
            (each.tid, each.kernel) for each in self._recording.samples
        )
        return {tid for tid, kernel in ran if not kernel and ran[tid, False] > ran[tid, True]}

    @cached_property
    def permits(self) -> dict[int, Counter[int]]:
        """The pipes of which the program makes semaphores, by the read end: threads read a byte
        before some work, and write it back afterwards. With the stacks that write."""
        bytes_only = {each.thing for each in self._recording.files if 0 < each.writes == each.bytes}
        readers: dict[int, set[int]] = defaultdict(set)
        for tick in self._recording.ticks:
            for glance in tick.glances:
                if glance.activity == "io":
                    readers[glance.thing].add(glance.tid)
        found: dict[int, Counter[int]] = {}
        for thing, ends in self._opposite.items():
            gives = set().union(*(self._users.get(each, set()) for each in ends))
            takes = self._users.get(thing, set())
            if thing not in ends <= bytes_only and len(readers[thing]) > 1 and takes <= gives:
                found[thing] = Counter()
                for pair in self._recording.pairs:
                    if pair.thing in ends and pair.waiter:
                        found[thing][pair.waiter] += pair.waits
        return found

    @cached_property
    def _read(self) -> set[int]:
        """The descriptors of channels that threads read from."""
        written = {each.thing for each in self._recording.files if each.writes > 0}
        return {thing for thing, ends in self._opposite.items() if thing not in written - ends}

    @cached_property
    def _polls_others(self) -> bool:
        return any(_POLLED.match(each.path) for each in self._recording.files)

    @cached_property
    def _opposite(self) -> dict[int, set[int]]:
        """By descriptor, the descriptors of its other end."""
        pipes: dict[str, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
        found: dict[int, set[int]] = {}
        for each in self._recording.files:
            if _PIPE.fullmatch(each.path):
                pipes[each.path][each.writes > 0].add(each.thing)
            elif each.path == _EVENT:
                found[each.thing] = {each.thing}
        for read, written in pipes.values():
            found |= dict.fromkeys(read, written) | dict.fromkeys(written, read)
        return found

    @cached_property
    def _users(self) -> dict[int, set[Role]]:
        """By descriptor, the roles of the threads that call read or write on it."""
        found: dict[int, set[Role]] = defaultdict(set)
        for pair in self._recording.pairs:
            if pair.thing in self._opposite and pair.waiter:
                found[pair.thing].add(outer(self._names.frames(pair.waiter), _OUTER))
        return found

    @cached_property
    def _roles(self) -> dict[int, set[Role]]:
        """The roles in which samples and ticks saw each thread, and the first functions of the
        roles."""
        seen = {(each.tid, each.stack) for each in self._recording.samples}
        for tick in self._recording.ticks:
            seen |= {(each.tid, each.stack) for each in tick.glances if each.stack}
        found: dict[int, set[Role]] = defaultdict(set)
        for tid, stack in seen:
            if role := outer(self._names.frames(stack), _OUTER):
                found[tid] |= {role[:1], role}
        return found

"""The wake-up graph: the threads that wake others, with the reasons and the places of the wakes.

Threads with one outermost function are one node. The agent's pairs show the holder of a lock or the
signaller of an event, ticks show the waits for ends, and the kernel's wakes the rest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.naming import Naming
from threadmark.kinds.explain.analysis.reasons import Reason
from threadmark.kinds.explain.analysis.recording import Recording, Thread, Wake
from threadmark.kinds.explain.analysis.roles import Roles, outermost
from threadmark.kinds.explain.analysis.stacks import Stacks

_EDGES = 100
_NODES = 64
_CALLS = ("io", "poll")
_Key = tuple[str, str, str]  # names of the two nodes, and the purpose of the wait


@dataclass
class _Edge:
    wakes: int = 0
    waited_ns: float = 0.0
    places: Counter[tuple[int, bool]] = field(default_factory=Counter)  # stack, exact


class Wakeups:
    """The wake-ups of one record."""

    def __init__(
        self,
        recording: Recording,
        names: Names,
        knowledge: Knowledge,
        roles: Roles,
        stacks: Stacks,
        account: Account,
    ) -> None:
        self._recording = recording
        self._names = names
        self._knowledge = knowledge
        self._roles = roles
        self._stacks = stacks
        self._account = account
        self._naming = Naming(recording, names, stacks)
        self._edges: dict[_Key, _Edge] = defaultdict(_Edge)

    def graph(self) -> dict[str, Any]:
        """Nodes and edges as plain values, the edges with the longest waits first."""
        self._edges.clear()
        self._add_pairs()
        self._add_ends()
        self._add_wakes()
        edges = sorted(self._edges.items(), key=lambda e: (-e[1].waited_ns, -e[1].wakes, e[0]))
        edges = edges[:_EDGES]
        linked = {name for key, _ in edges for name in key[:2]}
        sizes = Counter(self.node(tid) for tid in self._recording.threads)
        nodes = sorted(sizes, key=lambda name: (name not in linked, -sizes[name], name))
        nodes = nodes[: max(_NODES, len(linked))]
        number = {name: index for index, name in enumerate(nodes)}
        return {
            "nodes": [{"name": name, "threads": sizes[name]} for name in nodes],
            "edges": [
                {
                    "from": number[waker],
                    "to": number[woken],
                    "wakes": edge.wakes,
                    "waited_s": round(edge.waited_ns / 1e9, 6),
                    "for": what,
                    "at": self._place(edge),
                }
                for (waker, woken, what), edge in edges
            ],
        }

    def node(self, tid: int) -> str:
        """The name of the node that a thread belongs to."""
        thread = self._recording.threads[tid]
        return self._own_name(thread) or self._names_by_maker.get(
            (thread.maker, thread.made_at), thread.name or f"thread {tid}"
        )

    def _own_name(self, thread: Thread) -> str:
        return min(self._roles.starts.get(thread.tid, ()), default="")

    @cached_property
    def _names_by_maker(self) -> dict[tuple[int, int], str]:
        """Names of threads without a known stack: the name of others made at the same place, or of
        that place."""
        found: dict[tuple[int, int], str] = {}
        for thread in self._recording.threads.values():
            maker = self._stacks.first(thread.made_at) if thread.made_at else None
            if maker is not None:
                key = (thread.maker, thread.made_at)
                name = self._own_name(thread)
                if name or key not in found:
                    found[key] = name or f"made in {maker.name}"
        return found

    @cached_property
    def _nodes(self) -> dict[str, str]:
        """The names of the nodes, by outermost function of their threads."""
        found: dict[str, str] = {}
        for tid in self._recording.threads:
            for start in sorted(self._roles.starts.get(tid, ())):
                found.setdefault(start, self.node(tid))
        return found

    def _of_stack(self, stack: int) -> str:
        return self._nodes.get(outermost(self._names.frames(stack)), "")

    def _place(self, edge: _Edge) -> list[str]:
        if not edge.places:
            return []
        stack, exact = min(edge.places, key=lambda place: (-edge.places[place], place))
        return list(self._stacks.names(stack, exact=exact))

    def _add_pairs(self) -> None:
        for pair in self._recording.pairs:
            waker, woken = self._of_stack(pair.holder), self._of_stack(pair.waiter)
            if not pair.holder or not waker or not woken:
                continue
            thing = self._recording.things.get(pair.thing)
            reason = Reason("lock", pair.activity, pair.thing)
            edge = self._edges[waker, woken, self._naming.of(reason, thing, pair.waiter).name]
            edge.wakes += pair.waits
            edge.waited_ns += pair.wait_ns
            edge.places[pair.holder, False] += max(1, pair.wait_ns)

    def _add_ends(self) -> None:
        """Joins: the end of a thread wakes the threads that await it."""
        ended: dict[_Key, set[tuple[int, int]]] = defaultdict(set)
        before = self._recording.began_ns
        for tick in self._recording.ticks:
            for each in tick.glances:
                threads = self._recording.threads
                if each.activity == "join" and each.awaited in threads and each.tid in threads:
                    awaited = self.node(each.awaited)
                    key = (awaited, self.node(each.tid), f"the end of {awaited}")
                    ended[key].add((each.awaited, each.tid))
                    self._edges[key].waited_ns += max(0, tick.at_ns - before)
            before = tick.at_ns
        for key, pairs in ended.items():
            self._edges[key].wakes = len(pairs)

    def _add_wakes(self) -> None:
        """Wakes without a pair of the agent. Their time is the woken thread's wait that the agent
        does not know, divided by the weights of the wakes."""
        told = {pair.thing for pair in self._recording.pairs if pair.holder and pair.thing}
        threads = self._recording.threads
        untold: dict[int, list[Wake]] = defaultdict(list)
        for wake in self._recording.wakes:
            counts = wake.woken in self._account.threads
            known = wake.tid in threads and counts and wake.thing not in told
            if known and self._stacks.names(wake.stack, exact=True):
                untold[wake.woken].append(wake)
        for woken, wakes in untold.items():
            time = self._account.threads[woken]
            waited = time.unseen_ns + sum(time.waits.get(name, 0.0) for name in _CALLS)
            total = sum(each.weight for each in wakes)
            for wake in wakes:
                edge = self._edges[self.node(wake.tid), self.node(woken), self._what(wake)]
                edge.wakes += wake.weight
                edge.waited_ns += waited * wake.weight / total
                edge.places[wake.stack, True] += wake.weight

    def _what(self, wake: Wake) -> str:
        """The purpose of the woken thread's wait."""
        frames = self._names.frames(wake.stack, True)
        piece = self._knowledge.cause(frames)
        if piece is not None:
            return piece.name
        thing = self._recording.things.get(wake.thing)
        if thing is None:
            return frames[0].name  # the call that woke it
        return self._naming.of(Reason("lock", "own_lock", thing.id), thing, wake.stack).name

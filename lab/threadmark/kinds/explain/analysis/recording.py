"""A record as typed values. probe/record.md has its fields; unknown ones are ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any


@dataclass(frozen=True)
class Module:
    """A mapped file. Addresses of frames in it are those of its ELF headers."""

    path: str
    build_id: str
    low: int
    high: int
    offset: int
    bias: int | None = None  # absolute address less the address in the ELF headers


@dataclass(frozen=True)
class Symbol:
    """A function or object (`data`) of a file, by its name for the linker."""

    module: int
    address: int
    size: int
    data: bool
    name: str


@dataclass(frozen=True)
class Code:
    """Instructions of a file, for x86-64."""

    module: int
    address: int
    content: bytes


@dataclass(frozen=True)
class Total:
    """Time and number of the waits of one thread for things of one kind."""

    ns: int
    times: int


@dataclass(frozen=True)
class Thread:
    """One thread. `ended_ns` is never 0: a thread that lived to the end ended with the record."""

    tid: int
    name: str
    maker: int
    made_at: int
    began_ns: int
    ended_ns: int
    run_ns: int
    ready_ns: int
    totals: Mapping[str, Total]
    allowed: tuple[int, ...] = ()  # processors; empty: not known
    process: int = 0  # its pid; 0: the first process
    whole_ns: int = 0  # its life before a part was cut out of it; 0: it is whole

    @property
    def life_ns(self) -> int:
        """From birth to end."""
        return max(0, self.ended_ns - self.began_ns)


@dataclass(frozen=True)
class Thing:
    """A thing that a thread waited for: a lock, a condition, a thread, a file."""

    id: int
    what: str
    address: int
    module: int
    offset: int
    made_at: int
    kind: str  # of a mutex: normal, recursive, ...
    region: str
    waits: int
    wait_ns: int
    longest_ns: int
    holds: int
    hold_ns: int
    signals: int
    signal_stack: int
    sampled: bool = False  # seen by ticks only
    shared: bool = False  # by processes
    broadcasts: int = 0  # of the signals, those for all waiters
    mutex: int = 0  # of a condition: its waiters lock this thing again; 0: not known
    futile: int = 0  # of a condition: waits that were signalled for nothing


@dataclass(frozen=True)
class Pair:
    """Waits of one stack for a thing that another stack held."""

    thing: int
    activity: str
    waiter: int
    holder: int
    waits: int
    wait_ns: int
    has: int = 0  # of input and output: the stack that took the thread's lock


@dataclass(frozen=True)
class Hold:
    """The time for which takers with one stack held a thing, also times the waiting threads."""

    thing: int
    stack: int
    holds: int
    hold_ns: int
    blamed_ns: int


@dataclass(frozen=True)
class Sample:
    """A look at a thread on a processor."""

    tid: int
    at_ns: int
    stack: int
    registers: Mapping[str, int]
    kernel: bool = False  # it ran in the kernel; registers and stack are those of the program
    weight: int = 1  # similar moments that it stands for
    entry: str = ""  # the way into the kernel: call, fault, interrupt
    preempted: bool = False  # it was still ready
    sleeps_in: str = ""  # function of the kernel


@dataclass(frozen=True)
class Glance:
    """A thread at a tick."""

    tid: int
    activity: str
    thing: int
    stack: int
    awaited: int
    state: str  # of the kernel: R S D T Z
    call: int  # number of the system call or -1
    run_ns: int
    ready_ns: int

    @property
    def works(self) -> bool:
        """Whether it has a processor or asks for one."""
        return self.state == "R"


@dataclass(frozen=True)
class Tick:
    """All threads at one moment."""

    at_ns: int
    glances: tuple[Glance, ...]


@dataclass(frozen=True)
class Wake:
    """A thread made another ready; the stack is the waker's."""

    tid: int
    at_ns: int
    stack: int
    woken: int
    weight: int  # wakes that it stands for
    thing: int  # that the woken thread slept for; 0: not known


@dataclass(frozen=True)
class Written:
    """The writes to one file."""

    tid: int
    path: str
    writes: int
    bytes: int
    ns: int
    thing: int = 0


@dataclass(frozen=True)
class Part:
    """The selection of a part of a record: some of its threads, some of its time."""

    threads: tuple[str, ...] = ()  # patterns of names, or numbers; empty: all
    from_s: float | None = None  # since the recording began
    to_s: float | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return not self.threads and self.from_s is None and self.to_s is None

    @property
    def words(self) -> str:
        """'threads named io*, from 0.5 s to 1 s'."""
        found = [f"threads named {' or '.join(self.threads)}"] if self.threads else []
        ends = (("from", self.from_s), ("to", self.to_s))
        time = " ".join(f"{word} {value:.4g} s" for word, value in ends if value is not None)
        return ", ".join([*found, time] if time else found)


WHOLE = Part()
_SHORT_NS = 5_000_000  # a thread with a shorter life was made for one piece of work
_MANY = 50  # such threads


def short_threads(recording: Recording) -> set[int]:
    """The threads of a storm: many threads with short lives."""
    longest: Counter[int] = Counter()  # numbers are used again
    for each in recording.threads.values():
        longest[each.tid] = max(longest[each.tid], each.whole_ns or each.life_ns)
    found = {tid for tid, ns in longest.items() if ns < _SHORT_NS and tid != recording.pid}
    return found if recording.in_storm or len(found) >= _MANY else set()


@dataclass(frozen=True)
class Recording:
    """A record, whole or a part of it."""

    command: tuple[str, ...]
    pid: int
    began_ns: int
    ended_ns: int
    exit_status: int
    signal: int
    tier: Mapping[str, Any]
    processors: int
    cpus: tuple[int, ...]
    tick_ns: int
    limits: tuple[str, ...]
    agent_ns: int
    machine: Mapping[str, Any]
    # The cost of an operation if no other thread uses its cache line, as a part of its cost if all
    # do: `contention` in record.md. Empty: not measured.
    alone: Mapping[str, float] = field(default_factory=dict)
    steal_ns: int = 0  # processor time that the host kept, of all processors
    modules: Mapping[int, Module] = field(default_factory=dict)
    stacks: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    exact: frozenset[int] = frozenset()  # stacks whose first address is no return address
    threads: Mapping[int, Thread] = field(default_factory=dict)
    things: Mapping[int, Thing] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    holds: tuple[Hold, ...] = ()
    samples: tuple[Sample, ...] = ()
    switches: tuple[Sample, ...] = ()  # threads as they left their processors
    ticks: tuple[Tick, ...] = ()
    wakes: tuple[Wake, ...] = ()
    files: tuple[Written, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    code: tuple[Code, ...] = ()
    part: Part | None = None  # None: it is whole
    context: frozenset[int] = frozenset()  # threads outside of the part: see `counts`
    in_storm: bool = False  # the whole record has many short-lived threads

    def counts(self, tid: int) -> bool:
        """Whether the time of a thread counts. The others show the reasons of its waits."""
        return tid not in self.context

    @cached_property
    def own_ticks(self) -> int:
        """Ticks that show a thread that counts."""
        return sum(any(self.counts(g.tid) for g in tick.glances) for tick in self.ticks)

    @property
    def own_samples(self) -> Iterator[Sample]:
        """The samples of threads that count."""
        return (each for each in self.samples if self.counts(each.tid))

    @property
    def sample_ns(self) -> int:
        """Processor time between two samples of a thread; 0: there are none."""
        found = self.tier.get("sample_ns")
        return max(0, found) if isinstance(found, int) else 0

    @property
    def wall_ns(self) -> int:
        """From the start of the target to its end."""
        return max(0, self.ended_ns - self.began_ns)


def most_at_once(recording: Recording) -> int:
    """The most threads that lived at one time."""
    counted = [t for t in recording.threads.values() if recording.counts(t.tid)]
    events = [(t.began_ns, 1) for t in counted] + [(t.ended_ns, -1) for t in counted]
    return max(accumulate(change for _, change in sorted(events)), default=0) or len(counted)

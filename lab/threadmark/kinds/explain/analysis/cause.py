"""A cause in the terms of the contract, and the rules that join causes of one origin."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from threadmark.kinds.explain.analysis.pieces import Piece
from threadmark.kinds.explain.analysis.stacks import Party

FEWEST_TICKS = 5  # that make a passed-on wait certain
FEW = "few observations show it"
PASSED_ON = ("imbalance", "serial_dependency")
TAKEN = ("mutex", "rwlock", "spin", "allocator", "stdio", "loader")
_WORDS = ("atomic", "false_sharing")
INTERRUPTED = ("mutex", "rwlock", "spin")  # whose holder may lose its processor meanwhile
AWAITED = "serial_dependency"  # the work of such a thread
LITTLE = 0.06  # of thread time
_GUESS = 10  # times the cost of a spin lock
MUCH = 0.5  # of another cause
SOME = 0.25  # of another cause
RUNTIME, SEEKS, SPINNERS = "runtime", "seeks", "spinners"  # cases
LEAST = 0.04  # of thread time; less is no cause
LEAST_OF = {
    "kernel_memory": 0.1,  # each program maps and fills its memory once
    "run_queue": 1.1,  # of the other time: that of two threads for each processor
    # Threads with the same work also end at different moments by chance.
    **dict.fromkeys((*PASSED_ON, "barrier"), 0.1),
    **dict.fromkeys(INTERRUPTED, LITTLE),  # other programs interrupt a thread that has a lock
}
SHOWN = 0.01


@dataclass
class Cause:
    """One cause, in the terms of the contract. Times in nanoseconds."""

    category: str
    name: str
    where: str
    words: str
    certain: bool = True
    ns: float = 0.0
    waits: int = 0
    wait_ns: int = 0
    things: set[int] = field(default_factory=set)
    reasons: set[tuple[str, str, int, int]] = field(default_factory=set)  # keys of its reasons
    by_thread: Counter[int] = field(default_factory=Counter)
    waiters: Counter[int] = field(default_factory=Counter)
    workers: Counter[int] = field(default_factory=Counter)
    did: Counter[int] = field(default_factory=Counter)  # stacks of their work, if known
    samples: Counter[int] = field(default_factory=Counter)
    seen: int = 0
    held: list[Party] = field(default_factory=list)
    waited: list[Party] = field(default_factory=list)
    bound: float | None = None
    doubts: set[str] = field(default_factory=set)  # of a cause that is not certain
    unsure_ns: float = 0.0  # of the united parts that are not certain
    timed: bool = True  # at least in part; else estimated from observations
    for_all: bool = False  # `did` has all that the others waited for
    anywhere: bool = False  # one cause, wherever the program meets it
    in_runtime: bool = False  # threads wait within a task runtime
    case: str = ""  # of the category: herd, convoy, SPINNERS; of a runtime: RUNTIME, SEEKS a task
    piece: Piece | None = None  # the knowledge of it

    def doubt(self, words: str) -> Cause:
        """The cause, which is not certain for the reason that the words give."""
        self.certain = False
        self.doubts.add(words)
        return self

    def is_by_turns(self, about: float) -> bool:
        """Whether threads wait for each of several threads, and for each at least this part of the
        longest wait."""
        longest = self.workers.values()
        return len(longest) > 1 and min(longest) > about * max(longest)

    def take(self, other: Cause) -> None:
        """Make another cause part of this one."""
        self.ns += other.ns
        self.timed |= other.timed
        self.seen += other.seen
        self.things |= other.things
        self.reasons |= other.reasons
        self.piece = self.piece or other.piece
        for mine, its in (
            (self.by_thread, other.by_thread),
            (self.waiters, other.waiters),
            (self.workers, other.workers),
            (self.did, other.did),
            (self.samples, other.samples),
        ):
            mine.update(its)

    def unite(self, other: Cause) -> None:
        """Take another part of the same cause, and be as certain as the parts are."""
        self.take(other)
        self.unsure_ns += 0.0 if other.certain else other.ns
        self.certain &= self.unsure_ns <= SOME * self.ns
        self.doubts |= other.doubts


def of_piece(piece: Piece, where: str) -> Cause:
    """The cause of a piece of knowledge, wherever the program meets it."""
    return Cause(piece.category, piece.name, where, piece.words, anywhere=True, piece=piece)


USED_IN = ", used in "  # after the place where an object was made
_WHOLE = ("imbalance", "serial_dependency", "sleep", "thread_creation")  # whatever their names
_BY_STACK = ("spin", "io", "kernel_memory")  # named by the function that waits


def _of_elements(name: str) -> str:
    """One name for all elements of an array: 'lines[3].lock' as 'lines[].lock'."""
    return re.sub(r"\[\d+\]", "[]", re.sub(r"\+\d+$", "", name))


def _place(name: str) -> str:
    """The function that uses an object without a name of its own; else empty."""
    return name.rpartition(" in ")[2] if " in " in name else ""


def merged(causes: list[Cause]) -> list[Cause]:
    """Joins causes of one category, name and place; the dearest first."""
    found: dict[tuple[str, str, str], Cause] = {}
    for cause in sorted(causes, key=lambda each: (-each.ns, each.category, each.name)):
        # Objects made at one place are one cause, whatever functions use each of them.
        whole = cause.category in _WHOLE
        name = "" if whole else _of_elements(cause.name).partition(USED_IN)[0]
        # Elements of an array lie at one line, but at many addresses.
        anywhere = not name or "+0x" in cause.where or cause.anywhere
        where = "" if anywhere else cause.where
        key = (cause.category, name, where)
        if key in found:
            if found[key].name != cause.name and name:
                found[key].name = _of_elements(found[key].name)
            found[key].unite(cause)
            if not found[key].name:  # no tick saw the dearest part of it
                found[key].name, found[key].where = cause.name, cause.where
        else:
            found[key] = cause
    _unite_locks(found)
    _unite_unseen(found)
    _unite_consequences(found)
    return sorted(found.values(), key=lambda each: (-each.ns, each.category, each.name))


def _unite_locks(found: dict[tuple[str, str, str], Cause]) -> None:
    """Make waits for one mutex one cause. Its name may come from different functions when threads
    wait for its condition and when they lock it."""
    by_thing: dict[int, Cause] = {}
    for key in [key for key in found if key[0] == "mutex"]:  # the dearest first
        same = {id(c): c for c in map(by_thing.get, found[key].things - {0}) if c}
        if len(same) == 1:
            (whole,) = same.values()
            if whole.case == "convoy":  # it may be named by the condition
                whole.name, whole.where = found[key].name, found[key].where
            whole.take(found.pop(key))
        else:
            by_thing |= {thing: found[key] for thing in found[key].things if thing not in by_thing}


def _is_dearer(word: Cause, lock: Cause) -> bool:
    """Whether a word costs too much to be a part of the lock of its name. All threads use the word
    of a lock, so different words are others. A loop that gives its processor away has the name of
    the word that its function uses most, which may be another one."""
    if word.category == "false_sharing":
        return word.ns > lock.ns
    return lock.category == "spin" and word.ns > _GUESS * lock.ns


def _unite_unseen(found: dict[tuple[str, str, str], Cause]) -> None:
    """Make causes with too few observations for a name a part of the causes that they belong to."""
    for key in [key for key in found if key[1] and not key[2]]:  # the same, its place not seen
        same = [k for k in found if k[:2] == key[:2] and k != key]
        if same:
            found[same[0]].take(found.pop(key))
    locks = {c.name: c for c in found.values() if c.category in TAKEN and c.name}
    for key in [k for k, c in found.items() if k[0] in _WORDS and c.name in locks]:
        if not _is_dearer(found[key], locks[found[key].name]):
            locks[found[key].name].take(found.pop(key))  # the word of the lock itself, or its line
    # A thread that spins before it sleeps on a word waits for one lock. A word without a name has
    # the name of its function.
    own = [c for c in found.values() if any(key[1] == "own_lock" for key in c.reasons)]
    futexes = {key[2]: each for each in own for key in each.reasons}
    for key in [k for k, c in found.items() if k[0] in _WORDS and c.things & futexes.keys()]:
        futexes[min(found[key].things & futexes.keys())].take(found.pop(key))
    words = {_place(each.name) or each.name: each for each in own if each.name}
    for key in [k for k in found if k[0] == "spin" and (_place(k[1]) or k[1]) in words]:
        words[_place(key[1]) or key[1]].take(found.pop(key))
    for key in [key for key in found if key[0] in _BY_STACK and not found[key].name]:
        named = next((c for c in found.values() if c.category == key[0] and c.name), None)
        if named:  # waits whose stack no tick saw
            named.take(found.pop(key))


def _unite_consequences(found: dict[tuple[str, str, str], Cause]) -> None:
    """Make waits that another cause brings about a part of that cause."""
    for key in [key for key in found if key[0] == "barrier"]:
        # Waking also takes time at a barrier at which one thread has more work.
        uneven = next((c for c in found.values() if c.category == "imbalance"), None)
        if uneven and uneven.ns > MUCH * found[key].ns and "barrier" in uneven.words:
            uneven.take(found.pop(key))
    herd = next((c for c in found.values() if c.case == "herd"), None)
    for key in [key for key in found if key[0] == "run_queue"]:
        if herd and herd.ns > SOME * found[key].ns:  # threads that are woken for nothing
            if found[key].ns > herd.ns:
                herd.doubt("or more threads have work than there are processors")
            herd.take(found.pop(key))
    runtime = next((c for c in found.values() if c.case == RUNTIME), None)
    for key in [key for key, c in found.items() if c.case == SEEKS]:
        if runtime:  # it gives its processor away while it looks for a task
            runtime.take(found.pop(key))
    tasks = next((c for c in found.values() if c.category == "task_overhead"), None)
    for key in [key for key, c in found.items() if key[0] == "barrier" and c.in_runtime]:
        if tasks:  # awaiting them while nobody works is a part of it
            tasks.take(found.pop(key))
    works = [c for c in found.values() if c.category in ("serial_dependency", "imbalance")]
    for key in [key for key in found if key[0] == "join"]:
        if works:  # between the end of the work and the waking of the waiter
            works[0].take(found.pop(key))


def is_minor(cause: Cause, rest: float) -> bool:
    """Whether the cause takes no more of the remaining time than is usual."""
    least = LEAST if cause.case == SPINNERS else LEAST_OF.get(cause.category, LEAST)
    return cause.ns < least * rest


def unite_tasks(causes: list[Cause], useful_ns: float) -> list[Cause]:
    """Joins tasks that cost about as much as their work with the waits within their runtime,
    because other threads find nothing that is worth taking. The dearest cause comes first."""
    tasks = next((c for c in causes if c.category == "task_overhead"), None)
    if tasks is None or tasks.ns < MUCH * useful_ns:
        return causes
    waits = [c for c in causes if c.in_runtime and c.category in PASSED_ON]
    if sum(each.ns for each in waits) > tasks.ns:
        tasks.doubt("or one thread works while the others find nothing to do")
    for each in waits:
        tasks.take(each)
    rest = [c for c in causes if c not in waits]
    return sorted(rest, key=lambda each: (-each.ns, each.category, each.name))

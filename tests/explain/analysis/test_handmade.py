"""explain tells locks that a program makes of a condition from conditions that wait for work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from made import MAIN, MS, TICK, Made, waits, works
from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.handmade import HandMade

A, B = 101, 102
JOIN_A = waits("join", 0, "pthread_join@libc main", A)
DESK = ("bank::Desk::enter bank::Pass::Pass post", "bank::Desk::leave bank::Pass::~Pass post")


class Names:
    """Stacks are their own texts; the stacks of waits begin in a library."""

    @staticmethod
    def frames(stack: str, exact: bool = False) -> tuple[Frame, ...]:
        library = Frame("pthread_cond_wait", "", "libc.so", own=False)
        own = tuple(Frame(name, "", "prog", own=True) for name in stack.split())
        return own if exact else (library, *own)


def hand_made(
    *pairs: tuple[str, str],
    what: str = "condition",
    activity: str = "",
    did: Sequence[str] = (),
    signals: int = 110,
    futile: int = 0,
    broadcasts: int = 0,
    ticks: Sequence[Any] = (),
) -> HandMade:
    """Condition 1 with 100 waits, and a sample of a millisecond for each stack in `did`."""
    waited: list[Any] = [
        SimpleNamespace(
            thing=1,
            activity=activity or what,
            waiter=waiter,
            holder=holder,
            waits=9,
            wait_ns=(10 - number) * MS,
        )
        for number, (waiter, holder) in enumerate(pairs)
    ]
    samples = [
        SimpleNamespace(tid=number % 2, stack=stack, at_ns=number * MS)
        for number, stack in enumerate(did)
    ]
    counts = {"signals": signals, "waits": 100, "futile": futile, "broadcasts": broadcasts}
    things = {1: SimpleNamespace(what=what, mutex=0, **counts)}
    recording: Any = SimpleNamespace(
        pairs=waited, things=things, samples=samples, sample_ns=MS, ticks=ticks
    )
    names: Any = Names()
    return HandMade(recording, names)


@pytest.mark.parametrize(
    ("takes", "gives", "is_lock"),
    [
        (*DESK, True),
        ("Gate::lock post", "Gate::unlock post", True),
        ("Queue::pop worker", "Queue::push worker", False),
        ("Pool::Pool main", "Pool::run worker", False),  # main waits until its threads have begun
        ("Desk::enter Pass::Pass post", "Desk::leave Ticket::~Ticket post", False),
        ("Pass::Pass post", "", False),
    ],
)
def test_names_tell_a_lock(takes: str, gives: str, is_lock: bool) -> None:
    assert (1 in hand_made((takes, gives)).conditions) == is_lock


def test_most_of_the_waits_tell_and_those_for_a_mutex_do_not() -> None:
    other = ("Queue::pop worker", "Queue::push worker")
    assert hand_made(DESK, other).conditions
    assert not hand_made(other, DESK).conditions
    assert not hand_made(DESK, what="mutex").conditions
    assert hand_made(DESK).guards == {"bank::Pass::Pass", "bank::Pass::~Pass"}


@pytest.mark.parametrize(
    ("takes", "gives", "did", "is_lock"),
    [
        ("post work", "post work", {"post work": 9, "look post work": 3, "count work": 8}, True),
        ("post work", "post work", {"post work": 20}, False),  # the threads do nothing else
        ("arrive work", "arrive work", {"arrive work": 2, "count work": 18}, False),  # a barrier
        ("take work", "give work", {"take work": 9, "give work": 9, "count work": 9}, False),
    ],
)
def test_what_others_do_tells_a_lock_within_a_function(
    takes: str, gives: str, did: dict[str, int], is_lock: bool
) -> None:
    stacks = [stack for stack, times in did.items() for _ in range(times)]
    assert bool(hand_made((takes, gives), did=stacks).conditions) == is_lock
    assert not hand_made((takes, gives), did=stacks, signals=101).conditions  # a barrier again


@pytest.mark.parametrize(("every_ms", "is_lock"), [(30, True), (0, False)])
def test_all_others_may_wait_while_a_thread_has_a_lock(every_ms: int, is_lock: bool) -> None:
    """Three threads work for 30 ms each within the function, one after the other or together. They
    wait there for 180 ms in all."""
    within, outside = "solve work", "prepare work"
    plans = [(within, every_ms), (outside, 90)]
    samples = [
        SimpleNamespace(tid=tid, stack=stack, at_ns=(begin * (tid + 1) + number) * MS)
        for stack, begin in plans
        for tid in range(3)
        for number in range(30)
    ]
    pair = SimpleNamespace(
        thing=1, activity="condition", waiter=within, holder=within, waits=90, wait_ns=180 * MS
    )
    counts = {"signals": 110, "waits": 100, "futile": 0, "broadcasts": 0}
    things = {1: SimpleNamespace(what="condition", mutex=0, **counts)}
    recording: Any = SimpleNamespace(pairs=[pair], things=things, samples=samples, sample_ns=MS)
    names: Any = Names()
    assert bool(HandMade(recording, names).conditions) == is_lock


@pytest.mark.parametrize(
    ("turns", "broadcasts", "mutexes", "is_shared"),
    [
        ([("write", "write")], (90, 0), (3, 3), True),
        ([("write", "write")], (90, 90), (3, 3), False),  # no signal is for one writer
        ([("write", "write")], (0, 0), (3, 3), False),
        ([("write", "write")], (90, 0), (3, 4), False),
        ([("write", "read")], (90, 0), (3, 3), False),  # a queue with free and full places
        ([("write", "write"), ("write", "close")], (90, 0), (3, 3), False),  # it never waits
    ],
)
def test_two_conditions_of_one_mutex_may_be_a_lock_for_shared_use(
    turns: list[tuple[str, str]],
    broadcasts: tuple[int, int],
    mutexes: tuple[int, int],
    is_shared: bool,
) -> None:
    """Readers wait for condition 1, and writers wait for condition 2."""
    waited = [(1, "read", "write"), *((2, *turn) for turn in turns)]
    things = {
        number: SimpleNamespace(
            what="condition", waits=90, futile=50, signals=90, broadcasts=each, mutex=mutex
        )
        for number, each, mutex in zip((1, 2), broadcasts, mutexes, strict=True)
    }
    pairs = [
        SimpleNamespace(
            thing=thing,
            activity=activity,
            waiter=waiter,
            holder=holder if activity == "condition" else waiter,
            waits=9,
            wait_ns=MS,
        )
        for thing, waiter, holder in waited
        for activity in ("condition", "relock")
    ]
    recording: Any = SimpleNamespace(pairs=pairs, things=things, samples=[], sample_ns=MS)
    names: Any = Names()
    found = HandMade(recording, names)
    assert found.shared == (frozenset({1, 2}) if is_shared else frozenset())
    assert found.shared <= found.conditions


def test_the_wait_for_a_lock_for_shared_use_is_not_certain() -> None:
    read, write = (f"pthread_cond_wait@libc {name} work" for name in ("read", "write"))
    wakes = "pthread_cond_broadcast@libc write work"
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [*[waits("condition", 1, read)] * 5, *[works()] * 5], "main")
    made.thread(B, [*[works()] * 5, *[waits("condition", 2, write)] * 5], "main")
    counts = {"waits": 90, "futile": 40, "signals": 90, "mutex": 3}
    made.thing(1, "condition", broadcasts=90, **counts).thing(2, "condition", **counts)
    made.thing(3, "mutex").pair(1, "condition", read, wakes, 50 * TICK)
    made.pair(2, "condition", write, "pthread_cond_signal@libc write work", 50 * TICK)
    first = made.first()
    assert (first["category"], first["certain"]) == ("rwlock", False)
    assert "that the program makes of conditions" in first["words"]


@pytest.mark.parametrize(
    ("takes", "gives", "signals", "is_lock"),
    [
        ("run work", "run work", 150, True),  # signals that end no wait: of a free lock
        ("run work", "run work", 20, False),  # each signal wakes five threads: a herd
        ("pop work", "push work", 150, False),
    ],
)
def test_woken_threads_find_a_lock_taken(
    takes: str, gives: str, signals: int, is_lock: bool
) -> None:
    made = partial(hand_made, (takes, gives), did=[takes] * 20, signals=signals, futile=70)
    asleep = [
        SimpleNamespace(activity="condition", thing=1, stack=takes, tid=tid) for tid in (0, 1)
    ]
    both, one = ([SimpleNamespace(glances=each)] for each in (asleep, asleep[1:]))
    for broadcasts in (0, signals):  # a lock may wake all waiters
        assert bool(made(broadcasts=broadcasts, ticks=both).conditions) == is_lock
    # A thread that never waits has no lock, but may be lucky if it wakes one waiter at a time.
    assert bool(made(ticks=one).conditions) == is_lock
    assert not made(broadcasts=signals, ticks=one).conditions


@pytest.mark.parametrize(
    ("takes", "gives", "signals", "meets"),
    [
        ("Rendezvous::meet work", "Rendezvous::meet work", 100, True),
        ("wait tick_barrier work", "wait tick_barrier work", 100, True),
        ("turn work", "turn work", 100, False),
        ("meet work", "start work", 100, False),
        ("meet work", "work", 100, True),  # the signal is in a tail call
        ("meet work", "meet work", 150, False),
    ],
)
def test_names_tell_a_barrier(takes: str, gives: str, signals: int, meets: bool) -> None:
    assert bool(hand_made((takes, gives), signals=signals).barriers) == meets


@pytest.mark.parametrize(
    ("gives", "counts", "meets"),
    [
        ("step work", {"signals": 50, "broadcasts": 50}, True),
        ("step work", {"signals": 50, "broadcasts": 9}, False),
        ("step work", {"signals": 50, "broadcasts": 50, "futile": 10}, False),  # a herd
        ("step work", {"signals": 100, "broadcasts": 100}, False),  # two threads may take turns
        ("push main", {"signals": 50, "broadcasts": 50}, False),
    ],
)
def test_signals_after_which_several_threads_go_on_are_those_of_a_barrier(
    gives: str, counts: dict[str, int], meets: bool
) -> None:
    assert bool(hand_made(("step work", gives), **counts).barriers) == meets
    # The thread that had the mutex before is none that signalled.
    assert not hand_made(("step work", gives), activity="relock", **counts).barriers


@pytest.mark.parametrize(("wakes", "meets"), [("step work", True), ("push main", False)])
def test_threads_that_spin_before_they_sleep_at_a_word_may_meet_there(
    wakes: str, meets: bool
) -> None:
    stack = "syscall@libc step work"
    wait = waits("futex", 1, stack)
    made = Made().thread(MAIN, JOIN_A)
    for tid in (A, B):
        made.thread(tid, [wait, wait, works()], "main")
    made.thing(1, "futex", module=1, offset=64, waits=20, signals=90, broadcasts=90)
    made.data[1, 64] = ("std::__detail::__waiter_pool_base::_S_for::__w[2]", "")
    made.pair(1, "futex", stack, wakes, 125 * TICK)
    first = made.first()
    assert first["category"] == "condition"
    assert ("as at a barrier" in first["words"]) == meets


@pytest.mark.parametrize(
    ("function", "category", "words"),
    [("turn", "condition", "as at a barrier"), ("meet", "barrier", "takes longer than the work")],
)
def test_threads_that_wake_each_other_in_one_function_may_meet_there(
    function: str, category: str, words: str
) -> None:
    stack = f"pthread_cond_wait@libc {function} work"
    wait = waits("condition", 1, stack)
    made = Made().thread(MAIN, JOIN_A)
    again = waits("relock", 1, stack)
    made.thread(A, [wait, wait, works()], "main").thread(B, [wait, again, wait, works()], "main")
    made.thing(1, "condition", waits=100, wait_ns=150 * TICK, signals=100, mutex=2).thing(
        2, "mutex"
    )
    made.pair(1, "condition", stack, f"pthread_cond_signal@libc {function} work", 125 * TICK)
    made.pair(1, "relock", stack, stack, 25 * TICK)
    first, *others = made.answer()["causes"]
    assert (first["category"], first["certain"]) == (category, category == "barrier")
    assert words in first["words"]
    back = {each["category"] for each in others} & {"mutex", "condition"}
    assert bool(back) == (category == "condition")  # the way back to the mutex


@pytest.mark.parametrize(
    ("takes", "gives", "certain"),
    [("Gate::lock post worker", "Gate::unlock post worker", True),
     (*(f"{each} worker" for each in DESK), False)],
)  # fmt: skip
def test_the_wait_for_such_a_lock_is_one_cause_whose_holder_has_it(
    takes: str, gives: str, certain: bool
) -> None:
    taking = waits("condition", 1, takes)
    made = Made().thread(MAIN, JOIN_A)
    short = waits("mutex", 2, takes)
    made.thread(A, [*[taking] * 5, short, *[works()] * 4], "main")
    made.thread(B, [*[works()] * 5, *[taking] * 5], "main")
    for tid in (A, B):
        made.sample(tid, "post worker", 20).sample(tid, "look worker", 20)
    made.thing(1, "condition", waits=90, wait_ns=99 * TICK, signals=90)
    made.pair(1, "condition", takes, gives, 90 * TICK).pair(1, "relock", takes, "", 9 * TICK)
    stack = made.stack(takes)
    made.thing(2, "mutex", hold_ns=MS, waits=5, wait_ns=10 * TICK).hold(2, gives, 90, MS)
    made.pair(2, "mutex", takes, gives, 10 * TICK)
    made.members |= {(made.stack(takes), "mutex"): ("free", "")}  # the object has one name
    made.members |= {(stack, "condition"): ("free", ""), (stack, "own_lock"): ("mutex", "")}
    first, *others = made.answer()["causes"]
    assert (first["category"], first["name"], first["certain"]) == ("mutex", "free", certain)
    assert first["words"].startswith(
        "waits for a lock" if certain else "waits for a lock that the program makes of a condition"
    )
    assert "hold_us" not in first["holders"][0]  # that of the mutex differs
    assert first["waits"] == 20  # each wait includes the way back to the mutex
    assert [each["frames"] for each in first["holders"]] == [["post", "worker"]]
    assert not [each for each in others if each["category"] in ("condition", "imbalance")]


@pytest.mark.parametrize(
    ("pairs", "is_event"),
    [
        ([("futex push main", "futex pop worker")], True),
        ([("push main", "pop worker")], True),
        ([("Gate::enter push main", "Gate::leave push main")], False),
        ([("push main", "pop worker"), ("pop worker", "push main")], False),  # inlined
        ([("work", "work")], False),
        ([("push main", "")], False),  # it is not known which function wakes
    ],
)
def test_a_word_whose_wakers_never_wait_for_it_is_an_event(
    pairs: list[tuple[str, str]], is_event: bool
) -> None:
    assert bool(hand_made(*pairs, what="futex").events) == is_event


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((1, 2, 3), {1, 2, 3}),
        ((1, 1, 1), set()),
        ((1, 2, 1), set()),
        ((1,), set()),  # the others of its threads may want it as well, and are seldom seen
    ],
)
def test_words_at_which_one_thread_each_sleeps_are_events(
    words: tuple[int, ...], found: set[int]
) -> None:
    asleep = [
        SimpleNamespace(activity="futex", thing=word, stack="turn", tid=tid)
        for tid, word in enumerate(words)
    ]
    ticks = [SimpleNamespace(glances=asleep)] * 10
    assert hand_made(("turn", "turn"), what="futex", ticks=ticks).events == found
    assert not hand_made(("turn", "turn"), what="futex", ticks=ticks[1:]).events


@pytest.mark.parametrize(
    ("takes", "category"), [("push main", "none"), ("lock push main", "mutex")]
)
def test_a_wait_for_an_event_costs_nothing_while_all_processors_have_work(
    takes: str, category: str
) -> None:
    fills = waits("futex", 1, f"syscall@libc {takes}")
    made = Made().thread(MAIN, fills).thread(A, works(), "main").thread(B, works(), "main")
    made.thing(1, "futex", waits=9, wait_ns=100 * TICK)
    made.pair(1, "futex", f"syscall@libc {takes}", "syscall@libc pop worker", 100 * TICK)
    assert made.first()["category"] == category

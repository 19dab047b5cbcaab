"""Bounds: the largest possible speed-up without the first cause."""

from __future__ import annotations

import pytest
from made import MAIN, TICK, Doing, Made, estimate, queued, ready, sleeps, waits, works
from threadmark.kinds.explain.analysis import bounds
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.table import gain
from threadmark.present.wording import at_most

A, B = 101, 102


@pytest.fixture(autouse=True)
def _no_chance(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off the allowances for samples, because made records have few, in exactly the intended
    shares."""
    if "by_chance" not in request.fixturenames:
        monkeypatch.setattr(bounds, "_DEVIATIONS", 0)
    if "unsure" not in request.fixturenames:
        monkeypatch.setattr(bounds, "_UNSURE", 0.0)


@pytest.fixture
def unsure() -> float:
    """The allowance for errors in the samples of the cause, as a part of the remaining time."""
    return bounds._UNSURE


JOIN_A = waits("join", 0, "pthread_join@libc main", A)
PUT = "pthread_mutex_lock@libc put worker"
KERNEL = {"agent": True, "perf": True, "perf_kernel": True, "sample_ns": TICK}


def lock(holder: int) -> Doing:
    return waits("mutex", 1, PUT, holder)


def locked(main: list[Doing], a: list[Doing | None], b: list[Doing | None]) -> Made:
    made = Made(head={"tier": KERNEL}).thread(MAIN, main)
    made.thread(A, a, "main").thread(B, b, "main")
    made.thing(1, "mutex", module=1, offset=64, waits=100, wait_ns=30 * TICK)
    made.data[1, 64] = ("cache_mutex", "cache.cpp:3")
    return made


def test_what_one_thread_does_after_the_other_is_left_without_a_lock() -> None:
    """Of 100 ticks main works for 40 and then awaits A, which waits for B's lock for 30."""
    late: list[Doing | None] = [None] * 40
    main = [works()] * 40 + [JOIN_A] * 60
    made = locked(main, [*late, *[lock(B)] * 30, *[works()] * 30], [*late, *[works()] * 60])
    first = made.first()
    assert first["name"] == "cache_mutex"
    assert estimate(first) == pytest.approx(100 / 70, abs=0.01)


def test_the_work_is_divided_among_the_processors_and_no_more() -> None:
    made = locked([JOIN_A] * 100, [lock(B)] * 50 + [works()] * 50, [works()] * 100)
    assert estimate(made.first()) == pytest.approx(100 / 75, abs=0.01)


def test_processor_time_within_the_lock_would_be_saved_too() -> None:
    halves = [lock(B), works()], [works(), lock(A)]
    made = locked([JOIN_A] * 100, *(each * 50 for each in halves))
    for tid in (A, B):
        made.sample(tid, "put worker", 40).sample(tid, f"futex_wait@libc {PUT}", 10)
    saved = estimate(made.first())
    # A fifth of the running time was in the lock, and half of the time was a wait for it.
    assert saved == pytest.approx(2 / 0.8, abs=0.05)


def test_where_the_kernel_is_not_sampled_each_wait_counts_for_its_calls() -> None:
    halves = [lock(B), works()], [works(), lock(A)]
    made = locked([JOIN_A] * 100, *(each * 50 for each in halves))
    made.head["tier"] = {**KERNEL, "perf_kernel": False}
    made.thing(1, "mutex", module=1, offset=64, waits=10_000, wait_ns=30 * TICK)
    for tid in (A, B):  # of 50 ticks
        made.sample(tid, "put worker", 40)
    seen = estimate(made.first())
    assert 2 < seen <= 2 / 0.8 + 0.05


def test_a_fix_is_worth_all_the_causes_that_it_helps_with() -> None:
    """Of 100 ticks each of two threads waits for two locks in 25 each."""

    def index(holder: int) -> Doing:
        return waits("mutex", 2, "pthread_mutex_lock@libc find worker", holder)

    halves = [lock(B), works(), index(B), works()], [works(), lock(A), works(), index(A)]
    made = locked([JOIN_A] * 100, *(each * 25 for each in halves))
    made.thing(2, "mutex", module=1, offset=128, waits=100, wait_ns=30 * TICK)
    made.data[1, 128] = ("index_mutex", "cache.cpp:4")
    found = made.answer()
    causes = {each["name"]: each for each in found["causes"]}
    for name in ("cache_mutex", "index_mutex"):
        assert estimate(causes[name]) == pytest.approx(4 / 3, abs=0.05)
    bounds = {each["name"]: each for each in found["fixes"]}
    assert estimate(bounds["one-processor"]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(("other", "own"), [(ready(), 80), (sleeps(0, "read@libc worker"), 100)])
def test_what_other_programs_took_is_not_gained(other: Doing, own: int) -> None:
    """Of 100 ticks both threads wait for another program in 20, and for each other's lock in 80."""
    halves = [lock(B), works()], [works(), lock(A)]
    made = locked([JOIN_A] * 100, *([other] * 20 + each * 40 for each in halves))
    left = 40 if other == ready() else 60
    assert estimate(made.first()) == pytest.approx(own / left, abs=0.05)


@pytest.mark.parametrize(("others", "known"), [(40, True), (60, False)])
def test_a_run_that_other_programs_kept_from_running_has_no_bound(others: int, known: bool) -> None:
    halves = [lock(B), works()], [works(), lock(A)]
    own = (100 - others) // 2
    made = locked([JOIN_A] * 100, *([ready()] * others + each * own for each in halves))
    assert (made.first()["bound"] is not None) == known


@pytest.mark.parametrize("spins", [True, False])
def test_with_processors_for_all_threads_nobody_spins_for_one_without(spins: bool) -> None:
    made = Made(processors=2, head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    for number in range(6):
        plan = [ready()] * 3
        plan[number % 3] = works()
        made.thread(A + number, plan, "main")
        wait = "arrive worker"
        made.sample(A + number, wait, 40).sample(A + number, "compute worker", 10)
        made.operands[made.stack(wait)] = Operand(base="di", loops=spins)
    queue = next(c for c in made.answer()["causes"] if c["category"] == "run_queue")
    assert estimate(queue) == pytest.approx(5.0 if spins else 1.0, abs=0.1)


def test_time_without_a_processor_is_none_that_has_to_pass_even_if_it_is_counted_late() -> None:
    """Two threads have one of two processors in turns of five ticks."""
    join = waits("join", 0, "pthread_join@libc main", B)  # for the thread that works at the end
    made = Made(processors=2, head={"tier": KERNEL}).thread(MAIN, join)
    turns = [works()] * 5 + [queued()] * 5
    made.thread(A, turns * 10, "main", allowed=[0])
    made.thread(B, turns[::-1] * 10, "main", allowed=[0])
    first = made.first()
    assert first["category"] == "affinity"
    assert estimate(first) == pytest.approx(2.0, abs=0.01)


def test_unequal_work_could_be_divided() -> None:
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A).thread(A, works(), "main")
    made.thread(B, [works()] * 20 + [None] * 80, "main")
    first = made.first()
    assert first["category"] == "imbalance"
    assert estimate(first) == pytest.approx(100 / 60, abs=0.01)


def test_sleep_on_the_path_is_saved_and_other_waits_are_not() -> None:
    nap = waits("sleep", 0, "usleep@libc worker")
    plan = [nap] * 50 + [sleeps(0, "read@libc worker")] * 30 + [works()] * 20
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A).thread(A, plan, "main")
    made.thread(B, [works()] * 20 + [None] * 80, "main")
    first = made.first()
    assert first["category"] == "sleep"
    assert estimate(first) == pytest.approx(2.0, abs=0.01)


def test_of_a_large_bound_only_that_is_printed() -> None:
    nap = waits("sleep", 0, "usleep@libc worker")
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A).thread(A, nap, "main")
    made.thread(B, nap, "main")
    first = made.first()
    assert first["bound"] == 999
    assert gain(first) == "without it the program may be more than 10 times as fast"
    assert at_most(first["bound"]) == "perhaps over x10"


def test_a_bound_allows_for_two_per_cent_of_the_run() -> None:
    """Of 100 ticks each of two threads works in 50 and sleeps in 50."""
    nap = waits("sleep", 0, "usleep@libc worker")
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    for tid in (A, B):
        made.thread(tid, [nap, works()] * 50, "main")
    first = made.first()
    assert first["bound"] == pytest.approx(100 / 48, abs=0.01)
    assert gain(first) == "without it the program is at most 2.08 times as fast"


@pytest.mark.parametrize(("by_chance", "samples"), [(0.05, 50), (0.025, 200)])
def test_a_bound_allows_for_the_chance_of_samples(by_chance: float, samples: int) -> None:
    """Each of two threads runs for half of 100 ticks, and half of its samples are in the lock. The
    standard error of that half is a twentieth of 100 samples, and a fortieth of 400."""
    halves = [lock(B), works()], [works(), lock(A)]
    made = locked([JOIN_A] * 100, *(each * 50 for each in halves))
    made.head["tier"] = {**KERNEL, "sample_ns": 50 * TICK // samples}
    for tid in (A, B):
        made.sample(tid, "put worker", samples // 2)
        made.sample(tid, f"futex_wait@libc {PUT}", samples // 2)
    assert estimate(made.first()) == pytest.approx(2 / (0.5 - by_chance), abs=0.01)


@pytest.mark.parametrize("at_work", [50, 0])
def test_a_bound_allows_for_what_samples_of_the_cause_may_have_wrong(
    at_work: int, unsure: float
) -> None:
    """Of 100 ticks each of two threads runs for 50. Samples of the lock take half of that or none.
    A wait costs nothing if the kernel is sampled."""
    halves = [lock(B), works()], [works(), lock(A)]
    made = locked([JOIN_A] * 100, *(each * 50 for each in halves))
    for tid in (A, B):
        made.sample(tid, "work worker", 50)
        made.sample(tid, f"futex_wait@libc {PUT}", at_work)
    left = 0.25 * (1 - unsure) if at_work else 0.5
    assert estimate(made.first()) == pytest.approx(1 / left, abs=0.01)


@pytest.mark.parametrize(
    ("count", "holds", "left"),
    [
        # The lock is held for 40 us and changes hands 2,000 times: 20 of 100 ticks.
        (1_000, 1, 0.4),
        (0, 1, 0.5),
        (1_000, 0, 0.2),  # the record does not know how long the lock is held
    ],
)
def test_lines_come_with_a_lock_within_the_time_of_the_holds_that_follow_another_threads(
    count: int, holds: int, left: float
) -> None:
    halves = [lock(B), works()], [works(), lock(A)]
    made = locked([JOIN_A] * 100, *(each * 50 for each in halves))
    made.thing(1, "mutex", waits=count, wait_ns=30 * TICK, holds=holds, hold_ns=40_000 * holds)
    word = "put worker"
    made.operands[made.stack(word)] = Operand(base="bx", plain=True, writes=True)
    for tid in (A, B):
        made.sample(tid, word, 30, bx=0x6000).sample(tid, "work worker", 20)
    assert estimate(made.first()) == pytest.approx(1 / left, abs=0.01)


def test_a_lock_that_the_record_does_not_have_has_a_bound() -> None:
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    made.thread(A, [lock(B), works()], "main").thread(B, [works(), lock(A)], "main")
    assert estimate(made.first()) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("began", ["attached", "late"])
def test_a_process_that_ran_before_has_no_bound(began: str) -> None:
    made = locked([JOIN_A] * 100, [lock(B)] * 50 + [works()] * 50, [works()] * 100)
    made.head["tier"] = {**KERNEL, began: True}
    assert made.first()["bound"] is None


def test_work_that_others_await_at_a_semaphore_is_done_at_once_without_it() -> None:
    seat = waits("semaphore", 1, "sem_wait@libc solve worker")
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    made.thread(A, [seat, works()], "main").thread(B, [works(), seat], "main")
    first = made.thing(1, "semaphore", waits=100, wait_ns=100 * TICK).first()
    assert first["category"] == "semaphore"
    assert estimate(first) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(("outside", "bound"), [(1, 2.5), (4, 10.0)])
def test_short_threads_cost_what_samples_of_a_few_show_outside_the_program(
    outside: int, bound: float
) -> None:
    """Of each 40 threads five have a sample. The rest is work for two processors."""
    made = Made(ticks=200, head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    for number in range(200):
        plan: list[Doing | None] = [None] * 200
        plan[number] = works()
        made.thread(A + number, plan, "spawn main")
        if number % 8 == 0:
            begins = number // 8 % 5 < outside
            made.sample(A + number, "munmap@libc" if begins else "draw worker")
    first = made.first()
    assert first["category"] == "thread_creation"
    assert estimate(first) == pytest.approx(bound, rel=0.05)


def test_samples_beside_the_atomic_of_a_shared_lock_would_be_saved_too() -> None:
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    take, give = (f"pthread_rwlock_{name}@libc find worker" for name in ("rdlock", "unlock"))
    made.operands[made.stack(take)] = Operand(base="ax")
    for tid in (A, B):
        made.thread(tid, works(), "main").sample(tid, take, 20, ax=0x5000)
        made.sample(tid, give, 70).sample(tid, "find worker", 10)
    first = made.first()
    assert first["category"] == "rwlock"
    assert estimate(first) == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize(
    ("touch", "writes", "bound"),
    [
        ("read worker", True, 10),
        ("read worker", False, 10 / 7),  # a line that all threads only read does not move
        ("put worker", False, 10 / 4),  # with the lock: half of such data was changed before
    ],
)
def test_waiting_for_a_line_that_another_thread_writes_would_be_saved_too(
    touch: str, writes: bool, bound: float
) -> None:
    """Of each 100 samples of two threads 30 are in a spin lock and 60 at a word that both use."""
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    spin, far = "lock put worker", "think worker"
    made.operands[made.stack(spin)] = Operand(base="ax", loops=True)
    made.operands[made.stack(touch)] = Operand(base="bx", plain=True, writes=writes)
    made.operands[made.stack(far)] = Operand(base="bx", plain=True, writes=True)
    for tid in (A, B):
        made.thread(tid, works(), "main").sample(tid, spin, 30, ax=0x5000)
        made.sample(tid, touch, 60, bx=0x6000).sample(tid, far, 10, bx=0x7000 + 0x1000 * tid)
    first = made.first()
    assert first["category"] == "spin"
    assert estimate(first) == pytest.approx(bound, rel=0.1)


@pytest.mark.parametrize(
    ("operand", "left"),
    [
        (Operand(base="ax"), 0.36),
        (Operand(base="ax", exchanges=True), 0.16),
        (Operand(base="ax", loops=True), 0.0),
    ],
)
def test_what_an_atomic_costs_without_contention_is_left(operand: Operand, left: float) -> None:
    """Of each 100 samples 80 are at a word that both threads change."""
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    made.head["machine"] = {"contention": {"add": [36, 100], "exchange": [16, 100]}}
    made.operands[made.stack("lock count worker")] = operand
    for tid in (A, B):
        made.thread(tid, works(), "main").sample(tid, "lock count worker", 80, ax=0x5000)
        made.sample(tid, "work worker", 20)
    assert estimate(made.first()) == pytest.approx(1 / (0.2 + 0.8 * left), rel=0.05)


def test_a_call_that_the_programs_own_lock_makes_would_be_saved() -> None:
    """Half of the running time is in a futex call that was inlined into the function with the
    lock."""
    made = locked([JOIN_A] * 100, [lock(B), works()], [works(), lock(A)])
    for tid in (A, B):
        made.look(tid, "put worker ", 50, kernel=True).sample(tid, "put worker", 50)
    assert estimate(made.first()) == pytest.approx(2, abs=0.05)
    made.texts[made.stack("put worker ")] = "syscall"
    assert estimate(made.first()) == pytest.approx(4, abs=0.1)


def test_what_the_kernel_does_for_a_contended_allocator_would_be_saved() -> None:
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    taken = "__lll_lock_wait_private@libc malloc@libc build worker"
    for tid in (A, B):
        made.thread(tid, works(), "main").look(tid, taken, 40, kernel=True)
        made.look(tid, "madvise@libc heap_trim@libc free@libc build worker", 40, kernel=True)
        made.sample(tid, "build worker", 20)
    first = made.first()
    assert first["category"] == "allocator"
    assert estimate(first) == pytest.approx(5, rel=0.05)


def test_the_making_of_threads_is_saved_where_it_is_not_sampled() -> None:
    """Main works in 50 of 200 ticks, makes threads in 100, and awaits one thread in 50. The
    recorder keeps few samples of threads that are made all the time."""
    make: Doing = ("creating", 0, "pthread_create@libc main", 0, "R", -1)
    made = Made(ticks=200, head={"tier": KERNEL})
    plan: list[Doing] = []
    for tick in range(200):
        join = waits("join", 0, "pthread_join@libc main", A + tick)
        plan.append((make, make, join, works())[tick % 4])
    made.thread(MAIN, plan)
    for tick in range(200):
        life: list[Doing | None] = [None] * 200
        life[tick] = works()
        made.thread(A + tick, life, "spawn main")
    first = made.first()
    assert first["category"] == "thread_creation"
    assert estimate(first) == pytest.approx(200 / 50, rel=0.05)


def test_a_chain_of_short_waits_and_work_takes_as_long_as_its_thread_ran() -> None:
    """Each thread runs and waits for the lock many times between two ticks."""
    made = locked([JOIN_A] * 100, [lock(B), works()], [works(), lock(A)])
    lines = made.records()
    for line in lines:
        if line["kind"] == "tick":
            for glance in line["threads"]:
                glance[7] = TICK // 4 if glance[0] != MAIN else 0
        if line["kind"] == "thread" and line["tid"] != MAIN:
            line["run_ns"] //= 2
    made.records = lambda: lines  # type: ignore[method-assign]
    assert estimate(made.first()) == pytest.approx(4, rel=0.05)


def test_calls_of_a_file_would_be_saved_with_what_the_agent_does_in_them() -> None:
    write = waits("io", 1, "write@libc save worker")
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A).thing(1, "file", waits=100)
    for tid in (A, B):
        made.thread(tid, [write, works()], "main").sample(tid, "write@libc save worker", 50)
        agent = "write@libthreadmark-agent.so save worker"
        made.sample(tid, f"end@libthreadmark-agent.so {agent}", 20)
        made.sample(tid, f"clock_gettime@libc {agent}", 20).sample(tid, "save worker", 10)
    first = made.first()
    assert first["category"] == "io"
    assert estimate(first) == pytest.approx(2 * 10, rel=0.1)


def test_threads_whose_numbers_come_again_and_have_no_samples_cost_all_that_they_ran() -> None:
    made = Made(ticks=200, head={"tier": KERNEL}).thread(MAIN, JOIN_A)
    for number in range(100):
        plan: list[Doing | None] = [None] * 200
        plan[number] = works()
        made.thread(A + number, plan, "spawn main")
        again = {"began_ns": (number + 100) * TICK, "ended_ns": (number + 101) * TICK}
        times = {"run_ns": TICK, "ready_ns": 0, "totals": {}}
        of = {"tid": A + number, "maker": MAIN, "made_at": made.stack("spawn main")}
        made.line(kind="thread", name="", **of, **again, **times)
    first = made.first()
    assert first["category"] == "thread_creation"
    assert first["bound"] > 100


def test_time_in_which_nobody_works_is_left_however_unequal_work_is_divided() -> None:
    """Of 100 ticks 20 pass until a barrier has woken the threads."""
    meet = waits("barrier", 1, "pthread_barrier_wait@libc step worker")
    made = Made(head={"tier": KERNEL}).thread(MAIN, JOIN_A).thing(1, "barrier", waits=40)
    made.thread(A, [works()] * 4 + [meet], "main")
    made.thread(B, [works()] + [meet] * 4, "main")
    first = made.first()
    assert first["category"] == "imbalance"
    assert estimate(first) == pytest.approx(5 / (2.5 + 1), rel=0.02)


def test_what_the_maker_of_threads_calls_for_its_own_work_is_no_part_of_making_them() -> None:
    made = Made(ticks=400, processors=4)
    made.thread(MAIN, works(), totals={"creating": {"ns": 10 * TICK, "times": 200}})
    made.sample(MAIN, "strtod@libc parse main", 300)
    made.look(MAIN, "__clone3@libc pthread_create@libc spawn main", 10, kernel=True, entry="call")
    for number in range(200):  # made in groups of ten, each of which takes a tick in twenty
        plan: list[Doing | None] = [None] * 400
        plan[number // 10 * 20] = works()
        starting = {"starting": {"ns": TICK, "times": 1}}
        made.thread(1000 + number, plan, "spawn main", totals=starting)
    causes = {each["category"]: each for each in made.answer()["causes"]}
    assert causes["thread_creation"]["bound"] < 1.2
    assert causes["serial_dependency"]["bound"] > 2

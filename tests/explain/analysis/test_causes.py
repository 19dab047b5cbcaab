"""Each category and rule of the contract, on a made-up record with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from made import MAIN, MS, TICK, Doing, Made, estimate, ready, sleeps, waits, works
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.queues import in_order

A, B, C = 101, 102, 103
JOIN_A = waits("join", 0, "pthread_join@libc main", A)


def half(one: Doing, other: Doing, count: int = 2) -> list[Doing]:
    """A cycle of `one` for `count` - 1 ticks and `other` for one tick."""
    return [*[one] * (count - 1), other]


def two(a: Sequence[Doing] | Doing, b: Sequence[Doing] | Doing) -> Made:
    """Main and two equal workers that it joins."""
    made = Made().thread(MAIN, JOIN_A)
    return made.thread(A, a, "main").thread(B, b, "main")


def lock(number: int = 1, holder: int = B, stack: str = "Cache::get handle worker") -> Doing:
    return waits("mutex", number, stack, holder)


def test_a_program_that_scales_has_one_cause_none() -> None:
    found = two(works(), works()).answer()
    [cause] = found["causes"]
    assert (cause["category"], cause["certain"]) == ("none", True)
    assert found["states"]["useful"] == pytest.approx(2 / 3, abs=0.01)


def test_a_contended_mutex_has_its_name_holders_and_waiters() -> None:
    made = two([lock(), works()], [works(), lock(holder=A)])
    made.thing(1, "mutex", module=1, offset=64, waits=100, wait_ns=400 * MS)
    made.data[1, 64] = ("cache_mutex", "server.cpp:41")
    made.pair(1, "mutex", "pthread_mutex_lock@libc Cache::get worker", "Cache::put worker",
              100 * TICK)  # fmt: skip
    made.hold(1, "Cache::put worker", 100, 190_000)
    [cause] = made.answer()["causes"]  # and no cause for main, which joins the holder of the mutex
    assert (cause["category"], cause["name"], cause["where"]) == (
        "mutex", "cache_mutex", "server.cpp:41")  # fmt: skip
    assert cause["certain"]
    assert cause["holders"] == [{"share": 1.0, "hold_us": 1.9, "frames": ["Cache::put", "worker"]}]
    assert cause["waiters"][0]["frames"] == ["Cache::get", "worker"]
    # Main's join is passed on to the mutex for which the joined thread waits.
    assert cause["share"] == pytest.approx(1 / 2, abs=0.01)
    assert estimate(cause) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(
    ("activity", "category"),
    [("read_lock", "rwlock"), ("write_lock", "rwlock"), ("relock", "mutex"), ("once", "once"),
     ("spin_lock", "spin")],
)  # fmt: skip
def test_a_lock_has_the_category_of_its_kind(activity: str, category: str) -> None:
    state = "R" if activity == "spin_lock" else "S"
    wait = (activity, 1, "take worker", B, state, 202)
    made = two([wait, works()], [works(), (*wait[:3], A, state, 202)])
    made.thing(1, "mutex" if activity == "relock" else activity)
    assert made.first()["category"] == category


@pytest.mark.parametrize(
    ("wait", "signal", "category"),
    [
        ("QReadWriteLock::lockForRead@libQt5Core", "QReadWriteLock::unlock@libQt5Core", "rwlock"),
        ("QReadWriteLock::lockForWrite@libQt5Core", "QReadWriteLock::unlock@libQt5Core", "rwlock"),
        ("g_mutex_lock_slowpath@libglib-2.0", "g_mutex_unlock@libglib-2.0", "mutex"),
        ("absl::debian3::Mutex::LockSlow@libabsl_sync", "absl::debian3::Mutex::Unlock@libabsl_sync",
         "mutex"),
        ("absl::lts::Mutex::ReaderLock", "absl::lts::Mutex::ReaderUnlock", "rwlock"),  # static
        ("QSemaphore::acquire@libQt5Core", "QSemaphore::release@libQt5Core", "semaphore"),
        ("std::sys::sync::rwlock::futex::RwLock::read_contended", "std::rwlock", "rwlock"),  # Rust
    ],
)  # fmt: skip
def test_the_function_of_a_library_tells_the_purpose_of_its_futex(
    wait: str, signal: str, category: str
) -> None:
    waiter, holder = f"syscall@libc {wait} find worker", f"syscall@libc {signal} store helper"
    taking = waits("futex", 1, waiter)
    made = two([taking, works()], [works(), taking]).thing(1, "futex", waits=50, wait_ns=50 * TICK)
    made.pair(1, "futex", waiter, holder, 50 * TICK)
    first = made.first()
    assert (first["category"], first["certain"]) == (category, True)
    assert first["waiters"][0]["frames"] == ["find", "worker"]


@pytest.mark.parametrize(
    ("stack", "category", "name"),
    [("__lll_lock_wait_private@libc malloc@libc grow worker", "allocator", "malloc"),
     ("_int_free@libc __libc_free@libc worker", "allocator", "malloc"),
     ("fwrite@libc log worker", "stdio", "FILE"),
     ("dl_iterate_phdr@libc walk worker", "loader", "dynamic loader"),
     ("_Unwind_Find_FDE@libgcc __cxa_throw@libstdc++ parse worker", "mutex", "unwinder"),
     ("std::locale::locale@libstdc++ print worker", "mutex", "locale"),
     ("__tz_convert@libc localtime_r@libc stamp worker", "mutex", "tz"),
     ("random@libc rand@libc dice worker", "mutex", "rand")],
)  # fmt: skip
def test_a_lock_of_a_library_is_named_by_its_purpose(stack: str, category: str, name: str) -> None:
    wait = sleeps(202, stack)
    cause = two([wait, works()], [works(), wait]).first()
    assert (cause["category"], cause["name"]) == (category, name)


def test_a_lock_of_a_library_is_placed_where_the_program_leads_to_it() -> None:
    stack = "pthread_mutex_lock@libc std::locale::locale@libstdc++ print worker"
    made = two([lock(stack=stack), works()], [works(), lock(stack=stack, holder=A)])
    made.thing(1, "mutex")
    # The caller's debug information has a lock of this type, but that is another lock.
    made.members[made.stack(stack), "mutex"] = ("Shop::orders_mutex", "shop.cpp:117")
    cause = made.first()
    assert (cause["name"], cause["where"]) == ("locale", "print.cpp:1")


def test_a_function_of_the_program_beyond_the_lock_is_no_library() -> None:
    cause = two([lock(stack="rehash fwrite@libc"), works()], [works(), lock(holder=A)]).first()
    assert cause["category"] == "mutex"
    assert "rehash" in cause["name"] or "Cache::get" in cause["name"]


def test_the_wait_for_a_nested_lock_is_passed_on_to_the_inner_one() -> None:
    outer = waits("mutex", 1, "outer worker", B)
    inner = waits("mutex", 2, "inner outer worker", C)
    made = Made().thread(MAIN, JOIN_A).thread(A, half(outer, works(), 4), "main")
    made.thread(B, half(inner, works(), 4), "main").thread(C, works(), "main")
    made.thing(1, "mutex").thing(2, "mutex")
    causes = made.answer()["causes"]
    assert (causes[0]["category"], causes[0]["name"]) == ("mutex", "mutex in inner")
    assert all(each["name"] != "mutex in outer" for each in causes)


def test_a_lock_held_over_output_is_the_lock() -> None:
    writes = waits("io", 0, "write@libc save worker")
    made = two(half(lock(), works(), 4), half(writes, works(), 4))
    made.thing(1, "mutex").pair(1, "mutex", "Cache::get", "write@libc save worker", 75 * TICK)
    made.pair(0, "io", "write@libc save worker", "", 75 * TICK)
    causes = made.answer()["causes"]
    assert [each["category"] for each in causes] == ["mutex"]
    assert causes[0]["holders"][0]["frames"][:2] == ["write", "save"]


def test_a_circle_of_waits_ends() -> None:
    made = two(lock(1, B), lock(2, A, "other worker")).thing(1, "mutex").thing(2, "mutex")
    assert made.first()["category"] == "mutex"


def test_unequal_work_before_a_barrier_is_imbalance() -> None:
    barrier = waits("barrier", 5, "std::barrier::arrive_and_wait worker")
    made = two(works(), half(barrier, works(), 4)).thing(5, "barrier")
    cause = made.first()
    assert (cause["category"], cause["certain"]) == ("imbalance", True)


@pytest.mark.parametrize(("ran", "category"), [(75, "imbalance"), (40, "barrier")])
def test_waits_at_a_barrier_are_for_the_thread_that_has_most_work_by_the_agents_times(
    ran: int, category: str
) -> None:
    barrier = waits("barrier", 5, "std::barrier::arrive_and_wait worker")
    woken = (*barrier[:4], "r", -1)
    totals = {"barrier": {"ns": (100 - ran) * TICK, "times": 99}}
    times = {"totals": totals, "run_ns": ran * TICK, "ready_ns": 0}
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [*[woken] * 7, barrier, works(), works()], "main", **times)
    made.thread(B, [*[barrier] * 7, works(), works(), works()], "main")
    categories = {each["category"] for each in made.thing(5, "barrier").answer()["causes"]}
    assert ("barrier" in categories) == (category == "barrier")


@pytest.mark.parametrize(("ran", "certain"), [(25, True), (42, False)])
def test_imbalance_at_a_barrier_is_not_certain_if_the_threads_work_for_the_same_time(
    ran: int, certain: bool
) -> None:
    barrier = waits("barrier", 5, "std::barrier::arrive_and_wait worker")
    totals = {"barrier": {"ns": (100 - ran) * TICK, "times": 50}}
    made = two(half(barrier, works()), half(works(), barrier)).thing(5, "barrier")
    made.thread(A, half(barrier, works(), 4), "main", totals=totals, run_ns=ran * TICK)
    first = made.first()
    assert (first["category"], first["certain"]) == ("imbalance", certain)


@pytest.mark.parametrize(("times", "certain"), [(1, True), (4, False)])
def test_a_barrier_is_not_certain_where_a_thread_may_be_late_because_it_lacks_a_processor(
    times: int, certain: bool
) -> None:
    wait = waits("barrier", 1, "pthread_barrier_wait@libc run worker")
    late = [*[wait] * 3, *[ready()] * times, *[works()] * 3]
    made = two(late, [*[wait] * 3, *[works()] * (times + 3)]).thing(1, "barrier")
    first = made.first()
    assert (first["category"], first["certain"]) == ("barrier", certain)


def test_a_barrier_that_waits_for_a_lock_is_the_lock() -> None:
    barrier = waits("barrier", 5, "step worker")
    made = Made(processors=4).thread(A, lock(holder=C), "main")
    made.thread(B, barrier, "main").thread(C, works(), "other")
    made.thing(1, "mutex").thing(5, "barrier")
    assert made.first()["category"] in ("mutex", "imbalance")


def test_a_joined_thread_that_has_more_to_do_than_its_equals_is_imbalance() -> None:
    short: list[Doing | None] = [*[works()] * 20, *[None] * 80]
    made = two(works(), works())
    made.plans[B] = short
    cause = made.first()
    assert cause["category"] == "imbalance"
    assert estimate(cause) == pytest.approx(400 / 240, abs=0.1)


def test_a_chain_of_futures_is_serial_dependence() -> None:
    made = Made().thread(MAIN, waits("futex", 7, "std::__future_base::_State::wait@libstdc++ main"))
    plan: list[Doing | None] = [works()] * 50 + [None] * 50
    made.thread(A, plan, "main").thread(B, plan[::-1], "main").thing(7, "futex")
    made.answer()
    cause = made.first()
    assert cause["category"] == "serial_dependency"


def test_a_slow_producer_is_serial_dependence_on_it() -> None:
    pop = waits("condition", 3, "Queue::pop consume")
    made = Made().thread(MAIN, works()).thread(A, half(pop, works(), 5), "main consume")
    made.thing(3, "condition", signals=100, signal_stack="Queue::push produce main")
    made.sample(MAIN, "make produce main", 5).sample(A, "use consume", 5)
    cause = made.first()
    assert (cause["category"], cause["certain"]) == ("serial_dependency", True)
    assert cause["holders"][0]["frames"] == ["make", "produce", "main"]


def test_a_condition_that_waits_for_a_producer_at_a_lock_is_the_lock() -> None:
    pop = waits("condition", 3, "Queue::pop consume")
    push = lock(1, C, "Queue::push produce")
    made = Made(processors=4).thread(A, pop, "m1").thread(B, half(push, works(), 4), "m2")
    made.thread(C, works(), "m3")
    made.thing(1, "mutex").thing(3, "condition", signals=9, signal_stack="Queue::push produce")
    made.sample(B, "produce", 5).sample(C, "other", 5).sample(A, "consume", 5)
    causes = made.answer()["causes"]
    assert causes[0]["category"] == "mutex"
    assert causes[0]["share"] > 0.45


def test_a_join_while_all_processors_work_costs_nothing() -> None:
    made = Made(processors=2)
    for tid in (A, B, C):
        made.thread(tid, works(), "main")
    made.thread(MAIN, JOIN_A)
    assert made.first()["category"] == "none"


def test_sleeping_workers_sleep() -> None:
    nap = waits("sleep", 0, "nanosleep@libc poll_state worker")
    assert two(half(nap, works(), 4), half(nap, works(), 4)).first()["category"] == "sleep"


def test_a_timer_that_sleeps_beside_workers_is_no_cause() -> None:
    made = two(works(), works()).thread(C, waits("sleep", 0, "tick timer"), "timer")
    assert made.first()["category"] == "none"


def test_a_write_per_line_is_input_output_with_bytes_per_write() -> None:
    write = waits("io", 0, "write@libc log worker")
    made = two(half(write, works(), 3), half(write, works(), 3))
    made.line(kind="file", tid=0, path="/tmp/out", writes=1000, bytes=80_000, ns=5)
    cause = made.first()
    assert (cause["category"], cause["name"]) == ("io", "/tmp/out")
    assert "1,000 writes of 80 bytes" in cause["words"]


@pytest.mark.parametrize(("each", "category"), [(2, "none"), (3, "run_queue")])
def test_more_threads_than_processors_is_the_run_queue(each: int, category: str) -> None:
    """Two threads for each processor may as well be a pool in which nothing is lost."""
    made = Made(processors=2)
    for number in range(2 * each):
        plan = [ready()] * each
        plan[number % each] = works()
        made.thread(A + number, plan, "main")
    cause = made.first()
    assert (cause["category"], cause["certain"]) == (category, category == "run_queue")
    assert ("all processors work" in cause["words"]) == (category == "none")
    made.head["tick_ns"] = TICK // 8  # the recorder itself had to wait
    assert made.first()["category"] == category


@pytest.mark.parametrize(("samples", "certain"), [(45, True), (20, False)])
def test_work_that_costs_clearly_more_comes_before_the_queue_for_it(
    samples: int, certain: bool
) -> None:
    made = Made(
        processors=2,
        head={"tier": {"agent": True, "perf": True, "perf_kernel": True, "sample_ns": TICK}},
    )
    for number in range(4):
        plan = [works(), ready()] if number % 2 else [ready(), works()]
        made.thread(A + number, plan, "main")
        made.sample(A + number, "add count worker", samples, ax=0x5000)
        made.look(A + number, "compute worker", 50 - samples)
    made.operands[made.stack("add count worker")] = Operand(base="ax")
    first, second = made.answer()["causes"]
    assert (first["category"], first["certain"]) == ("atomic", certain)
    assert second["category"] == "run_queue"
    assert first["share"] < second["share"]


@pytest.mark.parametrize(
    ("causes", "order"),
    [
        ([], []),
        ([("run_queue", 4.0, 1.1)], [0]),
        ([("run_queue", 4.0, 1.1), ("mutex", 1.0, 1.4), ("io", 1.0, 1.3)], [1, 0, 2]),
        ([("run_queue", 4.0, 1.1), ("mutex", 0.9, 2.0)], [0, 1]),  # little of the time
        ([("run_queue", 4.0, 9.0), ("spin", 2.0, 9.0)], [1, 0]),
        ([("run_queue", 4.0, None), ("mutex", 2.0, None)], [0, 1]),  # bounds are not known
        ([("affinity", 4.0, 1.1), ("mutex", 2.0, 2.0)], [0, 1]),
        ([("io", 4.0, 1.1), ("run_queue", 3.0, 1.0), ("mutex", 2.0, 2.0)], [0, 1, 2]),
    ],
)
def test_a_queue_stands_behind_causes_without_which_the_program_is_faster(
    causes: list[tuple[str, float, float | None]], order: list[int]
) -> None:
    assert in_order(causes) == order


def test_a_queue_is_not_certain_while_other_programs_have_processors() -> None:
    made = Made(processors=2)
    for number in range(4):  # one of the threads runs at each moment
        plan = [ready()] * 4
        plan[number] = works()
        made.thread(A + number, plan, "main")
    cause = made.first()
    assert (cause["category"], cause["certain"]) == ("run_queue", False)
    assert "or other programs have the processors" in cause["words"]


def test_a_queue_is_only_what_more_threads_than_processors_explain() -> None:
    made = Made(processors=2)  # two of three threads work; the third is queued behind one
    for number in range(3):
        made.thread(A + number, [works(), ready(), works()][number:] + [ready()] * 4, "main")
    found = made.answer()
    assert found["states"]["runnable"] > 0.6
    assert found["causes"][0]["share"] < 0.4


def test_threads_kept_on_one_of_two_processors_is_affinity() -> None:
    made = Made(processors=2)
    made.thread(A, [works(), ready()], "main", allowed=[0])
    made.thread(B, [ready(), works()], "main", allowed=[0])
    cause = made.first()
    assert (cause["category"], estimate(cause)) == ("affinity", pytest.approx(2.0, abs=0.01))


def test_a_storm_of_threads_is_thread_creation() -> None:
    made = Made(ticks=200).thread(MAIN, JOIN_A)
    for number in range(200):
        plan: list[Doing | None] = [None] * 200
        plan[number] = works()
        made.thread(A + number, plan, "spawn main")
    assert made.first()["category"] == "thread_creation"


def test_memory_that_is_mapped_again_and_again_is_the_kernels() -> None:
    faults = sleeps(11, "munmap@libc shrink worker", "D")
    assert two(half(faults, works(), 3), half(faults, works(), 3)).first()["category"] == (
        "kernel_memory")  # fmt: skip


def atomics(made: Made, other: int, times: int = 40) -> Made:
    made.sample(A, "count worker", times, bx=0x1000)
    made.sample(B, "count worker", times, bx=other)
    made.operands[made.stack("count worker")] = Operand(base="bx")
    return made


def test_an_atomic_that_two_threads_write_is_named() -> None:
    made = atomics(two(works(), works()), 0x1000)
    made.data[0, 0x1000] = ("hits", "count.cpp:3")
    found = made.answer()
    cause = found["causes"][0]
    assert (cause["category"], cause["name"], cause["certain"]) == ("atomic", "hits", True)
    assert found["states"]["atomic"] == pytest.approx(2 / 3, abs=0.01)
    assert found["states"]["useful"] == 0


def test_many_threads_contend_though_each_has_a_small_part_of_the_samples() -> None:
    made = Made(processors=32).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for tid in range(A, A + 32):
        made.thread(tid, works(), "main").sample(tid, "count worker", 40, bx=0x1000)
    made.operands[made.stack("count worker")] = Operand(base="bx")
    assert made.first()["category"] == "atomic"


def test_a_thread_that_is_at_a_line_now_and_then_does_not_contend_for_it() -> None:
    made = two(works(), works()).sample(B, "count worker", 3, bx=0x1000)
    made.sample(A, "count worker", 60, bx=0x1000)
    made.operands[made.stack("count worker")] = Operand(base="bx")
    assert made.first()["category"] == "none"


def test_different_words_of_one_line_are_false_sharing() -> None:
    first = atomics(two(works(), works()), 0x1008).first()
    assert (first["category"], first["certain"]) == ("false_sharing", True)


@pytest.mark.parametrize(
    ("costs", "category", "certain"),
    [
        (None, "false_sharing", False),  # the lines that the processor fetches are unknown
        ({"beside": [5000, 15000]}, "false_sharing", True),
        ({"beside": [5000, 5100]}, "none", True),
        ({"beside": [5000, "?"]}, "false_sharing", False),  # a damaged record
        ({"add": [5000, 15000]}, "false_sharing", False),  # of another operation, so no proof
    ],
)
def test_words_of_adjacent_lines_are_shared_where_the_processor_fetches_both(
    costs: dict[str, Any] | None, category: str, certain: bool
) -> None:
    made = atomics(two(works(), works()), 0x1040)  # beyond 64 bytes, within 128
    made.head["machine"] = {"contention": costs}
    first = made.first()
    assert (first["category"], first["certain"]) == (category, certain)


def test_few_samples_do_not_make_it_sure_that_words_are_different_ones() -> None:
    first = atomics(two(works(), works()), 0x1008, times=9).first()
    assert (first["category"], first["certain"]) == ("false_sharing", False)


def test_words_of_one_line_that_both_threads_write_are_no_false_sharing() -> None:
    made = atomics(two(works(), works()), 0x1008, times=6)
    made.sample(A, "count worker", 5, bx=0x1008).sample(B, "count worker", 5, bx=0x1000)
    assert made.first()["category"] == "atomic"


def test_threads_that_use_the_same_words_one_after_the_other_share_none() -> None:
    """Two pairs of threads, and the second pair gets the memory of the first."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    first, second = ([works()] * 50 + [None] * 50, [None] * 50 + [works()] * 50)
    at = {A: (0, 0x1000), B: (0, 0x1010), B + 1: (50, 0x1010), B + 2: (50, 0x1000)}
    made.operands[made.stack("count worker")] = Operand(base="bx")
    made.operands[made.stack("sum worker")] = Operand(base="bx", offset=8)
    for name in ("count", "sum"):
        made.members[made.stack(f"{name} worker"), "atomic"] = (f"Totals::{name}", "count.cpp:3")
    for tid, (tick, word) in at.items():
        made.thread(tid, second if tick else first, "main")
        for stack in ("count worker", "sum worker"):
            made.sample(tid, stack, 30, bx=word)
    causes = made.answer()["causes"]
    assert [(each["category"], each["name"]) for each in causes] == [
        ("false_sharing", "Totals::count")
    ]
    assert causes[0]["certain"]


def test_words_without_a_name_have_the_function_of_the_program_behind_an_inlined_one() -> None:
    made = two(works(), works())
    for thread, address in ((A, 0x1000), (B, 0x1008)):
        made.sample(thread, "std::vector::operator[] tally worker", 40, bx=address)
    made.operands[made.stack("std::vector::operator[] tally worker")] = Operand(base="bx")
    assert made.first()["name"] == "atomic in tally"


def test_atomics_of_one_thread_each_are_useful_work() -> None:
    assert atomics(two(works(), works()), 0x2000).first()["category"] == "none"


@pytest.mark.parametrize(
    ("text", "samples", "certain"),
    [
        ("lock xadd qword ptr [rdi], rax", 40, False),
        ("xchg qword ptr [rdi], rax", 40, False),
        ("mfence ", 40, False),
        ("lock xadd qword ptr [rdi], rax", 10, True),
        ("xchg rbx, rax", 40, True),
    ],
)
def test_much_time_at_atomic_instructions_may_be_lost_without_contention(
    text: str, samples: int, certain: bool
) -> None:
    made = two(works(), works()).sample(A, "fork worker", samples).sample(B, "work", 80)
    made.texts[made.stack("fork worker")] = text
    first = made.first()
    assert (first["category"], first["certain"]) == ("none", certain)
    assert ("atomic instructions, as of fork" in first["words"]) == (not certain)


@pytest.mark.parametrize(("samples", "certain"), [(40, False), (10, True)])
def test_much_time_in_locks_that_are_free_may_be_lost(samples: int, certain: bool) -> None:
    made = two(works(), works()).sample(B, "work", 80)
    made.sample(
        A, "pthread_mutex_trylock@libc pthread_mutex_lock@libthreadmark-agent fork", samples
    )
    first = made.first()
    assert (first["category"], first["certain"]) == ("none", certain)
    assert ("lock and unlock mutexes, as of fork" in first["words"]) == (not certain)


@pytest.mark.parametrize(
    ("retries", "path", "certain"),
    [(9, "prog", True), (40, "prog", False), (40, "lib/libtbb.so.12", True)],
    ids=["little", "much", "the loop of a runtime"],
)
def test_work_that_a_failing_exchange_repeats_makes_none_uncertain(
    retries: int, path: str, certain: bool
) -> None:
    made = two(works(), works()).sample(A, "fold worker", retries).sample(B, "work", 80)
    made.retries.add(made.stack("fold worker"))
    made.line(kind="module", id=1, path=path, low=0, high=1 << 40)
    first = made.first()
    assert (first["category"], first["certain"]) == ("none", certain)
    assert ("as of fold" in first["words"]) != certain


def test_a_loop_that_waits_is_spinning() -> None:
    made = two(works(), works()).sample(A, "spin worker", 40).sample(A, "work", 40)
    made.operands[made.stack("spin worker")] = Operand(loops=True)
    found = made.answer()
    assert found["causes"][0]["category"] == "spin"
    assert found["states"]["spinning"] == pytest.approx(1 / 6, abs=0.01)


def test_what_nobody_saw_is_unknown_and_not_certain() -> None:
    made = two(works(), works())
    made.head["tick_ns"] = TICK
    for tid in (A, B):
        made.threads[tid]["run_ns"] = 10 * TICK
    cause = made.answer()["causes"][0]
    assert (cause["category"], cause["certain"]) == ("unknown", False)


def test_unequal_parts_and_a_chain_that_cost_the_same_are_both_named() -> None:
    barrier = waits("barrier", 5, "step worker")
    made = Made().thread(MAIN, works(), "x")
    made.thread(A, [barrier] * 50 + [waits("condition", 3, "get worker")] * 50, "main")
    made.thing(5, "barrier").thing(3, "condition")
    causes = [c for c in made.answer()["causes"] if c["category"] != "none"]
    assert {c["category"] for c in causes} >= {"imbalance", "serial_dependency"}
    assert not causes[0]["certain"]
    assert "or " in causes[0]["words"]


def test_an_own_lock_on_a_futex_is_a_mutex_and_a_wait_for_an_atomic_is_none() -> None:
    own = waits("futex", 1, "MyLock::lock worker", B)
    assert two([own, works()], [works(), own]).thing(1, "futex").first()["category"] == "mutex"
    event = waits("futex", 1, "std::__atomic_base::wait step worker", B)
    made = two(half(event, works(), 4), works()).thing(1, "futex")
    assert made.first()["category"] in ("imbalance", "serial_dependency")


def test_a_wait_for_an_atomic_that_a_barrier_wakes_is_the_barrier() -> None:
    wait = waits("futex", 1, "std::__atomic_wait_address step worker")
    made = two(half(wait, works(), 4), works())
    made.thing(1, "futex", signals=9, signal_stack="std::barrier::arrive step worker")
    assert made.first()["category"] == "imbalance"
    assert made.answer()["states"]["waiting"] == 0


@pytest.mark.parametrize(
    ("signals", "broadcasts", "calls", "wakes", "is_latch"),
    [
        (1, 1, "worker", "worker", True),
        (1, 0, "worker", "worker", False),
        (9, 9, "worker", "worker", False),  # a lock may wake all waiters
        (1, 1, "worker", "main", False),
        (1, 1, "Gate::lock worker", "Gate::unlock worker", False),
        (9, 9, "pass_barrier worker", "pass_barrier worker", True),
        (9, 0, "pass_barrier worker", "pass_barrier worker", False),
    ],
    ids=[
        "once for all", "for one waiter", "again", "in another function", "a lock by its name",
        "a barrier by its name", "for one waiter of a barrier",
    ],
)  # fmt: skip
def test_a_word_is_a_latch_if_it_is_signalled_once_for_all_and_a_barrier_if_its_name_says_so(
    signals: int, broadcasts: int, calls: str, wakes: str, is_latch: bool
) -> None:
    wait = waits("futex", 1, f"syscall@libc {calls}", B)
    made = two([wait, works()], works())
    stack = f"syscall@libc {wakes}"
    made.thing(1, "futex", signals=signals, broadcasts=broadcasts, signal_stack=stack)
    for tid in (A, B):
        made.sample(tid, "worker", 60)
    first = made.first()
    assert (first["category"] != "mutex" and "barrier" in first["words"]) == is_latch


def test_nothing_is_certain_where_other_programs_had_the_processors() -> None:
    made = two([works(), ready()], [ready(), works()])
    found = made.answer()
    assert (found["causes"][0]["category"], found["causes"][0]["certain"]) == ("none", False)
    assert any("other programs had these" in limit for limit in found["limits"])


def test_a_lock_that_costs_less_than_the_wait_for_processors_is_not_certain() -> None:
    made = two([lock(), ready(), ready(), works()], [ready(), works(), lock(holder=A), ready()])
    made.thing(1, "mutex", waits=100).pair(1, "mutex", "Cache::get worker", "Cache::put worker", 1)
    found = made.answer()
    [cause, *_] = [each for each in found["causes"] if each["category"] == "mutex"]
    assert found["states"]["runnable"] > cause["share"]
    assert not cause["certain"]


@pytest.mark.parametrize(("times", "certain"), [(50, True), (18, False)])
def test_calls_for_output_that_run_when_they_are_seen_are_a_cause(
    times: int, certain: bool
) -> None:
    """A cause is not certain if the kernel computes for less than a quarter of the time."""
    writes = ("io", 5, "write@libc write_row", 0, "R", 1)
    made = two(half(writes, works(), times), half(writes, works(), times))
    for tid in (A, B):
        made.threads[tid]["totals"] = {"io": {"ns": times * TICK, "times": 9}}
    made.thing(5, "file")
    made.line(kind="file", tid=0, path="/tmp/out", writes=1000, bytes=80_000, ns=5)
    cause = made.first()
    assert (cause["category"], cause["certain"]) == ("io", certain)
    assert cause["share"] > 0.1


def test_a_lock_stands_before_a_late_end_that_costs_hardly_more() -> None:
    alone = waits("join", 0, "pthread_join@libc main", A)
    late = [works()] * 100
    early: list[Doing | None] = [*([lock(holder=A), works()] * 32), *[None] * 36]
    made = Made().thread(MAIN, alone).thread(A, late, "main").thread(B, early, "main")
    made.thing(1, "mutex", waits=100)
    found = made.answer()["causes"]
    assert [each["category"] for each in found[:2]] == ["mutex", "imbalance"]
    assert found[0]["share"] < found[1]["share"]
    assert not found[0]["certain"]
    assert "or the work is divided unequally" in found[0]["words"]


def test_threads_that_may_only_run_on_some_processors_wait_for_these() -> None:
    made = two([works(), ready()], [ready(), works()])
    for tid in (A, B):
        made.threads[tid]["allowed"] = [0]
    made.threads[MAIN]["allowed"] = [0, 1]  # main only waits
    assert made.first()["category"] == "affinity"


def test_a_join_costs_nothing_while_others_wait_for_something_of_their_own() -> None:
    made = two(works(), waits("io", 5, "read@libc fetch worker")).thing(5, "file")
    assert [each["category"] for each in made.answer()["causes"]] == ["io"]


def test_a_barrier_is_no_wait_for_the_thread_that_joins_its_threads() -> None:
    wait = waits("barrier", 1, "pthread_barrier_wait@libc run worker")
    made = two([wait, works()], [wait, works()]).thing(1, "barrier")
    assert [each["category"] for each in made.answer()["causes"]] == ["barrier"]


def test_who_was_woken_and_wants_a_mutex_is_why_a_processor_is_free() -> None:
    done = waits("condition", 1, "hang_up main")
    there = ("condition", 2, "take work", 0, "R", -1)
    made = Made().thread(MAIN, done).thread(A, works(), "main").thread(B, there, "main")
    made.thing(1, "condition", signal_stack="take work").thing(2, "condition")
    made.sample(A, "take work", 20)
    assert "imbalance" not in [each["category"] for each in made.answer()["causes"]]


def test_brief_yields_have_the_stack_that_samples_saw() -> None:
    spin = ("yield", 0, "", 0, "R", 24)
    made = two([spin, works()], [works(), spin])
    made.sample(A, "sched_yield@libc await_turn worker", 20)
    made.line(kind="pair", object=0, activity="yield", waiter=0, holder=0, waits=1, wait_ns=1)
    spins = [each for each in made.answer()["causes"] if each["category"] == "spin"]
    assert "await_turn" in spins[0]["name"]


def test_a_loop_that_gives_its_processor_away_has_the_name_of_the_word_that_it_looks_at() -> None:
    spin = ("yield", 0, "sched_yield@libc await_turn worker", 0, "R", 24)
    made = two([spin, works()], [works(), spin])
    made.pair(0, "yield", "sched_yield@libc await_turn worker", "", 50 * TICK)
    made.sample(A, "await_turn worker", 8, di=64000).sample(A, "work worker", 50, di=96000)
    made.operands[made.stack("await_turn worker")] = Operand("di")
    made.operands[made.stack("work worker")] = Operand("di")
    made.data |= {(0, 64000): ("turn", "turns.cpp:3"), (0, 96000): ("sum", "turns.cpp:4")}
    spins = [each for each in made.answer()["causes"] if each["category"] == "spin"]
    assert (spins[0]["name"], spins[0]["where"]) == ("turn", "turns.cpp:3")


def test_the_wait_of_a_lone_thread_for_another_process_is_not_certain() -> None:
    made = Made().thread(MAIN, waits("join", 1, "waitpid@libc main", 0)).thing(1, "thread")
    assert not made.first()["certain"]


def test_an_inlined_function_tells_the_atomic_although_most_samples_lie_behind_it() -> None:
    count = Operand("di", "", 1, 8)
    made = Made().thread(MAIN, JOIN_A)
    for tid in (A, B):
        made.thread(tid, works(), "main").sample(tid, "copy worker", 60, di=64000)
        made.sample(tid, "std::_Sp_counted_base::_M_release drop worker", 20, di=64000)
    for stack in ("copy worker", "std::_Sp_counted_base::_M_release drop worker"):
        made.operands[made.stack(stack)] = count
    assert made.first()["name"] == "shared_ptr reference count"


@pytest.mark.parametrize(
    ("function", "yields", "category"),
    [("take", True, "spin"), ("Ticket::lock", False, "spin"), ("take", False, "none")],
)
def test_a_loop_that_counts_spins_where_a_lock_is_taken_or_a_processor_given_away(
    function: str, yields: bool, category: str
) -> None:
    made = Made().thread(MAIN, JOIN_A)
    for tid in (A, B):
        made.thread(tid, works(), "main").sample(tid, f"{function} worker", 60, di=64000)
        made.sample(tid, "work worker", 40)
    made.operands[made.stack(f"{function} worker")] = Operand("di", plain=True, counts=True)
    if yields:
        made.pair(0, "yield", "sched_yield@libc take worker", "", MS)
    assert made.first()["category"] == category


@pytest.mark.parametrize(("ms", "category"), [(60, "mutex"), (2, "spin")])
def test_a_yield_in_a_function_that_sleeps_at_a_lock_is_a_wait_for_that_lock(
    ms: int, category: str
) -> None:
    polls = ("yield", 0, "sched_yield@libc take worker", 0, "R", 24)
    made = Made().thing(1, "futex", module=1, offset=8)
    made.thread(A, [polls] * 90 + [works()] * 10, "main").thread(B, works(), "main")
    made.pair(0, "yield", "sched_yield@libc take worker", "", 90 * TICK)
    made.pair(1, "futex", "syscall@libc take worker", "syscall@libc take worker", ms * MS)
    made.data[1, 8] = ("slots", "permits.cpp:8")
    first = made.first()
    assert (first["category"], first["name"] == "slots") == (category, category == "mutex")


@pytest.mark.parametrize(
    ("taken", "name"), [("get", "made in main, used in get"), ("main", "made in main")]
)
def test_an_object_that_has_no_name_has_its_maker_and_user(taken: str, name: str) -> None:
    stack = f"pthread_mutex_lock@libc {taken} worker"
    made = two([lock(stack=stack), works()], [works(), lock(holder=A, stack=stack)])
    made.thing(1, "mutex", made_at="main")
    document, details = made.analysed()
    assert document["causes"][0]["name"] == name
    assert details["locks"][0]["name"] == name


def test_objects_made_at_one_place_are_one_whatever_uses_them() -> None:
    get, put = "pthread_mutex_lock@libc get worker", "pthread_mutex_lock@libc put worker"
    a, b = lock(1, B, get), lock(2, A, put)
    made = two([a, works()], [works(), b, works(), works()])
    made.thing(1, "mutex", made_at="Map main", waits=50, wait_ns=100 * TICK)
    made.thing(2, "mutex", made_at="Map main", waits=25, wait_ns=50 * TICK)
    [cause] = [each for each in made.answer()["causes"] if each["category"] == "mutex"]
    assert cause["name"] == "made in Map, used in get"
    assert cause["waits"] == 75


def test_hot_instructions_are_those_of_the_function_and_not_of_its_locks() -> None:
    made = two(works(), works()).sample(A, "compute worker", 3)
    made.sample(B, "pthread_mutex_lock@libc compute worker", 5)
    hot = made.analysed()[1]["hot"]["compute"]
    assert hot["lines"] == [["compute.cpp:1", 8]]
    assert sum(count for _, _, count in hot["instructions"]) == 3


CALLS = ("__libc_open64@libc.so.6 publish worker", "__unlink@libc.so.6 evict worker")


@pytest.mark.parametrize(("times", "category"), [(40, "io"), (5, "none")])
def test_much_time_in_calls_for_files_is_input_and_output(times: int, category: str) -> None:
    made = Made().thread(A, works(), "main").thread(B, works(), "main")
    for tid in (A, B):
        made.sample(tid, "compute worker", 60)
        for each in CALLS:
            made.look(tid, each, times, kernel=True, entry="call")
    found = made.answer()
    first = found["causes"][0]
    assert first["category"] == category
    if category == "io":
        assert (first["name"], first["certain"]) == ("publish", False)
        assert "(open, unlink)" in first["words"]
        assert found["states"]["io"] == pytest.approx(4 / 7, abs=0.02)


@pytest.mark.parametrize(
    ("ticks", "certain"),
    [(8, True), (50, False), (100, False)],
)
def test_few_more_threads_than_processors_are_no_queue(ticks: int, certain: bool) -> None:
    made = Made(processors=2).thread(A, works(), "main").thread(B, works(), "main")
    made.thread(C, [ready()] * ticks + [None] * (100 - ticks), "main")
    made.thread(C + 1, [ready()] * ticks + [None] * (100 - ticks), "main")
    cause = made.first()
    assert (cause["category"], cause["certain"]) == ("none", certain)
    assert ("all processors work" in cause["words"]) == (ticks > 8)


@pytest.mark.parametrize(("faults", "category"), [(8, "none"), (20, "kernel_memory")])
def test_memory_that_is_filled_once_is_no_cause(faults: int, category: str) -> None:
    made = Made().thread(A, works(), "main").thread(B, works(), "main")
    for tid in (A, B):
        made.sample(tid, "compute worker", 100 - faults)
        made.look(tid, "compute worker", faults, kernel=True, entry="fault")
    assert made.first()["category"] == category

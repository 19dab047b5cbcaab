"""Threads that take turns: at a lock that is held all the time, at a barrier with work of its own,
in a critical section of OpenMP, and in a runtime with a single task."""

from __future__ import annotations

import pytest
from made import MAIN, MS, TICK, Made, ready, waits, works
from threadmark.kinds.explain.analysis.cause import Cause, merged
from threadmark.kinds.explain.analysis.doubts import doubted
from threadmark.kinds.explain.analysis.frames import Frame, closure_in
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.knowledge import knowledge

A, B = 101, 102
POLLS = "std::__1::__libcpp_thread_poll_with_backoff"
JOIN_A = waits("join", 0, "pthread_join@libc main", A)


@pytest.mark.parametrize(("held", "category"), [(0.95, "mutex"), (0.5, "imbalance")])
def test_threads_that_work_in_turns_under_one_lock_wait_for_it(held: float, category: str) -> None:
    # Each thread waits for the other's signal; the record shows no thread that waits for the lock.
    for_a, for_b = (waits("condition", 1, "price worker", tid) for tid in (A, B))
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [works(), for_b], "main").thread(B, [for_a, works()], "main")
    made.thing(1, "condition", signal_stack="price worker", signals=50)
    made.thing(2, "mutex", waits=1, holds=100, hold_ns=round(held * 100 * TICK))
    made.hold(2, "price worker", 100, round(held * 100 * TICK))
    causes = {each["category"] for each in made.answer()["causes"]}
    assert category in causes


@pytest.mark.parametrize(("longer", "category"), [(3, "mutex"), (5, "imbalance")])
def test_one_lock_keeps_turns_apart_though_one_of_them_is_longer(
    longer: int, category: str
) -> None:
    for_a, for_b = (waits("condition", 1, "price worker", tid) for tid in (A, B))
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [works(), *[for_b] * longer], "main")
    made.thread(B, [for_a, *[works()] * longer], "main")
    made.thing(1, "condition", signal_stack="price worker", signals=50)
    made.thing(2, "mutex", waits=1, holds=100, hold_ns=95 * TICK)
    made.hold(2, "price worker", 100, 95 * TICK)
    assert made.first()["category"] == category


@pytest.mark.parametrize("partner", [True, False])
def test_a_thread_that_waits_for_a_woken_partner_waits_for_its_work(
    partner: bool,
) -> None:
    """In half of the ticks the partner was woken and does not run yet. Among three threads that
    wake each other it may find nothing to do."""
    woken = "condition", 1, "take reader", 0, "R", 202
    wait = waits("condition", 1, "give writer")
    made = Made().thread(MAIN, JOIN_A).thread(A, [works(), woken], "main")
    made.thread(B, wait, "main").thing(1, "condition", signals=100, signal_stack="put reader")
    if not partner:
        made.thread(B + 1, [works(), woken], "main").sample(B + 1, "put reader", 1)
    made.sample(A, "put reader", 9).sample(B, "write writer", 1)
    made.pair(1, "condition", "give writer", "put reader", 100 * TICK)
    names = {each["name"] for each in made.answer()["causes"]}
    assert ("condition in give" in names) != partner


def test_a_thread_that_waits_for_a_partner_that_writes_waits_for_the_writes() -> None:
    writes = "io", 2, "write@libc put reader", 0, "R", 1
    made = Made().thread(MAIN, JOIN_A).thread(A, writes, "main")
    made.thread(B, waits("condition", 1, "give writer"), "main")
    made.thing(1, "condition", signals=100, signal_stack="put reader").thing(2, "file")
    made.sample(A, "put reader", 9).sample(B, "write writer", 1)
    made.pair(1, "condition", "give writer", "put reader", 100 * TICK)
    assert "serial_dependency" not in {each["category"] for each in made.answer()["causes"]}


def test_a_thread_that_signalled_last_is_not_the_only_one_that_does() -> None:
    wait = waits("futex", 1, "std::__atomic_base::wait writer")
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, wait, "main")
    made.thing(1, "futex", signals=9, signal_stack="put writer")
    made.sample(A, "put reader", 9).sample(B, "put writer", 1)
    made.pair(1, "futex", "std::__atomic_base::wait writer", "put reader", 100 * TICK)
    assert made.first()["category"] == "serial_dependency"


@pytest.mark.parametrize(("worked", "most"), [(96, 0.05), (50, 0.5)])
def test_a_thread_that_was_woken_while_ticks_looked_did_not_wait_all_that_time(
    worked: int, most: float
) -> None:
    # Half of the ticks see a running thread whose words in shared memory still say that it waits.
    woken = "condition", 1, "take worker", 0, "R", 202
    made = Made().thread(MAIN, JOIN_A)
    totals = {"condition": {"ns": (100 - worked) * TICK, "times": 50}}
    made.thread(A, [works(), woken], "main", run_ns=worked * TICK, totals=totals)
    made.thread(B, waits("condition", 1, "give other"), "main")
    made.thing(1, "condition", signals=100)
    shares = {each["category"]: each["share"] for each in made.answer()["causes"]}
    found = shares.get("condition", 0.0)
    assert found <= most
    assert (found > 0.2) == (worked == 50)


@pytest.mark.parametrize(("held", "category"), [(0.95, "mutex"), (0.5, "run_queue")])
def test_ready_threads_lack_a_lock_that_is_held_all_the_time(held: float, category: str) -> None:
    made = Made(processors=2)
    lock = waits("mutex", 1, "price worker", A)
    for number in range(7):  # one of the threads works at each moment
        plan = [*[ready()] * 5, lock, lock]
        plan[number] = works()
        made.thread(A + number, plan, "main")
    made.thing(1, "mutex", waits=100, wait_ns=100 * TICK, holds=100,
               hold_ns=round(held * 100 * TICK))  # fmt: skip
    assert made.first()["category"] == category


@pytest.mark.parametrize(("queued", "certain"), [(1, True), (6, False)])
def test_a_lock_that_is_held_all_the_time_is_certain_if_few_threads_were_ready(
    queued: int, certain: bool
) -> None:
    made = Made(processors=2)
    for number in range(4):
        wait = waits("mutex", 1, "price worker", A)
        plan = [wait] * (10 - queued) + [ready()] * queued
        plan[number] = works()
        made.thread(A + number, plan, "main")
    made.thing(1, "mutex", waits=100, wait_ns=100 * TICK, holds=100, hold_ns=95 * TICK)
    first = made.first()
    assert (first["category"], first["certain"]) == ("mutex", certain)
    assert ("processors" in first["words"]) != certain


@pytest.mark.parametrize(("times", "category"), [(160, "serial_dependency"), (0, "barrier")])
def test_waits_for_a_barriers_completion_are_for_what_it_does(times: int, category: str) -> None:
    step = waits("barrier", 1, "pthread_barrier_wait@libc run worker")
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [step, works()], "main").thread(B, [works(), step], "main")
    made.thing(1, "barrier")
    made.line(kind="pair", object=1, activity="barrier", waiter=made.stack("run worker"), holder=0,
              waits=9000, wait_ns=100 * TICK)  # fmt: skip
    inner = "travel std::__tree_barrier::arrive std::barrier::arrive_and_wait run worker"
    made.sample(A, inner, times).sample(B, "infect run worker", 40)
    first = made.first()
    assert first["category"] == category
    if times:
        assert first["name"] == "travel"


@pytest.mark.parametrize("library", ["libgomp.so.1", "libomp.so.5"])
def test_a_critical_section_is_a_lock_and_no_barrier(library: str) -> None:
    enter = {"libgomp.so.1": "GOMP_critical_name_start", "libomp.so.5": "__kmpc_critical"}[library]
    stack = f"spin@{library} {enter}@{library} add bake._omp_fn.0 main"
    wait = "yield", 0, f"sched_yield@libc {stack}", 0, "R", 24
    made = Made().thread(MAIN, [wait, works()]).thread(A, [works(), wait], "main")
    made.sample(MAIN, stack, 40).sample(A, stack, 40).sample(A, "add bake._omp_fn.0 main", 20)
    causes = made.answer()["causes"]
    assert {each["category"] for each in causes} == {"mutex"}
    assert causes[0]["name"] == "OpenMP critical section"


def test_critical_sections_have_the_names_that_the_program_gave_them() -> None:
    """Most samples are at the lock of one section, some at that of another, and few at unnamed
    memory."""
    stack = "spin@libgomp.so.1 GOMP_critical_name_start@libgomp.so.1 add bake._omp_fn.0 main"
    made = Made().thread(MAIN, works()).thread(A, works(), "main")
    made.operands[made.stack(stack)] = Operand(base="di", loops=True)
    for at, name in ((0x5000, "spectrum"), (0x5008, "total")):
        made.data[0, at] = (f".gomp_critical_user_{name}", "prog+0x1")
    for tid in (MAIN, A):
        made.sample(tid, stack, 30, di=0x5008).sample(tid, stack, 50, di=0x5000)
        made.sample(tid, stack, 10, di=0x6000).sample(tid, "add bake._omp_fn.0 main", 10)
    assert made.first()["name"] == "OpenMP critical section spectrum, total"


def test_memory_that_a_runtime_asks_for_is_no_lock_of_the_runtime() -> None:
    text = "_int_malloc@libc malloc@libc GOMP_task@libgomp.so.1 rate worker"
    frames = [Frame(n, module=f"{m}.so" if m else "prog", own=not m)
              for n, _, m in (word.partition("@") for word in text.split())]  # fmt: skip
    assert not knowledge().is_lock_of_runtime(frames)


@pytest.mark.parametrize(("shared", "category"), [(False, "task_idle"), (True, "imbalance")])
def test_a_single_task_leaves_the_others_of_a_runtime_nothing(shared: bool, category: str) -> None:
    wait = "steal@libtbb.so.12 receive_or_steal_task@libtbb.so.12 start@libtbb.so.12"
    work = "collide table tbb::detail::d1::start_for::execute run@libtbb.so.12 step main"
    made = Made().thread(MAIN, works()).thread(A, works(), "main")
    for at in range(100):
        spare = work if shared and at % 5 == 0 else wait
        for tid, text in ((MAIN, work), (A, spare)):
            made.lines.append({
                "kind": "sample", "tid": tid, "at_ns": at * 2 * MS, "registers": {},
                "stack": made.stack(text),
            })  # fmt: skip
    assert made.first()["category"] == category


def test_ready_threads_of_a_herd_are_a_part_of_it() -> None:
    herd = Cause("condition", "arrived", "", "", ns=30.0)
    herd.case = "herd"
    [found] = merged([Cause("run_queue", "", "", "", ns=60.0), herd])
    assert (found.category, found.ns) == ("condition", 90.0)


def test_the_word_of_a_lock_is_the_lock() -> None:
    lock, word = (Cause(c, "m", "a.cpp:5", "", ns=9.0) for c in ("mutex", "atomic"))
    [found] = merged([lock, word])
    assert (found.category, found.ns) == ("mutex", 18.0)


@pytest.mark.parametrize(
    ("word", "lock", "dearer", "count"),
    [
        ("false_sharing", "mutex", 1.5, 2),
        ("false_sharing", "mutex", 0.5, 1),
        ("atomic", "spin", 12.0, 2),
        ("atomic", "spin", 5.0, 1),
        ("atomic", "mutex", 12.0, 1),
    ],
)
def test_a_word_that_costs_much_more_than_the_lock_of_its_name_is_another(
    word: str, lock: str, dearer: float, count: int
) -> None:
    waits, uses = Cause(lock, "m", "a.cpp:5", "", ns=9.0), Cause(word, "m", "a.cpp:5", "")
    uses.ns = dearer * waits.ns
    assert len(merged([waits, uses])) == count


@pytest.mark.parametrize(("word", "count"), [(0x1000, 1), (0x2000, 2)])
def test_atomic_instructions_on_the_word_on_which_threads_sleep_belong_to_its_lock(
    word: int, count: int
) -> None:
    waits_for_it = waits("futex", 1, "syscall@libc take worker", B)
    made = Made().thread(MAIN, JOIN_A).thread(A, [waits_for_it, works()], "main")
    made.thread(B, [works(), waits_for_it], "main").thing(1, "futex", address=0x1000, waits=50)
    made.pair(1, "futex", "syscall@libc take worker", "syscall@libc put worker", 50 * TICK)
    for tid in (A, B):
        made.sample(tid, "take worker", 40, bx=word)
    made.operands[made.stack("take worker")] = Operand(base="bx", exchanges=True)
    causes = [each["category"] for each in made.answer()["causes"]]
    assert (causes[0], "atomic" in causes, len(causes)) == ("mutex", count == 2, count)


def test_a_function_that_yields_and_then_sleeps_on_a_word_waits_for_one_thing() -> None:
    pool = waits("futex", 1, "syscall@libc strip worker")
    spins = waits("yield", 0, "sched_yield@libc strip worker")
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [pool, spins, works(), works()], "main").thread(B, works(), "main")
    made.thing(1, "futex", module=1, offset=8)
    made.data[1, 8] = ("std::__detail::__waiter_pool", "")
    assert "spin" not in {each["category"] for each in made.answer()["causes"]}


def test_the_maker_of_a_lambda_of_clang_is_known() -> None:
    text = "void* std::__1::__thread_proxy[abi:n]<std::__1::tuple<P<S>, main::$_0> >(void*)"
    assert closure_in(text) == ("main", "$_0")


def test_short_sleeps_of_a_wait_that_polls_belong_to_it() -> None:
    stack = f"nanosleep@libc {POLLS} std::__1::barrier::wait run worker"
    longer = waits("sleep", 0, stack)
    brief = waits("sleep")  # too short for the agent to take a stack
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [longer, brief, brief, works()], "main").thread(B, works(), "main")
    made.pair(0, "sleep", stack, "", 25 * TICK).pair(0, "sleep", "", "", 50 * TICK)
    assert "sleep" not in {each["category"] for each in made.answer()["causes"]}


def test_a_flag_of_call_once_is_named_by_its_user() -> None:
    once = "std::__1::__call_once@libc++ std::__1::call_once pages worker"
    made = Made().thread(MAIN, JOIN_A).thread(A, waits("condition", 1, once), "main")
    made.thread(B, works(), "main").thing(1, "condition")
    first = made.first()
    assert (first["category"], first["name"]) == ("once", "call_once in pages")


@pytest.mark.parametrize(("share", "certain"), [(0.1, False), (0.3, True)])
def test_a_few_per_cent_without_a_processor_prove_no_queue(share: float, certain: bool) -> None:
    cause = Cause("run_queue", "", "", "", ns=share * 100)
    doubted([cause], 100.0)
    assert cause.certain == certain


def test_pairs_of_threads_that_await_one_anothers_futures_are_a_chain() -> None:
    """Ten pairs of threads live one after the other, and main awaits their ends."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main"))
    turn = waits("futex", 7, "std::__future_base::_State::wait@libstdc++ append sign")
    made.thing(7, "futex", signals=50)
    for number in range(10):
        before, after = [None] * 10 * number, [None] * (90 - 10 * number)
        pair = A + 2 * number, B + 2 * number
        made.thread(pair[0], [*before, *[works(), turn] * 5, *after], "main")
        made.thread(pair[1], [*before, *[turn, works()] * 5, *after], "main")
        made.sample(pair[0], "seal sign", 5).sample(pair[1], "seal sign", 5)
    assert made.first()["category"] == "serial_dependency"


def test_sleeps_of_which_the_walk_ended_early_are_for_what_the_whole_ones_are() -> None:
    policy = "std::__1::__libcpp_timed_backoff_policy::operator()"
    whole = waits("sleep", 0, f"{policy} std::__1::barrier::arrive_and_wait run worker")
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [waits("sleep", 0, "nanosleep@libc"), whole, works(), works()], "main")
    causes = made.thread(B, works(), "main").answer()["causes"]
    assert {each["category"] for each in causes} == {"imbalance"}


def test_who_ends_most_waits_for_a_condition_may_be_awaited_though_another_signalled_last() -> None:
    """Two threads wait for the filter, which never rests. The condition has their signals too."""
    full = waits("condition", 1, "push sense")
    woken = *full[:4], "R", -1
    made = Made(processors=4).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, works(), "main one").thread(B, [full, woken], "main two")
    made.thing(1, "condition", signal_stack="push sense", waits=100, signals=200)
    made.pair(1, "condition", "push sense", "pop filter", 100 * TICK)
    made.sample(A, "denoise filter", 50).sample(B, "expose sense", 5)
    first = made.first()
    assert first["category"] == "serial_dependency"
    assert first["name"] == "filter"


@pytest.mark.parametrize(
    ("waits_of_ten", "category"), [(2, "imbalance"), (8, "imbalance"), (10, "barrier")]
)
def test_waits_in_turns_that_take_less_than_the_work_are_no_matter_of_the_barrier(
    waits_of_ten: int, category: str
) -> None:
    made = Made().thread(MAIN, works()).thread(A, works(), "main")
    for at in range(100):
        for tid in (MAIN, A):
            waiting = at % 10 < waits_of_ten and (at // 10 + tid) % 2
            text = "GOMP_barrier@libgomp.so.1 count._omp_fn.0" if waiting else "row count._omp_fn.0"
            more = {"registers": {}, "stack": made.stack(f"{text} main")}
            made.line(kind="sample", tid=tid, at_ns=at * 2 * MS, **more)
    first = made.first()
    assert first["category"] == category


@pytest.mark.parametrize(("work", "certain"), [(1, False), (0, True)])
def test_a_barrier_at_which_threads_wait_for_less_than_they_work_need_not_take_long(
    work: int, certain: bool
) -> None:
    """In turns of two ticks one thread works for both, and the other waits for one or both."""
    step = waits("barrier", 1, "pthread_barrier_wait@libc run worker")
    turn = [*[works()] * work, *[step] * (2 - work)]
    made = Made().thread(MAIN, JOIN_A).thing(1, "barrier")
    made.thread(A, [*turn, works(), works()], "main").thread(B, [works(), works(), *turn], "main")
    made.pair(1, "barrier", "run worker", "", 50 * (2 - work) * TICK).lines[-1]["waits"] = 50_000
    first = made.first()
    assert (first["category"], first["certain"]) == ("barrier", certain)
    assert ("differ from turn to turn" in first["words"]) == (not certain)


def test_a_barrier_at_which_all_threads_wait_takes_long_however_much_they_work() -> None:
    made = Made().thread(MAIN, JOIN_A).thing(1, "barrier")
    for tid in (A, B):
        made.thread(tid, [waits("barrier", 1, "run worker"), works(), works()], "main")
    made.pair(1, "barrier", "run worker", "", 68 * TICK).lines[-1]["waits"] = 100_000
    first = made.first()
    assert (first["category"], first["certain"]) == ("barrier", True)

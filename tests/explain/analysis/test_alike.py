"""Threads that do the same are equals wherever they were made, and others are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from made import MAIN, MS, TICK, Made, ready, waits, works

HELPER = 101


def sampled(made: Made, tid: int, stack: str, ticks: range) -> None:
    """Two samples of a thread in each of these ticks."""
    for at_ns in (tick * TICK + half * 2 * MS for tick in ticks for half in range(2)):
        made.line(kind="sample", tid=tid, at_ns=at_ns, registers={}, stack=made.stack(stack))


def meeting(main: str, helper: str, wait: str, *, turns: bool = False) -> Made:
    """The main thread works all the time and its helper half of it; then the helper waits for a
    condition. With `turns`, the samples of the main thread lie in the waits of the helper."""
    stop = waits("condition", 1, f"pthread_cond_wait@libc {wait}")
    made = Made().thing(1, "condition", module=1, offset=64, signal_stack=main)
    made.thread(MAIN, works()).thread(HELPER, [works(), stop], "main")
    sampled(made, HELPER, helper, range(0, 100, 2))
    sampled(made, MAIN, main, range(1, 100, 2) if turns else range(100))
    return made


def test_the_main_thread_with_the_work_of_its_helper_has_the_larger_part() -> None:
    made = meeting("cost step run main", "cost step worker", "arrive step worker")
    assert made.first()["category"] == "imbalance"


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (meeting("sort step run main", "cost step worker", "arrive step worker"), "other work"),
        (meeting("cost produce main", "cost consume worker", "pop consume worker"), "other roles"),
        (meeting("cost {lambda} main", "cost {lambda} worker", "pop {lambda} worker"), "lambdas"),
        (
            meeting("cost step run main", "cost step worker", "arrive step worker", turns=True),
            "one after the other",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_thread_with_other_work_is_waited_for_because_of_its_result(
    made: Made, reason: str
) -> None:
    assert made.first()["category"] == "serial_dependency", reason


@pytest.mark.parametrize(
    ("main", "helper", "wait", "certain"),
    [
        ("{lambda}", "{lambda}", "{lambda}", False),
        ("cost main", "cost {lambda}", "{lambda}", False),
        ("read main", "cost {lambda}", "{lambda}", True),
    ],
    ids=["inlined", "around no wait", "other work"],
)
@pytest.mark.parametrize("activity", ["condition", "event"])
def test_work_in_functions_without_names_may_be_the_same(
    main: str, helper: str, wait: str, certain: bool, activity: str
) -> None:
    made = meeting(main, helper, wait)
    if activity == "event":
        stop = waits("futex", 2, f"std::__atomic_wait_address_bare@libstdc++ {wait}")
        made.thing(2, "futex").thread(HELPER, [works(), stop], "main")
    first = made.first()
    assert (first["category"], first["certain"]) == ("serial_dependency", certain)


def test_threads_that_meet_in_one_lambda_do_the_same_if_their_instructions_show_it() -> None:
    made = meeting("step {lambda} main", "{lambda} worker", "{lambda} worker")
    for stack in ("step {lambda} main", "{lambda} worker"):
        made.code[made.stack(stack)] = ("mulsd", "addsd")
    assert made.first()["category"] == "imbalance"


def test_the_same_work_that_never_runs_at_once_may_be_in_unequal_parts() -> None:
    first = meeting("cost step run main", "cost step worker", "arrive step worker", turns=True)
    assert not first.first()["certain"]
    assert "or threads that do the same" in first.first()["words"]


def test_threads_that_took_turns_on_a_processor_may_be_equals() -> None:
    made = meeting("cost step run main", "cost step worker", "arrive step worker", turns=True)
    first = made.thread(MAIN, [works()] * 4 + [ready()]).first()
    assert (first["category"], first["certain"]) == ("serial_dependency", False)
    assert "or threads that do the same" in first["words"]


@pytest.mark.parametrize(
    ("main", "category"), [("cost main", "imbalance"), ("read main", "serial_dependency")]
)
def test_a_thread_that_had_the_smaller_part_of_the_same_work_waits_for_the_larger(
    main: str, category: str
) -> None:
    join = waits("join", 0, "pthread_join@libc main", HELPER)
    made = Made().thread(MAIN, [works()] * 50 + [join] * 50).thread(HELPER, works(), "main")
    sampled(made, MAIN, main, range(50))
    sampled(made, HELPER, "cost worker", range(100))
    assert made.first()["category"] == category


@pytest.mark.parametrize(("back", "category"), [(20, "serial_dependency"), (1, "imbalance")])
def test_threads_that_await_results_of_each_other_have_a_chain_of_results(
    back: int, category: str
) -> None:
    """Both work side by side, and then one of them waits for the other: the helper for 25 ticks,
    the main thread for `back` ticks."""
    waits_for = [waits("future", 0, f"std::__basic_future::wait {each}", other) for each, other in
                 (("run main", HELPER), ("run worker", MAIN))]  # fmt: skip
    helper = [works()] * 50 + [waits_for[1]] * 25 + [works()] * 25
    main = [works()] * 75 + [waits_for[0]] * back + [works()] * (25 - back)
    made = Made().thread(MAIN, main).thread(HELPER, helper, "main")
    for tid, plan, stack in ((MAIN, main, "run main"), (HELPER, helper, "run worker")):
        for tick in (at for at, doing in enumerate(plan) if doing == works()):
            sampled(made, tid, f"cost {stack}", range(tick, tick + 1))
    assert made.first()["category"] == category


@pytest.mark.parametrize(
    ("main", "helper", "code", "found"),
    [
        ("parse", "compress", (), ("serial_dependency", False)),
        ("cost", "cost", (), ("imbalance", True)),
        ("cost_of_a", "cost_of_b", ("mulsd", "addsd"), ("imbalance", True)),
    ],
    ids=["a pipeline", "parts", "copies"],
)
def test_threads_of_one_loop_with_different_work_may_be_stages_of_a_pipeline(
    main: str, helper: str, code: tuple[str, ...], found: tuple[str, bool]
) -> None:
    pop = waits("condition", 1, "pthread_cond_wait@libc pop run")
    made = Made().thing(1, "condition", signals=100, signal_stack="push run")
    made.thread(MAIN, waits("join", 0, "pthread_join@libc main", HELPER))
    made.thread(HELPER, works(), "main").thread(HELPER + 1, [works(), pop], "main")
    sampled(made, HELPER, f"{main} run", range(100))
    sampled(made, HELPER + 1, f"{helper} run", range(0, 100, 2))
    made.code = {made.stack(f"{each} run"): code for each in (main, helper)}
    first = made.first()
    assert (first["category"], first["certain"]) == found
    assert ("threads that do the same" in first["words"]) == (not found[1])


@pytest.mark.parametrize(
    ("one", "other", "category", "certain"),
    [
        ("cost worker", "cost worker", "imbalance", True),  # a loop that clang unrolls
        ("cost {lambda#1}", "cost {lambda#2}", "imbalance", True),
        ("{lambda#1}", "{lambda#2}", "serial_dependency", False),
        ("cost worker", "read worker", "serial_dependency", True),
    ],
    ids=["one function", "lambdas", "inlined", "other work"],
)
def test_threads_of_two_statements_may_have_parts_of_one_work(
    one: str, other: str, category: str, certain: bool
) -> None:
    join = waits("join", 0, "pthread_join@libc main", HELPER)
    made = Made(processors=4).thread(MAIN, [works()] * 30 + [join] * 70)
    made.thread(HELPER, works(), "main").thread(
        HELPER + 1, [works()] * 50 + [None] * 50, "main again"
    )
    for tid, stack, ticks in ((MAIN, "read main", 30), (HELPER, one, 100), (HELPER + 1, other, 50)):
        sampled(made, tid, stack, range(ticks))
    first = made.first()
    assert (first["category"], first["certain"]) == (category, certain)


@pytest.mark.parametrize(
    ("codes", "category", "certain"),
    [
        ([("mulsd", "addsd"), ("mulsd", "addsd")], "imbalance", True),
        ([("mulsd", "addsd"), ("xor", "shr")], "serial_dependency", True),
        ([("mulsd", "addsd"), ()], "serial_dependency", False),
        ([("mulsd", "addsd"), ("addsd", "mulsd")], "serial_dependency", False),
    ],
    ids=["the same", "another", "unknown", "in another order"],
)
def test_threads_into_which_one_function_is_inlined_do_the_same_by_its_instructions(
    codes: Sequence[tuple[str, ...]], category: str, certain: bool
) -> None:
    join = waits("join", 0, "pthread_join@libc main", HELPER)
    made = Made(processors=4).thread(MAIN, [works()] * 30 + [join] * 70)
    made.thread(HELPER, works(), "main").thread(
        HELPER + 1, [works()] * 50 + [None] * 50, "main again"
    )
    sampled(made, MAIN, "read main", range(30))
    made.code[made.stack("read main")] = ("mov", "cmp")
    for tid, code, ticks in zip((HELPER, HELPER + 1), codes, (100, 50), strict=True):
        sampled(made, tid, f"{{lambda#{tid}}}", range(ticks))
        made.code[made.stack(f"{{lambda#{tid}}}")] = code
    first = made.first()
    assert (first["category"], first["certain"]) == (category, certain)


@pytest.mark.parametrize(
    ("worker", "other", "more"),
    [
        ([None] * 55 + [works()] * 45, [works()] * 30 + [None] * 70, {}),
        ([waits("condition", 1)] * 50 + [works()] * 50, [works()] * 50 + [None] * 50, {}),
        (works(), [works()] * 50 + [None] * 50, {"process": HELPER + 1}),
    ],
    ids=["before it began", "as much, in turns", "of another process"],
)
def test_threads_with_other_spans_or_as_much_work_do_not_make_parts_unequal(
    worker: Any, other: Any, more: dict[str, int]
) -> None:
    join = waits("join", 0, "pthread_join@libc main", HELPER)
    made = Made(processors=4).thread(MAIN, [works()] * 30 + [join] * 70)
    made.thing(1, "condition", signals=1, signal_stack="cost worker")
    made.thread(HELPER, worker, "main").thread(HELPER + 1, other, "main again", **more)
    sampled(made, MAIN, "read main", range(30))
    for tid, plan in ((HELPER, worker), (HELPER + 1, other)):
        ticks = [n for n, each in enumerate(plan if isinstance(plan, list) else [plan] * 100)
                 if each == works()]  # fmt: skip
        sampled(made, tid, "cost worker", range(ticks[0], ticks[-1] + 1))
    first = made.first()
    assert first["category"] == "serial_dependency"


def test_a_result_that_one_thread_awaits_is_no_part_though_a_third_one_does_the_same() -> None:
    get = waits("future", 0, "std::__basic_future::wait finish", HELPER + 1)
    made = Made(processors=4).thread(MAIN, waits("join", 0, "pthread_join@libc main", HELPER))
    made.thread(HELPER, get, "main").thread(HELPER + 1, works(), "main again")
    made.thread(HELPER + 2, [works()] * 50 + [None] * 50, "main once more")
    sampled(made, HELPER + 1, "cost worker", range(100))
    sampled(made, HELPER + 2, "cost worker", range(50))
    first = made.first()
    assert (first["category"], first["certain"]) == ("serial_dependency", True)


@pytest.mark.parametrize(("other", "certain"), [("cost", False), ("read", True)])
def test_a_wait_for_a_latch_of_the_programs_own_may_be_for_the_largest_part(
    other: str, certain: bool
) -> None:
    wait = waits("condition", 1, "pthread_cond_wait@libc await main")
    made = Made(processors=4).thread(MAIN, [works()] * 30 + [wait] * 70)
    made.thing(1, "condition", signals=1, waits=1, signal_stack="count_down worker")
    made.thread(HELPER, works(), "main").thread(
        HELPER + 1, [works()] * 50 + [None] * 50, "main again"
    )
    for tid, stack, ticks in ((MAIN, "read main", 30), (HELPER, "cost worker", 100)):
        sampled(made, tid, stack, range(ticks))
    sampled(made, HELPER + 1, f"{other} worker", range(50))
    first = made.first()
    assert (first["category"], first["certain"]) == ("serial_dependency", certain)


def test_a_thread_that_is_joined_has_more_to_do_whatever_its_waiter_did_before() -> None:
    join = waits("join", 0, "pthread_join@libc main", HELPER)
    made = Made(processors=4).thread(MAIN, [works()] * 30 + [join] * 70)
    made.thread(HELPER, works(), "main").thread(HELPER + 1, [works()] * 50 + [None] * 50, "main")
    for tid, stack, ticks in ((MAIN, "read", 30), (HELPER, "cost", 100), (HELPER + 1, "cost", 50)):
        sampled(made, tid, stack, range(ticks))
    first = made.first()
    assert (first["category"], first["certain"]) == ("imbalance", True)


@pytest.mark.parametrize(
    ("made_in", "begin", "category"),
    [
        ("main", "worker", "imbalance"),
        ("std::vector::_M_realloc_insert@libc main", "worker", "imbalance"),
        ("start main", "worker", "serial_dependency"),
        ("std::vector::_M_realloc_insert@libc main", "writer", "serial_dependency"),
    ],
    ids=["at one place", "in an unrolled loop", "in another function", "with another beginning"],
)
def test_a_thread_without_a_part_ends_before_its_peers_begin(
    made_in: str, begin: str, category: str
) -> None:
    join = waits("join", 0, "pthread_join@libc main", HELPER)
    made = Made(processors=4, ticks=200).thread(MAIN, join)
    made.thread(HELPER, [None] + [works()] * 199, "main")
    made.thread(HELPER + 1, [works()] + [None] * 199, made_in)
    sampled(made, HELPER, "cost worker", range(1, 200))
    sampled(made, HELPER + 1, f"look {begin}", range(1))
    assert made.first()["category"] == category


@pytest.mark.parametrize(
    ("peer", "category"), [("cost", "imbalance"), ("read", "serial_dependency")]
)
def test_main_awaits_the_larger_part_of_a_pool_whatever_it_does_itself(
    peer: str, category: str
) -> None:
    done = waits("condition", 1, "pthread_cond_wait@libc main")
    idle = waits("condition", 2, "pthread_cond_wait@libc worker")
    made = Made(processors=4).thread(MAIN, [works()] * 10 + [done] * 90)
    made.thing(1, "condition", signals=9, waits=9, signal_stack="worker")
    made.thing(2, "condition", signals=9, waits=9, signal_stack="main")
    made.thread(HELPER, works(), "main").thread(HELPER + 1, [works()] * 30 + [idle] * 70, "main")
    sampled(made, MAIN, "check main", range(10))
    sampled(made, HELPER, "cost worker", range(100))
    sampled(made, HELPER + 1, f"{peer} worker", range(30))
    assert made.first()["category"] == category


@pytest.mark.parametrize(
    ("broadcasts", "category"),
    [(0, "serial_dependency"), (50, "imbalance")],
    ids=["a finished task makes the next one ready", "as at a barrier"],
)
def test_threads_of_a_pool_that_wake_one_another_wait_for_their_results(
    broadcasts: int, category: str
) -> None:
    wakes = "run worker"
    other = 102
    idle = waits("condition", 1, "pthread_cond_wait@libc next worker")
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", HELPER))
    made.thread(HELPER, [works()] * 3 + [works(), idle], "main")
    made.thread(other, [works()] * 3 + [idle, works()], "main")
    for tid in (HELPER, other):
        sampled(made, tid, "compile run worker", range(100))
    made.thing(1, "condition", waits=50, signals=50, broadcasts=broadcasts, signal_stack=wakes)
    made.pair(1, "condition", "pthread_cond_wait@libc next worker", wakes, 50 * TICK)
    made.pair(1, "relock", "pthread_cond_wait@libc next worker", "run worker", 60 * TICK)
    assert made.first()["category"] == category


@pytest.mark.parametrize(
    ("things", "category"), [((1, 2), "serial_dependency"), ((1, 1), "imbalance")]
)
def test_threads_with_a_chain_of_results_wait_for_different_conditions(
    things: tuple[int, int], category: str
) -> None:
    wakes, get = "set worker", "pthread_cond_wait@libc get worker"
    one, other = (waits("condition", thing, get) for thing in things)
    made = Made(processors=4).thread(MAIN, waits("join", 0, "pthread_join@libc main", HELPER))
    for number, plan in enumerate(
        ([works(), one, one], [one, works(), other], [other, other, works()])
    ):
        made.thread(HELPER + number, plan, "main")
        sampled(made, HELPER + number, "encrypt worker", range(100))
    for thing in set(things):
        made.thing(thing, "condition", waits=50, signals=50, broadcasts=50, signal_stack=wakes)
        made.pair(thing, "condition", get, wakes, 50 * TICK)
    assert made.first()["category"] == category


def test_threads_of_a_pool_that_one_of_them_reports_to_do_not_wake_one_another() -> None:
    """The main thread wakes all threads of the pool, and the last one wakes the main thread."""
    idle = waits("condition", 1, "pthread_cond_wait@libc next worker")
    made = Made().thread(MAIN, waits("condition", 2, "pthread_cond_wait@libc main"))
    made.thread(HELPER, works(), "main").thread(HELPER + 1, [works(), idle], "main")
    for tid in (HELPER, HELPER + 1):
        sampled(made, tid, "compile run worker", range(100))
    made.thing(1, "condition", waits=50, signals=50, broadcasts=50, signal_stack="main")
    made.thing(2, "condition", waits=50, signals=50, signal_stack="run worker")
    made.pair(1, "condition", "pthread_cond_wait@libc next worker", "main", 50 * TICK)
    made.pair(2, "condition", "pthread_cond_wait@libc main", "run worker", 100 * TICK)
    assert made.first()["category"] == "imbalance"


@pytest.mark.parametrize(("alike", "certain"), [(True, False), (False, True)])
def test_threads_that_meet_at_semaphores_may_have_parts_of_one_work(
    alike: bool, certain: bool
) -> None:
    await_part = waits("semaphore", 1, "sem_wait@libc serve")
    made = Made().thing(1, "semaphore", module=1, offset=64, signal_stack="main")
    made.thread(MAIN, works()).thread(HELPER, [works(), await_part], "main")
    made.pair(1, "semaphore", "sem_wait@libc serve", "sem_post@libc main", 50 * TICK)
    sampled(made, HELPER, "price serve", range(0, 100, 2))
    sampled(made, MAIN, "price main" if alike else "read main", range(100))
    first = made.first()
    assert (first["category"], first["certain"]) == ("serial_dependency", certain)

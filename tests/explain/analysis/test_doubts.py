"""Rules must not apply beyond their cases: each record here looks like the case of a rule."""

from __future__ import annotations

from collections import Counter

import pytest
from made import MAIN, TICK, Made, sleeps, waits, works
from threadmark.kinds.explain.analysis.cause import Cause, merged, unite_tasks
from threadmark.kinds.explain.analysis.doubts import doubted

A, B = 101, 102
JOIN_A = waits("join", 0, "pthread_join@libc main", A)


def test_an_unrelated_lock_that_is_held_all_the_time_does_not_explain_turns() -> None:
    for_a, for_b = (waits("condition", 1, "price worker", tid) for tid in (A, B))
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [works(), for_b], "main").thread(B, [for_a, works()], "main")
    made.thing(1, "condition", signal_stack="price worker", signals=50)
    made.thing(2, "mutex", waits=1, holds=1, hold_ns=98 * TICK)
    made.hold(2, "guard main", 1, 98 * TICK)
    assert "mutex" not in {each["category"] for each in made.answer()["causes"]}


def test_one_gate_at_the_start_does_not_hide_a_function_that_spins() -> None:
    gate = "syscall@libc std::__1::barrier::wait worker"
    spins = "yield", 0, "sched_yield@libc worker", 0, "R", 24
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [spins, works()], "main").thread(B, [works(), spins], "main")
    made.thing(1, "futex").pair(1, "futex", gate, "", TICK // 4)
    made.pair(0, "yield", "sched_yield@libc worker", "", 100 * TICK)
    assert made.first()["category"] == "spin"


@pytest.mark.parametrize(
    ("barrier", "doubted"), [("", True), ("std::__1::barrier::arrive_and_wait ", False)]
)
def test_a_barrier_without_a_name_may_have_a_completion_function(
    barrier: str, doubted: bool
) -> None:
    policy = "std::__1::__libcpp_timed_backoff_policy::operator()"
    step = waits("sleep", 0, f"{policy} {barrier}run worker")
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [step, works()], "main").thread(B, works(), "main")
    first = made.first()
    assert first["category"] == "imbalance"
    assert ("completion function" in first["words"]) == doubted


@pytest.mark.parametrize(("name", "count"), [("state", 1), ("state+64", 2)])
def test_another_word_of_the_structure_of_a_lock_is_not_the_lock(name: str, count: int) -> None:
    lock, word = Cause("mutex", "state", "", "", ns=2.0), Cause("atomic", name, "", "", ns=40.0)
    assert len(merged([lock, word])) == count


@pytest.mark.parametrize(
    ("condition", "names"), [(1, ["mutex in save"]), (2, ["mutex in save", "x"])]
)
def test_a_mutex_is_one_cause_whatever_function_names_it(condition: int, names: list[str]) -> None:
    locks = Cause("mutex", "mutex in save", "a:1", "", ns=40.0, things={1, 0})
    convoy = Cause("mutex", "x", "a:2", "", ns=9.0, things={condition, 0}, case="convoy")
    found = merged([convoy, locks])
    assert [each.name for each in found] == names
    assert found[0].ns == (49.0 if condition == 1 else 40.0)


def test_a_mutex_whose_convoy_costs_more_has_its_own_name() -> None:
    locks = Cause("mutex", "mutex in save", "a:1", "", ns=4.0, things={1})
    convoy = Cause("mutex", "condition", "a:2", "", ns=9.0, things={1}, case="convoy")
    [found] = merged([convoy, locks])
    assert (found.name, found.where, found.case) == ("mutex in save", "a:1", "convoy")


@pytest.mark.parametrize(("queue", "certain"), [(60.0, False), (20.0, True)])
def test_a_herd_that_takes_a_longer_queue_is_not_certain(queue: float, certain: bool) -> None:
    herd = Cause("condition", "arrived", "", "", ns=30.0)
    herd.case = "herd"
    [found] = merged([Cause("run_queue", "", "", "", ns=queue), herd])
    assert found.certain == certain


@pytest.mark.parametrize(("idle", "certain"), [(61.0, False), (10.0, True)])
def test_tasks_that_take_a_longer_wait_are_not_certain(idle: float, certain: bool) -> None:
    wait = Cause("serial_dependency", "load", "", "", ns=idle, in_runtime=True)
    first = unite_tasks([wait, Cause("task_overhead", "spawn", "", "", ns=15.0)], 23.0)[0]
    assert first.certain == certain


@pytest.mark.parametrize(("ns", "certain"), [(5.0, False), (8.0, True)])
def test_a_lock_that_costs_little_may_have_been_held_by_an_interrupted_thread(
    ns: float, certain: bool
) -> None:
    lock = Cause("mutex", "book", "", "", ns=ns, seen=100)
    doubted([lock], 100.0)
    assert lock.certain == certain


@pytest.mark.parametrize("has_tasks", [True, False])
def test_threads_of_a_runtime_without_a_processor_may_be_woken_for_nothing(has_tasks: bool) -> None:
    queue = Cause("run_queue", "", "", "", ns=50.0)
    doubted([queue], 100.0, has_tasks=has_tasks)
    assert queue.certain != has_tasks


def test_one_thread_that_works_beside_spare_workers_does_not_scale() -> None:
    spare = waits("condition", 1, "take worker")
    made = Made().thread(MAIN, works())
    for tid in range(A, A + 8):
        made.thread(tid, spare, "main")
    made.thing(1, "condition", waits=8, wait_ns=8 * 100 * TICK)
    assert made.first()["category"] == "serial_dependency"


def test_a_server_that_is_idle_in_epoll_is_not_surely_anything() -> None:
    made = Made().thread(MAIN, sleeps(232, "epoll_wait@libc main"))
    made.thread(A, sleeps(232, "epoll_wait@libc worker"), "main")
    made.head["tier"] = {"agent": False, "perf": True, "sample_ns": 2_000_000, "attached": True}
    assert not made.first()["certain"]


@pytest.mark.parametrize(
    ("tier", "samples", "words"),
    [
        ({"perf": True, "perf_kernel": True}, 60, ""),
        ({"perf": True, "perf_kernel": False}, 190, ""),
        ({"perf": True, "perf_kernel": False}, 60, "time in the kernel"),
        ({"perf": False, "perf_kernel": False}, 190, "time in the kernel"),
        ({"perf": False, "perf_kernel": False, "kernel_ns": 0}, 190, "time in the kernel"),
        ({"perf": False, "perf_kernel": False, "kernel_ns": 40 * TICK}, 190, "time in the kernel"),
        ({"perf": False, "perf_kernel": False, "kernel_ns": 20 * TICK}, 190, ""),
        ({"perf": False, "perf_kernel": False, "kernel_ns": 20 * TICK}, 60, "time in the kernel"),
        ({"perf": False, "sample_ns": 0}, 0, "not sampled"),
    ],
)
def test_a_program_whose_run_time_samples_do_not_show_does_not_surely_scale(
    tier: dict[str, object], samples: int, words: str
) -> None:
    made = Made(head={"tier": {"agent": True, "sample_ns": TICK, **tier}})
    made.thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, works(), "main")
    made.sample(A, "work", samples // 2).sample(B, "work", samples // 2)
    first = made.first()
    assert (first["category"], first["certain"]) == ("none", not words)
    assert words in first["words"]


def test_sleeps_of_a_function_that_gives_way_are_doubted() -> None:
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [waits("sleep", 0, "nanosleep@libc strip"), works()], "main")
    made.thread(B, works(), "main").pair(0, "sleep", "nanosleep@libc strip", "", 50 * TICK)
    sure = made.first()
    made.pair(0, "yield", "sched_yield@libc strip", "", TICK)
    doubted = made.first()
    assert (sure["category"], sure["certain"]) == ("sleep", True)
    assert (doubted["category"], doubted["certain"]) == ("sleep", False)


@pytest.mark.parametrize(("ns", "certain"), [(5.0, False), (20.0, True)])
def test_a_little_serial_dependence_may_be_a_thread_that_was_interrupted(
    ns: float, certain: bool
) -> None:
    cause = Cause("serial_dependency", "step", "", "", ns=ns, seen=99)
    doubted([cause], 100.0, has_tasks=False, ready_ns=0.0)
    assert cause.certain == certain


@pytest.mark.parametrize(
    ("activity", "ns", "certain"),
    [("future", 12.0, False), ("future", 20.0, True), ("join", 12.0, False), ("event", 12.0, True)],
)
def test_a_thread_that_awaits_another_end_may_have_ended_earlier_by_chance(
    activity: str, ns: float, certain: bool
) -> None:
    keys = {("work", activity, 0, A)}
    cause = Cause("serial_dependency", "step", "", "", ns=ns, seen=99, reasons=keys)
    doubted([cause], 100.0)
    assert cause.certain == certain


@pytest.mark.parametrize(
    ("activity", "waited", "worked", "category"),
    [
        ("barrier", 1, 5, "none"),
        ("barrier", 4, 5, "imbalance"),
        ("mutex", 1, 12, "none"),
        ("mutex", 1, 2, "mutex"),
    ],
)
def test_waits_for_others_of_a_few_per_cent_may_be_chance(
    activity: str, waited: int, worked: int, category: str
) -> None:
    wait = waits(activity, 1, "step worker", B)
    made = Made().thread(MAIN, JOIN_A).thing(1, activity, waits=9)
    made.thread(A, [*[wait] * waited, *[works()] * worked], "main").thread(B, works(), "main")
    first = made.first()
    assert (first["category"], first["certain"]) == (category, category != "none")
    assert ("may be chance" in first["words"]) == (category == "none")


@pytest.mark.parametrize(
    ("activity", "workers", "certain"),
    [
        ("event", {A: 40, B: 60}, False),
        ("condition", {A: 40, B: 60}, False),
        ("event", {A: 99}, True),
        ("future", {A: 40, B: 60}, True),
    ],
)
@pytest.mark.parametrize("category", ["serial_dependency", "imbalance"])
def test_turns_at_a_word_or_condition_may_be_those_of_a_lock(
    category: str, activity: str, workers: dict[int, int], certain: bool
) -> None:
    if category == "imbalance" and activity == "event":
        activity = "condition"
    reasons = {("work", activity, 0, tid) for tid in workers}
    cause = Cause(category, "step", "", "", ns=90.0, seen=99, reasons=reasons)
    cause.workers = Counter(workers)
    doubted([cause], 100.0)
    assert cause.certain == certain
    assert ("at a lock" in " ".join(cause.doubts)) == (not certain)


@pytest.mark.parametrize(
    ("lock", "activity", "spin", "count"),
    [
        ("lock in save", "own_lock", "loop in save", 1),
        ("made in main, used in save", "own_lock", "loop in save", 1),
        ("mutex in save", "mutex", "loop in save", 2),
        ("lock in save", "own_lock", "loop in load", 2),
        ("state", "own_lock", "flag", 2),
        ("state", "own_lock", "state", 1),
        ("state", "mutex", "state", 2),
    ],
)
def test_spinning_before_a_sleep_on_a_word_is_a_part_of_that_wait(
    lock: str, activity: str, spin: str, count: int
) -> None:
    locks = Cause("mutex", lock, "", "", ns=2.0, reasons={("lock", activity, 1, 0)})
    assert len(merged([locks, Cause("spin", spin, "", "", ns=40.0)])) == count


@pytest.mark.parametrize(
    ("function", "times", "certain"),
    [("tmk::detail::fork_and_join", 40, False), ("tmk::detail::fork_and_join", 10, True),
     ("tbb::detail::d1::start_for::execute", 40, True), ("solve", 40, True)],
)  # fmt: skip
def test_a_template_that_makes_tasks_may_hide_what_they_cost(
    function: str, times: int, certain: bool
) -> None:
    made = Made(lineless={function})
    for tid in (MAIN, A):
        made.thread(tid, works()).sample(tid, f"{function} work", times)
        made.sample(tid, "work", 50)
    first = made.first()
    assert (first["category"], first["certain"]) == ("none", certain)
    assert ("makes tasks" in first["words"]) == (not certain)


@pytest.mark.parametrize(("ticks", "certain"), [(14, False), (26, True)])
def test_a_lock_that_costs_little_need_not_keep_the_program_from_scaling(
    ticks: int, certain: bool
) -> None:
    lock = waits("mutex", 1, "pthread_mutex_lock@libc take worker", B)
    made = Made().thread(A, [lock] * ticks + [works()] * (100 - ticks), "main")
    made.thread(B, works(), "main").thing(1, "mutex", module=1, offset=8)
    found = made.first()
    assert (found["category"], found["certain"]) == ("mutex", certain)
    assert ("less than a tenth" in found["words"]) != certain


@pytest.mark.parametrize(("ns", "certain"), [(20.0, False), (5.0, True)])
def test_a_cause_is_not_certain_with_a_good_part_that_is_not(ns: float, certain: bool) -> None:
    sure = Cause("serial_dependency", "step", "", "", ns=30.0)
    part = Cause("serial_dependency", "read", "", "", ns=ns)
    part.doubt("or not")
    [found] = merged([sure, part])
    assert found.certain == certain

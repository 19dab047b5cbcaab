"""Threads that are made for one piece of work each: the cost of making them, and a chain of
them."""

from __future__ import annotations

import pytest
from made import MAIN, TICK, Made, waits, works
from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.doubts import doubted
from threadmark.kinds.explain.analysis.recording import short_threads

A, B, C = 101, 102, 103
ENDS = "madvise@libc advise_stack_range@libc start_thread@libc"
BLEND = "blend std::__future_base::_Task_setter::operator()"


def both_work() -> Made:
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    return made.thread(A, works(), "main").thread(B, works(), "main")


def test_what_the_kernel_does_with_the_stacks_of_threads_is_making_and_ending_them() -> None:
    made = both_work()
    for tid in (A, B):
        made.look(tid, ENDS, 40, kernel=True, entry="call").sample(tid, "answer", 40)
    found = made.answer()
    assert found["causes"][0]["category"] == "thread_creation"
    assert found["causes"][0]["knowledge"] == "thread_stacks.toml"
    assert found["states"]["starting"] == pytest.approx(1 / 3, abs=0.02)
    assert found["states"]["kernel_memory"] == 0


def test_memory_that_the_program_maps_is_none_of_it() -> None:
    made = both_work()
    for tid in (A, B):
        made.look(tid, "madvise@libc purge", 40, kernel=True, entry="call")
        made.sample(tid, "answer", 40)
    found = made.answer()
    assert found["causes"][0]["category"] == "kernel_memory"
    assert found["states"]["starting"] == 0


@pytest.mark.parametrize(
    ("stack", "state"), [(ENDS, "starting"), ("madvise@libc purge", "kernel_memory")]
)
def test_waits_for_the_kernels_memory_of_a_stack_are_making_and_ending_threads(
    stack: str, state: str
) -> None:
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for tid in (A, B):
        made.thread(tid, works(), "main", run_ns=50 * TICK)
        made.look(tid, stack, 30, switch=True, kernel=True, entry="call",
                  sleeps_in="rwsem_down_write_slowpath")  # fmt: skip
    assert made.answer()["states"][state] == pytest.approx(1 / 3, abs=0.01)


def test_a_lock_of_the_stacks_of_threads_is_no_lock_of_the_program() -> None:
    lock = "__lll_lock_wait_private@libc __nptl_deallocate_stack@libc pthread_detach@libc main"
    made = both_work()
    made.thread(MAIN, waits("futex", 7, lock, A)).thing(7, "futex", address=4096)
    first = made.first()
    assert (first["category"], first["certain"]) == ("thread_creation", True)


def test_threads_that_await_their_peer_behind_one_another_are_a_chain() -> None:
    # The second thread awaits the first through the thread that joins it, like std::async does.
    join_a, join_b = (waits("join", 0, "pthread_join@libc main", tid) for tid in (A, B))
    behind = waits("once", 5, f"pthread_once@libc {BLEND}", MAIN)
    made = Made().thread(MAIN, [join_a] * 50 + [join_b] * 50)
    made.thread(A, [works()] * 50 + [None] * 50, "main")
    made.thread(B, [behind] * 50 + [works()] * 50, "main").thing(5, "once")
    causes = made.answer()["causes"]
    assert (causes[0]["category"], causes[0]["certain"]) == ("serial_dependency", True)
    assert "imbalance" not in {each["category"] for each in causes}


def test_a_lock_whose_holder_awaits_an_end_frees_no_processor() -> None:
    # Each thread awaits the one before it, and the main thread awaits the second one.
    join = [waits("join", 0, f"pthread_join@libc {BLEND}", tid) for tid in (A, B)]
    made = Made().thread(MAIN, waits("once", 5, f"pthread_once@libc {BLEND}", B))
    made.thread(A, works(), "main").thread(B, join[0], "main").thread(C, join[1], "main")
    causes = made.thing(5, "once").answer()["causes"]
    assert [each["category"] for each in causes] == ["serial_dependency"]


def test_a_thread_that_runs_no_longer_than_its_peers_has_no_more_to_do() -> None:
    join_a, join_b = (waits("join", 0, "pthread_join@libc main", tid) for tid in (A, B))
    asleep = waits("sleep", 0, "nanosleep@libc fetch")
    made = Made().thread(MAIN, [join_a] * 50 + [join_b] * 50)
    made.thread(A, [works()] * 50 + [None] * 50, "main")
    made.thread(B, [asleep] * 50 + [works()] * 50, "main")
    assert "imbalance" not in {each["category"] for each in made.answer()["causes"]}


@pytest.mark.parametrize(
    ("starting", "category"), [(TICK, "thread_creation"), (TICK // 40, "serial_dependency")]
)
def test_waits_for_short_threads_are_for_their_work_unless_making_them_is_dear(
    starting: int, category: str
) -> None:
    tids = range(A, A + 100)
    made = Made().thread(MAIN, [waits("join", 0, "pthread_join@libc main", tid) for tid in tids])
    for number, tid in enumerate(tids):
        plan = [None] * number + [works()] + [None] * (99 - number)
        totals = {"starting": {"ns": starting, "times": 1}}
        made.thread(tid, plan, "main", totals=totals)
    first = made.first()
    assert (first["category"], first["certain"]) == (category, True)


@pytest.mark.parametrize(("ready", "certain"), [(0.05, True), (0.35, False)])
def test_a_thread_without_a_processor_ends_late_without_having_more_to_do(
    ready: float, certain: bool
) -> None:
    cause = Cause("imbalance", "worker", "", "one has more to do", ns=0.4, seen=50)
    doubted([cause], 1.0, ready_ns=ready)
    assert cause.certain == certain
    assert any("lacked a processor" in each for each in cause.doubts) != certain


@pytest.mark.parametrize(
    "hands_out",
    ["libgomp.so.1+0x1@libgomp GOMP_loop_nonmonotonic_dynamic_next@libgomp",
     "__kmpc_dispatch_next_4@libomp"],
)  # fmt: skip
def test_a_loop_whose_parts_are_single_iterations_is_overhead_of_tasks(hands_out: str) -> None:
    made = both_work()
    for tid in (A, B):
        made.sample(tid, f"{hands_out} curve", 60).sample(tid, "curve", 20)
    first = made.first()
    assert (first["category"], first["certain"]) == ("task_overhead", True)
    assert first["knowledge"] == "openmp_dynamic.toml"


def test_a_number_that_a_longer_thread_had_too_is_none_of_a_storm() -> None:
    made = Made().thread(MAIN, works())
    for number in range(60):
        made.thread(A + number, [None] * number + [works()] + [None] * (99 - number), "main")
    assert short_threads(made.read()[0]) == set(range(A, A + 60))
    made.line(kind="thread", tid=A + 50, maker=MAIN, began_ns=0, ended_ns=40 * TICK, totals={})
    assert short_threads(made.read()[0]) == {*range(A, A + 60)} - {A + 50}

"""Programs that serve others: seen from outside, with threads that nobody needs, and idle."""

from __future__ import annotations

from typing import Any

import pytest
from made import MAIN, Made, sleeps, waits, works

A, B, C = 101, 102, 103
FUTEX = "__futex_abstimed_wait_common@libc"


def attached(*plans: Any) -> Made:
    """A program that the agent is not in, with threads that do this."""
    made = Made(head={"tier": {"agent": False, "attached": True, "perf": True}})
    for tid, plan in enumerate(plans, MAIN):
        made.thread(tid, plan, "", totals={})
    return made


@pytest.mark.parametrize(
    ("function", "state", "category"),
    [("__pthread_cond_wait@libc", "condition", "serial_dependency"),
     ("pthread_cond_timedwait@libc", "sleep", "sleep"),
     ("pthread_cond_clockwait@libc", "sleep", "sleep"),
     ("__new_sem_wait_slow64@libc sem_wait@libc", "semaphore", "semaphore"),
     ("pthread_barrier_wait@libc", "barrier", "imbalance"),
     ("pthread_rwlock_rdlock@libc", "waiting", "rwlock"),
     ("pthread_rwlock_timedwrlock@libc", "waiting", "rwlock"),
     ("__pthread_mutex_cond_lock@libc pthread_cond_wait@libc", "waiting", "mutex"),
     ("___pthread_mutex_lock@libc", "waiting", "mutex")],
)  # fmt: skip
def test_functions_of_the_c_library_tell_what_a_futex_is_for_without_the_agent(
    function: str, state: str, category: str
) -> None:
    found = attached(works(), [sleeps(202, f"{FUTEX} {function} get serve"), works()]).answer()
    assert found["states"][state] == pytest.approx(0.25, abs=0.01)
    assert found["causes"][0]["category"] == category


CHILD = ("join", 0, "waitpid@libc main", 0, "S", 61)


def with_children(*plans: Any) -> Made:
    """A process that starts others, which do this, and waits for their ends."""
    made = Made().thread(MAIN, CHILD, run_ns=0)
    for tid, plan in enumerate(plans, A):
        made.thread(tid, plan, "main", process=tid)
    return made


def test_who_only_waits_for_the_end_of_a_process_is_no_thread_that_loses_time() -> None:
    first = with_children(works()).first()
    assert (first["category"], first["certain"]) == ("serial_dependency", True)
    assert "one thread" in first["words"]
    fault = sleeps(11, "munmap@libc shrink main", "D")
    assert with_children([works(), works(), fault]).first()["category"] == "kernel_memory"


def test_who_waits_for_two_processes_at_one_time_waits_for_the_longer_one() -> None:
    first = with_children(works(), [works()] * 40 + [None] * 60).first()
    assert first["category"] in ("imbalance", "serial_dependency")
    assert "for one" in first["words"] or "others wait" in first["words"]


def pool(**thing: Any) -> Made:
    """One thread works on what comes from outside; two others wait for jobs of it."""
    made = Made().thread(MAIN, [works(), waits("poll", 0, "epoll_wait@libc serve main")])
    for tid in (A, B):
        made.thread(tid, waits("condition", 3, "take_job worker"), "main", totals={})
    return made.thing(3, "condition", **thing)


def test_spare_workers_that_nobody_wakes_wait_for_nothing() -> None:
    answer = pool().answer()
    assert answer["states"]["condition"] == pytest.approx(2 / 3, abs=0.01)
    assert all(each["share"] < 0.25 for each in answer["causes"])
    woken = pool(signals=5, signal_stack="give_job serve main").answer()
    assert woken["causes"][0]["share"] > 0.4


def test_workers_that_nobody_wakes_are_the_cause_where_nothing_goes_on() -> None:
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for tid in (A, B):
        made.thread(tid, waits("condition", 3, "take_job worker"), "main", totals={})
    assert made.thing(3, "condition").first()["category"] == "condition"


def test_timers_of_one_kind_are_no_cause_beside_threads_that_work_or_want_to() -> None:
    pause = waits("sleep", 0, "usleep@libc purge")
    lock = waits("mutex", 1, "put worker", A)
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, works(), "main").thread(B, [works(), lock, lock], "main").thing(1, "mutex")
    for tid in (C, C + 1):
        made.thread(tid, pause, "start_purging")
    assert [each["category"] for each in made.answer()["causes"]] == ["mutex"]

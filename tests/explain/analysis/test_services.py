"""Programs that serve others: seen from outside, with threads that nobody needs, and idle."""

from __future__ import annotations

from typing import Any

import pytest
from made import MAIN, Made, sleeps, works

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
    found = attached(works(), sleeps(202, f"{FUTEX} {function} get serve")).answer()
    assert found["states"][state] == pytest.approx(0.5, abs=0.01)
    assert found["causes"][0]["category"] == category

"""Causes of which few ticks or switches show how much they cost, if the agent did not time them."""

from __future__ import annotations

import pytest
from made import TICK, Made, waits, works
from threadmark.kinds.explain.analysis.cause import Cause, merged
from threadmark.kinds.explain.analysis.doubts import doubted

A, B = 101, 102


@pytest.mark.parametrize(
    ("times", "agent", "certain"), [(1, False, False), (5, False, True), (1, True, True)]
)
def test_one_look_at_a_wait_that_the_agent_did_not_time_is_not_certain(
    times: int, agent: bool, certain: bool
) -> None:
    lock = waits("mutex" if agent else "futex", 1, "pthread_mutex_lock@libc put worker")
    totals = {"mutex": {"ns": 5 * TICK, "times": 9}} if agent else {}
    made = Made(ticks=20).thread(B, works(), "main").thing(1, "futex", sampled=not agent)
    made.thread(A, [lock] * times + [works()] * (20 - times), run_ns=15 * TICK, totals=totals)
    first = made.first()
    assert (first["category"], first["certain"]) == ("mutex", certain)


def test_few_switches_of_many_are_not_certain() -> None:
    made = Made().thread(A, works(), "main", run_ns=50 * TICK).thread(B, works(), "main")
    for times, stack in ((3, "__lll_lock_wait@libc malloc@libc work"), (7, "read@libc work")):
        made.look(A, stack, times, switch=True, kernel=True, entry="call")
    causes = {each["category"]: each["certain"] for each in made.answer()["causes"]}
    assert causes["allocator"] is False


@pytest.mark.parametrize("timed", [True, False])
def test_a_cause_that_the_agent_timed_in_part_needs_few_observations(timed: bool) -> None:
    seen = Cause("mutex", "book", "", "", ns=30.0, seen=1, timed=False)
    [found] = merged([seen, Cause("mutex", "book", "", "", ns=20.0, timed=timed)])
    doubted([found], 100.0)
    assert found.certain == timed

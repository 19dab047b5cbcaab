"""Wakes, the graph of wakers and woken threads, and the critical path."""

from __future__ import annotations

from typing import Any

import pytest
from made import MAIN, MS, TICK, Made, sleeps, waits, works

A, B = 101, 102
JOIN_A = waits("join", 0, "pthread_join@libc main", A)
MALLOC = "__lll_lock_wait_private@libc malloc@libc grow worker"
UNLOCK = "futex_wake@libc __lll_lock_wake_private@libc free@libc shrink worker"


def wake(made: Made, tid: int, woken: int, stack: str, thing: int = 0, times: int = 10) -> Made:
    for number in range(times):
        fields = {"tid": tid, "woken": woken, "stack": made.stack(stack), "object": thing}
        made.line(kind="wake", at_ns=number * MS, weight=499, **fields)
    return made


def blocked_by_malloc() -> Made:
    """Two workers whose waits the kernel sees and the agent does not."""
    made = Made().thread(MAIN, JOIN_A)
    for tid in (A, B):
        made.thread(tid, works(), "main", run_ns=50 * TICK)
        more = {"switch": True, "kernel": True, "entry": "call", "sleeps_in": "futex_wait_queue"}
        made.look(tid, MALLOC, 30, registers={"di": 4096}, **more)
    return made.thing(70000, "futex", address=4096, sampled=True)


def test_who_wakes_the_waiters_of_a_lock_that_the_agent_does_not_see_held_it() -> None:
    made = wake(blocked_by_malloc(), A, B, UNLOCK, 70000)
    wake(made, B, A, UNLOCK, 70000)
    first = made.first()
    assert (first["category"], first["certain"]) == ("allocator", True)
    assert first["holders"][0]["frames"][-2:] == ["shrink", "worker"]
    assert "hold_us" not in first["holders"][0]


def test_few_wakes_and_those_for_another_word_tell_no_holder() -> None:
    few = wake(blocked_by_malloc(), A, B, UNLOCK, 70000, times=4)
    other = wake(blocked_by_malloc(), A, B, UNLOCK, 70001).thing(70001, "futex", address=8192)
    for made in (few, other):
        assert all("shrink" not in each["frames"] for each in made.first()["holders"])


@pytest.mark.parametrize("wakes", [True, False])
def test_the_usual_waker_is_the_signaller_where_none_is_known(wakes: bool) -> None:
    """The others may wait for A or for B; only B ever wakes them."""
    made = Made(processors=4).thread(MAIN, waits("condition", 7, "await main"))
    made.thread(A, works(), "make_a").thread(B, works(), "make_b")
    made.thread(103, [works()] * 10 + [None] * 90, "make_c")  # so many threads can work at once
    made.thing(7, "condition", module=1, offset=64)
    made.sample(A, "idle begin_a", 20).sample(B, "produce begin_b", 20)
    if wakes:
        wake(made, B, MAIN, "pthread_cond_signal@libc produce begin_b", 7)
    first = made.first()
    assert first["category"] == "serial_dependency"
    assert first["name"] == ("begin_b" if wakes else "begin_a")


def graph(made: Made) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    found = made.analysed()[1]["wakeups"]
    names = [each["name"] for each in found["nodes"]]
    ends = [(names[e["from"]], names[e["to"]], e["for"]) for e in found["edges"]]
    return found, ends


def test_a_lock_that_is_a_member_has_its_name_in_the_graph_and_in_the_list_of_locks() -> None:
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, waits("mutex", 1, "add worker", B), "main").thread(B, works(), "main")
    made.sample(B, "add worker", 5).thing(1, "mutex", made_at="main")
    made.members[made.stack("add worker"), "mutex"] = ("Cache::guard", "cache.cpp:3")
    made.pair(1, "mutex", "add worker", "add worker", 100 * TICK)
    details = made.analysed()[1]
    assert "Cache::guard" in [each["for"] for each in details["wakeups"]["edges"]]
    locks = [(each["name"], each["where"]) for each in details["locks"]]
    assert ("Cache::guard", "cache.cpp:3") in locks


def test_the_graph_has_the_agents_pairs_by_the_functions_in_which_threads_begin() -> None:
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, waits("mutex", 1, "put worker", B), "main").thread(B, works(), "main")
    made.sample(B, "get worker", 5).thing(1, "mutex", module=1, offset=64)
    made.data[1, 64] = ("cache_mutex", "cache.cpp:3")
    made.pair(1, "mutex", "put worker", "get worker", 100 * TICK)
    found, ends = graph(made)
    sizes = {each["name"]: each["threads"] for each in found["nodes"]}
    assert sizes == {"worker": 2, "main": 1}
    assert sorted(ends) == [
        ("worker", "main", "the end of worker"),
        ("worker", "worker", "cache_mutex"),
    ]
    lock = found["edges"][ends.index(("worker", "worker", "cache_mutex"))]
    assert (lock["wakes"], lock["waited_s"]) == (10, pytest.approx(0.4))
    assert lock["at"] == ["get", "worker"]
    assert all(each["waited_s"] == pytest.approx(0.4) for each in found["edges"])


def test_the_graph_has_the_kernels_wakes_where_the_agent_has_no_pair() -> None:
    made = wake(blocked_by_malloc(), A, B, UNLOCK, 70000)
    made.sample(A, "idle worker").sample(B, "idle reader")
    wake(made, B, A, "write@libc reply reader")
    found, ends = graph(made)
    assert ("worker", "reader", "malloc") in ends
    assert ("reader", "worker", "write") in ends
    edge = found["edges"][ends.index(("worker", "reader", "malloc"))]
    assert (edge["wakes"], edge["waited_s"]) == (4990, pytest.approx(50 * TICK / 1e9))
    assert edge["at"][-2:] == ["shrink", "worker"]


def path(made: Made) -> dict[str, Any]:
    found: dict[str, Any] = made.analysed()[1]["critical_path"]
    return found


def spans(found: dict[str, Any]) -> list[tuple[int, str, float]]:
    return [(s["tid"], s["state"], round(s["to_s"] - s["from_s"], 3)) for s in found["segments"]]


def test_the_path_goes_back_from_a_join_to_the_work_that_it_waited_for() -> None:
    half = [works()] * 50 + [JOIN_A] * 50
    late = [None] * 30 + [works()] * 70
    made = Made().thread(MAIN, half).thread(A, late, "main")
    made.thread(B, [None] * 30 + [works()] * 20 + [None] * 50, "main")
    found = path(made)
    # A works while main still works, and joins the path only when main waits for A.
    assert spans(found)[-1] == (A, "useful", 0.28)
    assert spans(found)[0] == (MAIN, "useful", 0.12)
    assert sum(each["s"] for each in found["totals"]) == pytest.approx(0.4)


def test_the_path_has_functions_of_the_samples_nearby() -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main")
    for at in range(100):
        stack = made.stack("parse worker" if at < 60 else "solve worker")
        made.line(kind="sample", tid=A, at_ns=(at + 1) * TICK, stack=stack, registers={})
    totals = {(t["what"], t["state"]): t["s"] for t in path(made)["totals"]}
    assert totals == {
        ("parse", "useful"): pytest.approx(0.24),
        ("solve", "useful"): pytest.approx(0.16),
    }


def test_a_lock_on_the_path_has_its_time_while_others_wait_for_its_holder() -> None:
    lock = waits("mutex", 1, "put worker", B)
    made = Made().thread(MAIN, JOIN_A).thread(A, [works(), *[lock] * 3], "main")
    made.thread(B, works(), "main").thing(1, "mutex", module=1, offset=64)
    made.data[1, 64] = ("cache_mutex", "cache.cpp:3")
    found = path(made)
    totals = {(t["what"], t["state"]): t["s"] for t in found["totals"]}
    assert totals["cache_mutex", "waiting"] == pytest.approx(0.3)
    assert {each["tid"] for each in found["segments"]} == {B}


def test_a_path_of_many_short_segments_is_shortened() -> None:
    made = Made(ticks=5000).thread(MAIN, JOIN_A)
    made.thread(A, [works(), sleeps(0, "read@libc worker")], "main")
    found = path(made)
    assert len(found["segments"]) <= 2001
    assert found["segments"][0]["from_s"] == 0
    assert found["segments"][-1]["to_s"] == pytest.approx(20.0)
    ends = [each["to_s"] for each in found["segments"]]
    assert ends[:-1] == [each["from_s"] for each in found["segments"]][1:]
    assert len(found["totals"]) == 2


def test_a_record_without_ticks_has_an_empty_path() -> None:
    assert path(Made(ticks=0)) == {"segments": [], "totals": []}

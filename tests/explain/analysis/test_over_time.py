"""Threads over time: the place where each was made, the number in each state, and their waits."""

from __future__ import annotations

from typing import Any

import pytest
from made import MAIN, TICK, Made, sleeps, waits, works
from threadmark.kinds.explain.analysis.over_time import _SLICES, _THREADS


def pool(count: int = 3, ticks: int = 40) -> Made:
    """The threads of a pool, which take turns on a lock, and one thread that was made elsewhere."""
    made = Made(ticks=ticks).thread(MAIN, waits("join", 9, "main", MAIN + 1))
    for number in range(count):
        turn = [waits("mutex", 1, "get worker", MAIN + 1 + (number + 1) % count)] * count
        turn[number] = works()
        made.thread(MAIN + 1 + number, turn, "Pool::start main", name=f"w{number}")
    return made.thread(MAIN + 9000, sleeps(1, "write log"), "Log::open main").thing(1, "mutex")


def test_threads_are_grouped_by_the_place_where_they_were_made() -> None:
    groups = pool().analysed()[1]["groups"]
    assert [(each["name"], each["threads"]) for each in groups] == [
        ("main thread", 1), ("Pool::start", 3), ("Log::open", 1)
    ]  # fmt: skip
    assert groups[1]["where"] == "Pool::start.cpp:1"
    assert sorted(groups[1]["tids"]) == [MAIN + 1, MAIN + 2, MAIN + 3]


def test_a_band_says_how_many_threads_were_in_a_state() -> None:
    bands = pool(ticks=2 * _SLICES).analysed()[1]["groups"][1]["bands"]
    for at in range(_SLICES):
        assert bands["useful"][at] == pytest.approx(1)
        assert bands["waiting"][at] == pytest.approx(2)


def test_more_threads_than_rows_still_count_in_their_band() -> None:
    details = pool(_THREADS + 50, ticks=4).analysed()[1]
    assert len(details["threads"]) == _THREADS
    assert details["threads_left_out"] == 52
    group = details["groups"][1]
    assert group["threads"] == _THREADS + 50
    assert sum(counts[_SLICES // 2] for counts in group["bands"].values()) == _THREADS + 50


def test_a_row_has_only_changes_of_state_and_says_where_a_thread_was_not_seen() -> None:
    plan = [works()] * 10 + [waits("mutex", 1, "get", MAIN)] * 10 + [None] * 20
    made = Made(ticks=40).thread(MAIN, works()).thread(MAIN + 1, plan, "main").thing(1, "mutex")
    slices = made.analysed()[1]["threads"][1]["slices"]
    assert [state for _, state in slices] == ["useful", "waiting", ""]
    assert slices[2][0] < 24 * _SLICES // 40


def timeline_of(made: Made) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
    """The timeline, and its threads by number."""
    found = made.analysed()[1]["timeline"]
    return found, {each["tid"]: each for each in found["threads"]}


def test_ticks_of_one_wait_are_one_wait_that_ends_at_the_next_tick() -> None:
    get, put = waits("mutex", 1, "get worker", MAIN), waits("mutex", 2, "put worker", MAIN)
    plan = [get] * 5 + [put] * 3 + [works()] * 2
    made = Made(ticks=20).thread(MAIN, works()).thread(MAIN + 1, plan, "main")
    whole, threads = timeline_of(made.thing(1, "mutex", made_at="a").thing(2, "mutex", made_at="b"))
    found = [
        (begin, end, whole["objects"][name], awaited)
        for begin, end, _, name, _, awaited in threads[MAIN + 1]["waits"]
    ]
    us = TICK // 1000
    first, second = "made in a, used in get", "made in b, used in put"
    assert found[:3] == [
        (us, 6 * us, first, MAIN), (6 * us, 9 * us, second, MAIN), (11 * us, 16 * us, first, MAIN)
    ]  # fmt: skip
    assert MAIN not in threads  # main only worked, and was not sampled


def test_samples_have_their_thread_time_and_stack() -> None:
    made = Made().thread(MAIN, works()).sample(MAIN, "inner outer", 3)
    whole, threads = timeline_of(made)
    samples = threads[MAIN]["samples"]
    assert samples[::2] == [0, 1000, 2000]
    assert {
        tuple(whole["frames"][each] for each in whole["stacks"][number]) for number in samples[1::2]
    } == {("inner", "outer")}


def test_objects_of_one_name_are_one_lock_with_a_matrix_of_stacks() -> None:
    made = pool().thing(2, "mutex", made_at="make main", waits=3, wait_ns=TICK)
    made.thing(3, "mutex", made_at="make main", waits=4, wait_ns=TICK)
    for number, holder in ((2, "put worker"), (3, "put worker"), (3, "drop worker")):
        made.pair(number, "mutex", "get worker", holder, TICK)
        made.hold(number, holder, 5, TICK)
    locks = {each["name"]: each for each in made.analysed()[1]["locks"]}
    lock = locks["made in make, used in get"]
    assert (lock["objects"], lock["waits"]) == (2, 7)
    assert lock["waiters"] == [["get", "worker"]]
    assert lock["holders"] == [["put", "worker"], ["drop", "worker"]]
    us = TICK // 1000
    assert lock["matrix"] == [[0, 0, 20, 2 * us], [0, 1, 10, us]]
    assert lock["held"] == [[10, 2 * us], [5, us]]

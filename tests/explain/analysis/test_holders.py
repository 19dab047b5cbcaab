"""Holders, and their work while others wait; conditions and the mutexes behind them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from made import MAIN, TICK, Doing, Made, waits, works

A, B = 101, 102
JOIN_A = waits("join", 0, "pthread_join@libc main", A)


def pair_of(a: Sequence[Doing] | Doing, b: Sequence[Doing] | Doing) -> Made:
    made = Made().thread(MAIN, JOIN_A).thread(A, a, "main").thread(B, b, "main")
    made.thing(1, "mutex", module=1, offset=64, waits=100, wait_ns=100 * TICK)
    made.data[1, 64] = ("log_mutex", "log.cpp:7")
    return made


LOCK_B = waits("mutex", 1, "append worker", B)
LOCK_A = waits("mutex", 1, "append worker", A)


def test_a_holder_that_sleeps_in_a_system_call_is_shown_in_it() -> None:
    sync = ("io", 5, "append worker", 0, "S", 74)
    made = pair_of([LOCK_B, sync], [sync, LOCK_A])
    made.thing(5, "file").pair(1, "mutex", "append worker", "append worker", 100 * TICK)
    first = made.first()
    assert first["category"] == "mutex"
    assert first["holders"][0]["frames"] == ["fsync", "append", "worker"]


def test_a_call_without_a_stack_has_that_of_the_longest_waits_for_its_file() -> None:
    read = ("io", 5, "", 0, "S", 0)
    made = pair_of([LOCK_B, read], [read, LOCK_A])
    made.thing(5, "file").pair(1, "mutex", "append worker", "append worker", 100 * TICK)
    made.pair(5, "io", "append worker", "", 90 * TICK)
    assert made.first()["holders"][0]["frames"] == ["read", "append", "worker"]


def test_a_holder_that_runs_is_shown_where_it_took_the_lock() -> None:
    made = pair_of([LOCK_B, works()], [works(), LOCK_A])
    made.pair(1, "mutex", "append worker", "append worker", 100 * TICK)
    made.sample(A, "sort append worker", 40)
    assert made.first()["holders"][0]["frames"] == ["append", "worker"]


def test_a_long_hold_is_shown_with_what_it_does() -> None:
    made = pair_of([LOCK_B, works()], [works(), LOCK_A])
    made.pair(1, "mutex", "append worker", "append worker", 100 * TICK)
    made.hold(1, "append worker", 100, 100 * TICK)
    made.sample(A, "sort append worker", 40).sample(A, "copy append worker", 5)
    assert made.first()["holders"][0]["frames"] == ["sort", "append", "worker"]


def test_who_keeps_a_lock_long_counts_more_than_who_takes_it_often() -> None:
    made = pair_of([LOCK_B, works()], [works(), LOCK_A])
    made.pair(1, "mutex", "read worker", "read worker", 100 * TICK)
    made.hold(1, "read worker", 1000, 1_000).hold(1, "change worker", 10, 90_000)
    assert made.first()["holders"][0]["frames"] == ["change", "worker"]


def test_the_functions_of_a_lock_of_the_programs_own_are_not_shown() -> None:
    made = pair_of([LOCK_B, works()], [works(), LOCK_A])
    made.pair(1, "mutex", "Ticket::lock add worker", "Ticket::unlock add worker", 100 * TICK)
    first = made.first()
    assert first["holders"][0]["frames"] == first["waiters"][0]["frames"] == ["add", "worker"]


def test_the_holder_of_a_first_use_is_the_one_that_makes_it() -> None:
    wait = waits("once", 1, "table convert", A)
    made = pair_of(works(), [works(), wait])
    made.sample(A, "fill make table convert", 30).sample(A, "add make table convert", 30)
    first = made.first()
    assert first["category"] == "once"
    assert first["holders"][0]["frames"] == ["make", "table", "convert"]


def test_a_stack_that_ended_early_belongs_to_the_one_that_goes_on() -> None:
    made = pair_of([LOCK_B, works()], [works(), LOCK_A])
    made.pair(1, "mutex", "append worker", "append", 60 * TICK)
    made.pair(1, "mutex", "append worker", "append worker", 40 * TICK)
    made.hold(1, "append", 3, 3000).hold(1, "append worker", 1, 1000)
    [holder] = made.first()["holders"]
    assert holder == {"share": 1.0, "hold_us": 1.0, "frames": ["append", "worker"]}


def test_a_stack_that_ended_early_twice_belongs_to_the_longest() -> None:
    made = pair_of([LOCK_B, works()], [works(), LOCK_A])
    for holder in ("sort", "sort append", "sort append worker", "sort2 append worker"):
        made.pair(1, "mutex", "append worker", holder, 10 * TICK)
    found = [(each["share"], each["frames"][0]) for each in made.first()["holders"]]
    assert found == [(0.75, "sort"), (0.25, "sort2")]


def test_stacks_that_go_on_in_two_ways_stay_apart() -> None:
    made = pair_of([LOCK_B, works()], [works(), LOCK_A])
    for holder, ticks in (("append", 50), ("append one", 30), ("append two", 20)):
        made.pair(1, "mutex", "append worker", holder, ticks * TICK)
    assert len(made.first()["holders"]) == 3


def convoy(main_works: bool, asleep: bool = True) -> Made:
    """Main wakes two threads, which then wait for the mutex of the condition. With `asleep` they
    sleep for it; without it the mutex is free, and the wake takes the time."""
    there = waits("condition", 1, "put sense")
    back = waits("relock", 1, "put sense", MAIN)[:4] if asleep else there[:4]
    made = Made().thread(MAIN, works() if main_works else [works(), there])
    for tid in (A, B):
        totals = {
            "condition": {"ns": 20 * TICK, "times": 99},
            "relock": {"ns": 70 * TICK, "times": 99},
        }
        made.thread(
            tid,
            [there, (*back, "S" if asleep else "R", -1)],
            "main",
            run_ns=10 * TICK,
            totals=totals,
        )
    made.thing(1, "condition", module=1, offset=64, signal_stack="get main", waits=200, mutex=2)
    made.thing(2, "mutex", module=1, offset=128)
    made.data[1, 64] = ("place_free", "queue.cpp:3")
    made.data[1, 128] = ("queue_mutex", "queue.cpp:2")
    made.pair(1, "condition", "put sense", "get main", 40 * TICK)
    made.pair(1, "relock", "put sense", "get main", 140 * TICK)
    return made.sample(MAIN, "get main", 30)


def test_who_waits_for_a_thread_that_never_rests_waits_for_its_work_not_for_its_lock() -> None:
    assert convoy(True, asleep=False).first()["category"] == "serial_dependency"


def test_woken_threads_that_queue_for_the_mutex_of_their_condition_name_it() -> None:
    first = convoy(False).first()
    assert (first["category"], first["name"]) == ("mutex", "queue_mutex")
    assert first["certain"]


def test_waits_for_a_condition_are_none_for_its_mutex_but_the_way_back_is() -> None:
    made = convoy(False).pair(2, "mutex", "put sense", "get main", 10 * TICK)
    back = [each for each in made.lines if each["kind"] == "pair"][1:]
    first = made.first()
    assert first["waits"] == sum(each["waits"] for each in back)
    whole_us = sum(each["wait_ns"] for each in back) / 1e3
    assert first["wait_us"] * first["waits"] == pytest.approx(whole_us)


def test_threads_whose_mutex_is_free_when_they_are_woken_wait_for_the_condition() -> None:
    first = convoy(False, asleep=False).first()
    assert (first["category"], first["name"]) == ("condition", "place_free")


@pytest.mark.parametrize("asleep", [True, False])
def test_who_works_with_the_mutex_locked_keeps_the_woken_ones_from_it(asleep: bool) -> None:
    made = convoy(False, asleep)
    condition, mutex = (each for each in made.lines if each["kind"] == "object")
    condition["futile"] = 150
    mutex["hold_ns"] = 60 * TICK
    assert made.first()["category"] == "mutex"


@pytest.mark.parametrize(
    ("futile", "category", "certain"),
    [(150, "condition", True), (50, "condition", False), (30, "mutex", False), (10, "mutex", True)],
)
def test_threads_that_are_often_woken_for_nothing_are_a_matter_of_the_condition(
    futile: int, category: str, certain: bool
) -> None:
    """Of 200 waits."""
    made = convoy(False)
    [condition] = [each for each in made.lines if each.get("id") == 1]
    condition.update(futile=futile, signals=100, broadcasts=100)
    first = made.first()
    assert (first["category"], first["certain"]) == (category, certain)
    assert (str(futile) in first["words"]) == (category == "condition" or not certain)


def test_single_threads_that_are_woken_for_nothing_may_have_tasks_that_are_too_small() -> None:
    made = convoy(False)
    [condition] = [each for each in made.lines if each.get("id") == 1]
    condition.update(futile=150, signals=200, broadcasts=0)
    first = made.first()
    assert (first["category"], first["certain"]) == ("condition", False)
    assert "others have taken" in first["words"]
    assert "tasks are too small" in first["words"]


def test_a_herd_has_the_name_of_its_condition_whatever_its_threads_wait_for() -> None:
    """On the heap the kind of wait finds the member: a wait for the mutex, or a wait for the
    wake."""
    made = convoy(False, asleep=True)
    made.data.clear()
    [condition] = [each for each in made.lines if each.get("id") == 1]
    condition.update(futile=150, region="heap", module=0)
    put = made.stack("put sense")
    made.members = {(put, "relock"): ("Hall::mutex", ""), (put, "condition"): ("Hall::bell", "")}
    herds = [each for each in made.answer()["causes"] if each["category"] == "condition"]
    assert [each["name"] for each in herds] == ["Hall::bell"]


def test_a_convoy_has_the_name_of_the_mutex_and_not_of_a_condition() -> None:
    """The threads wait in a call whose first argument is the condition."""
    made = convoy(False, asleep=True)
    made.data.clear()
    [condition] = [each for each in made.lines if each.get("id") == 1]
    condition.update(region="heap", module=0)
    put = made.stack("put sense")
    made.members = {(put, "relock"): ("Hall::mutex", ""), (put, "mutex"): ("Hall::bell", "")}
    assert made.first()["name"] == "Hall::mutex"


@pytest.mark.parametrize(("waking", "category"), [(100, "condition"), (10, "mutex")])
def test_a_mutex_that_is_held_for_waking_does_not_hide_a_herd(waking: int, category: str) -> None:
    """The mutex is held for 60 of 100 ticks. A sample stands for half a tick."""
    made = convoy(False)
    condition, mutex = (each for each in made.lines if each["kind"] == "object")
    condition["futile"] = 150
    mutex["hold_ns"] = 60 * TICK
    made.hold(2, "get main", 200, 60 * TICK)
    made.sample(MAIN, "futex@libc pthread_cond_broadcast@libc get main", waking)
    assert made.first()["category"] == category

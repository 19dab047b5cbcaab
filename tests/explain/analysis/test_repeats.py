"""The record of a program that a harness repeats contains only the repeats."""

from __future__ import annotations

import pytest
from made import MAIN, TICK, Doing, Made, Names, waits, works
from threadmark.kinds.explain.analysis import reading
from threadmark.kinds.explain.analysis.answer import analyse
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.repeats import only_repeats
from threadmark.kinds.explain.analysis.task_costs import tell
from threadmark.kinds.explain.knowledge import knowledge
from threadmark.model.errors import LabError

A = MAIN + 1


def repeated() -> Made:
    """Ten ticks of work by two threads, then ten of work by the first one alone, and so on."""
    idle = waits("condition", 1, "serve main")
    made = Made().thread(MAIN, works()).thread(A, [works()] * 10 + [idle] * 10, "main")
    return made.thing(1, "condition")


def recording(made: Made) -> Recording:
    return reading.read(made.text())


REPEATS = [(number * 20 * TICK, (number * 20 + 10) * TICK) for number in range(5)]


def test_time_between_repeats_is_as_if_it_had_not_been() -> None:
    found = only_repeats(recording(repeated()), REPEATS)
    assert found.wall_ns == 50 * TICK
    assert [each.life_ns for each in found.threads.values()] == [50 * TICK] * 2
    assert [each.run_ns for each in found.threads.values()] == [50 * TICK] * 2
    assert found.threads[A].totals["condition"].ns == 0
    moments = [tick.at_ns for tick in found.ticks]
    assert moments == sorted(moments)
    assert max(moments) <= found.ended_ns
    assert sum(g.run_ns for tick in found.ticks for g in tick.glances) == 100 * TICK


def test_waits_between_repeats_are_no_cause() -> None:
    made = repeated()
    whole = made.answer()
    found, _ = analyse(
        only_repeats(recording(made), REPEATS), Names(made.stacks, made.data), knowledge()
    )
    assert whole["states"]["condition"] > 0.2
    assert found["states"]["condition"] == 0
    assert found["states"]["useful"] == 1
    assert found["causes"][0]["category"] == "none"


def test_what_ran_up_to_a_tick_between_repeats_counts_with_the_next_tick() -> None:
    repeats = [(number * 2 * TICK, number * 2 * TICK + TICK // 2) for number in range(50)]
    found = only_repeats(recording(Made().thread(MAIN, works())), repeats)
    assert found.threads[MAIN].run_ns == found.wall_ns == 25 * TICK


def test_threads_of_the_harness_are_left_out() -> None:
    made = Made().thread(MAIN, waits("condition", 1, "run main")).thread(A, works(), "main")
    found = only_repeats(recording(made.sample(MAIN, "run main", 5)), REPEATS, {MAIN})
    assert list(found.threads) == [A]
    assert not found.samples
    assert {g.tid for tick in found.ticks for g in tick.glances} == {A}


def test_repeats_that_nothing_was_recorded_of_are_said() -> None:
    with pytest.raises(LabError, match="had ended before their recording began"):
        only_repeats(recording(repeated()), [(200 * TICK, 300 * TICK)])


def test_the_cost_and_the_work_of_a_task_are_given() -> None:
    made = Made().thread(MAIN, works())
    made.sample(MAIN, "GOMP_task@libgomp.so.1 evaluate main", 75)
    document, _ = made.sample(MAIN, "evaluate main", 25).analysed()
    tell(document, 1000)
    assert document["tasks"] == {
        "count": 1000, "cost_ns": 0.75 * 100 * TICK / 1000, "work_ns": 0.25 * 100 * TICK / 1000
    }  # fmt: skip
    assert "a task costs 300 us and works for 100 us" in document["causes"][0]["words"]


def test_a_storm_has_advice_though_a_number_was_had_by_a_thread_that_is_cut_out() -> None:
    joins = [waits("join", 0, "pthread_join@libc main", A + number) for number in range(100)]
    made = Made().thread(MAIN, joins)
    for number in range(100):
        plan: list[Doing | None] = [None] * 100
        plan[number] = works()
        totals = {"starting": {"ns": TICK // 2, "times": 1}}
        made.thread(A + number, plan, "spawn main", totals=totals)
    made.line(kind="thread", tid=A + 50, maker=MAIN, began_ns=0, ended_ns=TICK + 1, totals={})
    cut = only_repeats(recording(made), [(2 * TICK, 100 * TICK)])
    assert A + 50 not in cut.threads
    document, _ = analyse(cut, Names(made.stacks, made.data), knowledge())
    assert document["causes"][0]["category"] == "thread_creation"

"""Bounds of comparisons, on made-up runs with one thread and with two."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from made import MAIN, Made, waits, works
from threadmark.kinds.explain.analysis.limit import Limit
from threadmark.kinds.explain.analysis.paired_runs import Rounds
from threadmark.kinds.explain.analysis.per_unit import Run, run_of
from threadmark.kinds.explain.knowledge import knowledge

TICK_NS = 4_000_000
ERROR = 1.03  # like pairs of processes differ
FREE = 999.0  # the bound of a cause that one run does not limit


def run(threads: int, ticks: int, *, bare: int | None = None, main_works: bool = False) -> Run:
    """A run of some ticks whose threads always work, and as it is without the recorder."""
    made = Made(ticks=ticks)
    made.thread(MAIN, works() if main_works else waits("join", 0, "pthread_join@libc main", 101))
    for tid in range(101, 101 + threads):
        made.thread(tid, works(), "main")
    bare_ns = None if bare is None else float(bare * TICK_NS)
    return run_of(*made.read(), knowledge(), threads=threads, units=1, bare_ns=bare_ns)


def cause(
    category: str, bound: float | None = FREE, name: str = "", share: float = 1.0
) -> dict[str, Any]:
    return {"category": category, "name": name, "bound": bound, "share": share}


def record(*causes: dict[str, Any]) -> dict[str, Any]:
    """The document of a run with one thread that works and a main thread that waits for it."""
    return {"causes": list(causes), "thread_s": 2.0, "wall_s": 1.0}


def lowered(one: Run, many: Run, of: dict[str, Any], *alone: dict[str, Any]) -> float | None:
    rounds = Rounds({1: [one], 2: [many]})
    return Limit(rounds, record(*alone)).lower(of["bound"], [of])


ONE, MANY = run(1, 100), run(2, 90)


@pytest.mark.parametrize(
    ("of", "bound"),
    [
        (cause("mutex"), 1.8 * ERROR),
        (cause("mutex", 1.5), 1.5),
        (cause("mutex", None), None),
        (cause("atomic", 1.2), 1.8 * ERROR),
        (cause("imbalance"), 1.8 * ERROR),
    ],
    ids=["limit", "lower", "unknown", "estimated", "divided"],
)
def test_two_threads_are_at_most_twice_as_fast_as_one(of: dict[str, Any], bound: float) -> None:
    assert lowered(ONE, MANY, of) == (None if bound is None else pytest.approx(bound, rel=0.02))


def test_the_runs_without_the_recorder_count() -> None:
    many = run(2, 90, bare=60)
    assert lowered(ONE, many, cause("spin")) == pytest.approx(1.2 * ERROR, rel=0.02)


def test_the_round_with_the_highest_limit_counts() -> None:
    limit = Limit(Rounds({1: [ONE, ONE], 2: [run(2, 60), MANY]}), record())
    assert limit.lower(FREE, [cause("mutex")]) == pytest.approx(1.8 * ERROR, rel=0.02)


@pytest.mark.parametrize(
    ("alone", "bound"),
    [
        (cause("io", 1.6), 2.88 * ERROR),
        (cause("io", 1.6, share=0.1), 2.25 * ERROR),
        (cause("io", 4.0), FREE),
        (cause("io", None), FREE),
        (cause("sleep", 1.6), 1.8 * ERROR),
    ],
    ids=["part", "short waits", "nearly all", "unknown", "another"],
)
def test_what_one_thread_pays_for_the_cause_is_no_work(alone: dict[str, Any], bound: float) -> None:
    assert lowered(ONE, MANY, cause("io"), alone) == pytest.approx(bound, rel=0.02)


def test_work_that_threads_could_divide_is_left_though_one_thread_has_the_cause() -> None:
    alone = cause("serial_dependency", 4.0)
    assert lowered(ONE, MANY, cause("serial_dependency"), alone) == pytest.approx(
        1.8 * ERROR, rel=0.02
    )


def test_a_main_thread_that_works_is_a_thread_more_but_no_processor() -> None:
    three = run(2, 90, main_works=True)
    assert lowered(ONE, three, cause("mutex")) == pytest.approx(1.8 * ERROR, rel=0.02)
    on_four = replace(three, processors=4)
    assert lowered(ONE, on_four, cause("mutex")) == pytest.approx(2.7 * ERROR, rel=0.02)


def test_bounds_of_several_causes_leave_what_neither_takes() -> None:
    alone = record(cause("io", 1.6), cause("sleep", 4 / 3))
    limit = Limit(Rounds({1: [ONE], 2: [MANY]}), alone)
    assert limit.lower(FREE, [cause("io"), cause("sleep")]) == pytest.approx(4.8 * ERROR, rel=0.02)
    all_of_it = [cause("io"), cause("sleep"), cause("io")]
    assert math.isclose(limit.lower(FREE, all_of_it) or 0, FREE)


def test_a_cause_takes_its_part_of_the_time_of_all_processors() -> None:
    """With one thread the main thread works too. Both have the cause for 3 of 8 parts."""
    one = run(1, 100, main_works=True)
    assert lowered(one, MANY, cause("io"), cause("io", 1.6)) == pytest.approx(
        1.44 * ERROR, rel=0.02
    )

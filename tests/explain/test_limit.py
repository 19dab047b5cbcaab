"""The limit of a comparison, with runs and documents made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from threadmark.kinds.explain.analysis.limit import Limit
from threadmark.kinds.explain.analysis.paired_runs import Rounds
from threadmark.kinds.explain.analysis.per_unit import Run

MORE = 1.03  # the difference between like processes


def run(threads: int, time_s: float, cpu_s: float, working: int | None = None) -> Run:
    ns = int(time_s * 1e9)
    working = working or threads
    return Run(
        threads, 1.0, ns, 2 * ns, int(cpu_s * 1e9), 0, 0, 2, 2, threads, working, (0.0,), {}, {}
    )


def cause(category: str, share: float, bound: float | None, name: str = "it") -> dict[str, Any]:
    return {"category": category, "name": name, "share": share, "bound": bound}


def limit(one: Run, many: Run, *alone: dict[str, Any]) -> Limit:
    return Limit(Rounds({1: [one], 2: [many]}), {"causes": alone, "thread_s": 2.0, "wall_s": 1.0})


def test_two_threads_are_at_most_twice_as_fast_as_one() -> None:
    found = limit(run(1, 1.0, 1.0), run(2, 0.9, 1.5))
    assert found.lower(9.0, [cause("mutex", 0.5, 9.0)]) == pytest.approx(1.8 * MORE, abs=0.01)
    assert found.lower(1.2, [cause("mutex", 0.5, 1.2)]) == 1.2
    assert found.lower(None, [cause("mutex", 0.5, None)]) is None


@pytest.mark.parametrize("category", ["atomic", "false_sharing"])
def test_the_limit_counts_alone_if_one_run_does_not_measure_the_cost(category: str) -> None:
    found = limit(run(1, 1.0, 1.0), run(2, 0.9, 1.5))
    assert found.lower(1.2, [cause(category, 0.5, 1.2)]) == pytest.approx(1.8 * MORE, abs=0.01)


def test_what_the_cause_takes_with_one_thread_goes_away_too() -> None:
    runs = run(1, 1.0, 1.0), run(2, 0.9, 1.5)
    mutex = cause("mutex", 0.5, 9.0)
    for alone, left in (
        (cause("mutex", 0.2, 1.25), 0.8),  # a fifth of the time of one thread
        (cause("mutex", 0.05, 1.25), 0.9),  # waits for a tenth of it
        (cause("mutex", 0.2, 1.25, "another"), 0.8),  # no mutex has the name
        (cause("rwlock", 0.2, 1.25), 1.0),
    ):
        assert limit(*runs, alone).lower(99.0, [mutex]) == pytest.approx(
            1.8 * MORE / left, abs=0.01
        )
    two = cause("mutex", 0.2, 1.25, "another"), cause("mutex", 0.05, 1.25)
    assert limit(*runs, *two).lower(99.0, [mutex]) == pytest.approx(2 * MORE, abs=0.01)


def test_what_may_take_most_of_one_threads_time_has_no_limit() -> None:
    runs = run(1, 1.0, 1.3, working=2), run(2, 0.9, 1.5)
    for bound in (2.0, None):
        found = limit(*runs, cause("sleep", 0.3, bound))
        assert found.lower(77.0, [cause("sleep", 0.4, 77.0)]) == 77.0
        assert found.lower(77.0, [cause("atomic", 0.4, 77.0), cause("sleep", 0.4, 9.0)]) == 77.0


def test_work_that_others_would_do_stays() -> None:
    found = limit(run(1, 1.0, 1.0), run(2, 0.9, 1.5), cause("imbalance", 0.5, 2.0))
    got = found.lower(9.0, [cause("imbalance", 0.5, 9.0)])
    assert got == pytest.approx(1.8 * MORE, abs=0.01)


def test_a_thread_that_works_beside_counts_and_needs_a_processor() -> None:
    one = run(1, 1.0, 1.0)
    found = limit(one, run(2, 0.9, 1.5, working=3))
    assert found.lower(9.0, [cause("mutex", 0.5, 9.0)]) == pytest.approx(1.8 * MORE, abs=0.01)


def test_the_round_with_the_highest_limit_counts() -> None:
    rounds = Rounds({
        1: [run(1, 1.0, 1.0), run(1, 0.8, 0.8)], 2: [run(2, 0.8, 1.5), run(2, 0.8, 1.5)]
    })  # fmt: skip
    found = Limit(rounds, {"causes": [], "thread_s": 1.0, "wall_s": 1.0})
    assert found.lower(9.0, [cause("mutex", 0.5, 9.0)]) == pytest.approx(2.0 * MORE, abs=0.01)
    assert found.lower(math.inf, [cause("mutex", 0.5, None)]) == pytest.approx(2.06, abs=0.01)


def test_no_program_is_slower_without_a_cause() -> None:
    found = limit(run(1, 1.0, 1.0), run(2, 0.4, 0.8))
    assert found.lower(9.0, [cause("mutex", 0.5, 9.0)]) == MORE

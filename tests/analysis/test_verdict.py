"""Each label of verdict(), its limits, and what may not be evidence."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadmark.cell import Cell, Row, Status
from threadmark.judgement import judge
from threadmark.statistics import Interval
from threadmark.verdict import Kind, Point, Verdict, verdict

SPREAD = (1.0, 0.995, 1.005, 0.99, 1.01, 1.0, 0.998, 1.002)
SERIAL = [1000.0 * s for s in SPREAD]


def times(ns: float) -> list[float]:
    """Eight samples within 1 % of `ns`."""
    return [ns * s for s in SPREAD]


def at(**speedups: float) -> dict[int, Point]:
    """Points with the given speed-ups: at(p2=1.9)."""
    return {int(p[1:]): ok(times(1000 / s)) for p, s in speedups.items()}


def ok(samples: Sequence[float]) -> Point:
    """A point without a failure."""
    return Point(samples, [Status.OK] * len(samples))


def failed(*statuses: Status) -> Point:
    """A point without a time."""
    return Point((), statuses)


@pytest.mark.parametrize(
    ("points", "label"),
    [
        (at(p1=1, p2=1.9), "scales to 2"),
        (at(p1=1, p2=1.9, p4=3.6, p8=7), "scales to 8"),
        (at(p1=1, p2=1.9, p4=3.6, p8=4), "scales to 4"),
        (at(p1=1, p2=1.2, p4=3.9), "scales poorly"),
        (at(p1=0.6, p2=1.3), "scales poorly"),
        (at(p1=1, p2=1.0), "no scaling"),
        (at(p1=0.2, p2=0.32), "slower than serial x3.1"),
        (at(p1=0.1, p2=0.05), "slower than serial x20"),
        (at(p1=1), "unclear"),
        ({}, "dropped"),
    ],
)
def test_labels_follow_from_speed_ups(points: dict[int, Point], label: str) -> None:
    assert verdict(SERIAL, points).label == label


def test_a_verdict_states_speed_up_efficiency_and_where() -> None:
    found = verdict(SERIAL, at(p1=1, p2=1.9, p4=3.6, p8=4))
    assert found.at_threads == 4
    assert found.speedup is not None
    assert found.efficiency is not None
    assert found.speedup.estimate == pytest.approx(3.6)
    assert found.efficiency.estimate == pytest.approx(0.9)
    assert found.detail == "efficiency 0.90 on 4 threads; fastest on 8 with x4.00"


@pytest.mark.parametrize(("speedup", "limit"), [(1.4, "0.7"), (1.1, "1.10"), (1 / 1.1, "0.91")])
def test_an_interval_on_both_sides_of_a_limit_is_unclear(speedup: float, limit: str) -> None:
    found = verdict(SERIAL, at(p1=1, p2=speedup))
    assert found.kind is Kind.UNCLEAR
    assert limit in found.detail


@given(st.floats(0.01, 4))
def test_known_times_are_never_unclear(speedup: float) -> None:
    found = verdict([1000.0], {2: ok([1000 / speedup])}, medians_only=True)
    assert found.kind is not Kind.UNCLEAR
    assert (found.kind is Kind.SCALES) == (
        found.efficiency is not None and found.efficiency.low >= 0.7
    )


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ((Status.TIMEOUT,), Kind.TIMEOUT),
        ((Status.WRONG,), Kind.WRONG),
        ((Status.CRASHED,), Kind.CRASHED),
        ((Status.REFUSED,), Kind.REFUSED),
        ((Status.OUT_OF_MEMORY,), Kind.OUT_OF_MEMORY),
        ((Status.UNAVAILABLE,), Kind.UNAVAILABLE),
        ((Status.DROPPED,), Kind.DROPPED),
        ((Status.TIMEOUT, Status.CRASHED), Kind.CRASHED),
        ((Status.CRASHED, Status.WRONG), Kind.WRONG),
    ],
)
def test_failures_name_themselves_and_the_gravest_wins(
    statuses: tuple[Status, ...], kind: Kind
) -> None:
    assert verdict(SERIAL, {2: failed(*statuses)}).kind is kind


def test_a_timeout_among_successes_is_partial_and_keeps_the_times() -> None:
    found = verdict(SERIAL, {1: failed(Status.TIMEOUT), **at(p2=1.9)})
    assert found.label == "partial timeout"
    assert found.detail == "1 of 1 processes on 1 thread"
    assert found.speedup is not None


def test_one_wrong_answer_among_many_right_ones_decides() -> None:
    points = at(p1=1, p2=1.9)
    points[2] = Point(points[2].samples_ns, [*points[2].statuses, Status.WRONG])
    assert verdict(SERIAL, points).kind is Kind.WRONG


def test_cells_that_were_dropped_do_not_hide_those_that_were_not() -> None:
    assert verdict(SERIAL, {4: failed(Status.DROPPED), **at(p1=1, p2=1.9)}).label == "scales to 2"


def test_a_variant_that_cannot_run_in_parallel_shows_its_overhead() -> None:
    found = verdict(SERIAL, at(p1=0.5), parallel=False)
    assert found.label == "sequential"
    assert "x2.00 serial time" in found.detail


def test_without_a_serial_time_nothing_is_judged() -> None:
    assert verdict([], at(p1=1, p2=2)).detail == "there is no serial time to compare with"


def test_disturbed_samples_are_no_evidence_unless_enough_others_are_left() -> None:
    busy = "another process took 31 % of the processor"
    some = {2: Point(times(520), [Status.OK] * 10, 2, busy)}
    most = {2: Point(times(520)[:1], [Status.OK] * 8, 7, busy)}
    assert verdict(SERIAL, some).label == "scales to 2"
    found = verdict(SERIAL, most)
    assert found.kind is Kind.UNCLEAR
    assert found.detail == f"7 of 8 samples on 2 threads disturbed: {busy}"


def rows(backend: str, variant: str, threads: int, ns: float, **more: object) -> list[Row]:
    """Eight rows of one cell."""
    cell = Cell("p", "quick", backend, variant, "gcc", "glibc", threads)
    nodes = more.pop("nodes", None)
    assert not more
    repeats = ({"warmup": True, "nodes": 1}, {"warmup": False, "nodes": nodes, "tasks": 10})
    return [
        Row(cell, i, Status.OK, sample_ns=t, repeats=repeats if nodes else ())
        for i, t in enumerate(times(ns))
    ]


def labels(everything: list[Row]) -> dict[str, Verdict]:
    """Verdicts by column."""
    return {each.column: each.verdict for each in judge(everything)}


def test_the_base_is_the_fastest_serial_variant() -> None:
    everything = [
        *rows("serial", "plain", 1, 1000),
        *rows("serial", "locked", 1, 900),
        *rows("tbb", "futures", 2, 600),
    ]
    found = {each.column: each for each in judge(everything)}
    base = found["tbb:futures"].base
    assert base is not None
    assert (base.name, base.time_ns) == ("serial:locked", Interval(891, 900, 909))
    assert labels(everything)["tbb:futures"].speedup.estimate == pytest.approx(1.5)  # type: ignore[union-attr]
    assert labels(everything)["serial:plain"].label == "sequential"


def test_a_serial_variant_that_once_failed_is_no_base() -> None:
    bad = rows("serial", "locked", 1, 500)
    bad.append(Row(bad[0].cell, 9, Status.WRONG, "sum is 3, 4 was expected"))
    found = labels([*rows("serial", "plain", 1, 1000), *bad, *rows("tbb", "futures", 2, 520)])
    assert found["tbb:futures"].label == "scales to 2"
    assert found["serial:locked"].kind is Kind.WRONG


def test_the_base_is_of_the_same_platform_and_allocator() -> None:
    from dataclasses import replace

    other = [
        replace(r, cell=replace(r.cell, allocator="jemalloc"))
        for r in rows("tbb", "futures", 2, 520)
    ]
    found = labels([*rows("serial", "plain", 1, 1000), *other])
    assert found["tbb:futures"].kind is Kind.UNCLEAR


def test_time_per_node_and_overhead_per_task_stand_beside_the_time() -> None:
    everything = [
        *rows("serial", "plain", 1, 1000, nodes=100),
        *rows("tbb", "futures", 1, 1200, nodes=100),
        *rows("tbb", "futures", 2, 1000, nodes=190),
    ]
    found = {each.column: each for each in judge(everything)}["tbb:futures"]
    assert found.verdict.label == "no scaling"
    assert found.node_speedup == pytest.approx(1.9)
    assert found.overhead_ns == pytest.approx(20)


def test_the_description_says_what_runs_in_parallel() -> None:
    description = {
        "platform_name": "gcc",
        "program": "p",
        "backend": "tbb",
        "variants": [{"name": "futures", "parallel": False}],
    }
    everything = [*rows("serial", "plain", 1, 1000), *rows("tbb", "futures", 1, 1100)]
    found = {each.column: each.verdict for each in judge(everything, [description])}
    assert found["tbb:futures"].label == "sequential"


def test_disturbed_samples_on_one_thread_still_count_when_there_are_no_others() -> None:
    from dataclasses import replace

    busy = [replace(r, disturbed="the machine is busy") for r in rows("serial", "plain", 1, 1000)]
    found = {each.column: each for each in judge([*busy, *rows("tbb", "futures", 2, 520)])}
    assert found["tbb:futures"].verdict.label == "scales to 2"
    assert found["serial:plain"].verdict.label == "sequential"


def test_what_is_far_slower_is_so_also_when_disturbed() -> None:
    from dataclasses import replace

    def label(ns: float) -> str:
        busy = [replace(r, disturbed="busy") for r in rows("tbb", "futures", 2, ns)]
        return judge([*rows("serial", "plain", 1, 1000), *busy])[-1].verdict.label

    assert label(9000) == "slower than serial x9.0"
    assert label(3500) == "unclear"  # without the disturbance it might be as fast as serial
    assert label(520) == "unclear"

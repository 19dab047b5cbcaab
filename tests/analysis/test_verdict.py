"""Each label of verdict(), its limits, and the samples that may not be evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadmark.judge.estimates import Interval, Spread
from threadmark.judge.findings import Agreement, Judged, agreement
from threadmark.judge.verdict import Kind, Point, Verdict, verdict
from threadmark.kinds.ending import endings
from threadmark.kinds.tasks.judgement import judge
from threadmark.model.cell import Cell, Row, Status
from threadmark.present import failures

SPREAD = (1.0, 0.995, 1.005, 0.99, 1.01, 1.0, 0.998, 1.002)


def times(ns: float) -> list[float]:
    """Eight samples within 1 % of `ns`."""
    return [ns * s for s in SPREAD]


def at(rounds: int = 8, **speedups: float) -> dict[int, Point]:
    """Points with the given speed-ups: at(p2=1.9)."""
    return {int(p[1:]): ok(times(s)[:rounds]) for p, s in speedups.items()}


def ok(speedups: Sequence[float]) -> Point:
    """A point without a failure."""
    return Point(speedups, [Status.OK] * len(speedups))


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
    assert verdict(points).label == label


def test_a_verdict_states_speed_up_efficiency_and_where() -> None:
    found = verdict(at(p1=1, p2=1.9, p4=3.6, p8=4))
    assert found.at_threads == 4
    assert found.speedup is not None
    assert found.efficiency is not None
    assert found.speedup.estimate == pytest.approx(3.6, rel=1e-3)
    assert found.efficiency.estimate == pytest.approx(0.9, rel=1e-3)
    assert found.detail == "efficiency 0.90 on 4 threads; fastest on 8 with x4.00"


@pytest.mark.parametrize(("speedup", "limit"), [(1.4, "0.7"), (1.1, "1.10"), (1 / 1.1, "0.91")])
def test_an_interval_on_both_sides_of_a_limit_is_unclear(speedup: float, limit: str) -> None:
    found = verdict(at(p1=1, p2=speedup))
    assert found.kind is Kind.UNCLEAR
    assert limit in found.detail


@given(st.floats(0.01, 4))
def test_known_times_are_never_unclear(speedup: float) -> None:
    found = verdict({2: ok([speedup])}, published=True)
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
    assert verdict({2: failed(*statuses)}).kind is kind


def test_a_timeout_among_successes_is_partial_and_keeps_the_times() -> None:
    found = verdict({1: failed(Status.TIMEOUT), **at(p2=1.9)})
    assert found.label == "partial timeout"
    assert found.detail == "1 of 1 processes on 1 thread"
    assert found.speedup is not None


def test_one_wrong_answer_among_many_right_ones_decides() -> None:
    points = at(p1=1, p2=1.9)
    points[2] = Point(points[2].speedups, [*points[2].statuses, Status.WRONG])
    assert verdict(points).kind is Kind.WRONG


@pytest.mark.parametrize("lacks", [2, 4])
def test_a_number_of_threads_that_was_not_measured_leaves_the_verdict_unclear(lacks: int) -> None:
    points = at(p1=1, p2=1.9, p4=3.6) | {lacks: failed(Status.DROPPED)}
    found = verdict(points)
    assert found.kind is Kind.UNCLEAR
    assert found.detail == f"0 of the 3 undisturbed rounds needed on {lacks} threads"


def test_fewer_than_three_rounds_say_nothing_however_sure_others_are_of_the_spread() -> None:
    sure = Spread(0.01**2, 50.0)
    for rounds in (1, 2):
        found = verdict(at(rounds, p2=1.9), spread=sure)
        assert found.kind is Kind.UNCLEAR
        assert found.detail == f"{rounds} of the 3 undisturbed rounds needed on 2 threads"
    assert verdict(at(3, p2=1.9), spread=sure).label == "scales to 2"
    assert verdict(at(3, p2=1.9) | at(2, p4=3.8), spread=sure).kind is Kind.UNCLEAR


def test_a_count_that_might_scale_and_was_not_measured_leaves_the_verdict_unclear() -> None:
    for points in (at(p64=30), at(p2=1.9, p16=4)):
        found = verdict(points)
        assert found.kind is Kind.UNCLEAR
        assert "fewer were not measured" in found.detail
    assert verdict(at(p64=60)).label == "scales to 64"
    assert verdict(at(p2=1.9, p4=3.6, p8=7, p12=6)).label == "scales to 8"
    assert verdict(at(p2=1.1)).kind is Kind.UNCLEAR
    assert verdict(at(p2=1.2)).label == "scales poorly"


def test_one_thread_needs_no_rounds_as_no_verdict_rests_on_it() -> None:
    assert verdict(at(p2=1.9) | at(1, p1=0.9)).label == "scales to 2"


def test_the_best_of_many_numbers_of_threads_is_not_a_gain_by_luck() -> None:
    rng = np.random.default_rng(5)
    counts = (2, 4, 8, 16, 32, 64)
    gains = 0
    for _ in range(400):
        drawn = {p: ok(list(1.09 * np.exp(rng.normal(0, 0.05, 6)))) for p in counts}
        gains += verdict(drawn).kind is Kind.POORLY
    assert gains <= 0.04 * 400


def test_a_variant_that_cannot_run_in_parallel_shows_its_overhead() -> None:
    found = verdict(at(p1=0.5), parallel=False)
    assert found.label == "sequential"
    assert "x2.00 serial time" in found.detail


def test_without_a_serial_time_nothing_is_judged() -> None:
    futures = judge(rows("tbb", "futures", 2, 520))
    assert futures[0].verdict.kind is Kind.UNCLEAR
    assert "there is no serial time to compare with" in futures[0].verdict.detail


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


def busy(of: list[Row], count: int = 8) -> list[Row]:
    """These rows, the first `count` of them disturbed."""
    return [replace(r, disturbed="busy") if i < count else r for i, r in enumerate(of)]


def test_a_load_beside_the_serial_program_does_not_pass_for_a_speed_up() -> None:
    # A constant load makes every serial sample twice as long, and its interval no wider.
    serial = busy(rows("serial", "plain", 1, 2000))
    found = labels([*serial, *rows("tbb", "futures", 2, 1000)])
    assert found["tbb:futures"].kind is Kind.UNCLEAR
    few = labels([*busy(rows("serial", "plain", 1, 1000), 6), *rows("tbb", "futures", 2, 520)])
    assert few["tbb:futures"].detail == "2 of the 3 undisturbed rounds needed on 2 threads"
    some = labels([*busy(rows("serial", "plain", 1, 1000), 5), *rows("tbb", "futures", 2, 520)])
    assert some["tbb:futures"].label == "scales to 2"


def test_disturbed_samples_are_no_evidence_however_slow_they_are() -> None:
    serial = rows("serial", "plain", 1, 1000)
    found = labels([*serial, *busy(rows("tbb", "futures", 2, 9000), 6)])["tbb:futures"]
    assert found.kind is Kind.UNCLEAR
    assert "2 of the 3 undisturbed rounds needed" in found.detail
    assert "6 of its processes were disturbed: busy" in found.detail


def late(threads: int, *disturbed: str) -> list[Row]:
    """A row that hit the time limit for each reason of a disturbance; an empty one means none."""
    cell = Cell("p", "quick", "tbb", "futures", "gcc", "glibc", threads)
    return [Row(cell, i, Status.TIMEOUT, "too long", disturbed=e) for i, e in enumerate(disturbed)]


def test_time_outs_of_a_busy_machine_prove_nothing() -> None:
    serial = rows("serial", "plain", 1, 1000)
    needed = "0 of the 3 undisturbed rounds needed on"
    why = "of its processes were disturbed"
    for timed_out, said in (
        (late(2, "busy"), f"{needed} 2 threads: 1 {why}, 1 of them until the time limit: busy"),
        (
            [*rows("tbb", "futures", 2, 520), *late(4, "busy", "busy")],
            f"{needed} 4 threads: 2 {why}, 2 of them until the time limit: busy",
        ),
    ):
        everything = [*serial, *timed_out]
        found = labels(everything)["tbb:futures"]
        assert (found.kind, found.detail) == (Kind.UNCLEAR, said)
        assert not failures.grouped(judge(everything))
        assert list(endings(everything)) == [Status.OK]


def test_a_time_out_of_a_calm_machine_decides_beside_those_of_a_busy_one() -> None:
    serial = rows("serial", "plain", 1, 1000)
    everything = [*serial, *late(2, "busy", "")]
    assert labels(everything)["tbb:futures"].kind is Kind.TIMEOUT
    assert list(endings(everything)) == [Status.OK, Status.TIMEOUT]
    assert [each.processes for each in failures.grouped(judge(everything))] == [1]
    some = [*rows("tbb", "futures", 2, 520), *late(2, "busy", "")]
    assert labels([*serial, *some])["tbb:futures"].kind is Kind.PARTIAL_TIMEOUT


def test_a_speed_up_is_of_times_of_the_same_round() -> None:
    slow = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 4.0]  # the slowness of the machine, by round

    def drifting(of: list[Row]) -> list[Row]:
        return [replace(r, sample_ns=(r.sample_ns or 0) * slow[r.round]) for r in of]

    calm = [*rows("serial", "plain", 1, 1000), *rows("tbb", "futures", 2, 520)]
    found, still = labels(drifting(calm)), labels(calm)
    for column in ("tbb:futures",):
        a, b = found[column].speedup, still[column].speedup
        assert a is not None
        assert b is not None
        assert a.estimate == pytest.approx(b.estimate)
        assert a.half_width == pytest.approx(b.half_width)


def test_several_serial_samples_of_a_round_count_as_one() -> None:
    serial = rows("serial", "plain", 1, 1000)
    futures = rows("tbb", "futures", 2, 520)
    found = labels([*serial, *futures])["tbb:futures"].speedup
    thrice = labels([*serial, *serial, *serial, *futures])["tbb:futures"].speedup
    assert found is not None
    assert thrice is not None
    assert (thrice.low, thrice.high) == pytest.approx((found.low, found.high))


def test_rounds_that_only_one_side_has_tell_nothing() -> None:
    later = [replace(r, round=r.round + 6) for r in rows("tbb", "futures", 2, 520)]
    found = labels([*rows("serial", "plain", 1, 1000), *later])["tbb:futures"]
    assert found.detail == "2 of the 3 undisturbed rounds needed on 2 threads"


def test_the_steady_speed_up_leaves_out_rounds_on_slowed_processors_and_decides_nothing() -> None:
    def on_processors(of: list[Row], slow: set[int]) -> list[Row]:
        return [
            replace(
                r,
                sample_ns=(r.sample_ns or 0) * (1.4 if r.round in slow else 1),
                repeats=({"warmup": False, "yardstick_ns": 28e3 if r.round in slow else 20e3},),
            )
            for r in of
        ]

    serial = on_processors(rows("serial", "plain", 1, 1000), {1})
    futures = on_processors(rows("tbb", "futures", 2, 520), {4, 5})
    judged = {each.column: each for each in judge([*serial, *futures])}["tbb:futures"]
    assert judged.steady is not None
    assert judged.verdict.speedup is not None
    assert judged.steady.estimate == pytest.approx(1000 / 520, rel=1e-3)
    # Of eight rounds one has a slow base and two a slow cell: 1.4 to the power of (1 - 2) / 8.
    assert judged.verdict.speedup.estimate == pytest.approx(1000 / 520 * 1.4**-0.125, rel=1e-3)


def of(label: str, kind: Kind, threads: int | None = None, cell: str = "p") -> Judged:
    """A verdict as agreement() sees it."""
    where = Cell(cell, "quick", "tbb", label, "gcc", "glibc", 0)
    return Judged(where, Verdict(kind, label, at_threads=threads), None, {}, {})


def test_only_verdicts_that_can_differ_are_counted_as_agreement() -> None:
    def pair(*kinds: tuple[Kind, int | None]) -> list[Judged]:
        return [of("x", kind, at, f"p{i}") for i, (kind, at) in enumerate(kinds)]

    first = pair(
        (Kind.SEQUENTIAL, 1), (Kind.UNAVAILABLE, None), (Kind.SCALES, 2), (Kind.TIMEOUT, 2)
    )
    assert agreement(first, first) == Agreement(2, 2, (0, 0), (), 0)
    unclear = pair((Kind.UNCLEAR, 2), (Kind.UNCLEAR, 2), (Kind.DROPPED, None), (Kind.SCALES, 4))
    found = agreement(unclear, unclear)
    assert (found.equal, found.of, found.unclear) == (1, 4, (3, 3))
    found = agreement(pair((Kind.SCALES, 2)), pair((Kind.SCALES, 4)))
    assert (found.equal, found.of, found.unclear) == (0, 1, (0, 0))
    found = agreement(pair((Kind.SLOWER, 2)), pair((Kind.SLOWER, 4)))
    assert found.equal == 1
    assert agreement([], []) == Agreement(0, 0, (0, 0), (), 0)


def test_a_verdict_that_only_one_run_has_is_counted_as_unmatched() -> None:
    both, first, second = (of("x", Kind.SCALES, 2, cell) for cell in ("both", "first", "second"))
    fixed = [of("x", kind, None, kind.value) for kind in (Kind.SEQUENTIAL, Kind.UNAVAILABLE)]
    assert agreement([both, first, *fixed], [both, second]) == Agreement(1, 1, (0, 0), (), 2)

"""compare_sides() and compare_runs(): level and power on simulated machines that are noisy, drift
and have fits; the cells that meet; the order of the sides does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from threadmark.judge import comparison
from threadmark.judge.comparison import Comparison, Outcome
from threadmark.kinds.tasks.prospects import uncertainty
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError
from threadmark.store.store import Store

PAIRS = 200
ALLOWED = 16  # 8 % of 200
TIMES = st.lists(st.lists(st.floats(1, 100), min_size=1, max_size=3), min_size=1, max_size=8)


def machine(rng: np.random.Generator, rounds: int, start: float = 0.0) -> np.ndarray:
    """Log speed of a machine by round: a slow walk of some percent, as on shared processors."""
    steps = rng.normal(0, 0.015, rounds)
    return start + np.cumsum(steps)


def noise(rng: np.random.Generator, count: int) -> np.ndarray:
    """Log noise of single processes: 2 %, and one in ten is disturbed by up to 40 %."""
    fits = rng.exponential(0.15, count) * (rng.random(count) < 0.1)
    return rng.normal(0, 0.02, count) + np.minimum(fits, 0.4)


def made(backend: str, rounds: Sequence[Sequence[float]], disturbed: str = "") -> list[Row]:
    """Rows of one cell: the times of each round."""
    cell = Cell("p", "quick", backend, "futures", "gcc", "glibc", 2)
    return [
        Row(cell, number, Status.OK, sample_ns=ns, disturbed=disturbed)
        for number, times in enumerate(rounds)
        for ns in times
    ]


def of_one_run(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """Two cells with one sample in each round."""
    rows = [*made("a", [[x] for x in a]), *made("b", [[x] for x in b])]
    return only(comparison.compare_sides(rows, "a", "b"))


def of_two_runs(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """One cell of two runs with one sample in each round."""
    first, second = (made("a", [[x] for x in each]) for each in (a, b))
    return only(comparison.compare_runs(first, second, lambda _: True))


def only(outcome: Outcome) -> Comparison:
    (pair,) = outcome.pairs
    return pair.comparison


def interleaved(rng: np.random.Generator, effect: float) -> tuple[np.ndarray, np.ndarray]:
    """Two cells of one run, measured until both are known well enough, at most 20 times."""
    walk = machine(rng, 20)
    a = np.exp(walk + noise(rng, 20)) * effect
    b = np.exp(walk + noise(rng, 20))
    rounds = 6
    while rounds < 20 and max(uncertainty(a[:rounds]), uncertainty(b[:rounds])) > 0.02:
        rounds += 1
    return a[:rounds], b[:rounds]


def test_equal_cells_of_one_run_differ_in_about_five_percent_although_rounds_are_added() -> None:
    rng = np.random.default_rng(12)
    found = [of_one_run(*interleaved(rng, 1.0)).different for _ in range(1500)]
    assert sum(each is True for each in found) <= 0.06 * 1500


@pytest.mark.parametrize("samples", [5, 6, 10, 20])
def test_equal_cells_of_two_runs_differ_in_no_more_than_eight_percent(samples: int) -> None:
    rng = np.random.default_rng(13)
    alarms = 0
    for _ in range(PAIRS):
        a, b = (
            np.exp(machine(rng, samples, rng.normal(0, 0.02)) + noise(rng, samples))
            for _ in range(2)
        )
        alarms += bool(of_two_runs(a, b).different)
    assert alarms <= ALLOWED


def test_repeating_a_cell_within_its_rounds_makes_no_difference_of_noise() -> None:
    rng = np.random.default_rng(16)
    alarms = 0
    for _ in range(PAIRS):
        slow = rng.normal(0, 0.1, (2, 6))  # the slowness of a round for all samples of a cell
        a, b = (
            made(name, [list(np.exp(each + rng.normal(0, 0.01, 3))) for each in side])
            for name, side in zip("ab", slow, strict=True)
        )
        alarms += bool(only(comparison.compare_sides([*a, *b], "a", "b")).different)
    assert alarms <= ALLOWED


def test_samples_of_one_round_count_as_one() -> None:
    a = made("a", [[2.0, 8.0], [4.0], [4.0, 4.0, 4.0]])
    b = made("b", [[2.0], [1.0, 4.0], [2.0]])
    found = only(comparison.compare_sides([*a, *b], "a", "b"))
    assert found.rounds == (3, 3)
    assert found.ratio.estimate == pytest.approx(2)
    assert found.ratio.high == pytest.approx(2)


@given(TIMES, TIMES)
def test_swapping_the_sides_gives_the_reciprocal(
    a: list[list[float]], b: list[list[float]]
) -> None:
    rows = [*made("a", a), *made("b", b)]
    in_one = [only(comparison.compare_sides(rows, *sides)) for sides in ("ab", "ba")]
    runs = made("a", a), made("a", b)
    in_two = [only(comparison.compare_runs(*each, lambda _: True)) for each in (runs, runs[::-1])]
    for first, second in (in_one, in_two):
        assert first.ratio.estimate * second.ratio.estimate == pytest.approx(1, rel=1e-9)
        assert (first.ratio.low == 0) == (second.ratio.low == 0)
        if first.ratio.low:
            assert first.ratio.low * second.ratio.high == pytest.approx(1, rel=1e-9)
            assert first.ratio.high * second.ratio.low == pytest.approx(1, rel=1e-9)
        assert first.different == second.different


def test_a_difference_of_ten_percent_is_found_within_a_run() -> None:
    rng = np.random.default_rng(14)
    found = [of_one_run(*interleaved(rng, 1.1)) for _ in range(100)]
    assert sum(c.different is True and c.ratio.estimate > 1 for c in found) >= 85


def test_a_difference_of_a_third_is_found_between_runs() -> None:
    rng = np.random.default_rng(15)
    hits = 0
    for _ in range(100):
        a, b = (np.exp(machine(rng, 8) + noise(rng, 8)) for _ in range(2))
        hits += bool(of_two_runs(a * 1.33, b).different)
    assert hits >= 70


def test_three_rounds_answer_and_two_do_not() -> None:
    steady = [1.0, 1.01, 0.99, 1.0, 1.02]
    for rounds in (3, 5):
        few = steady[:rounds]
        assert of_one_run([2 * x for x in few], few).different is True
        assert of_two_runs([2 * x for x in few], few).different is True
    two = of_one_run([2.0, 2.0], [1.0, 1.0])
    assert (two.different, two.words) == (None, "too few rounds (2 of 3)")


def test_identical_samples_are_not_distinguishable() -> None:
    assert of_one_run([5.0] * 8, [5.0] * 8).words == "not distinguishable (within 0.0 %)"
    assert of_two_runs([5.0] * 8, [5.0] * 8).words == "not distinguishable (within 5.0 %)"


def test_other_executables_must_differ_by_more_than_code_layout_can_do(store: Store) -> None:
    rows = _rows(store)
    backends = comparison.compare_sides(rows, "tbb", "openmp")
    platforms = comparison.compare_sides(rows, "clang-libc++", "gcc-libstdc++")
    variants = comparison.compare_sides(rows, "std_async:async", "std_async:optional")
    assert {p.comparison.layout for p in backends.pairs} == {comparison.LAYOUT}
    assert {p.comparison.layout for p in platforms.pairs} == {comparison.LAYOUT}
    assert {p.comparison.layout for p in variants.pairs} == {0.0}
    built_anew = comparison.compare_runs(rows, rows, lambda cell: cell.backend != "tbb")
    assert {p.a.backend for p in built_anew.pairs if p.comparison.layout} == {"tbb"}


def test_a_uniform_shift_between_two_runs_is_within_drift(store: Store) -> None:
    slow = [_slower(row, 1.2) for row in _rows(store)]
    outcome = comparison.compare_runs(slow, _rows(store), lambda _: True)
    assert outcome.drift == pytest.approx(0.2, abs=0.01)
    known = [each.comparison for each in outcome.pairs if each.comparison.different is not None]
    assert {each.words.split(" (")[0] for each in known} == {"within drift"}
    assert outcome.overall
    assert not outcome.overall.excludes(1.0)


def test_the_mean_of_two_runs_allows_for_the_drift_as_each_pair_does(store: Store) -> None:
    outcome = comparison.compare_runs(_rows(store), _rows(store), lambda _: True)
    mean, drift = outcome.overall, outcome.drift
    assert mean
    assert drift
    assert mean.high == pytest.approx(1 + drift)
    assert mean.low * mean.high == pytest.approx(1)


def test_asking_for_some_programs_changes_no_interval(store: Store) -> None:
    outcome = comparison.compare_sides(_rows(store), "tbb", "openmp")
    sort = outcome.of_programs(["sort"])
    assert sort.pairs == tuple(pair for pair in outcome.pairs if pair.a.program == "sort")
    assert {each.cell.program for each in outcome.of_programs(["uts"]).skipped} == {"uts"}


def test_one_cell_that_changed_between_two_runs_is_found(store: Store) -> None:
    rows = _rows(store)
    changed = [
        _slower(r, 1.5) if (r.cell.program, r.cell.backend) == ("sort", "tbb") else r for r in rows
    ]
    outcome = comparison.compare_runs(changed, rows, lambda _: True)
    found = {(p.a.program, p.a.backend) for p in outcome.pairs if p.comparison.different}
    assert found == {("sort", "tbb")}


def test_backends_are_paired_by_variants_of_the_same_name(store: Store) -> None:
    outcome = comparison.compare_sides(_rows(store), "tbb", "openmp")
    assert outcome.pairs
    for pair in outcome.pairs:
        assert (pair.a.backend, pair.b.backend) == ("tbb", "openmp")
        assert pair.a.variant == pair.b.variant
        assert pair.comparison.drift is None
    assert any("timeout" in skipped.why for skipped in outcome.skipped)


def test_backends_without_a_common_variant_meet_with_their_fastest(store: Store) -> None:
    outcome = comparison.compare_sides(_rows(store), "tbb", "std_async")
    sort = next(p for p in outcome.pairs if p.a.program == "sort" and p.a.threads == 2)
    assert sort.a.variant in ("futures", "fork_join")
    assert sort.b.variant in ("async", "optional")


def test_variants_that_only_one_backend_has_are_named() -> None:
    rows = [*made("a", [[1.0]] * 6), *made("b", [[1.0]] * 6)]
    for name in ("a", "b"):
        own = made(name, [[1.0]] * 6)
        rows += [replace(r, cell=replace(r.cell, variant=f"only_{name}")) for r in own]
    outcome = comparison.compare_sides(rows, "a", "b")
    assert [(pair.a.variant, pair.b.variant) for pair in outcome.pairs] == [("futures", "futures")]
    assert [(each.cell.variant, each.why) for each in outcome.skipped] == [
        ("only_a", "b has no variant of this name"),
        ("only_b", "a has no variant of this name"),
    ]


def test_the_fastest_variant_is_not_the_one_that_has_few_samples() -> None:
    def variant(backend: str, name: str, times: list[list[float]]) -> list[Row]:
        return [replace(r, cell=replace(r.cell, variant=name)) for r in made(backend, times)]

    rows = [
        *variant("a", "lucky", [[1.0], [1.0]]),
        *variant("a", "whole", [[1.1]] * 6),
        *variant("b", "other", [[2.0]] * 6),
    ]
    (pair,) = comparison.compare_sides(rows, "a", "b").pairs
    assert pair.a.variant == "whole"


def test_variants_and_platforms_can_be_sides(store: Store) -> None:
    rows = _rows(store)
    variants = comparison.compare_sides(rows, "std_async:async", "std_async:optional")
    platforms = comparison.compare_sides(rows, "clang-libc++", "gcc-libstdc++")
    assert {(p.a.variant, p.b.variant) for p in variants.pairs} == {("async", "optional")}
    assert all(p.a.variant == p.b.variant for p in platforms.pairs)
    assert platforms.overall is not None
    assert platforms.overall.estimate == pytest.approx(1.06, abs=0.02)


def test_unknown_and_unlike_sides_are_explained(store: Store) -> None:
    rows = _rows(store)
    with pytest.raises(LabError, match="no backend, variant, platform or allocator 'tbv'; it has"):
        comparison.compare_sides(rows, "tbv", "tbb")
    with pytest.raises(LabError, match="two of the same kind"):
        comparison.compare_sides(rows, "tbb", "gcc-libstdc++")


def test_disturbed_samples_are_not_compared() -> None:
    rows = [*made("a", [[1.0]] * 6, "busy"), *made("b", [[1.0]] * 6)]
    outcome = comparison.compare_sides(rows, "a", "b")
    assert [s.why for s in outcome.skipped] == ["A has no time: every sample is disturbed"]


def _rows(store: Store) -> list[Row]:
    return store.rows(synthetic.fill(store))


def _slower(row: Row, factor: float) -> Row:
    return replace(row, sample_ns=row.sample_ns * factor) if row.sample_ns else row

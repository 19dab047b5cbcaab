"""The level and the power of compare(): simulated machines that are noisy, drift and have fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import synthetic
from threadmark import comparison
from threadmark.cell import Cell, Row, Status
from threadmark.comparison import compare_samples
from threadmark.errors import LabError
from threadmark.measurement import uncertainty
from threadmark.store import Store

PAIRS = 200
ALLOWED = 16  # 8 % of 200


def machine(rng: np.random.Generator, rounds: int, start: float = 0.0) -> np.ndarray:
    """Log speed of a machine by round: a slow walk of some percent, as on shared processors."""
    steps = rng.normal(0, 0.015, rounds)
    return start + np.cumsum(steps)


def noise(rng: np.random.Generator, count: int) -> np.ndarray:
    """Log noise of single processes: 2 %, and one in ten is disturbed by up to 40 %."""
    fits = rng.exponential(0.15, count) * (rng.random(count) < 0.1)
    return rng.normal(0, 0.02, count) + np.minimum(fits, 0.4)


def interleaved(rng: np.random.Generator, effect: float) -> tuple[list[float], list[float]]:
    """Two cells of one run, measured until both are known well enough, at most 20 times."""
    walk = machine(rng, 20)
    a = np.exp(walk + noise(rng, 20)) * effect
    b = np.exp(walk + noise(rng, 20))
    rounds = 6
    while rounds < 20 and max(uncertainty(a[:rounds]), uncertainty(b[:rounds])) > 0.02:
        rounds += 1
    return list(a[:rounds]), list(b[:rounds])


def test_equal_cells_of_one_run_differ_in_no_more_than_eight_percent() -> None:
    rng = np.random.default_rng(11)
    found = [compare_samples(*interleaved(rng, 1.0), True).different for _ in range(PAIRS)]
    assert sum(d is True for d in found) <= ALLOWED


def test_the_adaptive_rule_does_not_raise_the_level_over_thousands_of_pairs() -> None:
    rng = np.random.default_rng(12)
    found = [compare_samples(*interleaved(rng, 1.0), True).different for _ in range(1500)]
    assert sum(d is True for d in found) <= 0.06 * 1500


@pytest.mark.parametrize("samples", [6, 10, 20])
def test_equal_cells_of_two_runs_differ_in_no_more_than_eight_percent(samples: int) -> None:
    rng = np.random.default_rng(13)
    alarms = 0
    for _ in range(PAIRS):
        a, b = (
            np.exp(machine(rng, samples, rng.normal(0, 0.02)) + noise(rng, samples))
            for _ in range(2)
        )
        alarms += bool(compare_samples(a, b, False, margin=comparison.DRIFT).different)
    assert alarms <= ALLOWED


def test_a_difference_of_ten_percent_is_found_within_a_run() -> None:
    rng = np.random.default_rng(14)
    found = [compare_samples(*interleaved(rng, 1.1), True) for _ in range(100)]
    assert sum(c.different is True and c.ratio.estimate > 1 for c in found) >= 85


def test_a_difference_of_a_third_is_found_between_runs() -> None:
    rng = np.random.default_rng(15)
    hits = 0
    for _ in range(100):
        a, b = (np.exp(machine(rng, 8) + noise(rng, 8)) for _ in range(2))
        hits += bool(compare_samples(a * 1.33, b, False, margin=comparison.DRIFT).different)
    assert hits >= 70


def test_fewer_than_six_samples_say_neither_yes_nor_no() -> None:
    found = compare_samples([1.0, 1.1, 1.2], [9.0, 9.1, 9.2], False)
    assert found.different is None
    assert found.words == "too few samples (3 of 6)"


def test_identical_samples_show_no_difference() -> None:
    for paired in (True, False):
        found = compare_samples([5.0] * 8, [5.0] * 8, paired)
        assert (found.different, found.words) == (False, "no difference")


def test_times_of_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        compare_samples([0.0] * 6, [1.0] * 6, True)


def test_words_speak_of_time() -> None:
    steady = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98]

    def words(factor: float) -> str:
        return compare_samples([x * factor for x in steady], steady, True).words

    assert words(1.25) == "A takes 25 % more"
    assert words(0.8) == "A takes 20 % less"
    assert words(4) == "A x4.0 slower"
    assert words(0.1) == "A x10 faster"


def test_two_runs_that_differ_as_a_whole_blame_the_machine(store: Store) -> None:
    slow = [_slower(row, 1.2) for row in _rows(store)]
    outcome = comparison.compare_runs(slow, _rows(store))
    assert outcome.margin == pytest.approx(0.2, abs=0.01)
    assert not any(pair.comparison.different for pair in outcome.pairs)


def test_one_cell_that_changed_between_two_runs_is_found(store: Store) -> None:
    rows = _rows(store)
    changed = [
        _slower(r, 1.5) if (r.cell.program, r.cell.backend) == ("sort", "tbb") else r for r in rows
    ]
    outcome = comparison.compare_runs(changed, rows)
    found = {(p.a.program, p.a.backend) for p in outcome.pairs if p.comparison.different}
    assert found == {("sort", "tbb")}


def test_backends_are_paired_by_variants_of_the_same_name(store: Store) -> None:
    outcome = comparison.compare_sides(_rows(store), "tbb", "openmp")
    assert outcome.pairs
    for pair in outcome.pairs:
        assert (pair.a.backend, pair.b.backend) == ("tbb", "openmp")
        assert pair.a.variant == pair.b.variant
        assert pair.comparison.paired
    assert any("timeout" in skipped.why for skipped in outcome.skipped)


def test_backends_without_a_common_variant_meet_with_their_fastest(store: Store) -> None:
    outcome = comparison.compare_sides(_rows(store), "tbb", "std_async")
    sort = next(p for p in outcome.pairs if p.a.program == "sort" and p.a.threads == 2)
    assert sort.a.variant in ("futures", "fork_join")
    assert sort.b.variant in ("async", "optional")


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
    rows = [*_made("a", [1.0] * 6, "busy"), *_made("b", [1.0] * 6, "")]
    outcome = comparison.compare_sides(rows, "a", "b")
    assert [s.why for s in outcome.skipped] == ["A has no time: every sample is disturbed"]


def _made(backend: str, samples: Sequence[float], disturbed: str) -> list[Row]:
    cell = Cell("p", "quick", backend, "futures", "gcc", "glibc", 2)
    return [
        Row(cell, i, Status.OK, sample_ns=ns, disturbed=disturbed) for i, ns in enumerate(samples)
    ]


def _rows(store: Store) -> list[Row]:
    return store.rows(synthetic.fill(store))


def _slower(row: Row, factor: float) -> Row:
    from dataclasses import replace

    return replace(row, sample_ns=row.sample_ns * factor) if row.sample_ns else row

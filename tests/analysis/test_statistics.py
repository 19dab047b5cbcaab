"""Statistics against values computed by hand, against scipy, and their levels by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from threadmark.judge import estimates
from threadmark.judge.estimates import Interval
from threadmark.kinds.tasks.prospects import uncertainty

TIMES = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=30)


def test_the_median_of_an_even_count_is_the_mean_of_the_middle_two() -> None:
    assert estimates.median([10, 40, 20, 30]) == 25
    assert estimates.median([3, 1, 2]) == 2
    assert estimates.median([7]) == 7


@pytest.mark.parametrize("samples", [[], [math.nan], [1, math.inf], [-1, 2]])
def test_samples_that_mean_nothing_are_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="samples"):
        estimates.median_interval(samples)


def test_six_samples_give_their_range_and_five_do_not() -> None:
    # 1 - 2 / 2**6 = 0.969 covers 95 %, 1 - 2 / 2**5 = 0.9375 does not.
    assert estimates.median_interval([6, 1, 2, 3, 4, 5]) == Interval(1, 3.5, 6)
    five = estimates.median_interval([1, 2, 3, 4, 5])
    # Student's t on logarithms by hand: mean ln = ln(120) / 5, s = 0.63535, t(4) = 2.7764
    assert five.low == pytest.approx(1.1834, abs=1e-3)
    assert five.high == pytest.approx(5.7350, abs=1e-3)


def test_nine_samples_leave_out_one_on_each_side() -> None:
    # P(Bin(9, 1/2) <= 1) = 10 / 512; twice that is 0.039 <= 0.05, with 2 it would be 0.18.
    assert estimates.median_interval(range(1, 10)) == Interval(2, 5, 8)


@pytest.mark.parametrize("count", range(6, 60))
def test_the_interval_of_the_median_agrees_with_the_quantile_test(count: int) -> None:
    samples = [float(i) for i in range(1, count + 1)]
    found = estimates.median_interval(samples)
    k = int(found.low)
    assert 2 * scipy_stats.binom.cdf(k - 1, count, 0.5) <= 0.05
    assert 2 * scipy_stats.binom.cdf(k, count, 0.5) > 0.05
    theirs = scipy_stats.quantile_test(samples, q=1, p=0.5).confidence_interval(0.95)
    assert (found.low, found.high) == (theirs.low, theirs.high) == (k, count + 1 - k)


@pytest.mark.parametrize("samples", [[5.0], [5.0, 5.0], [5.0] * 5, [0.0, 1.0]])
def test_few_samples_without_spread_tell_nothing(samples: list[float]) -> None:
    found = estimates.median_interval(samples)
    assert (found.low, found.high) == (0, math.inf)


def test_many_equal_samples_give_a_point() -> None:
    assert estimates.median_interval([4.0] * 8) == Interval(4, 4, 4)


@given(TIMES)
def test_the_estimate_lies_in_its_interval(samples: list[float]) -> None:
    found = estimates.median_interval(samples)
    assert found.low <= found.estimate <= found.high


@pytest.mark.parametrize("count", [3, 6, 8, 12, 20])
def test_the_interval_of_a_mean_ratio_covers_what_it_promises(count: int) -> None:
    rng = np.random.default_rng(count)
    misses = 0
    for _ in range(400):
        spikes = 0.3 * (rng.random((2, count)) < 0.1)
        a, b = np.exp(rng.normal(0, 0.05, (2, count)) + spikes)
        misses += estimates.geometric_mean(list(a / b)).excludes(1.0)
    assert misses <= 0.08 * 400  # 5 % expected; 8 % would be off by three standard errors


def cells_of(rng: np.random.Generator, weight: float, counts: Sequence[int]) -> list[list[float]]:
    """Samples around 1 of cells whose variances are scaled inverse chi-squares around 0.01."""
    variances = 0.01 * weight / rng.chisquare(weight, len(counts))
    return [
        list(np.exp(rng.normal(0, np.sqrt(variance), count)))
        for variance, count in zip(variances, counts, strict=True)
    ]


@pytest.mark.parametrize("weight", [2.5, 8.0])
def test_what_cells_have_in_common_is_found(weight: float) -> None:
    found = estimates.common_spread(cells_of(np.random.default_rng(7), weight, [6] * 3000))
    assert found is not None
    assert found.variance == pytest.approx(0.01, rel=0.15)
    assert found.weight == pytest.approx(weight, rel=0.25)


def test_cells_that_spread_alike_weigh_as_much_as_they_may() -> None:
    rng = np.random.default_rng(8)
    alike = [list(np.exp(rng.normal(0, 0.1, 6))) for _ in range(30)]
    found = estimates.common_spread(alike)
    assert found.weight > 20
    assert estimates.common_spread(alike[:19]) == estimates.Spread()
    same = [[1.0, 1.0], [2.0], []]  # no cell here has two different samples, so they add nothing
    assert estimates.common_spread(alike + same) == found


@pytest.mark.parametrize("count", [3, 6, 12])
def test_an_interval_with_the_spread_of_others_covers_and_is_narrower(count: int) -> None:
    rng = np.random.default_rng(count)
    misses, widths, alone = 0, [], []
    for _ in range(20):
        cells = cells_of(rng, 3.0, [count] * 80)
        spread = estimates.common_spread(cells)
        for cell in cells:
            found = estimates.geometric_mean(cell, spread=spread)
            misses += found.excludes(1.0)
            widths.append(math.log(found.high / found.low))
            own = estimates.geometric_mean(cell)
            alone.append(math.log(own.high / own.low))
    assert misses <= 0.065 * len(widths)  # 5 % expected; 1.5 % are three standard errors
    assert np.median(widths) < np.median(alone)


def test_one_ratio_is_enough_where_others_give_the_spread() -> None:
    found = estimates.geometric_mean([2.0], spread=estimates.Spread(0.01, 8.0))
    # By hand: variance 0.01, 8 degrees of freedom.
    assert math.log(found.high / 2) == pytest.approx(2.306 * math.sqrt(0.01), rel=1e-3)
    assert math.isinf(estimates.geometric_mean([2.0]).high)


def test_the_ratio_of_paired_samples_does_not_see_common_drift() -> None:
    drift = [1.0, 1.2, 1.5, 1.1, 0.9, 1.4, 1.3, 1.0]
    noise = [1.003, 1.01, 0.99, 0.998, 1.001, 1.01, 1.0, 0.99]
    a = [2.0 * d * e for d, e in zip(drift, noise, strict=True)]
    paired = estimates.paired_ratio(a, drift)
    assert 1.97 < paired.low < 2 < paired.high < 2.03


def test_unequal_rounds_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="equally many"):
        estimates.paired_ratio([1.0, 2.0], [1.0])


def test_the_geometric_mean_does_not_depend_on_the_base() -> None:
    ratios = [0.5, 1.0, 4.0]
    found = estimates.geometric_mean(ratios)
    turned = estimates.geometric_mean([1 / r for r in ratios])
    assert found.estimate == pytest.approx(2 ** (1 / 3))
    assert found.estimate * turned.estimate == pytest.approx(1)
    assert found.low * turned.high == pytest.approx(1)
    assert math.isinf(estimates.geometric_mean([2.0]).high)
    with pytest.raises(ValueError, match="positive"):
        estimates.geometric_mean([0.0, 1.0])


def test_stopping_when_it_is_known_well_enough_keeps_the_coverage_of_the_median() -> None:
    rng = np.random.default_rng(3)
    misses = 0
    for _ in range(400):
        samples = list(np.exp(rng.normal(0, 0.04, 6)))
        while uncertainty(samples) > 0.03 and len(samples) < 30:
            samples.append(float(np.exp(rng.normal(0, 0.04))))
        misses += estimates.median_interval(samples).excludes(1.0)
    # Stopping at the first narrow interval costs coverage: 95 % becomes about 92 %.
    assert misses <= 0.10 * 400

"""Intervals of ratios: their coverage by simulation, their symmetry, and the words for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from threadmark.judge import estimates, ratios
from threadmark.judge.estimates import Interval, Spread
from threadmark.judge.ratios import Comparison

LOGS = st.lists(st.floats(-3, 3), min_size=1, max_size=12)
SPREADS = st.builds(Spread, variance=st.floats(1e-6, 0.1), weight=st.sampled_from([0.0, 4.0]))


def within(logs: Sequence[float], spread: Spread = Spread()) -> Interval:
    """The interval of compare within one run, from log(a / b) of each round."""
    return estimates.geometric_mean([math.exp(each) for each in logs], ratios.LEVEL, spread)


def is_reciprocal(first: Interval, second: Interval) -> None:
    assert first.estimate * second.estimate == pytest.approx(1, rel=1e-12)
    if math.isinf(first.high):
        assert (first.low, second.low, second.high) == (0, 0, math.inf)
    else:
        assert first.low * second.high == pytest.approx(1, rel=1e-12)
        assert first.high * second.low == pytest.approx(1, rel=1e-12)


@given(LOGS, SPREADS)
def test_within_a_run_the_ratio_of_b_to_a_is_the_reciprocal(
    logs: list[float], spread: Spread
) -> None:
    swapped = within([-each for each in logs], spread)
    is_reciprocal(within(logs, spread), swapped)


@given(LOGS, LOGS, SPREADS, st.floats(0, 0.5))
def test_between_runs_the_ratio_of_b_to_a_is_the_reciprocal(
    a: list[float], b: list[float], spread: Spread, drift: float
) -> None:
    swapped = ratios.between_runs(b, a, spread, drift)
    is_reciprocal(ratios.between_runs(a, b, spread, drift), swapped)


def test_within_a_run_the_interval_is_students() -> None:
    # log ratios 0.1, 0.2, 0.3: mean 0.2, standard deviation 0.1, t(2) = 4.3027
    found = within([0.1, 0.2, 0.3])
    assert math.log(found.estimate) == pytest.approx(0.2)
    assert math.log(found.high) == pytest.approx(0.2 + 4.3027 * 0.1 / math.sqrt(3), abs=1e-4)


def test_between_runs_the_interval_is_welchs_and_allows_for_drift() -> None:
    # Means 1 and 2, variance of each mean 1: standard error sqrt(2) with 2 degrees of freedom.
    found = ratios.between_runs([1.0, 3.0], [0.0, 2.0], drift=0.1)
    reach = float(stats.t.ppf(0.975, 2)) * math.sqrt(2) + math.log(1.1)
    assert math.log(found.low) == pytest.approx(1 - reach)
    assert math.log(found.high) == pytest.approx(1 + reach)


def test_one_round_alone_tells_nothing_of_the_limits() -> None:
    assert within([0.7]) == Interval(0, pytest.approx(math.exp(0.7)), math.inf)
    between = ratios.between_runs([0.75], [0.0, 0.5])
    assert between == Interval(0, math.exp(0.5), math.inf)


@pytest.mark.parametrize("rounds", [3, 5, 6])
@pytest.mark.parametrize("weight", [2.5, 8.0, 100.0])
def test_moderated_intervals_cover_and_are_narrower(rounds: int, weight: float) -> None:
    rng = np.random.default_rng(rounds)
    missed, widths, alone = [], [], []
    for _ in range(60):  # comparisons of 30 pairs each, whose variances differ
        deviations = np.sqrt(0.001 * weight / rng.chisquare(weight, 30))
        logs = [rng.normal(0, each, rounds) for each in deviations]
        spread = estimates.common_spread([list(np.exp(each)) for each in logs])
        for each in logs:
            found = within(each, spread)
            missed.append(found.excludes(1.0))
            widths.append(math.log(found.high / found.low))
            own = within(each)
            alone.append(math.log(own.high / own.low))
    assert 0.03 < np.mean(missed) < 0.07  # 5 % expected, 0.5 % standard error
    assert np.mean(widths) < 0.9 * np.mean(alone)


def test_with_rare_long_samples_intervals_cover_more_often() -> None:
    rng = np.random.default_rng(5)
    times = rng.normal(0, 0.02, (4000, 2, 6))
    times += np.minimum(rng.exponential(0.15, times.shape), 0.4) * (rng.random(times.shape) < 0.1)
    missed = [within(a - b).excludes(1.0) for a, b in times]
    assert 0.01 < np.mean(missed) < 0.055


def compared(low: float, estimate: float, high: float, **other: float) -> Comparison:
    return Comparison(lambda _: Interval(low, estimate, high), (6, 6), **other)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (compared(1.2, 1.25, 1.3), "A takes 25 % more"),
        (compared(0.78, 0.8, 0.82), "A takes 20 % less"),
        (compared(1.003, 1.004, 1.005), "A takes 0.4 % more"),
        (compared(3.9, 4.0, 4.1), "A x4.0 slower"),
        (compared(0.09, 0.1, 0.11), "A x10 faster"),
        (compared(0.99, 1.005, 1.02), "not distinguishable (within 2.0 %)"),
        (compared(0.5, 0.8, 1.1), "not distinguishable (within a factor of 2.0)"),
        (compared(0.95, 0.97, 0.99, layout=0.04), "A takes 3.0 % less (layout: up to 4.0 %)"),
        (compared(0.91, 0.93, 0.95, layout=0.04), "A takes 7.0 % less"),
        (compared(0.98, 1.2, 1.45, drift=0.2), "within drift (20 %)"),
        (compared(0.69, 0.84, 1.02, drift=0.2), "within drift (20 %)"),
        (compared(0.94, 1.0, 1.06, drift=0.05), "not distinguishable (within 6.4 %)"),
        (Comparison(lambda _: Interval(2, 3, 4), (2, 5)), "too few rounds (2 of 3)"),
    ],
)
def test_words_say_how_much_and_never_that_there_is_no_difference(
    found: Comparison, words: str
) -> None:
    assert found.words == words


@given(st.floats(0.3, 3), st.floats(0.001, 1), st.floats(0, 0.1))
def test_both_directions_are_said_in_the_same_way(
    estimate: float, reach: float, layout: float
) -> None:
    low, high = estimate * math.exp(-reach), estimate * math.exp(reach)
    found = compared(low, estimate, high, layout=layout)
    swapped = compared(1 / high, 1 / estimate, 1 / low, layout=layout)
    assert found.different == swapped.different
    assert found.exceeds_layout == swapped.exceeds_layout
    assert found.within == pytest.approx(swapped.within)


def test_a_pair_is_slower_only_beyond_its_interval_and_the_layout() -> None:
    assert compared(1.06, 1.1, 1.2).is_slower_by(0.05)
    assert not compared(1.04, 1.1, 1.2).is_slower_by(0.05)
    assert not compared(1.06, 1.1, 1.2, layout=0.04).is_slower_by(0.05)
    assert not compared(0.5, 0.6, 0.7).is_slower_by(0.0)
    assert not Comparison(lambda _: Interval(2, 3, 4), (2, 2)).is_slower_by(0.0)

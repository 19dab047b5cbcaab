"""Doctor's words on comparisons, on simulated noise: the figure for false alarms can fail."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from threadmark.judge import estimates
from threadmark.judge.estimates import Interval
from threadmark.measure import noise
from threadmark.measure.noise import Noise
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError

PAIRS = 400


def calm(rng: np.random.Generator) -> Callable[[], float]:
    """2 % of log-normal noise."""
    return lambda: float(np.exp(rng.normal(0, 0.02)))


def heavy_tailed(rng: np.random.Generator) -> Callable[[], float]:
    """Some samples are many times as long as the others."""
    return lambda: float(np.exp(np.clip(0.02 * rng.standard_cauchy(), -10, 10)))


def drifting(rng: np.random.Generator) -> Callable[[], float]:
    """A walk of 1 % from sample to sample, below noise of 1 %."""
    state = [0.0]

    def sample() -> float:
        state[0] += rng.normal(0, 0.01)
        return math.exp(state[0] + rng.normal(0, 0.01))

    return sample


def autocorrelated(rng: np.random.Generator) -> Callable[[], float]:
    """Each sample has half of the deviation of the sample before."""
    state = [0.0]

    def sample() -> float:
        state[0] = 0.5 * state[0] + rng.normal(0, 0.02)
        return math.exp(state[0])

    return sample


def every_second(rng: np.random.Generator) -> Callable[[], float]:
    """Every second process takes 5 % longer."""
    count = [0]

    def sample() -> float:
        count[0] += 1
        return math.exp(0.05 * (count[0] % 2) + rng.normal(0, 0.02))

    return sample


@pytest.mark.parametrize("kind", [calm, drifting, autocorrelated, every_second])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_random_order_keeps_the_false_alarms_that_the_rule_predicts(
    kind: Callable[[np.random.Generator], Callable[[], float]], seed: int
) -> None:
    found = noise.noise(kind(np.random.default_rng(seed)), "made up", PAIRS)
    assert found.complaints() == []


def test_wild_samples_give_fewer_false_alarms_and_doctor_says_so_without_a_complaint() -> None:
    found = noise.noise(heavy_tailed(np.random.default_rng(3)), "made up", PAIRS)
    assert found.false_alarms < found.expected[0]
    assert found.complaints() == []
    assert "hides small differences but invents none" in " ".join(found.words)


def test_intervals_that_are_too_narrow_give_more_false_alarms_and_doctor_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = estimates.geometric_mean

    def narrow(differences: list[float]) -> Interval:
        """Each round counts twice, as if its samples were independent."""
        return real([*differences, *differences])

    monkeypatch.setattr(noise, "geometric_mean", narrow)
    found = noise.noise(calm(np.random.default_rng(4)), "made up", PAIRS)
    (said,) = found.complaints()
    assert found.false_alarms > found.expected[1]
    assert "too narrow" in said.remedy


@pytest.mark.parametrize("kind", [calm, autocorrelated])
def test_the_smallest_difference_is_seen_in_four_of_five_pairs(
    kind: Callable[[np.random.Generator], Callable[[], float]],
) -> None:
    rng = np.random.default_rng(5)
    smallest = noise.noise(kind(rng), "made up", PAIRS).smallest
    assert smallest is not None
    seen = 0
    sample = kind(rng)
    for _ in range(PAIRS):
        rounds = [(sample(), sample()) for _ in range(noise.ROUNDS)]
        logs = [math.log((1 + smallest) * a / b) for a, b in rounds]
        seen += estimates.geometric_mean(list(np.exp(logs))).low > 1
    assert 0.72 < seen / PAIRS < 0.88


def test_a_noisier_machine_sees_only_larger_differences() -> None:
    logs = np.random.default_rng(6).normal(0, 0.01, 100 * 2 * noise.ROUNDS)
    quiet, loud = (
        noise.noise(iter(np.exp(factor * logs)).__next__, "made up", 100).smallest
        for factor in (1, 5)
    )
    assert quiet is not None
    assert loud is not None
    assert math.log1p(loud) == pytest.approx(5 * math.log1p(quiet))


def test_few_pairs_tell_no_smallest_difference_and_progress_is_reported() -> None:
    done: list[int] = []
    found = noise.noise(calm(np.random.default_rng(7)), "made up", 5, done.append)
    assert found.smallest is None
    assert done == [0, 1, 2, 3, 4]


def processes(*disturbed: str) -> Callable[[], Row]:
    """One process after the other, with the disturbance of each; their times are 1, 2, 3 ..."""
    cell = Cell("fib", "smoke", "serial", "plain", "gcc", "glibc", 1)
    rows = (
        Row(cell, 0, Status.OK, sample_ns=number, disturbed=why)
        for number, why in enumerate(disturbed, 1)
    )
    return rows.__next__


def test_a_disturbed_sample_is_taken_again_a_bounded_number_of_times() -> None:
    assert noise.sample(processes("load", "load", "")) == 3
    with pytest.raises(
        LabError, match=r"10 processes of fib in a row were disturbed \(load\); end"
    ):
        noise.sample(processes(*["load"] * noise.TRIES))


def test_what_the_rule_predicts_is_binomial() -> None:
    # Of Bin(200, 0.05) at most 2.5 % lie below 4 and at most 2.5 % above 16.
    assert Noise("", 200, 0, None).expected == (4, 16)
    assert not Noise("", 200, 0, 0.02).complaints()
    assert "invents none" in " ".join(Noise("", 200, 3, 0.02).words)
    assert "invents none" not in " ".join(Noise("", 200, 4, 0.02).words)
    assert not Noise("", 200, 16, 0.02).complaints()
    (said,) = Noise("", 200, 17, 0.02).complaints()
    assert "several times 2.0 %" in said.remedy
    assert not said.remedy.endswith(".")

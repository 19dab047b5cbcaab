"""The components of variance of bars/layout/layout.py, on times whose spread is known."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2] / "bars/layout/layout.py"


@pytest.fixture(scope="module")
def layout() -> ModuleType:
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("layout", SOURCE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["layout"] = module  # a dataclass looks its module up there
    spec.loader.exec_module(module)
    return module


def times(rng: np.random.Generator, between: float, within: float) -> np.ndarray:
    """Logarithms of times of 10 layouts in 12 rounds on a machine that drifts by 10 %."""
    rounds = rng.normal(0, 0.1, (1, 12))
    return rng.normal(0, between, (10, 1)) + rounds + rng.normal(0, within, (10, 12))


@pytest.mark.parametrize("between", [0.0, 0.01, 0.03])
def test_the_spread_between_layouts_is_found_below_noise_and_drift(
    layout: ModuleType, between: float
) -> None:
    rng = np.random.default_rng(1)
    found = [layout.spread(times(rng, between, 0.02)) for _ in range(300)]
    variance = float(np.mean([each.layouts for each in found]))
    assert variance == pytest.approx(between**2, rel=0.1, abs=1e-5)
    assert float(np.mean([each.samples for each in found])) == pytest.approx(0.02**2, rel=0.05)


def test_the_difference_of_two_layouts_has_twice_their_variance(layout: ModuleType) -> None:
    rng = np.random.default_rng(2)
    apart = layout.differences([layout.spread(times(rng, 0.02, 0.01)) for _ in range(300)])
    assert float(np.quantile(apart, 0.95)) == pytest.approx(1.96 * math.sqrt(2) * 0.02, rel=0.07)

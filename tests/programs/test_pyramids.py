"""pyramids: the exact value at the centre, and cuts of every size."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest


def test_the_centre_has_the_published_value(run):
    result = run("pyramids", "serial", "--arg", "p=8")
    assert float(result.last["answer"].removeprefix("centre ")) == pytest.approx(
        0.00495420197096587, rel=1e-11
    )


@pytest.mark.parametrize("p", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("cut", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("variant", ["plain", "fork_join"])
def test_every_cut_computes_the_binomial_coefficients(p, cut, variant, run):
    result = run(
        "pyramids", "serial", "--variant", variant, "--arg", f"p={p}", "--arg", f"cut={cut}"
    )
    steps = 2 ** (p - 1)
    exact = Fraction(comb(steps, steps // 2), 2**steps) ** 2
    assert result.status == 0
    assert float(result.last["answer"].removeprefix("centre ")) == pytest.approx(
        float(exact), rel=1e-11
    )


def test_the_paper_s_problem_has_its_tasks_and_two_for_the_wedges_that_run_side_by_side():
    # The published count, by the recursion that the program states in its check.
    pyramid = inverted = wedge = 0
    for _ in range(5):
        pyramid, inverted, wedge = (
            8 + 5 * pyramid + inverted + 4 * wedge,
            8 + pyramid + 5 * inverted + 4 * wedge,
            4 + pyramid + inverted + 4 * wedge,
        )
    assert pyramid + inverted + 2 * wedge == 112_344


@pytest.mark.parametrize("argument", ["p=2", "p=13", "cut=0", "cut=13"])
def test_a_parameter_out_of_range_is_refused(argument, run):
    result = run("pyramids", "serial", "--arg", argument)
    assert (result.status, result.lines) == (2, [])

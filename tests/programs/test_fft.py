"""fft: lengths of every kind, the published radices' tasks, lengths that are refused."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 25, 32, 33, 64, 97, 1000, 1001, 4096, 9973, 20160])
@pytest.mark.parametrize("variant", ["plain", "fork_join"])
def test_any_length_is_transformed(n, variant, run):
    result = run("fft", "serial", "--variant", variant, "--arg", f"n={n}")
    assert result.status == 0
    assert result.last["ok"]


def halves(length: int, limit: int) -> int:
    """Tasks of a loop that is split until no part is longer than the limit."""
    if length <= limit:
        return 0
    return 2 + halves(length // 2, limit) + halves(length - length // 2, limit)


def test_the_tasks_are_those_of_the_published_radices(run):
    # 1000 = 8 * 125, 125 = 5 * 25, 25 = 5 * 5; sub-transforms of up to 32 points are no tasks.
    expected = 2 * halves(125, 127) + 8
    expected += 8 * (halves(25, 15) + halves(25, 1))
    expected += 8 * 5 * (halves(5, 15) + halves(5, 1))
    assert run("fft", "serial", "--arg", "n=1000").last["tasks"] == expected


def test_the_grain_sets_the_columns_of_a_task(run):
    fine = run("fft", "serial", "--arg", "n=15625").last["tasks"]
    coarse = run("fft", "serial", "--arg", "n=15625", "--arg", "grain=1000").last["tasks"]
    assert fine > 10 * coarse


def test_the_seed_sets_the_input(run):
    answers = {run("fft", "serial", "--seed", str(seed)).last["answer"] for seed in (1, 2, 3)}
    assert len(answers) == 3


def test_a_large_prime_factor_is_refused(run):
    result = run("fft", "serial", "--arg", "n=999983")
    assert (result.status, result.lines) == (2, [])
    assert "prime factor 999983" in result.stderr
    assert result.stderr.count("\n") == 1

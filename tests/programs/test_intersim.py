"""intersim: products and counts of pairs against closed forms, many threads on one small net."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("variant", ["plain", "locked", "fork_join"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 50])
def test_the_net_multiplies_with_the_counted_pairs(run, n, variant):
    result = run("intersim", "serial", "--variant", variant, "--arg", f"n={n}")
    pairs = n * n * (n + 1) // 2 + 4 * n + 3
    assert result.status == 0
    assert result.last["answer"] == f"{n * n} after {pairs} pairs"
    if variant == "fork_join":  # a single new pair is no task
        assert 0 < result.last["tasks"] < pairs or n == 1
    else:
        assert result.last["tasks"] == pairs


def test_the_paper_s_size_has_the_published_number_of_tasks(run):
    assert run("intersim", "serial", "--size", "full").last["tasks"] == 63953


@pytest.mark.parametrize("variant", ["async", "fork_join"])
def test_threads_that_share_cells_lose_no_reaction(run, variant):
    result = run("intersim", "std_async", "--variant", variant, "--arg", "n=9", "--repeats", "10")
    assert result.status == 0
    assert {repeat["answer"] for repeat in result.repeats} == {"81 after 444 pairs"}


@pytest.mark.parametrize("n", ["0", "151", "-3", "x"])
def test_numbers_out_of_range_are_refused(run, n):
    result = run("intersim", "serial", "--arg", f"n={n}")
    assert result.status == 2
    assert result.lines == []

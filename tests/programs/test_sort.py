"""sort at lengths around its cut-offs, its number of tasks against those counted in the suite."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("variant", ["plain", "fork_join"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 15, 16, 17, 255, 1023, 4099])
def test_every_length_is_sorted_with_the_smallest_cut_offs(run, n, variant):
    result = run(
        "sort",
        "serial",
        "--variant",
        variant,
        "--arg",
        f"n={n}",
        "--arg",
        "sort_cutoff=4",
        "--arg",
        "merge_cutoff=1",
        "--seed",
        "3",
    )
    assert result.status == 0
    assert result.last["answer"] == f"{n} of {n} in place"


def test_the_tasks_are_those_counted_in_the_suite(run):
    last = run(
        "sort",
        "serial",
        "--arg",
        "n=400000",
        "--arg",
        "merge_cutoff=4096",
        "--arg",
        "sort_cutoff=4096",
    ).last
    assert last["tasks"] == 340 + 812


def test_both_forms_state_the_same_tasks(run):
    tasks = {run("sort", "serial", "--variant", v).last["tasks"] for v in ("plain", "fork_join")}
    assert len(tasks) == 1
    assert tasks.pop() > 100


def test_an_array_below_the_cut_off_is_one_leaf(run):
    assert run("sort", "serial", "--arg", "n=100").last["tasks"] == 0


@pytest.mark.parametrize(
    "argument", ["n=1", "n=1000000001", "merge_cutoff=0", "sort_cutoff=3", "m=3"]
)
def test_arguments_out_of_range_are_refused(run, argument):
    result = run("sort", "serial", "--arg", argument)
    assert result.status == 2
    assert result.lines == []
    assert result.stderr.count("\n") == 1

"""round: the same meals on every backend, and refusal of tables at which none can dine."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(("philosophers", "milliseconds"), [(2, 1), (2, 25), (3, 7), (16, 10)])
def test_meals_do_not_depend_on_who_schedules(run, philosophers, milliseconds):
    answers = set()
    for backend, variant in (
        ("serial", "plain"),
        ("serial", "locked"),
        ("serial", "fork_join"),
        ("std_async", "async"),
        ("std_async", "fork_join"),
    ):
        result = run(
            "round",
            backend,
            "--variant",
            variant,
            "--arg",
            f"philosophers={philosophers}",
            "--arg",
            f"milliseconds={milliseconds}",
            "--arg",
            "operations_per_ms=100",
        )
        assert result.status == 0
        assert result.last["tasks"] == philosophers
        answers.add(result.last["answer"])
    assert len(answers) == 1
    meals = int(answers.pop().split()[0])
    assert philosophers * -(-milliseconds // 10) <= meals <= philosophers * milliseconds


def test_meals_depend_on_the_seed(run):
    answers = {run("round", "serial", "--seed", str(seed)).last["answer"] for seed in range(1, 9)}
    assert len(answers) > 1


def test_the_mean_number_of_meals_is_the_expected_one(run):
    """1.1^9 = 2.358 meals make 10 milliseconds of portions drawn from 1 to 10."""
    last = run(
        "round", "serial", "--arg", "philosophers=20000", "--arg", "operations_per_ms=1"
    ).last
    assert int(last["answer"].split()[0]) / 20000 == pytest.approx(1.1**9, rel=0.02)


@pytest.mark.parametrize("argument", ["philosophers=1", "milliseconds=0", "operations_per_ms=-5"])
def test_a_table_at_which_nobody_can_dine_is_refused(run, argument):
    result = run("round", "serial", "--arg", argument)
    assert result.status == 2
    assert result.stderr.count("\n") == 1

"""The rates at which a try claims a false gain, and finds a real one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from noise import SERIES, claims, tried
from threadmark.judge import pairs, trials
from threadmark.judge.trials import Finding, Trial, promises

TRIES = 200
FALSE = 7  # of these tries


@pytest.mark.parametrize("name", ["heavy", "two equal modes", "slow runs"])
def test_eight_fixes_that_do_nothing_are_hardly_ever_said_to_gain(name: str) -> None:
    rng = np.random.default_rng(18)
    found = [tried(SERIES[name], rng, rounds=14) for _ in range(TRIES)]
    assert sum(bool(claims(each)) for each in found) <= FALSE


@pytest.mark.parametrize("name", ["normal", "drift"])
def test_a_gain_of_ten_percent_is_found_among_eight_fixes(name: str) -> None:
    rng = np.random.default_rng(18)
    found = [tried(SERIES[name], rng, rounds=30, gains={3: 1.1}) for _ in range(20)]
    assert sum(3 in claims(each) for each in found) >= 19
    assert sum(claims(each) - {3} != set() for each in found) <= 1


def test_rare_slow_runs_do_not_hide_a_gain() -> None:
    rng = np.random.default_rng(18)
    logs = list(0.1 + rng.normal(0, 0.01, 24))
    logs[5], logs[11] = 1.5, -1.5
    found = pairs.interval(logs, 0.001)
    assert 1.05 < found.low < math.exp(0.1) < found.high < 1.15
    assert Trial({"fix": logs}).judge()["fix"].finding is Finding.GAIN


def test_the_limits_are_those_of_the_signed_ranks_where_pairs_are_many() -> None:
    logs = [-5.0, *(0.01 * each for each in range(1, 23)), 5.0]
    middle = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    place = pairs._place(len(logs), 0.001)
    found = pairs.interval(logs, 2 * 0.001)
    # Two slow runs make the limits of Student's t wider.
    assert found.low == pytest.approx(math.exp(middle[place - 1]))
    assert found.high == pytest.approx(math.exp(middle[-place]))
    assert found.high < 1.25
    # Of 12 ranks the sum is at most 10 in 43 of 4,096 cases, and at most 9 in 33.
    assert pairs._place(12, 33 / 4096) == 10
    assert pairs._place(12, 32.9 / 4096) == 9
    assert pairs._place(4, 0.01) == 0


def test_many_pairs_have_about_the_limits_that_counting_out_gives() -> None:
    exact, about = pairs._place(60, 0.001), pairs._place(61, 0.001)
    assert exact < about < exact + 40


def test_swapping_the_sides_gives_the_reciprocal() -> None:
    rng = np.random.default_rng(2)
    for count in (4, 7, 20, 200):
        logs = list(rng.normal(0.05, 0.05, count))
        one, other = pairs.interval(logs, 0.01), pairs.interval([-each for each in logs], 0.01)
        assert one.low == pytest.approx(1 / other.high)
        assert one.estimate == pytest.approx(1 / other.estimate)


def test_few_pairs_and_equal_ones_say_nothing() -> None:
    for logs in ([], [0.5], [0.5, 0.5, 0.5], [0.5] * 5):
        found = pairs.interval(logs, 0.01)
        assert found.low < 1e-300
        assert found.high > 1e300
        assert found.estimate == pytest.approx(math.exp(0.5) if logs else 1.0)


def test_a_common_variance_lets_few_pairs_tell_but_not_where_they_differ_more() -> None:
    common = pairs.pooled([[0.0, 0.02, -0.02, 0.01]] * 10)
    assert common.weight == 30
    quiet = [0.10, 0.11, 0.09, 0.10]
    assert pairs.interval(quiet, 0.0005, common).low > 1
    wild = [0.10, 0.40, -0.20, 0.10]
    alone, among = pairs.interval(wild, 0.0005), pairs.interval(wild, 0.0005, common)
    assert among == alone


def test_what_is_left_out_for_gaining_nothing_claims_nothing() -> None:
    rng = np.random.default_rng(5)
    others = {f"other {at}": list(rng.normal(0, 0.002, 40)) for at in range(4)}
    # The fix surely gains one percent, but nobody keeps a setting for that.
    logs = {"fix": list(0.01 + rng.normal(0, 0.002, 40)), **others}
    trial = Trial(logs)
    assert "fix" not in trial.open()
    found = trial.judge()["fix"]
    assert found.ratio.low > 1
    assert found.finding is Finding.NONE


def test_a_loss_and_a_gain_that_are_known_well_need_no_more_pairs() -> None:
    rng = np.random.default_rng(6)
    logs = {
        "loss": list(-0.3 + rng.normal(0, 0.01, 6)),
        "gain": list(0.3 + rng.normal(0, 0.01, 20)),
        "rough": list(0.3 + rng.normal(0, 0.2, 20)),
    }
    trial = Trial(logs)
    assert trial.open() == ["rough"]
    found = trial.judge()
    assert [found[each].finding for each in logs] == [Finding.LOSS, Finding.GAIN, Finding.GAIN]


def test_looks_come_after_ever_more_rounds() -> None:
    assert list(trials.looks(30)) == [4, 6, 9, 14, 20, 30]
    assert list(trials.looks(3)) == []


def test_what_was_left_out_claims_nothing_though_more_pairs_came() -> None:
    rng = np.random.default_rng(7)
    logs = [*rng.normal(-0.05, 0.005, 9), *rng.normal(0.4, 0.005, 60)]
    found = Trial({"fix": logs}).judge()["fix"]
    assert found.ratio.low > 1
    assert (found.finding, found.settled) == (Finding.NONE, True)


def test_a_look_needs_more_than_the_end_because_there_are_many() -> None:
    logs = {"fix": [0.024, 0.020, 0.028, 0.026], **{f"other {at}": [0.0] for at in range(7)}}
    alone = pairs.interval(logs["fix"], trials.ERROR)
    assert alone.low > 1
    assert alone.half_width < trials.PRECISE
    assert "fix" in Trial(logs).open()


def test_the_wilder_the_runs_are_the_more_counts_which_fixes_usually_help() -> None:
    def best(spread: float) -> str:
        logs = {
            "usual": [0.1 - spread, 0.1 + spread],
            "odd": [0.14 - spread, 0.14 + spread],
            "lost": [-0.5, -0.5],
        }
        promised = promises(logs)
        assert min(promised, key=lambda arm: promised[arm]) == "lost"
        return max(promised, key=lambda arm: promised[arm])

    assert [best(0.01), best(1.5)] == ["odd", "usual"]
    assert promises({"seen": [9.0], "unseen": []})["unseen"] == math.inf

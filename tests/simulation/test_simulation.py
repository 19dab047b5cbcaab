"""A small version of the simulation of schedule and judge: it can fail, and does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tasks
from machine import Machine, Scenario
from tasks import DEFINITE, SCENARIOS, WRONG, Field, Program, Tally, play
from threadmark.judge import verdict
from threadmark.judge.verdict import Kind
from threadmark.kinds.tasks import judgement

BY_NAME = {each.name: each for each in SCENARIOS}


def whole(scenario: Scenario, runs: int = 2, programs: int = 7) -> Tally:
    """Some small runs together."""
    found = Tally()
    for seed in range(100, 100 + runs):
        found.add(play(scenario, seed, programs))
    return found


@pytest.mark.parametrize("name", ["calm", "two neighbours", "other processes"])
def test_definite_verdicts_are_rarely_wrong_and_most_are_definite(name: str) -> None:
    found = whole(BY_NAME[name])
    assert found.definite > 40
    assert found.wrong <= WRONG * found.definite
    assert found.far_definite >= DEFINITE[BY_NAME[name].disturbed] * found.far


def test_a_judge_that_takes_estimates_for_facts_fails_in_the_simulation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def certain(*arguments: object, **options: object) -> verdict.Verdict:
        return verdict.verdict(*arguments, **{**options, "level": 0.01})  # type: ignore[arg-type]

    monkeypatch.setattr(judgement, "verdict", certain)
    found = whole(BY_NAME["two neighbours"])
    assert found.wrong > WRONG * found.definite


def test_the_made_up_machine_takes_the_time_that_its_scenario_says() -> None:
    calm = Machine(Scenario("calm"), np.random.default_rng(1))
    assert calm.region(0.5, 1, dynamic=False) == pytest.approx(0.5)
    assert calm.now_s == pytest.approx(0.5)
    turbo = Machine(Scenario("turbo", 4, turbo=0.8), np.random.default_rng(1))
    assert turbo.region(0.1, 1, dynamic=False) == pytest.approx(0.1)
    assert turbo.region(0.1, 4, dynamic=True) == pytest.approx(0.125)
    shared = Machine(Scenario("smt", 4, smt=True), np.random.default_rng(1))
    assert shared.physical == 2
    assert shared.region(0.1, 2, dynamic=False) == pytest.approx(0.1)
    assert shared.region(0.1, 4, dynamic=False) == pytest.approx(0.1 / 0.62)
    busy = Machine(Scenario("busy", 1, neighbours=1), np.random.default_rng(1))
    longer = [busy.region(0.05, 1, dynamic=False) / 0.05 for _ in range(2000)]
    # A neighbour is there for 30 % of the time and slows by 1.1 to 1.6, on average by 1.35.
    assert np.mean(longer) == pytest.approx(1 / (0.7 + 0.3 / 1.34), rel=0.05)
    assert max(longer) > 1.5


@pytest.mark.parametrize(
    ("speedups", "label", "distance"),
    [
        ({2: 1.9, 4: 3.6}, (Kind.SCALES, 4), 3.6 / 4 / 0.7 - 1),
        ({2: 1.9, 4: 2.6}, (Kind.SCALES, 2), 2.8 / 2.6 - 1),
        ({2: 1.3, 4: 1.2}, (Kind.POORLY, None), 1.4 / 1.3 - 1),
        ({2: 1.0}, (Kind.NONE, None), 0.1),
        ({2: 0.8}, (Kind.SLOWER, None), 1 / 1.1 / 0.8 - 1),
    ],
)
def test_the_right_verdict_and_its_distance_follow_from_the_truth(
    speedups: dict[int, float], label: tuple[Kind, int | None], distance: float
) -> None:
    known = Field(Program(0.01, False, 0.01, 0.01), speedups)
    assert known.label() == label
    assert known.distance() == pytest.approx(distance)


def test_true_speed_ups_lie_around_every_limit() -> None:
    rng = np.random.default_rng(2)
    drawn = [tasks.draw(rng, (2, 4, 8)) for _ in range(600)]
    program = Program(0.01, False, 0.01, 0.01)
    labels = [Field(program, each).label()[0] for each in drawn]
    for kind in (Kind.SCALES, Kind.POORLY, Kind.NONE, Kind.SLOWER):
        assert labels.count(kind) > 40
    near = [math.log(each[8] / 8 / 0.7) for each in drawn]
    assert sum(abs(each) < 0.15 for each in near) > 40

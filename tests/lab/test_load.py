"""The lab tells threads that others kept apart from a program that keeps itself waiting."""

from __future__ import annotations

from threadmark.machine.load import Counters, Load, between, disturbance

CALM = [{"wall_ns": 100e6, "run_delay_ns": 0}]
WAITED = [{"wall_ns": 100e6, "run_delay_ns": 50e6}]


def test_a_calm_machine_is_no_disturbance() -> None:
    assert disturbance(Load(0.0, 0.0, 2), 0.2, CALM, 2) == ""


def test_what_others_used_is_told_in_percent() -> None:
    assert "other processes took 25 %" in disturbance(Load(0.1, 0.0, 2), 0.2, CALM, 2)


def test_stolen_time_is_told_before_anything_else() -> None:
    assert "hypervisor took 25 %" in disturbance(Load(0.1, 0.1, 2), 0.2, CALM, 2)


def test_one_or_two_ticks_say_nothing() -> None:
    assert disturbance(Load(0.02, 0.0, 1), 0.05, CALM, 1) == ""


def test_waiting_counts_only_when_others_ran() -> None:
    assert disturbance(Load(0.0, 0.0, 2), 0.2, WAITED, 2) == ""
    assert "waited 25 %" in disturbance(Load(0.02, 0.0, 2), 0.2, WAITED, 2)


def test_hostile_figures_are_ignored() -> None:
    for strange in ({}, {"wall_ns": "x", "run_delay_ns": None}, {"wall_ns": 0}):
        assert disturbance(Load(0.02, 0.0, 2), 0.2, [strange], 2) == ""
    assert disturbance(Load(0.02, 0.0, 2), 0.0, CALM, 2) == ""


def test_own_time_is_not_the_time_of_others() -> None:
    before, after = Counters(10.0, 1.0, 2), Counters(10.5, 1.25, 2)
    assert between(before, after, 0.4).others_s < 0.11
    assert between(before, after, 0.6).others_s == 0
    assert between(before, after, 0.4).steal_s == 0.25

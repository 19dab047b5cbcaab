"""The error rates of the catalogue on simulated machines: a small version of catalogue.py."""

from __future__ import annotations

import catalogue
import pytest
from threadmark.kinds.catalogue.rounds import Usual

NAMES = {each.name: each for each in catalogue.MACHINES}


def missed(machine: catalogue.Machine) -> list[str]:
    """The bars that are missed on this machine."""
    [count] = catalogue.measure([machine], ways=catalogue.SMALL).values()
    return list(count.missed(machine))


@pytest.mark.parametrize("name", NAMES)
def test_definite_verdicts_are_right_and_frequent_on_every_machine(name: str) -> None:
    assert missed(NAMES[name]) == []


def test_a_yardstick_that_is_held_against_1_misses_the_bars_where_cores_slow_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Usual, "slowing", lambda *_: 1.0)
    assert missed(NAMES["turbo 0.8, 4 cores"])

"""A budget of `try` for tests, which other work on the machine does not use up."""

from __future__ import annotations

from functools import partial

import pytest
from threadmark.kinds.trials import trying
from threadmark.kinds.trials.arms import Arm
from threadmark.kinds.trials.loop import Loop
from threadmark.model.cell import Row

_RUN_S = 0.1


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run takes 0.1 s of a try's budget, however long other programs keep it from a processor."""
    spent_s = [0.0]
    real = trying._Session._run

    def run(session: trying._Session, variant: str, arm: Arm, number: int, limit_s: float) -> Row:
        row = real(session, variant, arm, number, limit_s)
        spent_s[0] += _RUN_S
        return row

    monkeypatch.setattr(trying._Session, "_run", run)
    monkeypatch.setattr(trying, "Loop", partial(Loop, clock=lambda: spent_s[0]))

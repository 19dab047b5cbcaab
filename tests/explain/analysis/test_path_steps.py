"""The times that a thread of the critical path ran and was blocked, even if the kernel books them
late."""

from __future__ import annotations

import pytest
from threadmark.kinds.explain.analysis.path_steps import Look, times_of
from threadmark.kinds.explain.analysis.reasons import Reason
from threadmark.kinds.explain.analysis.recording import Glance, Tick

SPAN = 4_000_000
WAITS = Reason("lock", "mutex", 1, 1, 9, 7)


def look(
    number: int, run: float, ready: float, *, tid: int = 7, reason: Reason | None = None
) -> Look:
    """The look at a tick, with the times that the kernel has booked since the tick before, in
    spans."""
    state = "R" if reason is None else "S"
    glance = Glance(tid, "", 0, 0, 0, state, -1, round(run * SPAN), round(ready * SPAN))
    ends = (number * SPAN, (number + 1) * SPAN)
    return Look(Tick(ends[1], (glance,)), glance, tid, *ends, SPAN, reason)


def spans(*looks: Look) -> list[tuple[float, float]]:
    """The running and blocked times, from the beginning to the end, in spans."""
    found = list(times_of(looks[::-1]))[::-1]
    return [(round(ran / SPAN, 3), round(blocked / SPAN, 3)) for ran, blocked in found]


def test_time_without_a_processor_that_is_booked_at_its_end_is_no_wait() -> None:
    found = spans(look(0, 0, 0), look(1, 0, 0), look(2, 0.5, 2.5))
    assert [blocked for _, blocked in found] == [0, 0, 0]
    assert sum(ran for ran, _ in found) == pytest.approx(0.5, abs=0.01)


def test_running_that_is_booked_late_is_neither_lost_nor_a_wait() -> None:
    found = spans(look(0, 0.2, 0), look(1, 1.8, 0), look(2, 1, 0))
    assert [blocked for _, blocked in found] == [0, 0, 0]
    assert sum(ran for ran, _ in found) == pytest.approx(3)


def test_what_was_not_booked_later_is_a_short_wait() -> None:
    for ready, blocked in ((0.75, 0.25), (0.5, 0.5)):
        found = spans(look(0, 0.5, 0), look(1, 0.5, ready))
        assert [each for _, each in found] == [blocked, 0]
        assert sum(ran for ran, _ in found) == pytest.approx(1)


def test_nothing_is_booked_for_another_thread_or_before_a_wait() -> None:
    assert spans(look(0, 0, 0, tid=8), look(1, 0.5, 1.5))[0] == (0, 1)
    assert spans(look(0, 0, 0), look(1, 0, 0, reason=WAITS), look(2, 0.5, 2.5))[0] == (0, 1)

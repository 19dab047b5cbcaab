"""The parts of the critical path: looks at one thread between two ticks, and the steps that they
form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from threadmark.kinds.explain.analysis.reasons import LOCKS, Reason
from threadmark.kinds.explain.analysis.recording import Glance, Tick


@dataclass(frozen=True)
class Step:
    """The place of the path between two looks."""

    tid: int
    from_ns: int
    until_ns: int
    state: str
    what: str

    @property
    def ns(self) -> int:
        return max(0, self.until_ns - self.from_ns)


@dataclass(frozen=True)
class Look:
    """A look at the thread that has the path, from one tick to the next."""

    tick: Tick
    glance: Glance | None
    tid: int
    from_ns: int
    until_ns: int
    span_ns: int  # since the tick before; less if ticks are left out
    reason: Reason | None  # the wait of the path's former thread; None: it works

    @property
    def is_ready(self) -> bool:
        """Whether the thread has no processor."""
        return self.glance is not None and self.glance.ready_ns > self.glance.run_ns

    @property
    def waits(self) -> bool:
        return self.reason is not None and self.reason.sort != "work"

    @property
    def times(self) -> tuple[float, float]:
        """The times for which the thread ran and was blocked. It may do both often between two
        ticks."""
        whole = float(max(0, self.until_ns - self.from_ns))
        if self.glance is None:
            return (0.0, whole) if self.waits else (whole, 0.0)
        ran, ready = self.parts
        return whole * ran, whole * (1 - ran - ready)

    @property
    def booked(self) -> tuple[float, float]:
        """The times for which it ran and was ready before the previous tick, if the kernel booked
        them only now."""
        if self.glance is None:
            return 0.0, 0.0
        told = self.glance.run_ns + self.glance.ready_ns
        late = max(0.0, 1 - self.span_ns / max(1, told))
        return self.glance.run_ns * late, self.glance.ready_ns * late

    @property
    def parts(self) -> tuple[float, float]:
        """The parts of the time since the tick before in which it ran and was ready."""
        if self.glance is None:
            return 0.0, 0.0
        span = max(1, self.span_ns, self.glance.run_ns + self.glance.ready_ns)
        return self.glance.run_ns / span, self.glance.ready_ns / span


def times_of(looks: Iterable[Look]) -> Iterator[tuple[float, float]]:
    """For looks from the end to the beginning, the times for which the thread ran and was blocked.
    The kernel books ready time when a thread gets a processor, and run time at its own ticks. A
    booked time that is longer than its look belongs in part to the looks before."""
    tid, ran_ns, ready_ns = 0, 0.0, 0.0
    for look in looks:
        if look.tid != tid or look.waits:
            tid, ran_ns, ready_ns = look.tid, 0.0, 0.0
        ran, blocked = look.times
        part = min(1.0, blocked / max(1.0, ran_ns + ready_ns))
        yield ran + part * ran_ns, max(0.0, blocked - ran_ns - ready_ns)
        late = look.booked
        ran_ns, ready_ns = (1 - part) * ran_ns + late[0], (1 - part) * ready_ns + late[1]


def who_waits(tick: Tick, tid: int) -> Reason | None:
    """The lock that others wait for while this thread has it."""
    for each in tick.glances:
        if each.awaited == tid and each.activity in LOCKS:
            return Reason("lock", each.activity, each.thing, each.stack, tid, each.tid)
    return None


def joined(steps: list[Step]) -> list[Step]:
    """The steps, with equal neighbours joined."""
    found: list[Step] = []
    for step in steps:
        last = found[-1] if found else None
        if last and (last.tid, last.state, last.what) == (step.tid, step.state, step.what):
            found[-1] = Step(last.tid, last.from_ns, step.until_ns, step.state, step.what)
        else:
            found.append(step)
    return found

"""Input and output by a thread that has a lock: others that wait for the lock also wait for the
call.

For each call with a descriptor the agent notes the stack that took the thread's lock, if others had
waited for the lock. So all such calls count, and not only those that ticks happen to meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.recording import Pair, Recording

_LOCKS = ("mutex", "rwlock")
_SAID = 0.01  # of the time that the program ran
_MUCH = 0.05  # of it: then it is worth a remedy
_MOSTLY = 0.9  # of the calls
_SMALL = 4096  # bytes of a write: smaller ones are better gathered
_HALF = 0.5  # of the time of calls
_MOST = 0.75  # of it
SMALL_WRITES, CALLS = "small_writes", "calls"  # cases of a cause


@dataclass(frozen=True)
class Within:
    """The calls during the holds of a lock. `size` is the mean of a write in bytes; 0: not known,
    or most calls are no writes. `share` is a part of the time that the program ran."""

    calls: int
    size: float
    share: float

    @property
    def words(self) -> str:
        """The calls as a part of a sentence."""
        calls = "calls of input and output"
        if self.size:
            calls = f"writes of {self.size:,.0f} bytes"
        share = f"{100 * self.share:.0f} % of the time"
        return f"its holders make {self.calls:,} {calls} meanwhile, which take {share}"


def say_within(cause: Cause, recording: Recording) -> None:
    """Add the calls during its holds to a lock's cause. If they take long, the cause's case is set,
    which selects the remedy."""
    found = within(cause, recording)
    if found is None or found.share < _SAID:
        return
    cause.words += f"; {found.words}"
    if found.share >= _MUCH:
        cause.case = SMALL_WRITES if 0 < found.size < _SMALL else CALLS


def lock_before_its_calls(causes: list[Cause], recording: Recording) -> list[Cause]:
    """If most calls of the first cause are made with a lock held, and waits for that lock cost at
    least half as much, the lock comes first: the others wait because of the lock, and the calls are
    the work of its holder. A thread that had the lock again and again may end early. The other then
    makes its calls alone, and their time is no wait for the lock."""
    calls = next(iter(causes), None)
    if calls is None or calls.category != "io":
        return causes
    whole_ns = sum(each.wait_ns for each in recording.pairs if each.activity == "io")
    for lock in causes[1:]:
        held_ns = sum(each.wait_ns for each in _calls(lock, recording))
        if lock.ns >= _HALF * calls.ns and held_ns >= _MOST * whole_ns > 0:
            return [lock, *(each for each in causes if each is not lock)]
    return causes


def within(cause: Cause, recording: Recording) -> Within | None:
    """The calls during the holds of a cause's lock; None if there are none, or they are not
    known."""
    calls = _calls(cause, recording)
    if not calls or recording.wall_ns <= 0:
        return None
    share = sum(each.wait_ns for each in calls) / recording.wall_ns
    return Within(sum(each.waits for each in calls), _size(calls, recording), min(1.0, share))


def _calls(cause: Cause, recording: Recording) -> list[Pair]:
    """The calls during the holds of a cause's lock."""
    if cause.category not in _LOCKS:
        return []
    held = {hold.stack for hold in recording.holds if hold.thing in cause.things}
    return [each for each in recording.pairs if each.has in held - {0}]


def _size(calls: Sequence[Pair], recording: Recording) -> float:
    """The mean size of a write to the files of these calls."""
    things = {each.thing for each in calls}
    files = [each for each in recording.files if each.thing in things and each.writes]
    writes = sum(each.writes for each in files)
    made = sum(each.waits for each in (recording.things[n] for n in things & set(recording.things)))
    return sum(each.bytes for each in files) / writes if writes > _MOSTLY * made > 0 else 0.0

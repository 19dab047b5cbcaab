"""How many times faster a program could be at most if one cause cost nothing.

docs/explain.md has the formula. What is left takes no less than each of three times: the work on
the processors that there are, the longest thread, and the critical path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import cached_property

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.critical_path import CriticalPath
from threadmark.kinds.explain.analysis.reasons import Reason
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.removed import Removed
from threadmark.kinds.explain.analysis.roles import Roles

_MOST = 999.0  # what is left is not seen then
_OWN = 0.5  # of the run: where other programs had more, what is left of it says little
_ERROR = 0.03  # of the run: what samples and ticks may have wrong
Key = tuple[str, str, int, int]
_SPREAD = ("imbalance", "serial_dependency", "task_idle")  # work that could be divided among all


def at_most(whole_ns: float, left_ns: float) -> float:
    """How many times as fast, if so much of the whole is left without the cause."""
    left_ns -= _ERROR * whole_ns
    return max(1.0, min(_MOST, whole_ns / max(left_ns, 1.0)))


class Bounds:
    """Those of one record."""

    def __init__(
        self,
        recording: Recording,
        roles: Roles,
        removed: Removed,
        account: Account,
        path: CriticalPath,
    ) -> None:
        self._recording = recording
        self._roles = roles
        self._removed = removed
        self._account = account
        self._path = path

    def of(self, cause: Cause, with_it: Sequence[Cause] = ()) -> float | None:
        """None where it is not known what would be left. `with_it`: causes that go with it."""
        recording = self._recording
        ran_before = recording.tier.get("attached") or recording.tier.get("late")
        whole = not ran_before and recording.part is None
        if not whole or recording.wall_ns <= 0 or cause.category in ("unknown", "none"):
            return None
        if self._own_ns < _OWN * recording.wall_ns:
            return None
        removed: Counter[int] = Counter()
        for each in (cause, *with_it):
            removed.update(self._removed.of(each))
        reasons = set().union(*(each.reasons for each in (cause, *with_it)))
        chain_ns = self._chain_ns(cause, reasons, removed)
        return at_most(self._own_ns, max(self._work_ns(cause, removed), chain_ns))

    @cached_property
    def _own_ns(self) -> float:
        """How long the run took, less the time for which other programs had the processor: without
        the cause they would have had it as long."""
        return self._recording.wall_ns - self._path.of_others(self._roles.processors)

    def _work_ns(self, cause: Cause, removed: Mapping[int, float]) -> float:
        """All processor time but the cause's, on all processors."""
        processors = self._roles.processors
        if cause.category == "affinity":
            processors = self._recording.processors
        threads = self._account.threads
        run = float(sum(each.thread.run_ns for each in threads.values()))
        run -= sum(removed.values())
        work = run / min(processors, max(1, len(threads)))
        if cause.category in _SPREAD:  # however the work is divided, its threads wake one another
            work += self._recording.wall_ns * next(iter(self._account.processors), 0.0)
        return work

    def _chain_ns(self, cause: Cause, reasons: Set[Key], removed: Mapping[int, float]) -> float:
        """What has to come one after the other without the cause."""
        if cause.category in _SPREAD:
            return 0.0
        parts = {
            tid: min(1.0, ns / self._account.threads[tid].thread.run_ns)
            for tid, ns in removed.items()
            if self._account.threads[tid].thread.run_ns
        }

        # At some ticks the same wait cost nothing or was for another thread: it is the cause's too.
        kinds = {key[:3] for key in reasons}

        def free(reason: Reason) -> bool:
            return bool(kinds & {reason.key[:3], (*reason.key[:2], 0)})

        return self._path.without(free, parts)

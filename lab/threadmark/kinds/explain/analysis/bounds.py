"""An upper bound of the speed-up of a program if some of its causes cost nothing.

docs/explain.md has the formula. The rest of the run takes no less than each of two times: the work
on the available processors, and the critical path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from functools import cached_property

from threadmark.kinds.explain.analysis.accounting import Account
from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.critical_path import CriticalPath
from threadmark.kinds.explain.analysis.reasons import Reason
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.removed import Removed
from threadmark.kinds.explain.analysis.roles import Roles

_MOST = 999.0  # then the rest is not visible
_OWN = 0.5  # of the run: if other programs had more, the rest shows little
_ERROR = 0.02  # of the run: the error of ticks and the kernel
_DEVIATIONS = 1  # of chance in samples and ticks
_UNSURE = 0.1  # of the rest if the cause took samples: the error of samples
_EDGES = 6**-0.5  # ticks: the standard error of a time between two changes that ticks show
Key = tuple[str, str, int, int]
_SPREAD = {"imbalance", "serial_dependency", "task_idle"}  # work that could be divided among all


def at_most(whole_ns: float, left_ns: float) -> float:
    """The speed-up if `left_ns` of the whole is left without the cause."""
    left_ns -= _ERROR * whole_ns
    return max(1.0, whole_ns / max(left_ns, whole_ns / _MOST)) if whole_ns > 0 else 1.0


class Bounds:
    """The bounds of one record."""

    def __init__(
        self,
        recording: Recording,
        roles: Roles,
        removed: Removed,
        account: Account,
        path: CriticalPath,
        listed: Sequence[Cause],
    ) -> None:
        self._recording = recording
        self._roles = roles
        self._removed = removed
        self._account = account
        self._path = path
        self._spins = [each for each in listed if each.category == "spin"]

    def of(self, causes: Sequence[Cause]) -> float | None:
        """The bound without all of these causes; None if the rest of the run is not known."""
        recording = self._recording
        ran_before = recording.tier.get("attached") or recording.tier.get("late")
        whole = not ran_before and recording.part is None
        categories = {cause.category for cause in causes}
        if not whole or recording.wall_ns <= 0 or categories & {"unknown", "none"}:
            return None
        if self._own_ns < _OWN * recording.wall_ns:
            return None
        if "run_queue" in categories:  # no thread spins for a thread that then has a processor
            causes = [*causes, *(each for each in self._spins if each not in causes)]
        removed = self._removed.of(causes)
        reasons = set().union(*(cause.reasons for cause in causes))
        removed_ns = sum(removed.values())
        work_ns = self._work_ns(categories, removed_ns)
        chain_ns = self._chain_ns(categories, reasons, removed)
        processors = self._processors(categories)
        part = self._part(removed_ns)
        ends_ns = _EDGES * self._recording.tick_ns
        left_ns = max(
            work_ns - _DEVIATIONS * self._sampled_ns(work_ns / processors, part),
            chain_ns - _DEVIATIONS * math.hypot(self._sampled_ns(chain_ns, part), ends_ns),
        )
        unsure_ns = _UNSURE * left_ns if removed_ns else 0.0
        return round(at_most(self._own_ns, left_ns - unsure_ns), 2)

    def part_of_run(self, cause: Cause) -> float:
        """The part of all processor time that the cause took."""
        return self._part(sum(self._removed.of([cause]).values()))

    def _part(self, removed_ns: float) -> float:
        return min(1.0, removed_ns / max(1.0, self._run_ns))

    @cached_property
    def _own_ns(self) -> float:
        """The time of the run, less the time for which other programs had the processor: without
        the cause they would have had it as long."""
        return self._recording.wall_ns - self._path.of_others(self._roles.processors)

    @cached_property
    def _run_ns(self) -> float:
        """All processor time."""
        return float(sum(each.thread.run_ns for each in self._account.threads.values()))

    def _processors(self, categories: Set[str]) -> int:
        """The number of processors for the work without causes of these categories."""
        one = self._recording if "affinity" in categories else self._roles
        return min(one.processors, max(1, len(self._account.threads)))

    def _sampled_ns(self, left_ns: float, part: float) -> float:
        """The standard error of the rest of the samples, of which the cause took a part."""
        return math.sqrt(left_ns * part * self._recording.sample_ns)

    def _work_ns(self, categories: Set[str], removed_ns: float) -> float:
        """All processor time except that of causes of these categories, on all processors."""
        work = max(0.0, self._run_ns - removed_ns) / self._processors(categories)
        if categories & _SPREAD:  # in any division of the work, threads wake one another
            work += self._recording.wall_ns * next(iter(self._account.processors), 0.0)
        return work

    def _chain_ns(
        self, categories: Set[str], reasons: Set[Key], removed: Mapping[int, float]
    ) -> float:
        """The work that has to come one after the other without the causes."""
        if categories & _SPREAD:
            return 0.0
        parts = {
            tid: min(1.0, ns / self._account.threads[tid].thread.run_ns)
            for tid, ns in removed.items()
            if self._account.threads[tid].thread.run_ns
        }

        # At some ticks the same wait cost nothing or was for another thread. It also belongs to the
        # cause.
        kinds = {key[:3] for key in reasons}

        def free(reason: Reason) -> bool:
            return bool(kinds & {reason.key[:3], (*reason.key[:2], 0)})

        return self._path.without(free, parts)

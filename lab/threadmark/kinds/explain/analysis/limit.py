"""The bound of a comparison: N threads are at most N times as fast as one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from threadmark.kinds.explain.analysis.paired_runs import Rounds
from threadmark.kinds.explain.analysis.per_unit import Run

# Without them the same work is left, in another division.
_LEAVE_WORK = ("imbalance", "serial_dependency", "task_idle", "run_queue", "affinity")
_ESTIMATED = ("atomic", "false_sharing")  # what contention takes is not measured in one run
_MOST = 2.0  # times as fast: the rest of a run with one thread is mostly the cause's error
_ERROR = 0.03  # of a limit: like pairs of processes differ by as much


class Limit:
    """How many times as fast the program can be with most threads without some of its causes.
    `alone`: the document of the last run with one thread."""

    def __init__(self, rounds: Rounds, alone: Mapping[str, Any]) -> None:
        self._rounds = rounds
        self._alone = alone

    def lower(self, bound: float | None, causes: Iterable[Mapping[str, Any]]) -> float | None:
        """The bound of one run without these causes, or the limit if that is lower. Only the limit
        counts for causes whose cost one run does not measure."""
        if bound is None:
            return None
        causes = list(causes)
        limit = round(self._of(causes), 2)
        if limit < math.inf and any(cause["category"] in _ESTIMATED for cause in causes):
            return limit
        return min(bound, limit)

    def _of(self, causes: Iterable[Mapping[str, Any]]) -> float:
        """The limit of the round in which it is highest; infinite if one thread does nothing but
        what goes away with the causes."""
        left = 1 - sum(map(self._part, causes))
        pairs = zip(self._rounds.one, self._rounds.many, strict=True)
        return (1 + _ERROR) * max(_times(one, many, left) for one, many in pairs)

    def _part(self, cause: Mapping[str, Any]) -> float:
        """The part of the time of one thread that the cause can take."""
        if cause["category"] in _LEAVE_WORK:
            return 0.0
        same = [c for c in self._alone["causes"] if c["category"] == cause["category"]]
        named = [c for c in same if c["name"] == cause["name"]] or same
        return sum(self._part_alone(c) for c in named)

    def _part_alone(self, cause: Mapping[str, Any]) -> float:
        bound = cause["bound"] or math.inf
        if bound >= _MOST:
            return 1.0
        waits: float = cause["share"] * self._alone["thread_s"] / self._alone["wall_s"]
        return min(1 - 1 / bound, waits)  # a wait shortens the run by its own time at most


def _times(one: Run, many: Run, left: float) -> float:
    """The limit if a part of the time of one thread is left."""
    gone_ns = (1 - left) * max(one.time_ns, one.cpu_ns)
    on_processors_ns = (one.cpu_ns - gone_ns) / min(many.working, many.processors)
    shortest_ns = max(left * one.time_ns / many.working, on_processors_ns)
    return max(1.0, many.time_ns / shortest_ns) if shortest_ns > 0 else math.inf

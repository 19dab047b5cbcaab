"""The cost of a task and its work, if the number of tasks is known."""

from __future__ import annotations

from typing import Any

_MANAGED = ("runtime", "runtime_idle")
_DONE = ("useful", "atomic", "kernel_memory")


def tell(found: dict[str, Any], tasks: float) -> None:
    """Put the cost of a task and its work into a document, and into the words of a cause of too
    costly tasks. The cost includes looking for tasks and waiting for them awake."""
    if tasks <= 0:
        return
    ns = found["thread_s"] * 1e9 / tasks
    cost, work = (sum(found["states"][each] for each in some) * ns for some in (_MANAGED, _DONE))
    found["tasks"] = {
        "count": round(tasks),
        "cost_ns": round(cost, 1),
        "work_ns": round(work, 1),
    }
    for cause in found["causes"]:
        if cause["category"] == "task_overhead":
            cause["words"] += f"; a task costs {_time(cost)} and works for {_time(work)}"


def _time(ns: float) -> str:
    for unit, factor in (("ms", 1e6), ("us", 1e3)):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns:.3g} ns"

"""Whether threads could run side by side; if not, a comparison shows nothing about sharing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from threadmark.kinds.explain.analysis.per_unit import Run

_READY = 0.15  # of the time in which threads ran or asked for a processor
_LEAST = 0.05  # of the possible run time; a sleeping program seldom waits
_STOLEN = 0.1  # of the time of all processors


def kept_apart(one: Sequence[Run], many: Sequence[Run], causes: Sequence[Mapping[str, Any]]) -> str:
    """The reason that kept threads from running at the same time, in a sentence; else empty."""
    run = many[-1]
    end = ", so the comparison says nothing of what threads share."
    if run.threads > run.processors:
        return f"{run.threads:,} threads had only {_processors(run.processors)}{end}"
    if 0 < run.allowed < min(run.threads, run.processors):
        return (
            f"The {run.threads:,} threads may run on only {_processors(run.allowed)} of "
            f"{run.processors:,}{end}"
        )
    for runs in (many, one):
        count = f"{runs[0].threads:,} thread{'s' * (runs[0].threads != 1)}"
        ready = sum(each.ready_ns for each in runs)
        share = ready / max(1, ready + sum(each.run_ns for each in runs))
        own = any(cause["category"] in ("run_queue", "affinity") for cause in causes)
        could = sum(each.wall_ns * each.threads for each in runs)
        if share >= _READY and ready >= _LEAST * could and not own:
            return (
                f"Other programs had the processors for {100 * share:.0f} % of the time in which "
                f"the runs with {count} could have run{end}"
            )
        stolen = sum(each.steal_ns for each in runs)
        share = stolen / max(1, sum(each.wall_ns * each.processors for each in runs))
        if share >= _STOLEN:
            return (
                f"The machine's host kept {100 * share:.0f} % of the processor time from the runs "
                f"with {count}{end}"
            )
    return ""


def same_threads(one: Sequence[Run], many: Sequence[Run]) -> str:
    """A sentence if the number of threads changes nothing; else empty."""
    before, after = max(r.at_once for r in one), max(r.at_once for r in many)
    if after > before:
        return ""
    return (
        f"The program had as many threads with {many[0].threads:,} as with {one[0].threads:,} "
        f"({before:,} at one time), so the comparison says nothing; check how the program takes "
        "their number."
    )


def _processors(count: int) -> str:
    return f"{count:,} processor{'s' * (count != 1)}"

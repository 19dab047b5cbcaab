"""Half as many threads of OpenMP as processors."""

from __future__ import annotations

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target
from threadmark.fixes.openmp import needs_openmp


def _setting(target: Target) -> Setting:
    needs_openmp(target)
    if len(target.processors) < 2:
        raise NotApplicableError("the program has one processor")
    count = str(len(target.processors) // 2)
    return Setting({"OMP_NUM_THREADS": count}, variables_set_threads=True)


FIX = Fix(
    name="omp-threads",
    kind="openmp",
    what="half as many threads of OpenMP as processors",
    helps=("run_queue", "barrier", "memory_bandwidth", "task_overhead"),
    risk="On a machine with more processors the program cannot use them.",
    setting=_setting,
)

"""Threads of OpenMP stay on a processor each."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.openmp import variables

FIX = Fix(
    name="omp-bind",
    kind="openmp",
    what="threads of OpenMP stay on a processor each",
    helps=("run_queue", "memory_bandwidth"),
    risk="Where other programs run, a thread waits for its processor although another is free.",
    setting=variables(OMP_PROC_BIND="spread", OMP_PLACES="cores"),
)

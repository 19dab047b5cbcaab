"""Threads of OpenMP that wait spin."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.openmp import variables

FIX = Fix(
    name="omp-active",
    kind="openmp",
    what="threads of OpenMP that wait spin",
    helps=("barrier", "task_idle"),
    risk="Spinning takes processor time from others.",
    setting=variables(OMP_WAIT_POLICY="active", KMP_BLOCKTIME="infinite"),
)

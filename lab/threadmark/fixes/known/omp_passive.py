"""Threads of OpenMP that wait sleep at once."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.openmp import variables

FIX = Fix(
    name="omp-passive",
    kind="openmp",
    what="threads of OpenMP that wait sleep at once",
    helps=("run_queue/spinning", "barrier", "spin", "run_queue", "imbalance"),
    risk="Where there are processors enough, waking takes longer than spinning.",
    setting=variables(OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0", KMP_BLOCKTIME="0"),
)

"""Threads that the program binds stay free."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import own_library
from threadmark.fixes.telling_calls import BINDS_THREADS

FIX = Fix(
    name="free-affinity",
    kind="affinity",
    what="threads stay on all processors, though the program binds them",
    helps=("affinity", "run_queue"),
    risk=("Threads that gain from the cache of one processor lose it."),
    setting=own_library("free_affinity"),
    calls=BINDS_THREADS,
    telling=True,
)

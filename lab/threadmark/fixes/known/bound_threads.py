"""Each thread stays on one processor."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import own_library

FIX = Fix(
    name="bound-threads",
    kind="affinity",
    what="each thread that the program makes stays on one processor",
    helps=("run_queue", "memory_bandwidth", "false_sharing"),
    risk=("Two busy threads may be bound to one processor while another idles."),
    setting=own_library("bound_threads"),
)

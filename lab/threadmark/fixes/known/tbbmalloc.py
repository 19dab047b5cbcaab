"""tbbmalloc in the place of the C library's malloc."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import allocator

FIX = Fix(
    name="tbbmalloc",
    kind="allocator",
    what="tbbmalloc as malloc",
    helps=("allocator", "kernel_memory", "false_sharing"),
    risk=(
        "It gives memory back late, and small blocks of a thread stay with it. "
        "Code that calls functions of glibc alone (mallinfo, mallopt) breaks."
    ),
    setting=allocator("tbbmalloc"),
)

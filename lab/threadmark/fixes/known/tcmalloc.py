"""tcmalloc in the place of the C library's malloc."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import allocator

FIX = Fix(
    name="tcmalloc",
    kind="allocator",
    what="tcmalloc as malloc",
    helps=("allocator", "kernel_memory", "false_sharing"),
    risk=(
        "It gives memory back late, and its caches grow with the threads. "
        "Code that calls functions of glibc alone (mallinfo, mallopt) breaks."
    ),
    setting=allocator("tcmalloc"),
)

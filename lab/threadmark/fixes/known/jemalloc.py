"""jemalloc in the place of the C library's malloc."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import allocator

FIX = Fix(
    name="jemalloc",
    kind="allocator",
    what="jemalloc as malloc",
    helps=("allocator", "kernel_memory", "false_sharing"),
    risk=(
        "It keeps freed memory for some seconds before the system gets it back. "
        "Code that calls functions of glibc alone (mallinfo, mallopt) breaks."
    ),
    setting=allocator("jemalloc"),
)

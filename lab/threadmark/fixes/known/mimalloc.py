"""mimalloc in the place of the C library's malloc."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import allocator

FIX = Fix(
    name="mimalloc",
    kind="allocator",
    what="mimalloc as malloc",
    helps=("allocator", "kernel_memory", "false_sharing"),
    risk=(
        "It takes more address space, and often more memory. "
        "Code that calls functions of glibc alone (mallinfo, mallopt) breaks."
    ),
    setting=allocator("mimalloc"),
)

"""Freed memory stays with the process."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import tunables

FIX = Fix(
    name="keep-memory",
    kind="malloc",
    what="freed memory stays with the process",
    helps=("kernel_memory", "allocator"),
    risk=("The process stays as large as it once was."),
    setting=tunables(
        "glibc.malloc.trim_threshold=4294967296",
        "glibc.malloc.top_pad=16777216",
        "glibc.malloc.mmap_threshold=33554432",
    ),
)

"""Longer lists of free blocks for each thread."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import tunables

FIX = Fix(
    name="tcache",
    kind="malloc",
    what="caches of 2,000 blocks of a size for each thread",
    helps=("allocator",),
    risk=("Each thread keeps more free blocks to itself."),
    setting=tunables("glibc.malloc.tcache_count=2000"),
)

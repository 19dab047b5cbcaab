"""More arenas of malloc, for programs with many threads."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import tunables

FIX = Fix(
    name="arenas",
    kind="malloc",
    what="up to 1,024 arenas of malloc",
    helps=("allocator",),
    risk=("Each arena keeps its own free memory, so the program takes more."),
    setting=tunables("glibc.malloc.arena_max=1024"),
)

"""Memory of malloc in huge pages."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import tunables

FIX = Fix(
    name="huge-pages",
    kind="malloc",
    what="huge pages for malloc",
    helps=("kernel_memory", "memory_bandwidth"),
    risk=("Parts of huge pages that are not used count as memory too."),
    setting=tunables("glibc.malloc.hugetlb=1", since=(2, 35)),
)

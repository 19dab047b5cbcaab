"""Huge pages for the allocator of oneTBB."""

from __future__ import annotations

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target


def _setting(target: Target) -> Setting:
    if not target.links("libtbbmalloc"):
        raise NotApplicableError("the program is not linked with the allocator of oneTBB")
    return Setting({"TBB_MALLOC_USE_HUGE_PAGES": "1"})


FIX = Fix(
    name="tbb-huge-pages",
    kind="malloc",
    what="huge pages for the allocator of oneTBB",
    helps=("kernel_memory", "memory_bandwidth"),
    risk="Parts of huge pages that are not used count as memory too.",
    setting=_setting,
)

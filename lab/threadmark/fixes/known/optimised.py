"""The program optimised for this machine's processor, by flags of the compiler."""

from __future__ import annotations

from threadmark.fixes.fix import Fix, Flags, Setting, Target


def _setting(target: Target) -> Setting:
    target.needs_build()
    return Setting(flags=Flags(every=("-O3", "-march=native")))


FIX = Fix(
    name="optimised",
    kind="compiler",
    what="a build with -O3 -march=native",
    helps=("none", "imbalance", "memory_bandwidth"),
    risk=(
        "The program starts on processors like this one only, "
        "and sums of floating point may differ in their last digits."
    ),
    setting=_setting,
)

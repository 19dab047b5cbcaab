"""The program optimised as a whole when it is linked."""

from __future__ import annotations

from threadmark.fixes.fix import Fix, Flags, Setting, Target


def _setting(target: Target) -> Setting:
    target.needs_build()
    return Setting(flags=Flags(every=("-flto",)))


FIX = Fix(
    name="link-time",
    kind="linker",
    what="a build with -flto",
    helps=("none", "imbalance"),
    risk="Linking takes longer and more memory.",
    setting=_setting,
)

"""All threads on one processor: the cost of sharing between them goes away."""

from __future__ import annotations

import shutil

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target


def _setting(target: Target) -> Setting:
    if len(target.processors) < 2:
        raise NotApplicableError("the program has one processor already")
    if shutil.which("taskset") is None:
        raise NotApplicableError("taskset is not installed; it is in the package util-linux")
    return Setting(prefix=("taskset", "-c", str(target.processors[0])))


FIX = Fix(
    name="one-processor",
    kind="affinity",
    what="all threads on one processor",
    helps=("atomic", "false_sharing", "spin", "mutex"),
    risk="Nothing runs at the same time as anything else.",
    setting=_setting,
    usual=True,
)

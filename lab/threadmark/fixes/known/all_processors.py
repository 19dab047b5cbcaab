"""All processors of the machine, for programs that were started on fewer."""

from __future__ import annotations

import shutil

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target


def _setting(target: Target) -> Setting:
    if len(target.processors) >= len(target.all_processors):
        raise NotApplicableError("the program may use all processors already")
    if shutil.which("taskset") is None:
        raise NotApplicableError("taskset is not installed; it is in the package util-linux")
    return Setting(prefix=("taskset", "-c", ",".join(map(str, target.all_processors))))


FIX = Fix(
    name="all-processors",
    kind="affinity",
    what="all processors of the machine",
    helps=("affinity", "run_queue"),
    risk="The limit to fewer processors may have a reason.",
    setting=_setting,
)

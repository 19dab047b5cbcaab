"""The scheduling class for work in the background: longer turns, and waking preempts no thread."""

from __future__ import annotations

import shutil

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target


def _setting(target: Target) -> Setting:
    if shutil.which("chrt") is None:
        raise NotApplicableError("chrt is not installed; it is in the package util-linux")
    return Setting(prefix=("chrt", "--batch", "0"))


FIX = Fix(
    name="batch",
    kind="scheduler",
    what="the scheduling class for batches",
    helps=("run_queue", "condition", "mutex"),
    risk="The program answers other programs later.",
    setting=_setting,
)

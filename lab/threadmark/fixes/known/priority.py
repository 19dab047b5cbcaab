"""A larger share of the processors than others get, if that is allowed."""

from __future__ import annotations

import os
import resource
import shutil

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target

_NICE = 10  # steps


def _setting(target: Target) -> Setting:
    now = os.getpriority(os.PRIO_PROCESS, 0)
    allowed = 20 - resource.getrlimit(resource.RLIMIT_NICE)[0]
    if os.geteuid() != 0 and now - _NICE < allowed:
        raise NotApplicableError("only root may raise a priority here")
    if shutil.which("nice") is None:
        raise NotApplicableError("nice is not installed; it is in the package coreutils")
    return Setting(prefix=("nice", "-n", str(-_NICE)))


FIX = Fix(
    name="priority",
    kind="scheduler",
    what=f"priority over others by {_NICE} steps",
    helps=("run_queue",),
    risk="Other programs of the machine get less.",
    setting=_setting,
)

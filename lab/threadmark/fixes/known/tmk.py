"""tmk in the place of std::async and std::future, by a header that the compiler includes first."""

from __future__ import annotations

from pathlib import Path

from threadmark.fixes.fix import Fix, Flags, NotApplicableError, Setting, Target
from threadmark.model.places import ROOT

_STATES = (b"__future_base", b"__assoc_sub_state")  # of libstdc++ and libc++, in symbols
_MOST = 256 << 20  # searched bytes of a program


def _setting(target: Target) -> Setting:
    target.needs_build()
    try:
        with Path(target.path).open("rb") as file:
            text = file.read(_MOST)
    except OSError as error:
        raise NotApplicableError(f"the program cannot be read ({error.strerror})") from error
    if not any(each in text for each in _STATES):
        raise NotApplicableError("the program does not use std::async or std::future")
    include = str(ROOT / "include")
    flags = ("-I", include, "-include", "tmk/redirect_std.hpp", "-std=gnu++20")
    return Setting(flags=Flags(cxx=flags))


FIX = Fix(
    name="tmk",
    kind="tasks",
    what="tmk in the place of std::async and std::future",
    helps=("thread_creation", "task_overhead", "run_queue", "task_idle"),
    risk="The sources must compile as C++20; docs/dropin.md has the other differences.",
    setting=_setting,
)

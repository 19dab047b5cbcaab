"""Half of the threads, because threads that the program cannot use cost time."""

from __future__ import annotations

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target


def _setting(target: Target) -> Setting:
    if target.threads is None:
        raise NotApplicableError("write {threads} where the program takes its number of threads")
    if target.threads < 2:
        raise NotApplicableError("the program has one thread already")
    return Setting(threads=target.threads // 2)


FIX = Fix(
    name="fewer-threads",
    kind="threads",
    what="half of the threads",
    helps=(
        "run_queue",
        "atomic",
        "false_sharing",
        "mutex",
        "spin",
        "task_overhead",
        "thread_creation",
    ),
    risk=(
        "On a machine with more processors the program cannot use them. Where each thread has work "
        "of its own, fewer do less; --progress divides by it."
    ),
    setting=_setting,
)

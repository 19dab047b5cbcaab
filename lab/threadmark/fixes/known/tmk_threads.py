"""Half as many threads of tmk as processors."""

from __future__ import annotations

from pathlib import Path

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target

_NAME = "TMK_NUM_THREADS"
_MOST = 256 << 20  # searched bytes of a program


def _setting(target: Target) -> Setting:
    # tmk has only headers, so the name of its variable in the program identifies it.
    try:
        with Path(target.path).open("rb") as file:
            uses = _NAME.encode() in file.read(_MOST)
    except OSError:
        uses = False
    if not uses:
        raise NotApplicableError("the program does not use tmk")
    if len(target.processors) < 2:
        raise NotApplicableError("the program has one processor")
    return Setting({_NAME: str(len(target.processors) // 2)}, variables_set_threads=True)


FIX = Fix(
    name="tmk-threads",
    kind="threads",
    what="half as many threads of tmk as processors",
    helps=("run_queue", "task_overhead"),
    risk="On a machine with more processors the program cannot use them.",
    setting=_setting,
)

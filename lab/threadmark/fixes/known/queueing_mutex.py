"""Mutexes whose waiters queue, so that one waiter at a time asks for the mutex and none waits for
ever."""

from __future__ import annotations

import sys

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target
from threadmark.fixes.preloading import own_library
from threadmark.fixes.telling_calls import LOCKS_MUTEXES


def _setting(target: Target) -> Setting:
    if sys.maxsize < 1 << 62:
        raise NotApplicableError("mutexes of a 32-bit program have no room for a queue")
    return own_library("queueing_mutex")(target)


FIX = Fix(
    name="queueing-mutex",
    kind="mutex",
    what="mutexes whose waiters queue, and come first when they waited for long",
    helps=("mutex",),
    risk=(
        "Spinning takes processor time from others, and a waiter without a processor keeps those "
        "behind it from a free mutex."
    ),
    setting=_setting,
    calls=LOCKS_MUTEXES,
)

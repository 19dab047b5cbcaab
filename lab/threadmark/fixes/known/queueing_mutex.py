"""Mutexes that threads get in the order in which they came."""

from __future__ import annotations

import sys

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target
from threadmark.fixes.preloading import own_library


def _setting(target: Target) -> Setting:
    if sys.maxsize < 1 << 62:
        raise NotApplicableError("mutexes of a 32-bit program have no room for a queue")
    return own_library("queueing_mutex")(target)


FIX = Fix(
    name="queueing-mutex",
    kind="mutex",
    what="mutexes that threads get in the order in which they came",
    helps=("mutex",),
    risk=(
        "Whoever frees a mutex waits behind the others to have it again, and a waiter without a "
        "processor keeps those behind it from a free mutex."
    ),
    setting=_setting,
)

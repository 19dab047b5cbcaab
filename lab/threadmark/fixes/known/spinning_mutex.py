"""Mutexes whose waiters try again for a while before they sleep."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import own_library
from threadmark.fixes.telling_calls import LOCKS_MUTEXES

FIX = Fix(
    name="spinning-mutex",
    kind="mutex",
    what="mutexes that are tried for some tens of microseconds before a thread sleeps",
    helps=("mutex", "condition"),
    risk=(
        "Spinning takes processor time from others, "
        "and from the holder where there are more threads than processors."
    ),
    setting=own_library("spinning_mutex"),
    calls=LOCKS_MUTEXES,
)

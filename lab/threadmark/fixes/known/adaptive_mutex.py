"""Mutexes whose waiters spin for a while before they sleep."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import own_library
from threadmark.fixes.telling_calls import LOCKS_MUTEXES

FIX = Fix(
    name="adaptive-mutex",
    kind="mutex",
    what="mutexes that spin up to 1,000 times before they sleep",
    helps=("mutex", "condition"),
    risk=(
        "Spinning takes processor time from others, "
        "and from the holder where there are more threads than processors."
    ),
    setting=own_library("adaptive_mutex", tunables=("glibc.pthread.mutex_spin_count=1000",)),
    calls=LOCKS_MUTEXES,
)

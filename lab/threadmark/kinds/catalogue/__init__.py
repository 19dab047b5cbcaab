"""The catalogue of operations of a standard library that look independent and are not, measured and
judged.

The one thing to know: a process measures one way of one contention program on one thread and on
several, in turns; its sample is a speed-up, not a time.
"""

from __future__ import annotations

COMMAND = "catalogue"
RESUMABLE = True

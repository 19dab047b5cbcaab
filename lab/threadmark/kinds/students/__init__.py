"""The writers of tmk-students, compared: the same files, written in turns in different ways.

The one thing to know: each writer is judged against the writer with the same method on one thread,
which the program names, so that a verdict is about threads and not about flushing.
"""

from __future__ import annotations

COMMAND = "students"
RESUMABLE = True

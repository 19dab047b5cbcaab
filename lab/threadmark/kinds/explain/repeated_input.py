"""The standard input of a comparison: each run reads it from the same place."""

from __future__ import annotations

import os
import select
import stat
import subprocess
from contextlib import suppress

from threadmark.model.errors import LabError

_OWN = 0  # the lab's standard input


class RepeatedInput:
    """Standard input as it is when this is made. A file is read again by each run; a pipe or a
    socket is empty for all runs, because it can be read once. LabError if it has data."""

    def __init__(self) -> None:
        self._place: int | None = None
        self._once = False
        with suppress(OSError):  # closed
            mode = os.fstat(_OWN).st_mode
            self._once = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
            if stat.S_ISREG(mode):
                self._place = os.lseek(_OWN, 0, os.SEEK_CUR)
        if self._once and _has_data():
            raise LabError(
                "A comparison runs the program several times, but standard input is a pipe, which "
                "can be read once; write the input to a file and give it by: < FILE"
            )

    def for_run(self) -> int | None:
        """What a run that starts now gets: a value for `stdin` of subprocess."""
        if self._place is not None:
            os.lseek(_OWN, self._place, os.SEEK_SET)  # the runs share the lab's place in the file
        return subprocess.DEVNULL if self._once else None


def _has_data() -> bool:
    waiting = select.poll()
    waiting.register(_OWN, select.POLLIN)
    return any(event & select.POLLIN for _, event in waiting.poll(0))

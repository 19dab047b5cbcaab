"""A lock in the kernel that shows whether a lab measures into a store, also a lab of another
container.

A lab that measures holds a shared flock on the file of its store. The kernel drops it at the end of
the lab, also after SIGKILL. SQLite's own locks on this file are of another kind (fcntl).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path


class Presence:
    """This process among the labs that measure into the store at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._shown = False

    def show(self) -> None:
        """Let others see, until `close`, that this lab measures into the store."""
        self._shown = True
        with contextlib.suppress(OSError):  # then `alone` also fails, and no lab is missed
            fcntl.flock(self._file(), fcntl.LOCK_SH)

    def alone(self) -> bool:
        """Whether no other lab of this kernel measures into the store."""
        try:
            fcntl.flock(self._file(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            if self._shown:
                self.show()
            elif self._descriptor >= 0:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return True

    def close(self) -> None:
        """End the presence. Must come after the end of SQLite's connection, because closing any
        descriptor of a file ends all fcntl locks of the process on it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _file(self) -> int:
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return self._descriptor

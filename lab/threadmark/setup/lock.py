"""One set-up or build at a time in this checkout, because two at once would spoil each other's
files."""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadmark.model.errors import LabError
from threadmark.model.places import BUILD


@contextmanager
def exclusive() -> Iterator[None]:
    """Hold the lock of the checkout, after waiting for its holder. The kernel releases it when a
    process ends, in whatever way."""
    try:
        BUILD.mkdir(parents=True, exist_ok=True)
        file = (BUILD / ".lock").open("w")
    except OSError as error:
        raise LabError(
            f"{BUILD} cannot be written ({error.strerror}); give space and write permission."
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                "threadmark: waits for another lab that sets up or builds in this checkout",
                file=sys.stderr,
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        yield

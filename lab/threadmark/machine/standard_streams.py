"""Standard output and error of the lab: the exit status tells if they cannot be written.

The status must not be that of a command whose answer is no.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_CLOSED = 128 + signal.SIGPIPE  # what a shell reports for a command without a reader
_UNWRITTEN = 2
_NAMES = {1: "Standard output", 2: "Standard error"}


def guarded(run: Callable[[], int]) -> int:
    """The result of `run` when all of its output is written, or the status for unwritten output."""
    _fill()
    out = _stream(1, getattr(sys.stdout, "encoding", "utf-8"), by_lines=os.isatty(1))
    err = _stream(2, getattr(sys.stderr, "encoding", "utf-8"), by_lines=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = run()
            out.flush()
            err.flush()
            return status
        except _UnwrittenError as problem:
            if problem.number != errno.EPIPE:  # a closed pipe has no reader for a message
                with contextlib.suppress(_UnwrittenError):
                    print(f"threadmark: {problem}", file=err)
            for each in (out, err):  # the rest of their buffers goes nowhere
                os.dup2(os.open(os.devnull, os.O_WRONLY), each.fileno())
            return _CLOSED if problem.number == errno.EPIPE else _UNWRITTEN


class _UnwrittenError(Exception):
    """This is no OSError, because writers of the lab's files and rich catch those."""

    def __init__(self, stream: int, error: OSError) -> None:
        self.number = error.errno
        why = f"cannot be written ({error.strerror}); send it elsewhere."
        super().__init__(f"{_NAMES[stream]} {why}")


class _File(io.FileIO):
    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            raise _UnwrittenError(self.fileno(), error) from error


def _fill() -> None:
    """Open /dev/null for each closed standard stream, so that no other file gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number is free


def _stream(number: int, encoding: str, *, by_lines: bool) -> io.TextIOWrapper:
    """A stream that replaces characters outside the locale, because they must not end a run."""
    file = io.BufferedWriter(_File(number, "w", closefd=False))
    return io.TextIOWrapper(file, encoding, errors="replace", line_buffering=by_lines)

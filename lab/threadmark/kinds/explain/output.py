"""The output of a comparison's runs goes into files, so that no other process works while they
run."""

from __future__ import annotations

import os
import re
import sys
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO

from threadmark.measure import printed


class Output:
    """Standard output and error of one run. With `echo` they are copied to those of the lab during
    the run, with `apart` both to its error."""

    def __init__(self, *, echo: bool, apart: bool) -> None:
        self.echo = echo
        self._to: tuple[IO[str], IO[str]] = (sys.stderr if apart else sys.stdout, sys.stderr)
        self.interrupted = False

    def __enter__(self) -> Output:
        # The program and the lab share the position in the file, so all writes append.
        self.out: IO[bytes] = TemporaryFile("a+b")
        self.err: IO[bytes] = TemporaryFile("a+b")
        self._copied = [0, 0]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.out.close()
        self.err.close()

    def copy(self) -> None:
        """Copy the output since the last copy."""
        if not self.echo:
            return
        for place, (source, to) in enumerate(zip((self.out, self.err), self._to, strict=True)):
            while block := _at(source, self._copied[place], 1 << 16):
                self._copied[place] += len(block)
                to.write(block.decode("utf-8", "replace"))
            to.flush()

    def last_number(self, pattern: re.Pattern[str]) -> float | None:
        """The group of the last match in the output, else in the error output."""
        found = (printed.last_number(source, pattern) for source in (self.out, self.err))
        return next((each for each in found if each is not None), None)

    def last_words(self) -> str:
        """The last line of the error output."""
        return printed.last_words(self.err)


def _at(source: IO[bytes], place: int, size: int) -> bytes:
    return os.pread(source.fileno(), size, place)

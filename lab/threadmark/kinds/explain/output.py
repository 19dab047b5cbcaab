"""What the runs of a comparison print: into files, so that nobody else works while they run."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO

_LONGEST = 1 << 20  # of a line that is searched
_LAST = 4096  # bytes that may have the last words


def number(text: str) -> float | None:
    """A number above 0, which may have marks of thousands; None for anything else."""
    try:
        found = float(re.sub(r"(?<=\d)[,'_](?=\d)", "", text.strip()))
    except ValueError:
        return None
    return found if 0 < found < math.inf else None


class Output:
    """Standard output and error of one run. With `echo` they are copied to those of the lab while
    the run goes on, with `apart` both to its error."""

    def __init__(self, *, echo: bool, apart: bool) -> None:
        self.echo = echo
        self._to: tuple[IO[str], IO[str]] = (sys.stderr if apart else sys.stdout, sys.stderr)
        self.interrupted = False

    def __enter__(self) -> Output:
        # The program and the lab share the place in the file, so that it is written at its end.
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
        """Copy what came since the last time."""
        if not self.echo:
            return
        for place, (source, to) in enumerate(zip((self.out, self.err), self._to, strict=True)):
            while block := _at(source, self._copied[place], 1 << 16):
                self._copied[place] += len(block)
                to.write(block.decode("utf-8", "replace"))
            to.flush()

    def last_number(self, pattern: re.Pattern[str]) -> float | None:
        """The group of the last match in the output, else in what was printed as errors."""
        for source in (self.out, self.err):
            found = None
            for line in _lines(source):
                for match in pattern.finditer(line):
                    found = number(match[1] or "") or found
            if found is not None:
                return found
        return None

    def last_words(self) -> str:
        """The last line that was printed as an error."""
        self.err.seek(0, 2)
        text = _at(self.err, max(0, self.err.tell() - _LAST), _LAST).decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1][:200].rstrip(".") if lines else ""


def _at(source: IO[bytes], place: int, size: int) -> bytes:
    return os.pread(source.fileno(), size, place)


def _lines(source: IO[bytes]) -> Iterator[str]:
    """Lines; a carriage return ends one too."""
    source.seek(0)
    for block in iter(lambda: source.readline(_LONGEST), b""):
        yield from block.decode("utf-8", "replace").splitlines()

"""The progress display during measuring; on stderr, so that stdout holds only results.

It is drawn between two processes, because a drawing thread would compete with the measured program.
"""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from threadmark.model.cell import Cell, Status

_DRAW_S = 0.2
_LINE_S = 15.0  # without a terminal: one line now and then, for a log


class Progress:
    """Call `before` and `after` around each process. Use as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._terminal = console.is_terminal
        self._drawn = -1e9
        self._failed: Counter[Status] = Counter()
        self._seen: set[Cell] = set()

    def __enter__(self) -> Self:
        if self._terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal:
            self._live.stop()

    def before(self, cell: Cell, done: int, total: int, left_s: float) -> None:
        """`cell` is about to run; `done` of `total` processes have ended."""
        if not self._due():
            return
        failed = ", ".join(f"{count} {status}" for status, count in self._failed.items())
        text = Text.assemble(
            (f"{done}/{total}", "bold"),
            f"  {duration(left_s)} left  ",
            (f"{failed}  " if failed else "", "red"),
            (
                f"{cell.program} {cell.backend}:{cell.variant} x{cell.threads} {cell.platform}",
                "dim",
            ),
        )
        self._draw(text)

    def note(self, sentence: str) -> None:
        """Show a sentence when no cell runs."""
        if self._due():
            self._draw(Text(sentence))

    def pause(self) -> None:
        """Take the line away for other output."""
        self._drawn = -1e9
        if self._terminal:
            self._live.update(Text(), refresh=True)

    def _due(self) -> bool:
        now = time.monotonic()
        if now - self._drawn < (_DRAW_S if self._terminal else _LINE_S):
            return False
        self._drawn = now
        return True

    def _draw(self, text: Text) -> None:
        text.truncate(self._console.width - 1)
        if self._terminal:
            self._live.update(text, refresh=True)
        else:
            self._console.print(text.plain, soft_wrap=True, highlight=False)

    def after(self, cell: Cell, status: Status) -> None:
        """A process of `cell` ended in this way."""
        if status is not Status.OK and cell not in self._seen:
            self._seen.add(cell)
            self._failed[status] += 1


def duration(seconds: float) -> str:
    """'45 s', '3 min 20 s', '2 h 5 min'."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

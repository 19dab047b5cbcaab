"""Text for a terminal: lines of one width, in the characters that the terminal has."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.text import Text

from threadmark.judge.findings import Judged
from threadmark.model.cell import Run
from threadmark.present import failures
from threadmark.present.failures import Failure
from threadmark.present.wording import printable

_GAP = "  "  # between two columns
_NAME = 16  # of a name in a too wide table: the longest name of a fix, and a plus


def print_table(console: Console, table: Callable[..., Sequence[Text]]) -> None:
    """Print the lines of `table` for the width and the characters of a terminal."""
    utf8 = console.encoding.lower().replace("-", "") == "utf8"
    for line in table(console.width, utf8=utf8):
        console.print(line, soft_wrap=True, highlight=False)


class TextPage:
    """Collects lines of styled text for one width and one repertoire of characters."""

    def __init__(self, width: int, *, utf8: bool) -> None:
        self.width = width
        self.utf8 = utf8
        self.dot = " · " if utf8 else " | "
        self.lines: list[Text] = []

    def say(self, sentence: str, style: str = "") -> None:
        """Add one paragraph; its later lines are indented."""
        if not self.utf8:
            sentence = sentence.encode("ascii", "replace").decode()
        wrapped = textwrap.wrap(printable(sentence), self.width, subsequent_indent="  ")
        self.lines += [Text(line, style=style) for line in wrapped]

    def heading(self, title: str) -> None:
        """An empty line and a title."""
        self.lines.append(Text())
        self.say(title, "bold")

    def columns(self, rows: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
        """Add rows, the first of which has the heads. The first cell of a row is its name. If the
        rows are too wide, names have several lines, and columns stand in blocks."""
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        if sum(widths) + len(_GAP) * (len(widths) - 1) > self.width:
            widths[0] = min(widths[0], _NAME)
        for block in self._blocks(widths):
            self.lines.append(Text())
            for row, style in zip(rows, styles, strict=True):
                name, *more = textwrap.wrap(row[0], widths[0], break_on_hyphens=False)
                cells = [name.ljust(widths[0]), *(row[at].ljust(widths[at]) for at in block)]
                for line in (_GAP.join(cells).rstrip(), *more):
                    self.lines.append(Text(printable(line), style=style))

    def _blocks(self, widths: Sequence[int]) -> list[list[int]]:
        """The columns beside the names, as many in a block as have room."""
        blocks: list[list[int]] = [[]]
        used = widths[0]
        for at, width in enumerate(widths[1:], 1):
            if blocks[-1] and used + len(_GAP) + width > self.width:
                blocks.append([])
                used = widths[0]
            blocks[-1].append(at)
            used += len(_GAP) + width
        return blocks

    def title(self, run: Run, rows: int) -> None:
        """The identity of the run, and the amount of measuring."""
        when = run.started_at[:16].replace("T", " ")
        parts = [f"run {run.id}", run.profile, f"{when} UTC", f"{rows} rows"]
        self.say(self.dot.join(parts + ([] if run.finished_at else ["unfinished"])), "bold")
        if not rows:
            self.say("Nothing was measured in this run.")

    def failures(
        self,
        judged: Sequence[Judged],
        where: Callable[[Failure], str],
        counted: Sequence[Judged] | None = None,
    ) -> None:
        """Each cause of failure once, with its cells as `where` names them, and the number of
        unclear verdicts among the `counted`, or else among all."""
        found = failures.grouped(judged)
        causes = failures.uncertainties(judged if counted is None else counted)
        if found or causes:
            self.heading("Failed, not measured or unclear")
        for each in found:
            how = each.status.value.replace("_", " ")
            self.say(f"{how}: {where(each)}: {each.reason or 'no reason was given'}")
        for cause, count in causes:
            self.say(f"unclear: {count}: {cause}")

    def notes(self, run: Run) -> None:
        """The notes of a run, if it has any."""
        if run.notes:
            self.heading("Notes")
        for note in run.notes:
            self.say(note)


def spread(names: Iterable[str], limit: int) -> str:
    """At most `limit` names, and the number of the rest."""
    listed = [printable(name) for name in names]
    rest = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {rest} more" if rest > 0 else "")

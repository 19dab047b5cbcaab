"""The comparison in a terminal: a table for each number of students."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from threadmark.judge.estimates import Interval
from threadmark.kinds.students import selection
from threadmark.kinds.students.judgement import PUBLISHED, Entry
from threadmark.model.cell import Stored
from threadmark.model.request import Request
from threadmark.present.marks import MARKS
from threadmark.present.terminal import TextPage
from threadmark.present.wording import printable

_NAME, _THREADS, _TIME, _REACH, _FASTER = 15, 4, 11, 5, 10


def lines(stored: Stored, found: Sequence[Entry], width: int, *, utf8: bool) -> list[Text]:
    """The lines for a terminal of `width` characters."""
    page = _Page(width, utf8=utf8)
    page.title(stored.run, len(stored.rows))
    what = selection.asked(Request.from_json(stored.run.request))
    page.say(
        f"Median of up to {what.runs} processes of each writer, in turns; {what.exercises} "
        f"exercises, blocks of {what.block} students. Faster: than {PUBLISHED}. Threads: beside "
        "the writer that does the same on one."
    )
    for students, entries in groupby(found, key=lambda entry: entry.students):
        page.block(students, list(entries))
    page.legend(found)
    page.failures([each.judged for each in found], lambda each: ", ".join(each.columns))
    page.notes(stored.run)
    return page.lines


def time(entry: Entry) -> str:
    """The median in ms with four figures."""
    if entry.time is None:
        return "-"
    ms = entry.time.estimate / 1e6
    return f"{ms:.{max(0, 3 - math.floor(math.log10(ms)) - 1) if ms < 100 else 0}f}"


def reach(interval: Interval | None) -> str:
    """The reach of the interval to either side in percent, rounded up."""
    if interval is None or not math.isfinite(interval.half_width):
        return ""
    return f"{math.ceil(100 * interval.half_width - 1e-9)} %"


def factor(interval: Interval | None) -> str:
    """A factor with three figures."""
    if interval is None:
        return "-"
    value = interval.estimate
    return f"x{value:.0f}" if value >= 99.5 else f"x{value:.3g}"


class _Page(TextPage):
    """A block for each number of students."""

    def block(self, students: int, entries: Sequence[Entry]) -> None:
        """A line for each writer."""
        self.heading(f"{students:,} students")
        sign = "±" if self.utf8 else "+-"
        head = "writer".ljust(_NAME) + "thr.".rjust(_THREADS) + "ms".rjust(_TIME)
        head += (
            f"{sign}95 %".rjust(_REACH + 2) + "faster".rjust(_FASTER) + "  what the threads gain"
        )
        self.lines.append(Text(head[: self.width].rstrip(), style="dim"))
        for entry in entries:
            self.lines.append(self._line(entry))

    def _line(self, entry: Entry) -> Text:
        kind = entry.judged.verdict.kind
        line = Text(printable(entry.name)[:_NAME].ljust(_NAME))
        line.append(str(entry.threads).rjust(_THREADS))
        line.append(time(entry).rjust(_TIME))
        line.append(reach(entry.time).rjust(_REACH + 2), style="dim")
        line.append(factor(entry.faster).rjust(_FASTER))
        if entry.serial or entry.time is None:
            mark = MARKS[kind]
            sign = mark.word or (mark.symbol if self.utf8 else mark.plain)
            label = "" if mark.word else f" {printable(entry.judged.verdict.label)}"
            line.append(f"  {sign}{label}", style=mark.style)
        line.truncate(self.width)
        line.rstrip()
        return line

    def legend(self, found: Sequence[Entry]) -> None:
        """The meaning of the marks."""
        kinds = {each.judged.verdict.kind for each in found if each.serial}
        used = [mark for kind, mark in MARKS.items() if kind in kinds]
        if used:
            self.lines.append(Text())
        for mark in used:
            sign = mark.word or (mark.symbol if self.utf8 else mark.plain)
            self.lines.append(Text(f"{sign} {mark.meaning}"[: self.width], style=mark.style))

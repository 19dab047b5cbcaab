"""The matrix in the terminal: programs down, backend and variant across, a block per platform.

A mark has the same meaning as the colour. ASCII marks replace the marks if the terminal has no
UTF-8. A column is as wide as its longest figure. Blocks fold when the terminal is narrow. Names
without room go on in the next line; no name is cut.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.text import Text

from threadmark.judge.findings import Judged, is_published
from threadmark.judge.verdict import Kind, short_factor
from threadmark.kinds.explain import beside
from threadmark.model.cell import Row, Stored
from threadmark.present import columns
from threadmark.present.columns import Column
from threadmark.present.failures import Failure
from threadmark.present.marks import MARKS
from threadmark.present.terminal import TextPage, spread
from threadmark.present.wording import duration, printable, speed

_NARROWEST, _WIDEST = 5, 9  # of a column; a longer figure widens it
_NAMES = 24  # columns for the names of programs; more in a wide terminal
_TIME = 8  # columns for the serial time


def lines(stored: Stored, judged: Sequence[Judged], width: int, *, utf8: bool) -> list[Text]:
    """The whole display, as lines of at most `width` characters (but never narrower than 60)."""
    page = _Page(max(width, 60), utf8=utf8)
    page.title(stored.run, len(stored.rows))
    if stored.rows:
        page.overview(stored.rows, judged)
    blocks: dict[tuple[str, str, str], list[Judged]] = defaultdict(list)
    for each in judged:
        blocks[each.cell.platform, each.cell.size, each.cell.allocator].append(each)
    for title, group in sorted(blocks.items()):
        page.block(title, group)
    page.legend({each.verdict.kind for each in judged})
    page.failures(judged, _where)
    beside.say(page, stored)
    page.notes(stored.run)
    return page.lines


def _where(failure: Failure) -> str:
    threads = ", ".join(map(str, failure.threads))
    return (
        f"{spread(failure.columns, 4)} on {spread(failure.programs, 14)} "
        f"({spread(failure.platforms, 4)}; threads {threads})"
    )


def figure(judged: Judged, *, utf8: bool) -> str:
    """The text of a cell of the matrix: '●1.93', '●5.60@8', '▼x44' or 'crash'.

    It has no interval, which reach() gives. If the interval is wide, the figure has a digit less.
    """
    verdict, mark = judged.verdict, MARKS[judged.verdict.kind]
    if mark.word:
        return mark.word
    symbol = mark.symbol if utf8 else mark.plain
    if verdict.speedup is None:
        return symbol
    estimate = verdict.speedup.estimate
    if verdict.kind is Kind.SLOWER or estimate < 0.1:
        return f"{symbol}x{short_factor(1 / estimate)}"
    partly = verdict.kind is Kind.SCALES and verdict.at_threads != max(verdict.speedups)
    at = f"@{verdict.at_threads}" if partly else ""
    return symbol + speed(estimate, rough=(_reach_percent(judged) or 0) >= 10) + at


def reach(judged: Judged, *, utf8: bool) -> str:
    """The reach of the 95 % interval from the speed-up, in per cent rounded up: '±3'.

    Empty without a figure and for published medians, which have no interval; '±?' when unbounded.
    """
    percent = _reach_percent(judged)
    if percent is None:
        return ""
    return ("±" if utf8 else "~") + (f"{percent:.0f}" if math.isfinite(percent) else "?")


def _reach_percent(judged: Judged) -> float | None:
    found = judged.verdict.speedup
    if found is None or found.low == found.high or MARKS[judged.verdict.kind].word:
        return None
    if not found.low:
        return math.inf
    percent = 100 * (max(found.high / found.estimate, found.estimate / found.low) - 1)
    return float(math.ceil(percent)) if math.isfinite(percent) else percent


def _name(judged: Judged) -> str:
    cell = judged.cell
    return printable(" ".join((cell.program, *(f"{k}={v}" for k, v in cell.arguments))))


def _column(judged: Judged) -> Column:
    return judged.cell.backend, judged.cell.variant


class _Page(TextPage):
    """The matrix, block by block."""

    # This is no rich.table.Table, because that puts no head over several columns and folds none
    # into a next block.

    def overview(self, rows: Sequence[Row], judged: Sequence[Judged]) -> None:
        """The results, and the base of the figures."""
        threads = max(row.cell.threads for row in rows)
        kinds = [j.verdict.kind for j in judged]
        counts: Counter[Kind] = Counter(k for k in kinds if k is not Kind.SEQUENTIAL)
        if not counts:
            self.say("Nothing of this run may run in parallel.")
            return
        said = ", ".join(f"{kind.value} {counts[kind]}" for kind in MARKS if kind in counts)
        self.say(f"Of {counts.total()} that may run in parallel: {said}.")
        published = any(map(is_published, rows))
        base = "deferred on one core" if published else "the best serial time, shown first"
        sign = "±" if self.utf8 else "~"
        words = [f"Speed-up on up to {threads} threads against {base}."]
        if published:
            words.append("Published medians: no intervals.")
        else:
            words.append(f"{sign}3: its 95 % interval reaches 3 % to either side, rounded up.")
        if any(_reach_percent(each) == math.inf for each in judged):
            words.append(f"{sign}?: too few samples for a limit.")
        if not all(each.base for each in judged):
            words.append("- in the place of a time: no serial time was measured.")
        self.say(" ".join(words))

    def block(self, title: Sequence[str], group: Sequence[Judged]) -> None:
        """One matrix; several of them one after the other when the terminal is narrow."""
        names = list(dict.fromkeys(map(_name, group)))
        cells = {(_name(j), *_column(j)): j for j in group}
        times = {_name(j): duration(j.base.time_ns.estimate) for j in group if j.base}
        bases = Counter(j.base.name for j in group if j.base)
        shown = sorted({_column(j) for j in group}, key=columns.order)
        if bases and len(shown) > 1:  # the usual base would only show 1.00
            shown = [c for c in shown if ":".join(c) != bases.most_common(1)[0][0]]
        texts = {
            at: figure(j, utf8=self.utf8) + reach(j, utf8=self.utf8) for at, j in cells.items()
        }
        first = min(max(map(len, names)), max(_NAMES, self.width // 3))
        room = self.width - first - _TIME
        longest = {
            at: max(
                _NARROWEST,
                min(_WIDEST, max(map(columns.longest_part, map(printable, at)))),
                *(len(texts.get((name, *at), "")) for name in names),
            )
            for at in shown
        }
        for part in columns.folded(shown, longest, room):
            spare = (room - columns.width(part, longest)) // len(part)
            wide = {at: max(longest[at], min(_WIDEST, longest[at] + spare)) for at in part}
            self.heading(self.dot.join(filter(None, title)))
            self._header(part, first, wide)
            for name in names:
                head, *more = textwrap.wrap(
                    name, first, subsequent_indent="  ", break_on_hyphens=False
                ) or [""]
                line = Text(head.ljust(first))
                line.append(times.get(name, "-").rjust(_TIME), style="dim")
                for at, gap in columns.gaps(part):
                    judged = cells.get((name, *at))
                    style = MARKS[judged.verdict.kind].style if judged else ""
                    line.append(gap)
                    line.append(texts.get((name, *at), "").ljust(wide[at]), style=style)
                line.rstrip()
                self.lines += [line, *map(Text, more)]
            self._footer(part, names, cells, first, wide)

    def _header(self, part: Sequence[Column], first: int, wide: Mapping[Column, int]) -> None:
        spans = []
        for backend, group in groupby(part, key=lambda column: column[0]):
            widths = [wide[at] for at in group]
            spans.append((printable(backend), sum(widths) + len(widths) - 1, "  "))
        for line in columns.heads(spans):
            self.lines.append(Text(" " * (first + _TIME) + line.rstrip(), style="bold"))
        serial = "serial"
        for line in columns.heads(
            [(printable(at[1]), wide[at], g) for at, g in columns.gaps(part)]
        ):
            self.lines.append(Text(" " * first + serial.rjust(_TIME) + line.rstrip()))
            serial = ""

    def _footer(
        self,
        part: Sequence[Column],
        names: Sequence[str],
        cells: Mapping[tuple[str, str, str], Judged],
        first: int,
        wide: Mapping[Column, int],
    ) -> None:
        line = Text("scale".ljust(first + _TIME))
        for at, gap in columns.gaps(part):
            column = [cells[name, *at].verdict.kind for name in names if (name, *at) in cells]
            parallel = any(kind is not Kind.SEQUENTIAL for kind in column)
            share = f"{column.count(Kind.SCALES)}/{len(column)}" if parallel else ""
            line.append(gap).append(share.ljust(wide[at]))
        line.rstrip()
        line.stylize("dim")
        self.lines.append(line)

    def legend(self, used: set[Kind]) -> None:
        """The meaning of every used mark, two to a line if they fit."""
        if not used:
            return
        self.lines.append(Text())
        items = []
        for kind, mark in MARKS.items():
            if kind in used:
                sign = mark.word or (mark.symbol if self.utf8 else mark.plain)
                items.append(Text.assemble((sign.ljust(5), mark.style), " ", mark.meaning))
        half = self.width // 2
        waiting: Text | None = None
        for item in items:
            if waiting is not None and max(len(waiting), len(item)) < half:
                self.lines.append(Text.assemble(waiting, " " * (half - len(waiting)), item))
                waiting = None
                continue
            if waiting is not None:
                self.lines.append(waiting)
            waiting = item
        if waiting is not None:
            self.lines.append(waiting)

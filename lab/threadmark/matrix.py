"""The matrix in the terminal: programs down, backend and variant across, a block per platform.

A mark says the same as the colour, and ASCII marks stand in where the terminal has no UTF-8.
A column is as wide as its longest figure. Blocks fold when the terminal is narrow; only the names
of variants are ever cut.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.text import Text

from threadmark import columns, failures, judgement
from threadmark.cell import Row, Run
from threadmark.columns import Column
from threadmark.judgement import Judged
from threadmark.store import Store
from threadmark.verdict import Kind, short_factor
from threadmark.wording import duration, printable, speed


@dataclass(frozen=True)
class Mark:
    """How a kind of verdict looks: `symbol`, `plain` without UTF-8, or `word` and no figure."""

    style: str
    meaning: str
    symbol: str = ""
    plain: str = ""
    word: str = ""


MARKS = {
    Kind.SCALES: Mark("bold cyan", "scales: at least 0.7 per thread (@N: up to N)", "●", "#"),
    Kind.POORLY: Mark("blue", "scales poorly: gains 10 % or more", "◐", "+"),
    Kind.NONE: Mark("", "no scaling: within 10 % of serial", "○", "="),
    Kind.SLOWER: Mark("yellow", "slower than serial; xN: by this factor", "▼", "-"),
    Kind.CONTENDED: Mark("bold yellow", "slower with threads than on one", "▽", "<"),
    Kind.SEQUENTIAL: Mark("dim", "cannot use a second thread", "│", "|"),
    Kind.UNCLEAR: Mark("magenta", "unclear, see below", "?", "?"),
    Kind.TIMEOUT: Mark("bold red", "timeout", word="time"),
    Kind.PARTIAL_TIMEOUT: Mark("red", "some processes timed out", word="part"),
    Kind.WRONG: Mark("bold red reverse", "wrong answer", word="WRONG"),
    Kind.CRASHED: Mark("bold red", "crashed", word="crash"),
    Kind.OUT_OF_MEMORY: Mark("bold red", "out of memory", word="mem"),
    Kind.REFUSED: Mark("bold red", "a thread was refused", word="refus"),
    Kind.UNAVAILABLE: Mark("dim", "not installed", word="n/a"),
    Kind.DROPPED: Mark("dim", "not measured", word="drop"),
}
_NARROWEST, _WIDEST = 5, 9  # of a column; a longer figure widens it
_TIME = 8  # columns for the serial time


def render(store: Store, run_id: int, console: Console) -> None:
    """Print the matrix of a run with its legend, failures and notes to `console`."""
    rows = store.rows(run_id)
    judged = judgement.judge(rows, store.descriptions(run_id))
    utf8 = console.encoding.lower().replace("-", "") == "utf8"
    for line in lines(store.run(run_id), rows, judged, console.width, utf8=utf8):
        console.print(line, soft_wrap=True, highlight=False)


def lines(
    run: Run, rows: Sequence[Row], judged: Sequence[Judged], width: int, *, utf8: bool
) -> list[Text]:
    """The whole display, as lines of at most `width` characters (but never narrower than 60)."""
    page = _Page(max(width, 60), utf8=utf8)
    page.title(run, rows, judged)
    blocks: dict[tuple[str, str, str], list[Judged]] = defaultdict(list)
    for each in judged:
        blocks[each.cell.platform, each.cell.size, each.cell.allocator].append(each)
    for title, group in sorted(blocks.items()):
        page.block(title, group)
    page.legend({each.verdict.kind for each in judged})
    page.failures(judged)
    if run.notes:
        page.heading("Notes")
        for note in run.notes:
            page.say(note)
    return page.lines


def figure(judged: Judged, *, utf8: bool) -> str:
    """What stands in a cell of the matrix: '●1.93', '●5.60@8', '▼x44' or 'crash'.

    Without the interval, which reach() gives; where that is wide the figure has a digit less.
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
    """How far the 95 % interval reaches from the speed-up, in per cent rounded up: '±3'.

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


def _spread(names: Iterable[str], limit: int = 4) -> str:
    listed = [printable(n) for n in names]
    rest = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {rest} more" if rest > 0 else "")


class _Page:
    """Collects lines of styled text for one width and one repertoire of characters."""

    def __init__(self, width: int, *, utf8: bool) -> None:
        self.width = width
        self.utf8 = utf8
        self.dot = " · " if utf8 else " | "
        self.lines: list[Text] = []

    def say(self, sentence: str, style: str = "") -> None:
        """Add one paragraph; its later lines hang under the first."""
        if not self.utf8:
            sentence = sentence.encode("ascii", "replace").decode()
        wrapped = textwrap.wrap(printable(sentence), self.width, subsequent_indent="  ")
        self.lines += [Text(line, style=style) for line in wrapped]

    def heading(self, title: str) -> None:
        """An empty line and a title."""
        self.lines.append(Text())
        self.say(title, "bold")

    def title(self, run: Run, rows: Sequence[Row], judged: Sequence[Judged]) -> None:
        """What was measured, what came out, and what the figures are relative to."""
        threads = max((row.cell.threads for row in rows), default=1)
        when = run.started_at[:16].replace("T", " ")
        parts = [f"run {run.id}", run.profile, f"{when} UTC", f"{len(rows)} rows"]
        self.say(self.dot.join(parts + ([] if run.finished_at else ["unfinished"])), "bold")
        if not rows:
            self.say("Nothing was measured in this run.")
            return
        kinds = [j.verdict.kind for j in judged]
        counts: Counter[Kind] = Counter(k for k in kinds if k is not Kind.SEQUENTIAL)
        said = ", ".join(f"{kind.value} {counts[kind]}" for kind in MARKS if kind in counts)
        self.say(f"Of {counts.total()} that may run in parallel: {said}.")
        published = any(map(judgement.is_published, rows))
        base = "deferred on one core" if published else "the best serial time, shown first"
        sign = "±" if self.utf8 else "~"
        self.say(
            f"Speed-up on up to {threads} threads against {base}. "
            + (
                "Published medians: no intervals."
                if published
                else f"{sign}3: its 95 % interval reaches 3 % to either side, rounded up."
            )
        )

    def block(self, title: Sequence[str], group: Sequence[Judged]) -> None:
        """One matrix; several of them one after the other when the terminal is narrow."""
        names = list(dict.fromkeys(map(_name, group)))
        cells = {(_name(j), *_column(j)): j for j in group}
        times = {_name(j): duration(j.base.time_ns.estimate) for j in group if j.base}
        bases = Counter(j.base.name for j in group if j.base)
        shown = sorted({_column(j) for j in group}, key=columns.order)
        if bases and len(shown) > 1:  # the usual base would only say 1.00
            shown = [c for c in shown if ":".join(c) != bases.most_common(1)[0][0]]
        texts = {
            at: figure(j, utf8=self.utf8) + reach(j, utf8=self.utf8) for at, j in cells.items()
        }
        first = min(max(map(len, names)), 24)
        room = self.width - first - _TIME
        longest = {
            at: max([_NARROWEST, *(len(texts.get((name, *at), "")) for name in names)])
            for at in shown
        }
        for part in columns.folded(shown, longest, room):
            spare = (room - columns.width(part, longest)) // len(part)
            wide = {at: max(longest[at], min(_WIDEST, longest[at] + spare)) for at in part}
            self.heading(self.dot.join(filter(None, title)))
            self._header(part, first, wide)
            for name in names:
                line = Text(name[:first].ljust(first))
                line.append(times.get(name, "-").rjust(_TIME), style="dim")
                for at, gap in columns.gaps(part):
                    judged = cells.get((name, *at))
                    style = MARKS[judged.verdict.kind].style if judged else ""
                    line.append(gap)
                    line.append(texts.get((name, *at), "").ljust(wide[at]), style=style)
                line.rstrip()
                self.lines.append(line)
            self._footer(part, names, cells, first, wide)

    def _header(self, part: Sequence[Column], first: int, wide: Mapping[Column, int]) -> None:
        top, below = Text(" " * (first + _TIME)), Text("".ljust(first) + "serial".rjust(_TIME))
        for backend, group in groupby(part, key=lambda column: column[0]):
            names = [(printable(at[1]), wide[at]) for at in group]
            said = " ".join(name[:room].rstrip("_").ljust(room) for name, room in names)
            top.append("  ")
            top.append(printable(backend)[: len(said)].ljust(len(said)), style="bold")
            below.append("  " + said)
        for line in (top, below):
            line.rstrip()
            self.lines.append(line)

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
        """The meaning of every mark that was used, two to a line where they fit."""
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

    def failures(self, judged: Sequence[Judged]) -> None:
        """Each cause of failure once, with the cells that it hit."""
        found = failures.grouped(judged)
        causes = failures.uncertainties(judged)
        if found or causes:
            self.heading("What failed, was not measured or is unclear")
        for each in found:
            threads = ", ".join(map(str, each.threads))
            self.say(
                f"{each.status.value.replace('_', ' ')}: {_spread(each.columns)} on "
                f"{_spread(each.programs, 14)} ({_spread(each.platforms)}; threads {threads}): "
                f"{each.reason or 'no reason was given'}"
            )
        for cause, count in causes:
            self.say(f"unclear: {count}: {cause}")

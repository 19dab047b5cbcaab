"""The matrix in the terminal: programs down, backend and variant across, a block per platform.

A mark says the same as the colour, and ASCII marks stand in where the terminal has no UTF-8.
Blocks fold when the terminal is narrow; only the names of variants are ever cut.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.text import Text

from threadmark import failures, judgement
from threadmark.cell import Row, Run
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
_NARROWEST, _WIDEST = 5, 9
_TIME = 8  # columns for the serial time
_Column = tuple[str, str]


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
    """What stands in a cell of the matrix: '●1.93', '●5.60@8', '-44' or 'crash'."""
    verdict, mark = judged.verdict, MARKS[judged.verdict.kind]
    if mark.word:
        return mark.word
    symbol = mark.symbol if utf8 else mark.plain
    if verdict.speedup is None:
        return symbol
    if verdict.kind is Kind.SLOWER or verdict.speedup.estimate < 0.1:
        return f"{symbol}x{short_factor(1 / verdict.speedup.estimate)}"
    partly = verdict.kind is Kind.SCALES and verdict.at_threads != max(verdict.speedups)
    return f"{symbol}{speed(verdict.speedup.estimate)}" + (
        f"@{verdict.at_threads}" if partly else ""
    )


def _name(judged: Judged) -> str:
    cell = judged.cell
    return printable(" ".join((cell.program, *(f"{k}={v}" for k, v in cell.arguments))))


def _column(judged: Judged) -> _Column:
    return judged.cell.backend, judged.cell.variant


def _order(column: _Column) -> tuple[bool, _Column]:
    return column[0] == "serial", column


def _gaps(part: Sequence[_Column]) -> Iterable[tuple[_Column, str]]:
    """Every column with the space before it: two at the first of a backend."""
    before = [("", ""), *part]
    return [(at, "  " if at[0] != last[0] else " ") for last, at in zip(before, part, strict=False)]


def _folded(columns: Sequence[_Column], wide: int, room: int) -> Iterable[list[_Column]]:
    """The columns in as many parts as fit into `room` characters, backends whole if possible."""

    def fits(part: Sequence[_Column]) -> bool:
        return sum(len(gap) + wide for _, gap in _gaps(part)) <= room

    part: list[_Column] = []
    for _, group in groupby(columns, key=lambda column: column[0]):
        whole = list(group)
        if part and fits(whole) and not fits([*part, *whole]):
            yield part
            part = []
        for at in whole:
            if part and not fits([*part, at]):
                yield part
                part = []
            part.append(at)
    if part:
        yield part


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
        self.say(
            f"Speed-up on up to {threads} threads against {base}."
            + (" Published medians: no intervals." if published else "")
        )

    def block(self, title: Sequence[str], group: Sequence[Judged]) -> None:
        """One matrix; several of them one after the other when the terminal is narrow."""
        names = list(dict.fromkeys(map(_name, group)))
        cells = {(_name(j), *_column(j)): j for j in group}
        times = {_name(j): duration(j.base.time_ns.estimate) for j in group if j.base}
        bases = Counter(j.base.name for j in group if j.base)
        columns = sorted({_column(j) for j in group}, key=_order)
        if bases and len(columns) > 1:  # the usual base would only say 1.00
            columns = [c for c in columns if ":".join(c) != bases.most_common(1)[0][0]]
        texts = {at: figure(j, utf8=self.utf8) for at, j in cells.items()}
        first = min(max(map(len, names)), 24)
        room = self.width - first - _TIME
        narrowest = max(_NARROWEST, *map(len, texts.values()))
        for part in _folded(columns, narrowest, room):
            gaps = len(part) + len({backend for backend, _ in part})
            wide = max(narrowest, min(_WIDEST, (room - gaps) // len(part)))
            self.heading(self.dot.join(filter(None, title)))
            self._header(part, first, wide)
            for name in names:
                line = Text(name[:first].ljust(first))
                line.append(times.get(name, "-").rjust(_TIME), style="dim")
                for at, gap in _gaps(part):
                    judged = cells.get((name, *at))
                    style = MARKS[judged.verdict.kind].style if judged else ""
                    line.append(gap).append(texts.get((name, *at), "").ljust(wide), style=style)
                line.rstrip()
                self.lines.append(line)
            self._footer(part, names, cells, first, wide)

    def _header(self, part: Sequence[_Column], first: int, wide: int) -> None:
        top, below = Text(" " * (first + _TIME)), Text("".ljust(first) + "serial".rjust(_TIME))
        for backend, group in groupby(part, key=lambda column: column[0]):
            variants = [printable(variant) for _, variant in group]
            span = len(variants) * (wide + 1) - 1
            top.append("  ").append(printable(backend)[:span].ljust(span), style="bold")
            below.append("  " + " ".join(v[:wide].rstrip("_").ljust(wide) for v in variants))
        for line in (top, below):
            line.rstrip()
            self.lines.append(line)

    def _footer(
        self,
        part: Sequence[_Column],
        names: Sequence[str],
        cells: Mapping[tuple[str, str, str], Judged],
        first: int,
        wide: int,
    ) -> None:
        line = Text("scale".ljust(first + _TIME))
        for at, gap in _gaps(part):
            column = [cells[name, *at].verdict.kind for name in names if (name, *at) in cells]
            parallel = any(kind is not Kind.SEQUENTIAL for kind in column)
            share = f"{column.count(Kind.SCALES)}/{len(column)}" if parallel else ""
            line.append(gap).append(share.ljust(wide))
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

"""The catalogue in the terminal: the worst scaling first, remedies below their usual way.

One table per program and platform; it fits 80 columns, and needs no colour.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from rich.text import Text

from threadmark.judge.verdict import Kind
from threadmark.kinds.catalogue.judgement import Catalogue, Entry
from threadmark.kinds.catalogue.profiles import CALIBRATION
from threadmark.kinds.explain import beside
from threadmark.model.cell import DEFAULT, Stored
from threadmark.present.failures import Failure
from threadmark.present.marks import MARKS
from threadmark.present.terminal import TextPage, spread
from threadmark.present.wording import duration, printable

WORDS = {  # a verdict in at most seven characters, and its meaning
    Kind.SCALES: ("scales", "at least 0.7 per thread"),
    Kind.POORLY: ("poorly", "scales poorly: gains 10 % or more"),
    Kind.NONE: ("none", "no scaling: within 10 % of one thread"),
    Kind.CONTENDED: ("slower", "slower with threads than on one"),
    Kind.SEQUENTIAL: ("alone", "one thread, in a process that never had a second"),
    Kind.UNCLEAR: ("unclear", "see below"),
    Kind.TIMEOUT: ("timeout", "did not end"),
    Kind.PARTIAL_TIMEOUT: ("part", "some processes did not end"),
    Kind.WRONG: ("WRONG", "wrong result"),
    Kind.CRASHED: ("crash", "crashed"),
    Kind.OUT_OF_MEMORY: ("memory", "out of memory"),
    Kind.REFUSED: ("refused", "a thread was refused"),
}
_ABSENT = (Kind.UNAVAILABLE, Kind.DROPPED)
_NAME = 27


def lines(stored: Stored, found: Catalogue, width: int, *, utf8: bool) -> list[Text]:
    """The whole display; its tables are 79 columns wide, its sentences `width`, but at least 80."""
    page = _Page(max(width, 80), utf8=utf8)
    page.title(stored.run, len(stored.rows))
    if stored.rows:
        smoke = stored.run.request.get("size") == "smoke"
        page.overview(found, judges=not smoke)
    for group in ordered(found.entries):
        page.table(group, found.threads)
    page.legend({each.judged.verdict.kind for each in found.entries})
    judged = [each.judged for each in found.entries]
    page.failures(judged, _where, [j for j in judged if j.cell.program != CALIBRATION])
    beside.say(page, stored)
    page.notes(stored.run)
    return page.lines


def _where(failure: Failure) -> str:
    ways = sorted({column.partition(":")[2] for column in failure.columns})
    return f"{spread(ways, 8)} of {spread(failure.programs, 8)} ({spread(failure.platforms, 8)})"


def ordered(entries: Iterable[Entry]) -> list[list[Entry]]:
    """The entries by program and platform, the worst first. In each group the usual ways come
    first, from the worst on, each followed by other allocators, then the remedies from the best
    on."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for each in entries:
        measured = each.judged.verdict.kind not in _ABSENT
        if measured and each.cell.program != CALIBRATION:
            groups[each.cell.program, each.cell.platform].append(each)

    def badness(group: Sequence[Entry]) -> tuple[float, str, str]:
        usual = [each for each in group if not each.remedy and each.cell.allocator == DEFAULT]
        worst = min(map(_rank, usual or group))
        return worst, group[0].cell.program, group[0].cell.platform

    return [_inside(group) for group in sorted(groups.values(), key=badness)]


def rate(value: float | None) -> str:
    """A number per second in at most five characters: '18.1M', '966k'."""
    if value is None:
        return "-"
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0)):
        if value >= 0.9995 * factor:
            return f"{_three(value / factor)}{unit}"
    return f"{value:.2g}"


def time(nanoseconds: float | None) -> str:
    """Nanoseconds in at most six characters; longer ones with their unit."""
    if nanoseconds is None:
        return "-"
    return duration(nanoseconds) if nanoseconds >= 99_999.5 else _three(nanoseconds)


def factor(value: float | None) -> str:
    """A gain: 'x1.9', 'x0.45', 'x210'."""
    return "-" if value is None else f"x{_two(value)}"


def _two(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.{1 if value >= 0.995 else 2}f}"


def _three(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _rank(entry: Entry) -> float:
    """The rank of an entry: failures come before everything, entries without a speed-up after
    everything."""
    if entry.judged.verdict.kind in WORDS and entry.one_ns is None:
        return -1.0
    return 1e9 if entry.speedup is None else entry.speedup


def _inside(group: Sequence[Entry]) -> list[Entry]:
    ways = {each.cell.variant: each for each in group if each.cell.allocator == DEFAULT}

    def place(each: Entry) -> tuple[bool, float, str, bool, str]:
        first = _rank(ways.get(each.cell.variant, each))
        key = -first if each.remedy and first < 1e9 else first
        other = each.cell.allocator != DEFAULT
        return each.remedy, key, each.cell.variant, other, each.cell.allocator

    return sorted(group, key=place)


class _Page(TextPage):
    """The catalogue, table by table."""

    def overview(self, found: Catalogue, *, judges: bool) -> None:
        """The results, and their validity."""
        judged = [e for e in found.entries if e.cell.program != CALIBRATION]
        kinds: Counter[Kind] = Counter(e.judged.verdict.kind for e in judged)
        self.say(
            f"Of {len(judged)} ways: "
            + ", ".join(f"{kind.value} {kinds[kind]}" for kind in MARKS if kind in kinds)
            + f". Verdicts are on {found.threads} threads."
        )
        if not judges:
            self.say("The profile smoke only checks that everything runs, and judges nothing.")
        for each in found.calibrations if judges else ():
            free, bound = ("-" if x is None else f"x{x:.2f}" for x in (each.free, each.bound))
            said = f"{each.platform}: arithmetic {free}, shared counter {bound}"
            if each.why:
                why = f"NOT VALID: {each.why}. Every verdict on this platform is unclear."
                self.say(f"{said}. {why}", "bold red")
            else:
                self.say(f"{said}: the calibration is in order.")

    def table(self, group: Sequence[Entry], threads: int) -> None:
        """The ways of one program on one platform."""
        first = group[0]
        self.heading(
            self.dot.join((
                first.cell.program,
                first.library,
                str(first.judged.facts.get("operation", "")),
            ))
        )  # fmt: skip
        heads = ("ns/op", "/s on 1", f"on {threads}", f"x on {threads}", "fair", "verdict", "gain")
        self._line("", *heads, style="dim")
        for each in group:
            verdict = each.judged.verdict
            gains = f"{factor(each.gain_one)} {factor(each.gain_many)}" if each.base else ""
            allocator = each.cell.allocator
            name = each.cell.variant if allocator == DEFAULT else f"  {allocator}"
            self._line(
                ("> " if each.remedy else "  ") + printable(name),
                time(each.one_ns),
                rate(each.rates.get(1)),
                rate(each.rates.get(verdict.at_threads or 0)),
                "-" if each.speedup is None else f"{each.speedup:.2f}",
                "-" if each.fairness is None else f"{each.fairness:.2f}",
                WORDS[verdict.kind][0],
                gains,
                style=MARKS[verdict.kind].style,
            )

    def _line(self, name: str, *fields: str, style: str) -> None:
        # This is no row of rich.table.Table, which cuts a long name or widens its column.
        ns, one, many, speedup, fair, word, gains = fields
        if len(name) > _NAME:  # the figures of a long name stand below it
            self.lines.append(Text(name[: self.width]))
            name = ""
        line = Text(f"{name:{_NAME}}{ns:>7}{one:>8}{many:>7}{speedup:>7}{fair:>5} ")
        line.append(f"{word:7}", style=style).append(f" {gains}")
        line.rstrip()
        self.lines.append(line)

    def legend(self, used: set[Kind]) -> None:
        """The meaning of the columns and the words."""
        if not used - set(_ABSENT):
            return
        self.heading("How to read it")
        self.say(
            "ns/op: an operation on one thread. /s: operations per second of one thread, alone and "
            "among all; x: their speed-up together. fair: slowest by fastest thread. > marks a "
            "remedy. gain: per thread over the usual way (another allocator: over glibc's), on one "
            "thread and on all."
        )
        words = [f"{w}: {meaning}" for kind, (w, meaning) in WORDS.items() if kind in used]
        self.say("; ".join(words) + ".")

"""The look of the kinds of verdict, in the terminal and on pages."""

from __future__ import annotations

from dataclasses import dataclass

from threadmark.judge.verdict import Kind


@dataclass(frozen=True)
class Mark:
    """The look of a kind of verdict: `symbol`, `plain` without UTF-8, or `word` and no figure."""

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
    Kind.UNAVAILABLE: Mark("dim", "not available, see below", word="n/a"),
    Kind.DROPPED: Mark("dim", "not measured", word="drop"),
}

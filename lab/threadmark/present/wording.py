"""Figures and names for people, in a terminal and in the report."""

from __future__ import annotations

from rich.console import Console


def speed(value: float, *, rough: bool = False) -> str:
    """A speed-up in at most four characters while it is below 10,000; a `rough` one has two
    significant figures."""
    if value >= 99.95 or (rough and value >= 9.95):
        return f"{value:.0f}"
    return f"{value:.{1 if value >= 9.995 or (rough and value >= 0.995) else 2}f}"


LARGE = 10.0  # a larger bound has no further meaning


def at_most(bound: float) -> str:
    """A bound of explain: 'at most x1.8'."""
    return f"at most x{bound:.3g}" if bound <= LARGE else f"perhaps over x{LARGE:.0f}"


def duration(nanoseconds: float) -> str:
    """A time with three figures and its unit: '62.1ms'."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= 0.9995 * factor:
            value = nanoseconds / factor
            return f"{value:.0f}{unit}" if value >= 99.95 else f"{value:.3g}{unit}"
    return f"{nanoseconds:.0f}ns"


def printable(text: str) -> str:
    """`text` without control characters: names are input, and terminals obey escapes."""
    return "".join(c if c.isprintable() or c == " " else "?" for c in text)


def capital(text: str) -> str:
    """A clause as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def say(console: Console, sentence: str) -> None:
    """Print one sentence for the user."""
    console.print(
        printable(sentence), highlight=False, markup=False, soft_wrap=not console.is_terminal
    )

"""Cards: what is known of each contention program, from the document beside its source.

A card has one fixed shape, so that it is read without a library: a title, four sections of
paragraphs and lists, a block of code in the last one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from threadmark.model.places import ROOT

FOLDER = ROOT / "bench/programs/library"
SECTIONS = ("What happens", "Evidence", "Since and until", "Instead")
MOST_CODE = 5  # lines
_FENCE = "~~~"


@dataclass(frozen=True)
class Card:
    """A card. A paragraph is a sequence of (text, whether it is code)."""

    program: str
    question: str
    sections: dict[str, list[list[tuple[str, bool]]]]  # of the last one what precedes the code
    code: Sequence[str]
    gain: list[list[tuple[str, bool]]]  # what follows the code


def read(program: str, folder: Path = FOLDER) -> Card | None:
    """The card of a program; None when it has none. ValueError for one of another shape."""
    path = folder / f"{program}.md"
    if not re.fullmatch(r"\w+", program) or not path.is_file():
        return None
    return parse(program, path.read_text(encoding="utf-8"))


def parse(program: str, text: str) -> Card:
    """The card in `text`. ValueError says what is not as agreed."""
    head, *parts = re.split(r"^## +", text, flags=re.MULTILINE)
    title = re.fullmatch(r"# +(\w+): (.+?)\s*", head)
    if title is None or title[1] != program:
        raise ValueError(f"the card of {program} does not begin with '# {program}: question'")
    named = {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}
    if tuple(named) != SECTIONS or len(parts) != len(SECTIONS):
        raise ValueError(f"the card of {program} has not the sections {', '.join(SECTIONS)}")
    before, fence, rest = named[SECTIONS[-1]].partition(f"{_FENCE}cpp\n")
    code, end, after = rest.partition(f"\n{_FENCE}\n")
    lines = code.splitlines()
    if not fence or not end or not 0 < len(lines) <= MOST_CODE or _FENCE in after:
        raise ValueError(f"the card of {program} needs one block of 1 to {MOST_CODE} lines of C++")
    sections = {name: _paragraphs(body) for name, body in named.items()}
    sections[SECTIONS[-1]] = _paragraphs(before)
    card = Card(program, title[2], sections, lines, _paragraphs(after))
    empty = [name for name, body in sections.items() if not body]
    if empty or not card.gain:
        raise ValueError(f"the card of {program} says nothing under {(*empty, 'the code')[0]}")
    return card


def _paragraphs(body: str) -> list[list[tuple[str, bool]]]:
    """Paragraphs and items of lists, each in pieces of text and of `code`."""
    blocks = re.split(r"\n\s*\n|\n(?=[*-] )", body.strip())
    found = [" ".join(block.split()).removeprefix("* ").removeprefix("- ") for block in blocks]
    return [
        [(piece, index % 2 == 1) for index, piece in enumerate(text.split("`")) if piece]
        for text in found
        if text
    ]

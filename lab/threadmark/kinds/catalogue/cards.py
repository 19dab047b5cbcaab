"""Cards of the contention programs, from the document beside each program's source.

A card has a fixed shape: a title, and five sections of paragraphs and lists. The last section has a
block of code, its gain, and a paragraph that begins with `Changes:`, which tells how the code
changes the meaning. The section before it lists variants, each with the piece of knowledge by which
`explain` names its cause, or `nothing` for a variant that scales.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from threadmark.model.places import ROOT

FOLDER = ROOT / "bench/programs/library"
EXPLAINED = "Explained as"
SECTIONS = ("What happens", "Evidence", "Since and until", EXPLAINED, "Instead")
MOST_CODE = 8  # lines
_CHANGES = "Changes: "
# No emphasis, links or HTML, because a card has plain `*this` and <future>.
_MARKDOWN = MarkdownIt("zero").enable(["heading", "fence", "list", "backticks"])

Paragraph = list[tuple[str, bool]]  # pieces of text, each with whether it is code


@dataclass(frozen=True)
class Explained:
    """A variant, the standard library for which this holds (empty: any), and the names of files of
    knowledge, one of which explains it; none for a variant that scales."""

    variant: str
    library: str
    knowledge: tuple[str, ...]


@dataclass(frozen=True)
class Card:
    program: str
    question: str
    sections: dict[str, list[Paragraph]]  # of the last section, the part before the code
    code: Sequence[str]
    line: int  # of the beginning of the code in the document, from 1
    gain: list[Paragraph]
    changes: Paragraph  # without the word
    explained: tuple[Explained, ...] = ()


def read(program: str, folder: Path = FOLDER) -> Card | None:
    """The card of a program; None if it has none. ValueError for a card of another shape."""
    path = folder / f"{program}.md"
    if not re.fullmatch(r"\w+", program) or not path.is_file():
        return None
    return parse(program, path.read_text(encoding="utf-8"))


def parse(program: str, text: str) -> Card:
    """The card in `text`. ValueError names the part of the wrong shape."""
    tokens = _MARKDOWN.parse(text)
    heads = [i for i, token in enumerate(tokens) if token.type == "heading_open"]
    title = re.fullmatch(r"(\w+): (.+)", tokens[1].content) if heads[:1] == [0] else None
    if title is None or title[1] != program or heads[1:2] != [3]:
        raise ValueError(f"the card of {program} does not begin with '# {program}: question'")
    found = [(tokens[at + 1].content, tokens[at].tag) for at in heads]
    if found[1:] != [(name, "h2") for name in SECTIONS]:
        raise ValueError(f"the card of {program} has not the sections {', '.join(SECTIONS)}")
    ends = [*heads[2:], len(tokens)]
    bodies = [tokens[at + 3 : end] for at, end in zip(heads[1:], ends, strict=True)]

    fences = [i for i, token in enumerate(tokens) if token.type == "fence"]
    blocks = [i for i, token in enumerate(bodies[-1]) if token.type == "fence"]
    fence = bodies[-1][blocks[0]] if blocks else None
    code = fence.content.splitlines() if fence and fence.info == "cpp" else []
    if len(fences) != 1 or fence is None or not 0 < len(code) <= MOST_CODE:
        raise ValueError(f"the card of {program} needs one block of 1 to {MOST_CODE} lines of C++")
    sections = {
        name: _paragraphs(body) for name, body in zip(SECTIONS[:-1], bodies[:-1], strict=True)
    }
    sections[SECTIONS[-1]] = _paragraphs(bodies[-1][: blocks[0]])
    gain = _paragraphs(bodies[-1][blocks[0] + 1 :])
    if not gain or not gain[-1][0][0].startswith(_CHANGES):
        raise ValueError(
            f"the card of {program} does not end with a paragraph '{_CHANGES}...', which says what "
            "the code changes in meaning"
        )
    (first, is_code), *rest = gain.pop()
    changes = [each for each in [(first.removeprefix(_CHANGES), is_code), *rest] if each[0]]
    empty = [name for name, body in sections.items() if not body]
    if empty or not gain:
        raise ValueError(f"the card of {program} says nothing under {(*empty, 'the code')[0]}")
    assert fence.map is not None
    explained = tuple(_explained(program, each) for each in sections[EXPLAINED])
    return Card(program, title[2], sections, code, fence.map[0] + 2, gain, changes, explained)


_EXPLAINED = re.compile(
    r"`(?P<variant>\w+)`( \((?P<library>[\w+]+)\))?: (nothing|(?P<names>`\w+`( or `\w+`)*))"
)


def _explained(program: str, item: Paragraph) -> Explained:
    text = "".join(f"`{text}`" if is_code else text for text, is_code in item)
    found = _EXPLAINED.fullmatch(text)
    if found is None:
        raise ValueError(
            f"the card of {program} says '{text}' under {EXPLAINED}; write '`variant`: "
            "`knowledge`' or '`variant` (library): nothing'"
        )
    names = tuple(re.findall(r"\w+", (found["names"] or "").replace(" or ", " ")))
    return Explained(found["variant"], found["library"] or "", names)


def _paragraphs(tokens: Sequence[Token]) -> list[Paragraph]:
    """Paragraphs and items of lists, each in pieces of text and of `code`."""
    return [_pieces(token) for token in tokens if token.type == "inline"]


def _pieces(inline: Token) -> Paragraph:
    pieces: Paragraph = []
    for child in inline.children or []:
        text, is_code = re.sub(r"\s+", " ", child.content), child.type == "code_inline"
        if pieces and not is_code and not pieces[-1][1]:
            text = pieces.pop()[0] + text
        pieces.append((text, is_code))
    return pieces

"""The command line understands every command of Threadmark on the pages of the documents.

A command stands in a block of code, at the beginning of a line, or in the text between backticks.
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator

import cyclopts
import pytest
from threadmark.cli import command_names
from threadmark.model.places import ROOT

PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in ROOT.glob("docs/**/*.md") if page.name != "commands.md"),
    *ROOT.glob("apps/**/*.md"),
    *ROOT.glob("bench/**/*.md"),
]
BLOCK = re.compile(r"^(```|~~~).*?\n(.*?)^\1", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(\./threadmark\s[^`]*)`")
# The reader replaces these words.
PLACEHOLDERS = {"COMMAND"}
NUMBERS = re.compile(r"\b[NS]\b")


def commands(text: str) -> Iterator[str]:
    """The commands of a page, each on one line and without the text before it."""
    for block in BLOCK.finditer(text):
        for line in block[2].replace("\\\n", " ").splitlines():
            if found := re.match(r"(?:\$ |\w+=\S+ )*(\./threadmark .*)", line.strip()):
                yield found[1]
    for span in SPAN.findall(BLOCK.sub("", text)):
        yield " ".join(span.split())


def found_commands() -> dict[str, list[str]]:
    """Command -> the pages that have it."""
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for each in commands(page.read_text(encoding="utf-8")):
            found.setdefault(each, []).append(page.relative_to(ROOT).as_posix())
    return found


COMMANDS = found_commands()


def test_the_pages_have_commands_in_blocks_and_in_the_text() -> None:
    page = "say `./threadmark\nshow 1`:\n```\n$ A=b ./threadmark run \\\n  --resume\n```\n"
    assert list(commands(page)) == ["./threadmark run    --resume", "./threadmark show 1"]
    assert len(COMMANDS) > 100


@pytest.mark.parametrize("line", sorted(COMMANDS))
def test_a_command_on_a_page_is_understood(line: str) -> None:
    alone = re.split("; | > ", line)[0]
    words = shlex.split(NUMBERS.sub("1", alone), comments=True)[1:]
    if words[0] in PLACEHOLDERS or words[0] == "--version":
        return
    assert words[0] in command_names(), COMMANDS[line]
    app = cyclopts.App()
    importlib.import_module(command_names()[words[0]]).command(app)
    if words[-1] == "--help":
        return
    try:
        app.parse_args(words, exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        pytest.fail(f"{COMMANDS[line]}: {error}")

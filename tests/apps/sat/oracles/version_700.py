"""Rewrites a SAT file of version 1600 and above as a file of version 700, which more readers know.

The script leaves out the additions of later versions: the second number of each record, boxes,
kinds of loops. It shares no code with tmk-sat.
"""

from __future__ import annotations

from collections.abc import Iterator

# The number of topology fields after attribute, id and pattern; a double face has one more.
_FIELDS = {
    "body": 3,
    "lump": 3,
    "shell": 5,
    "face": 7,
    "loop": 3,
    "coedge": 7,
    "edge": 8,
    "vertex": 2,
}
_WITHOUT_PATTERN = ("attrib", "transform")


def _tokens(text: str) -> Iterator[str]:
    """The tokens of the text. A string comes with its length, as one token."""
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        end = at
        while end < len(text) and not text[end].isspace():
            end += 1
        if text[at] == "@" and text[at + 1 : end].isdigit():
            end += 1 + int(text[at + 1 : end])
        yield text[at:end]
        at = end


def _record(tokens: list[str]) -> list[str]:
    numbered = tokens[0].startswith("-")
    number, name, fields = tokens[:numbered], tokens[numbered], tokens[numbered + 1 :]
    leaf = name.rsplit("-", 1)[-1]
    if leaf not in _WITHOUT_PATTERN and fields[1:3] == ["-1", "-1"]:
        del fields[2]
    if name == "body" and not fields[3].startswith("$"):
        del fields[3]
    if name in _FIELDS:
        kept = 3 + _FIELDS[name] + (name == "face" and "double" in fields[3:])
        fields = fields[:kept]
    return [*number, name, *fields, "#"]


def rewritten(text: str) -> str:
    lines = text.splitlines()
    if not 1600 <= int(lines[0].split()[0]) < 20000:
        return text
    first = ["700", "0", lines[0].split()[2], "0"]
    body = "\n".join(lines[4:] if lines[3].startswith("T @") else lines[3:])
    out = [" ".join(first), *lines[1:3]]
    record: list[str] = []
    for token in _tokens(body):
        if token == "#":
            out.append(" ".join(_record(record)))
            record = []
        elif token.startswith("End-of-"):
            break
        else:
            record.append(token)
    return "\n".join([*out, "End-of-ACIS-data", ""])

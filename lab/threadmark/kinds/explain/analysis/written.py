"""Files that were written to, under names for people: the sockets of a program are one kind."""

from __future__ import annotations

import re
from collections import defaultdict

from threadmark.kinds.explain.analysis.recording import Recording, Written

_WITHOUT_NAME = re.compile(
    r"(socket|pipe):\[\d+\]"
)  # a number of the kernel's, without use to a reader


def shown(path: str) -> str:
    """The name of a file for people."""
    match = _WITHOUT_NAME.fullmatch(path)
    return f"a {match[1]}" if match else path


def files_of(recording: Recording) -> list[Written]:
    """Each file by its path. All sockets are one entry, and so are all pipes: its name has their
    number."""
    found: list[Written] = []
    kinds: dict[str, list[Written]] = defaultdict(list)
    for each in recording.files:
        if match := _WITHOUT_NAME.fullmatch(each.path):
            kinds[match[1]].append(each)
        else:
            found.append(each)
    for kind, them in kinds.items():
        count = len({each.path for each in them})
        writes, size, ns = (
            sum(values) for values in zip(*((e.writes, e.bytes, e.ns) for e in them), strict=True)
        )
        name = f"a {kind}" if count == 1 else f"{count} {kind}s"
        found.append(Written(them[0].tid, name, writes, size, ns, them[0].thing))
    return found

"""The advice for a cause: the piece of knowledge, the remedy, and whether the versions of the
libraries that the program uses have the cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from threadmark.kinds.explain.analysis.cause import Cause
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.pieces import Piece, Version
from threadmark.kinds.explain.analysis.recording import Recording, short_threads

_STACKS = 8  # of a cause, at most
_OF_THREADS = 64  # stacks of threads that are made again and again
_FILES = (  # whose name or folder tells the version of a library
    ("libstdc++", re.compile(r".*/libstdc\+\+\.so\.6\.0\.(\d+)")),
    ("libc++", re.compile(r".*/llvm-(\d+)/.*/libc\+\+\.so\..*")),
    ("libomp", re.compile(r".*/llvm-(\d+)/.*/libi?omp\d*\.so.*")),
    ("oneTBB", re.compile(r".*/libtbb\.so\.12\.(\d+)")),
)
# libstdc++.so.6.0.N is that of this GCC: gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
_GCC = {22: "6", 23: "7", 24: "7", 25: "8", 26: "9", 28: "10", 29: "11", 30: "12", 31: "13",
        32: "13", 33: "14", 34: "15"}  # fmt: skip
_OF_GCC = ("libstdc++", "GCC")


def advised(cause: Cause, recording: Recording, names: Names, knowledge: Knowledge) -> Piece | None:
    """The piece of knowledge for an object of the program's own."""
    if cause.category in ("none", "unknown"):
        return None
    found: Counter[tuple[int, bool]] = Counter()
    for stack, ns in cause.waiters.items():
        found[stack, False] += ns
    for pair in recording.pairs:
        if pair.thing in cause.things:
            found[pair.waiter, False] += pair.wait_ns
    for stack, count in cause.samples.items():
        found[stack, True] += count * max(1, recording.sample_ns)
    keys = sorted(found, key=lambda key: (-found[key], key))[:_STACKS]
    if cause.category == "thread_creation":
        keys = [*_of_short_threads(recording), *keys]
    stacks = [names.frames(*key) for key in keys]
    return knowledge.advised(cause.category, cause.case, stacks)


def _of_short_threads(recording: Recording) -> list[tuple[int, bool]]:
    """Stacks that made threads, and stacks of these threads: either tells the function that makes
    them."""
    short = short_threads(recording)
    made = Counter(each.made_at for each in recording.threads.values() if each.tid in short)
    ran = Counter(sample.stack for sample in recording.samples if sample.tid in short)
    return [
        *((stack, False) for stack, _ in made.most_common(_OF_THREADS)),
        *((stack, True) for stack, _ in ran.most_common(_OF_THREADS)),
    ]


def libraries(recording: Recording) -> dict[str, str]:
    """The versions of the libraries of a program, as far as the record tells them."""
    found = {}
    if glibc := recording.machine.get("glibc"):
        found["glibc"] = str(glibc)
    for module in recording.modules.values():
        for library, pattern in _FILES:
            if not (match := pattern.fullmatch(module.path)):
                continue
            if library == "libstdc++":
                found.update(
                    {each: _GCC[int(match[1])] for each in _OF_GCC if int(match[1]) in _GCC}
                )
            elif library == "oneTBB":  # 12.14 is 2022.0
                number = int(match[1])
                found[library] = f"2021.{number}" if number < 14 else f"2022.{number - 14}"
            else:
                found[library] = match[1]
    return found


def known(piece: Piece | None, knowledge: Knowledge, versions: Mapping[str, str]) -> dict[str, Any]:
    """The keys of a cause in the answer."""
    if piece is None:
        return {"knowledge": None, "remedy": "", "versions": []}
    listed = [
        {
            "library": each.library,
            "since": each.since or None,
            "until": each.until or None,
            "source": each.source or None,
            "here": versions.get(each.library),
            "has": has(each, versions.get(each.library)),
        }
        for each in piece.versions
    ]
    return {
        "knowledge": f"{piece.file}.toml",
        "remedy": knowledge.remedy_of(piece),
        "versions": listed,
    }


def has(version: Version, here: str | None) -> bool | None:
    """Whether a library of this version has the cause; None if that is not known."""
    if here is None or not (version.since or version.until):
        return None
    if version.since and _numbers(here) < _numbers(version.since):
        return False
    if version.until and _numbers(here) >= _numbers(version.until):
        return False
    return True if version.until else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", text))

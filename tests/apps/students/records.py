"""Reads the four files, by code that shares nothing with the writers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FILES = {
    "basic-student-info.txt": "studentdata",
    "exam-info.txt": "examdata",
    "exercise-info.txt": "exercisedata",
    "project-info.txt": "exerciseworkdata",
}
WRITERS = (
    "as_published",
    "buffered",
    "fast",
    "persistent",
    "sequential",
    "spawn",
    "take_turns",
    "turns_unflushed",
)

_NAME = re.compile(r"[A-ZÄÖ][a-zäö]+( [A-Z][a-z]+)? [A-ZÄÖ][a-zäö]+")


@dataclass(frozen=True)
class Records:
    """The student numbers and the fields after them, line by line, for each file."""

    numbers: dict[str, list[int]]
    fields: dict[str, list[list[str]]]


def read(folder: Path, exercises: int) -> Records:
    """Read the four files. AssertionError if a file breaks the format."""
    numbers: dict[str, list[int]] = {}
    fields: dict[str, list[list[str]]] = {}
    for name, content_type in FILES.items():
        text = (folder / name).read_bytes().decode("utf-8")
        assert text.endswith("\n")
        assert "\r" not in text
        first, *lines = text.removesuffix("\n").split("\n")
        assert first == content_type
        rows = [line.split("\t") for line in lines]
        for number, *_ in rows:
            assert number == f"{int(number):05}"
        numbers[name] = [int(row[0]) for row in rows]
        fields[name] = [row[1:] for row in rows]
    for full_name, programme in fields["basic-student-info.txt"]:
        assert _NAME.fullmatch(full_name), full_name
        assert programme in ("TOL", "SO", "TT", "ENF", "TUT")
    points = {"exam-info.txt": 1, "exercise-info.txt": exercises, "project-info.txt": 1}
    for name, count in points.items():
        for row in fields[name]:
            assert len(row) == count
            assert set(row) <= set("012345")
    return Records(numbers, fields)


def contents(folder: Path) -> dict[str, bytes]:
    """The contents of all files of a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}

"""The join of the four files, by code that shares nothing with tmk-students merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import records

Rows = Mapping[str, Mapping[int, tuple[str, ...]]]


@dataclass(frozen=True)
class Joined:
    """The bytes of the result and of the list. The list is None if there is none."""

    result: bytes
    incomplete: bytes | None


def grade(exam: int, exercises: list[int], project: int, maximum: int) -> int:
    """The grade in fractions, by the rules of apps/students/merge.md."""
    of_exam = Fraction(exam, maximum)
    of_others = Fraction(sum(exercises) + project, maximum * (len(exercises) + 1))
    share = (of_exam + of_others) / 2
    if of_exam < Fraction(1, 2):
        return 0
    return sum(share >= Fraction(tenths, 10) for tenths in range(5, 10))


def join(rows: Rows, maximum: int = 5) -> Joined:
    """Join rows[file][number], the fields after the student number."""
    basic, exams, exercises, projects = (rows[name] for name in records.FILES)
    result = ["summarydata"]
    incomplete = ["incompletedata"]
    for number in sorted(set().union(*rows.values())):
        missing = [name for name in records.FILES if number not in rows[name]]
        if missing:
            incomplete.append("\t".join([f"{number:05}", *missing]))
            continue
        points = [int(each) for each in exercises[number]]
        exam, project = int(exams[number][0]), int(projects[number][0])
        last = [exam, sum(points), project, grade(exam, points, project, maximum)]
        result.append("\t".join([f"{number:05}", *basic[number], *map(str, last)]))
    return Joined(
        "".join(f"{line}\n" for line in result).encode(),
        "".join(f"{line}\n" for line in incomplete).encode() if len(incomplete) > 1 else None,
    )


def read(folder: Path, exercises: int) -> Rows:
    """The rows of generated files."""
    found = records.read(folder, exercises)
    return {
        name: {
            number: tuple(fields)
            for number, fields in zip(found.numbers[name], found.fields[name], strict=True)
        }
        for name in records.FILES
    }


def write(folder: Path, rows: Rows) -> None:
    """Write the four files, in the order of the rows."""
    folder.mkdir(exist_ok=True)
    for name, content_type in records.FILES.items():
        lines = ["\t".join([f"{number:05}", *fields]) for number, fields in rows[name].items()]
        text = "".join(f"{line}\n" for line in [content_type, *lines])
        (folder / name).write_bytes(text.encode())

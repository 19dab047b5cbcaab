"""Reads the results that INNCABS published: blocks of seven thread counts by fifteen series.

Format: a line with the program's name, a header (`#Cores`, then `platform:policy`), one line per
thread count with whole milliseconds, an empty line. 900000 stands for every kind of missing result.
Cells beyond the series are left-overs of charts in the first blocks and are ignored. Source:
github.com/PeterTh/inncabs, results/results_2014-09.csv.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError

MISSING_MS = 900_000
SERIES = 15
MAX_BYTES = 1 << 20  # the published file has 18 KB
MAX_THREADS = 4096
_REASON = "published as 900000 ms, which stands for no result of any kind"
_REMEDY = "take results_2014-09.csv as published"


def read(path: Path) -> list[Row]:
    """The rows of one published file. LabError, naming the line, when it is not such a file.

    `deferred` was measured on one core and copied to the other lines; equal copies are left out.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise LabError(
            f"{path} cannot be read ({error.strerror}); name the CSV file of INNCABS' results."
        ) from None
    if len(data) > MAX_BYTES:
        raise _problem(path, 0, f"it is larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
        lines = [[c.strip() for c in line] for line in csv.reader(io.StringIO(text), strict=True)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise _problem(path, 0, f"it is no CSV text ({error})") from None
    if not any(map(any, lines)):
        raise _problem(path, 0, "it holds no results")
    if not text.endswith("\n"):
        raise _problem(path, len(lines), "it ends within a line, so something is cut off")
    return [row for block in _blocks(path, lines) for row in block]


def _problem(path: Path, line: int, what: str) -> LabError:
    where = f"{path}, line {line}" if line else str(path)
    return LabError(f"{where}: not INNCABS' results: {what}; {_REMEDY}.")


def _blocks(path: Path, lines: Sequence[Sequence[str]]) -> Iterator[list[Row]]:
    number = 0
    seen: set[str] = set()
    counts: list[str] = []
    while number < len(lines):
        if not any(lines[number]):
            number += 1
            continue
        program = lines[number][0]
        if not program.isidentifier() or program in seen:
            raise _problem(
                path, number + 1, f"a program's name was expected, not '{program[:40]!r}'"
            )
        seen.add(program)
        first = number + 2
        end = first
        while end < len(lines) and any(lines[end][: SERIES + 1]):
            end += 1
        series = _header(path, lines, number + 1)
        own = [line[0] for line in lines[first:end]]
        counts = counts or own
        if own != counts:
            raise _problem(path, end, f"{program} has other thread counts than the program before")
        yield _rows(path, program, series, list(enumerate(lines[first:end], first + 1)))
        number = end


def _header(path: Path, lines: Sequence[Sequence[str]], at: int) -> list[tuple[str, str]]:
    header = lines[at] if at < len(lines) else []
    names = [tuple(name.split(":")) for name in header[1 : SERIES + 1]]
    words = all(len(name) == 2 and all(map(str.isidentifier, name)) for name in names)
    fits = len(names) == len(set(names)) == SERIES and words
    if not fits or header[0] != "#Cores":
        raise _problem(
            path, at + 1, f"a header with #Cores and {SERIES} platform:policy was expected"
        )
    return [(name[0], name[1]) for name in names]


def _rows(
    path: Path,
    program: str,
    series: Sequence[tuple[str, str]],
    lines: Sequence[tuple[int, Sequence[str]]],
) -> list[Row]:
    table = [_numbers(path, number, line) for number, line in lines]
    threads = [numbers[0] for numbers in table]
    if len(threads) < 2 or threads != sorted(set(threads)) or threads[0] != 1:
        last = lines[-1][0] if lines else 0
        raise _problem(path, last, f"{program} has no ascending thread counts from 1")
    rows = []
    for column, (platform, policy) in enumerate(series, 1):
        times = [numbers[column] for numbers in table]
        copied = policy == "deferred" and len(set(times)) == 1
        for count, time in list(zip(threads, times, strict=True))[: 1 if copied else None]:
            cell = Cell(program, "full", "std_async", policy, platform, "", count)
            facts = {"published": True, "median_of": 5}
            if time == MISSING_MS:
                rows.append(Row(cell, 0, Status.TIMEOUT, _REASON, facts=facts))
            else:
                rows.append(Row(cell, 0, Status.OK, sample_ns=time * 1e6, facts=facts))
    return rows


def _numbers(path: Path, line: int, fields: Sequence[str]) -> list[int]:
    wanted = fields[: SERIES + 1]
    if len(wanted) != SERIES + 1 or not all(
        f.isascii() and f.isdigit() and len(f) < 9 for f in wanted
    ):
        raise _problem(path, line, f"{SERIES + 1} whole numbers were expected")
    numbers = [int(f) for f in wanted]
    if numbers[0] > MAX_THREADS or not all(0 < ms <= MISSING_MS for ms in numbers[1:]):
        raise _problem(path, line, f"times must be 1 to {MISSING_MS} ms")
    return numbers

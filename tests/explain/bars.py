#!/usr/bin/env python3
"""Explains each planted program and compares the answers with the bars that explain must reach.

The programs are those of the tests' build, for each compiler once with debug information and once
without. The exit status is 1 if a bar is missed. After Control-C the script prints the results so
far.
Usage: tests/explain/bars.py [--only PATTERN] [--build FOLDER] [--explain COMMAND] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import expectation as expectations
from expectation import Expectation, Judgement

ROOT = Path(__file__).resolve().parents[2]
# STORE is a store of these runs alone, so the user's store keeps none of them.
EXPLAIN = f"{shlex.quote(str(ROOT / 'threadmark'))} explain --json --store STORE --"


@dataclass(frozen=True)
class Subject:
    """A program that one compiler built. `debug`: it has debug information."""

    expected: Expectation
    path: Path
    compiler: str
    debug: bool

    @property
    def build(self) -> str:
        return f"{self.compiler} {'-g' if self.debug else ''}".strip()


@dataclass(frozen=True)
class Row:
    """A subject and the judgement of its explanation."""

    subject: Subject
    judgement: Judgement


@dataclass(frozen=True)
class Bar:
    """A limit and a measured value. `value` is None if no row has one; then the bar is not
    missed."""

    name: str
    value: float | None
    limit: float
    at_least: bool

    @property
    def held(self) -> bool:
        if self.value is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def subjects(folders: Iterable[Path], patterns: Sequence[str]) -> list[Subject]:
    """The programs in folders `.../PLATFORM/explain/planted` that match a pattern."""
    found = []
    for folder in folders:
        for expected in expectations.read_all():
            if patterns and not any(fnmatch.fnmatch(expected.program, p) for p in patterns):
                continue
            for variant in ("debug", "plain"):
                path = folder / variant / expected.program
                # A stripped program is the same in both folders.
                if path.exists() and not (expected.build == "stripped" and variant == "debug"):
                    platform = folder.resolve().parents[1].name
                    found.append(Subject(expected, path, platform, variant == "debug"))
    return found


def explain(subject: Subject, command: Sequence[str], limit_s: float) -> Judgement:
    """Run explain on a program, and judge its output.

    The program has its default threads and time, but in a differential run other threads."""
    line = [*command, str(subject.path)]
    if subject.expected.threads:
        options = [each for each in command if each != "--"]
        several = ["--threads", subject.expected.threads, "--", str(subject.path), "{threads}"]
        line = [*options, *several]
    process = subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, complaint = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return expectations.failed(subject.expected, f"not at its end after {limit_s:.0f} s")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode != 0:
        last = complaint.strip().splitlines()[-1:] or ["no message"]
        return expectations.failed(subject.expected, f"status {process.returncode}: {last[0]}")
    try:
        said = read_json(output)
    except ValueError:
        return expectations.failed(subject.expected, "no JSON object in the output")
    return expectations.judge(subject.expected, said, debug=subject.debug)


def read_json(output: str) -> dict[str, Any]:
    """The object that explain printed; the output of the program may stand before and after it."""
    places = [0] + [i + 1 for i, letter in enumerate(output) if letter == "\n"]
    for place in places:
        if output.startswith("{", place):
            with contextlib.suppress(ValueError):
                found = json.JSONDecoder().raw_decode(output, place)[0]
                if isinstance(found, dict):
                    return found
    raise ValueError("no JSON object")


def bars(rows: Sequence[Row]) -> list[Bar]:
    """The bars over these rows. A row without a judgement counts as wrong and as all unknown."""
    judgements = [row.judgement for row in rows]
    right = [each for each in judgements if each.right]
    holders = [each.holder_right for each in judgements if each.holder_right is not None]
    unknown = max((each.unknown for each in judgements), default=None)
    certain_and_wrong = sum(each.certain and not each.right for each in judgements)
    return [
        Bar("first cause right", part(len(right), len(judgements)), 0.95, True),
        Bar("holder's stack right", part(sum(holders), len(holders)), 0.95, True),
        Bar("right and certain", part(sum(e.certain for e in right), len(right)), 0.80, True),
        Bar("wrong and certain", certain_and_wrong if rows else None, 0, False),
        Bar("largest unknown share", unknown, 0.05, False),
    ]


def part(some: int, of: int) -> float | None:
    return some / of if of else None


def table(rows: Sequence[Row]) -> str:
    """One line for each row, with its errors."""
    lines: list[tuple[str, ...]] = [
        ("program", "build", "expected", "first cause", "share", "certain", "holder", "remark")
    ]
    for row in rows:
        each, expected = row.judgement, row.subject.expected
        lines.append(
            (
                expected.program,
                row.subject.build,
                "|".join(expected.categories),
                f"{each.category} {each.name}".strip() or "-",
                f"{each.share:.0%}",
                "yes" if each.certain else "no",
                {None: "-", True: "right", False: "WRONG"}[each.holder_right],
                remark(row),
            )
        )
    return in_columns(lines)


def in_columns(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def remark(row: Row) -> str:
    """The remark for readers of the table."""
    each = row.judgement
    if each.problem:
        return each.problem
    found = []
    if not each.category_right:
        found.append("WRONG CAUSE, and certain" if each.certain else "WRONG CAUSE")
    elif not each.name_right:
        found.append(f"WRONG NAME, not {' or '.join(row.subject.expected.names)}")
    elif row.subject.expected.must_be_certain and not each.certain:
        found.append("should be certain")
    if each.unknown > 0.05:
        found.append(f"{each.unknown:.0%} unknown")
    return "; ".join(found)


def summary(found: Sequence[Bar]) -> str:
    lines = []
    for bar in found:
        whole = bar.limit >= 1 or bar.name == "wrong and certain"
        shown = "-" if bar.value is None else f"{bar.value:.0f}" if whole else f"{bar.value:.1%}"
        limit = f"{'>=' if bar.at_least else '<='} {bar.limit:{'.0f' if whole else '.0%'}}"
        lines.append(f"{bar.name:24}{shown:>7}  {limit:8}{'held' if bar.held else 'MISSED'}")
    return "\n".join(lines)


def as_json(rows: Sequence[Row], *, interrupted: bool) -> str:
    """The rows and bars as JSON."""
    listed = [
        {
            "program": row.subject.expected.program,
            "build": row.subject.build,
            "expected": row.subject.expected.categories,
            **asdict(row.judgement),
            "right": row.judgement.right,
        }
        for row in rows
    ]
    held = [{**asdict(bar), "held": bar.held} for bar in bars(rows)]
    document = {"schema": "threadmark.explain-bars", "version": 1, "interrupted": interrupted}
    return json.dumps({**document, "rows": listed, "bars": held}, indent=1)


def measure(
    chosen: Sequence[Subject], command: Sequence[str], limit_s: float, said: Callable[[str], None]
) -> tuple[list[Row], bool]:
    """Explain each; returns the rows, and whether the user interrupted."""
    rows: list[Row] = []
    try:
        for number, subject in enumerate(chosen, 1):
            said(f"{number} of {len(chosen)}: {subject.expected.program}, {subject.build}")
            rows.append(Row(subject, explain(subject, command, limit_s)))
    except KeyboardInterrupt:
        return rows, True
    return rows, False


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the programs and the command."""
    parser.add_argument("--only", action="append", default=[], help="programs, by name or pattern")
    parser.add_argument("--build", action="append", type=Path, help="a folder .../explain/planted")
    parser.add_argument("--explain", default=EXPLAIN, help=f"the command; else {EXPLAIN}")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a program")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")


def chosen(options: argparse.Namespace) -> list[Subject]:
    folders = options.build or sorted((ROOT / "build").glob("*/explain/planted"))
    return subjects(folders, options.only)


def command(options: argparse.Namespace, folder: str) -> list[str]:
    """The command that explains a program, with its store in folder."""
    return shlex.split(options.explain.replace("STORE", shlex.quote(f"{folder}/runs.db")))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    options = parser.parse_args(arguments)
    found = chosen(options)
    if not found:
        print("bars: no such programs are built; run: ./threadmark test", file=sys.stderr)
        return 2

    def said(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        rows, interrupted = measure(found, command(options, folder), options.limit, said)
    if options.json:
        print(as_json(rows, interrupted=interrupted))
    else:
        print(f"{table(rows)}\n\n{summary(bars(rows))}")
        if interrupted:
            print(f"interrupted after {len(rows)} of {len(found)} programs")
    if interrupted:
        return 130
    return 0 if all(bar.held for bar in bars(rows)) else 1


if __name__ == "__main__":
    sys.exit(main())

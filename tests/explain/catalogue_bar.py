#!/usr/bin/env python3
"""Explains programs of the catalogue and compares the answers with their cards.

Under "Explained as" a card has the file of knowledge by which explain must name the cause of a
variant, and the variants that scale. Each variant runs on two threads, and neither works alone. The
exit status is 1 if a bar is missed. After Control-C the script prints the results so far.
Usage: tests/explain/catalogue_bar.py [--only PATTERN] [--build FOLDER] [--explain COMMAND] [--json]
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "lab")]
from threadmark.kinds.catalogue import cards  # noqa: E402
from threadmark.kinds.catalogue.cards import Explained  # noqa: E402
from threadmark.kinds.explain.knowledge import category  # noqa: E402

import bars as planted  # noqa: E402

_RIGHT = 0.90  # of the variants that do not scale
_CERTAIN = 0.80  # of the right ones
_THREADS = 2


@dataclass(frozen=True)
class Subject:
    """A variant that one compiler built."""

    program: str
    platform: str
    path: Path
    expected: Explained

    @property
    def scales(self) -> bool:
        return not self.expected.knowledge

    def command(self, seconds: float) -> list[str]:
        words = ["--run", "--threads", str(_THREADS), "--seconds", f"{seconds:g}"]
        return [str(self.path), *words, "--variant", self.expected.variant]


@dataclass(frozen=True)
class Row:
    """The answer of explain for a subject. `problem`: the reason for which there is none."""

    subject: Subject
    category: str = ""
    knowledge: str = ""
    name: str = ""
    share: float = 0.0
    certain: bool = False
    problem: str = ""

    @property
    def right(self) -> bool:
        """Whether the first cause is the card's. If the variant scales, the first cause must be
        `none` or not certain."""
        if self.problem:
            return False
        if self.subject.scales:
            return self.category == "none" or not self.certain
        return self.knowledge in self.subject.expected.knowledge

    @property
    def misleads(self) -> bool:
        """Whether the answer is certain of a cause of another category than the card's."""
        expected = {category(name) for name in self.subject.expected.knowledge} or {"none"}
        return self.certain and not self.problem and self.category not in expected

    @property
    def remark(self) -> str:
        if self.right:
            return "" if self.certain else "not certain"
        if self.problem:
            return self.problem
        if not self.subject.scales and self.category == "none":
            return "NO CAUSE"
        expected = {category(name) for name in self.subject.expected.knowledge}
        if self.category in expected:
            return "WRONG KNOWLEDGE"
        return "WRONG, and certain" if self.misleads else "WRONG"


def subjects(builds: Iterable[Path], patterns: Sequence[str]) -> list[Subject]:
    """The variants on the cards, for the programs in folders `.../PLATFORM/bin`, for each
    platform."""
    found = []
    for folder in builds:
        platform = folder.resolve().parent.name
        for path in sorted(folder.glob("*.threads")):
            program = path.name.partition(".")[0]
            card = cards.read(program)
            if card is None or not any(fnmatch.fnmatch(program, p) for p in patterns or ["*"]):
                continue
            for each in card.explained:
                if each.library in ("", _library(platform)):
                    found.append(Subject(program, platform, path, each))
    return sorted(found, key=lambda each: (each.program, each.platform, each.scales))


def _library(platform: str) -> str:
    """The name of the standard library of a platform."""
    return next((name for name in ("libstdc++", "libc++") if name in platform), "")


def explain(subject: Subject, command: Sequence[str], seconds: float, limit_s: float) -> Row:
    """Run explain on a subject."""
    try:
        done = subprocess.run(
            [*command, *subject.command(seconds)],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        return Row(subject, problem=f"not at its end after {limit_s:.0f} s")
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return Row(subject, problem=f"status {done.returncode}: {last[0]}")
    try:
        return judge(subject, planted.read_json(done.stdout))
    except (ValueError, LookupError, TypeError):
        return Row(subject, problem="no answer of explain in the output")


def judge(subject: Subject, said: dict[str, Any]) -> Row:
    """Judge a subject by the first cause of an answer."""
    first = said["causes"][0]
    if said["exit_status"]:
        return Row(subject, problem=f"the program ended with status {said['exit_status']}")
    return Row(
        subject,
        category=first["category"],
        knowledge=(first["knowledge"] or "").removesuffix(".toml"),
        name=first["name"],
        share=first["share"],
        certain=first["certain"],
    )


def bars(rows: Sequence[Row]) -> list[planted.Bar]:
    """The bars over these rows."""
    slow = [row for row in rows if not row.subject.scales]
    right = [row for row in slow if row.right]
    certain = sum(row.certain for row in right)
    wrong = sum(row.misleads for row in rows)
    return [
        planted.Bar("card's cause named", _part(len(right), len(slow)), _RIGHT, True),
        planted.Bar("right and certain", _part(certain, len(right)), _CERTAIN, True),
        planted.Bar("wrong and certain", wrong if rows else None, 0, False),
    ]


def _part(some: int, of: int) -> float | None:
    return some / of if of else None


def table(rows: Sequence[Row]) -> str:
    """One line for each row, with its errors."""
    lines = [("program", "variant", "platform", "expected", "got", "share", "certain", "remark")]
    for row in rows:
        names = row.subject.expected.knowledge
        expected = " or ".join(f"{category(name)} {name}" for name in names) or "none"
        lines.append(
            (
                row.subject.program,
                row.subject.expected.variant,
                row.subject.platform,
                expected,
                f"{row.category} {row.knowledge}".strip() or "-",
                f"{row.share:.0%}",
                "yes" if row.certain else "no",
                row.remark or "right",
            )
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def as_json(rows: Sequence[Row], *, interrupted: bool) -> str:
    """The rows and bars as JSON."""
    listed = [
        {
            "program": row.subject.program,
            "platform": row.subject.platform,
            "variant": row.subject.expected.variant,
            "expected": row.subject.expected.knowledge,
            **{key: value for key, value in asdict(row).items() if key != "subject"},
            "right": row.right,
        }
        for row in rows
    ]
    held = [{**asdict(bar), "held": bar.held} for bar in bars(rows)]
    document = {"schema": "threadmark.explain-catalogue", "version": 1, "interrupted": interrupted}
    return json.dumps({**document, "rows": listed, "bars": held}, indent=1)


def measure(
    chosen: Sequence[Subject], judged: Callable[[Subject], Row], said: Callable[[str], None]
) -> tuple[list[Row], bool]:
    """Explain each; returns the rows, and whether the user interrupted."""
    rows: list[Row] = []
    try:
        for number, each in enumerate(chosen, 1):
            variant = f"{each.program} {each.expected.variant}"
            said(f"{number} of {len(chosen)}: {variant}, {each.platform}")
            rows.append(judged(each))
    except KeyboardInterrupt:
        return rows, True
    return rows, False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="programs, by name or pattern")
    parser.add_argument("--build", action="append", type=Path, help="a folder .../PLATFORM/bin")
    parser.add_argument("--explain", default=planted.EXPLAIN, help="the command")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each variant")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a program")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    options = parser.parse_args(arguments)
    folders = options.build or [
        path for path in sorted((ROOT / "build").glob("*/bin")) if _library(path.parent.name)
    ]
    chosen = subjects(folders, options.only)
    if not chosen:
        print("catalogue: no such programs are built; run: ./threadmark setup", file=sys.stderr)
        return 2

    def said(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        command = shlex.split(options.explain.replace("STORE", shlex.quote(f"{folder}/runs.db")))

        def judged(subject: Subject) -> Row:
            return explain(subject, command, options.seconds, options.limit)

        rows, interrupted = measure(chosen, judged, said)
    if options.json:
        print(as_json(rows, interrupted=interrupted))
    else:
        print(f"{table(rows)}\n\n{planted.summary(bars(rows))}")
        if interrupted:
            print(f"interrupted after {len(rows)} of {len(chosen)} programs")
    if interrupted:
        return 130
    return 0 if all(bar.held for bar in bars(rows)) else 1


if __name__ == "__main__":
    sys.exit(main())

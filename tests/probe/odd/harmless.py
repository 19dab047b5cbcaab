#!/usr/bin/env python3
"""Runs odd programs alone and recorded, in turns, and prints each visible difference.

Output, exit status or signal, processes and files left behind must be the same, the program must
end, and the record must be whole. The programs are those of the tests' build, and those of the
installed interpreters. The exit status is 1 if anything differs.
Usage: tests/probe/odd/harmless.py [--only PATTERN] [--runs N] [--calls N] [--without-perf]
    [--build FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import difflib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import cases as all_cases
import observed
from cases import Case
from observed import Outcome

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Row:
    """A case with its results. `differences` has each kind once, with its first example."""

    case: Case
    runs: int = 0
    alone: Outcome | None = None  # the first run, with which the others are compared
    differences: dict[str, str] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    alone_s: float = 0.0
    recorded_s: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the case has a difference that is not known."""
        return bool(self.differences) and not self.case.known

    def differs(self, kind: str, example: str) -> None:
        self.times[kind] = self.times.get(kind, 0) + 1
        self.differences.setdefault(kind, example)


class Runner:
    """Runs cases with one recorder."""

    def __init__(
        self,
        recorder: Path,
        folder: Path,
        limit_s: float,
        keep: Path | None = None,
        within: Sequence[str] = (),
    ) -> None:
        """`within`: the beginning of each command."""
        self.recorder = recorder
        self.within = within
        self.folder = folder
        self.limit_s = limit_s
        self.keep = keep

    def turn(self, row: Row) -> None:
        """One run alone and one recorded; the first of the two alternates."""
        if row.runs % 2:
            self._recorded(row)
            self._alone(row)
        else:
            self._alone(row)
            self._recorded(row)
        row.runs += 1

    def _alone(self, row: Row) -> None:
        seen = self._run(row.case, row.case.command)
        row.alone_s += seen.wall_s
        if row.alone is None:
            row.alone = seen
        else:
            _compare(row, seen, "the program alone: ")

    def _recorded(self, row: Row) -> None:
        record = self.folder / "record"
        before = dict(row.times)
        seen = self._run(
            row.case, [str(self.recorder), "-o", str(record), "--follow", "--", *row.case.command]
        )
        row.recorded_s += seen.wall_s
        _compare(row, seen, "")
        if not seen.hung:
            self._check(row, record, seen)
        if self.keep and row.times != before and record.exists():
            place = self.keep / f"{row.case.name.replace(' ', '.')}.{row.runs}"
            shutil.copy(record, f"{place}.tmr")
            Path(f"{place}.output").write_bytes(seen.output + seen.errors)
        record.unlink(missing_ok=True)

    def _run(self, case: Case, command: Sequence[str]) -> Outcome:
        chosen = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "EMPTY": ""}
        preload = {"LD_PRELOAD": case.preload} if case.preload else {}
        line = [*self.within, *command]
        return observed.run(line, preload | chosen, self.folder / "home", self.limit_s)

    def _check(self, row: Row, record: Path, seen: Outcome) -> None:
        """Check the record: it must be readable to its end, complete, and of this run."""
        line = [str(self.recorder), "--print", str(record)]
        done = subprocess.run(line, check=False, capture_output=True, timeout=self.limit_s)
        lines = done.stdout.splitlines()
        if done.returncode != 0 or not lines or json.loads(lines[-1]) != {"kind": "end"}:
            return row.differs("record", f"not readable: {done.stderr.decode(errors='replace')}")
        head = json.loads(lines[0])
        if not head["complete"]:
            row.differs("record", f"not complete: {head['limits']}")
        status = -head["signal"] if head["signal"] else head["exit_status"]
        if status != seen.status:
            row.differs("record", f"tells of status {status}, not {seen.status}")
        if row.case.agent is not None and head["tier"]["agent"] != row.case.agent:
            row.differs("record", f"agent: {head['tier']['agent']}; {head['limits']}")
        if lost := {
            key: value for key, value in head["lost"].items() if value and key != "samples"
        }:
            row.differs("record", f"lost {lost}")
        return None


def _compare(row: Row, seen: Outcome, prefix: str) -> None:
    expected = row.alone
    assert expected is not None
    if seen.hung:
        return row.differs(f"{prefix}hangs", seen.hung)
    if seen.status != expected.status:
        row.differs(f"{prefix}status", f"{seen.status}, not {expected.status}")
    for kind, was, now in (
        ("output", expected.output, seen.output),
        ("errors", expected.errors, seen.errors),
    ):
        if was != now:
            row.differs(f"{prefix}{kind}", _difference(was, now))
    if seen.left != expected.left:
        row.differs(f"{prefix}processes", f"left behind: {seen.left}, not {expected.left}")
    if seen.files != expected.files:
        row.differs(f"{prefix}files", f"left behind: {seen.files}, not {expected.files}")
    return None


def _difference(was: bytes, now: bytes) -> str:
    before, after = (text.decode(errors="replace").splitlines() for text in (was, now))
    lines = list(difflib.unified_diff(before, after, "alone", "recorded", lineterm="", n=0))
    return "\n".join([line for line in lines if line[:2] not in ("--", "++", "@@")][:20])


def table(rows: Sequence[Row]) -> str:
    """One line for each case, with its differences below it."""
    width = max([len(row.case.name) for row in rows], default=0)
    lines = [f"{'case':{width}}  {'runs':>5}  {'alone':>7}  {'recorded':>8}"]
    for row in rows:
        shown = ", ".join(f"{kind} in {row.times[kind]}" for kind in row.differences) or "same"
        if row.differences and row.case.known:
            shown = f"{shown}; known: {row.case.known}"
        alone, recorded = (
            f"{1e3 * s / max(1, row.runs):.0f} ms" for s in (row.alone_s, row.recorded_s)
        )
        lines.append(f"{row.case.name:{width}}  {row.runs:5}  {alone:>7}  {recorded:>8}  {shown}")
        for kind, example in ({} if row.case.known else row.differences).items():
            lines += [f"    {kind}: {line}" for line in example.splitlines()]
    return "\n".join(lines)


def as_json(rows: Sequence[Row], missing: Sequence[str], *, interrupted: bool) -> str:
    """The rows as JSON."""
    listed: list[dict[str, Any]] = [
        {
            "case": row.case.name,
            "runs": row.runs,
            "differences": row.differences,
            "known": row.case.known,
            "times": row.times,
            "alone_s": row.alone_s,
            "recorded_s": row.recorded_s,
        }
        for row in rows
    ]
    document = {"schema": "threadmark.harmless", "version": 1, "interrupted": interrupted}
    return json.dumps({**document, "rows": listed, "missing": list(missing)}, indent=1)


def measure(runner: Runner, rows: Sequence[Row], runs: int, said: Callable[[str], None]) -> bool:
    """Divide `runs` recorded runs among the cases; returns whether the user interrupted."""
    share = math.ceil(runs / len(rows))
    of_limited = [min(row.case.most, share) for row in rows if row.case.most is not None]
    others = max(1, len(rows) - len(of_limited))
    most = max(1, math.ceil((runs - sum(of_limited)) / others))
    quota = [most if row.case.most is None else min(row.case.most, share) for row in rows]
    told = 0.0
    try:
        for turn in range(max(quota)):
            for row, limit in zip(rows, quota, strict=True):
                if turn >= limit:
                    continue
                runner.turn(row)
                if time.monotonic() > told + 10:
                    told = time.monotonic()
                    differing = sum(row.failed for row in rows)
                    done = sum(row.runs for row in rows)
                    said(f"{done} of some {sum(quota)} runs, {differing} cases differ")
    except KeyboardInterrupt:
        return True
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="cases, by name or pattern")
    parser.add_argument("--runs", type=int, default=0, help="recorded runs in all; else 2 of each")
    parser.add_argument("--calls", type=int, default=0, help="calls that signals may interrupt")
    parser.add_argument("--build", type=Path, help="a folder build/PLATFORM; else the newest")
    parser.add_argument("--recorder", type=Path, help="else that of the build")
    parser.add_argument(
        "--without-perf", action="store_true", help="the kernel refuses perf events, to both runs"
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one run")
    parser.add_argument("--keep", type=Path, help="a folder for records of runs that differed")
    parser.add_argument("--no-interpreters", action="store_true")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    options = parser.parse_args(arguments)
    built = sorted((ROOT / "build").glob("*/probe/odd"), key=lambda path: path.stat().st_mtime)
    build = options.build or (built[-1].parents[1] if built else None)
    needed = "probe/odd/refuse" if options.without_perf else "probe/odd"
    if build is None or not (build / needed).exists():
        print("harmless: the programs are not built; run: ./threadmark test", file=sys.stderr)
        return 2
    recorder = (options.recorder or build / "probe/threadmark-record").resolve()

    def said(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    observed.adopt_orphans()
    with tempfile.TemporaryDirectory() as folder:
        cases, missing = all_cases.of_build(build.resolve() / "probe/odd", options.calls)
        if not options.no_interpreters:
            more, absent = all_cases.of_interpreters(Path(folder))
            cases, missing = cases + more, missing + absent
        rows = [Row(case) for case in all_cases.chosen(cases, options.only)]
        if not rows:
            print("harmless: no such case; --only takes names and patterns", file=sys.stderr)
            return 2
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
        within = [str(build.resolve() / "probe/odd/refuse"), "perf_event_open"]
        within = within if options.without_perf else []
        runner = Runner(recorder, Path(folder), options.limit, options.keep, within)
        interrupted = measure(runner, rows, options.runs or 2 * len(rows), said)
    if options.json:
        print(as_json(rows, missing, interrupted=interrupted))
    else:
        print(table(rows))
        for reason in missing:
            print(f"left out: {reason}")
    if interrupted:
        return 130
    return 1 if any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

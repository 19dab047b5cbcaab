"""Runs the recorder and reads its record."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
Line = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """The lines of a record by their kind."""

    lines: list[Line]
    by_kind: dict[str, list[Line]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for line in self.lines:
            self.by_kind.setdefault(line["kind"], []).append(line)

    def all(self, kind: str) -> list[Line]:
        return self.by_kind.get(kind, [])

    @property
    def head(self) -> Line:
        return self.lines[0]

    def says(self, words: str) -> bool:
        return any(words in sentence for sentence in self.head["limits"])


@dataclass(frozen=True)
class Recorder:
    executable: Path
    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "record"

    def words(self, *command: str | Path, options: tuple[str, ...] = ()) -> list[str]:
        return [str(self.executable), "-o", str(self.file), *options, "--", *map(str, command)]

    def run(
        self, *command: str | Path, options: tuple[str, ...] = (), **how: Any
    ) -> subprocess.CompletedProcess[str]:
        """Record a command to its end."""
        return self.call(*self.words(*command, options=options)[1:], **how)

    def call(self, *words: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
        """Run the recorder with these words."""
        how.setdefault("timeout", 60)
        return subprocess.run(
            [str(self.executable), *map(str, words)],
            check=False,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            **how,
        )

    def read(self, file: Path | None = None) -> Record:
        """The output of --print: every line must be JSON, and the last one the end."""
        done = subprocess.run(
            [str(self.executable), "--print", str(file or self.file)],
            check=False,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
        assert lines[0]["kind"] == "record"
        assert lines[-1] == {"kind": "end"}
        return Record(lines)


def sentence(text: str) -> bool:
    """Whether a complaint of the recorder is one sentence on one line."""
    return (
        text.startswith("threadmark-record: ")
        and text.endswith(".\n")
        and text.count("\n") == 1
        and len(text) < 300
    )


def record(recorder: Recorder, target: Path, *words: str, agent: str = "") -> Record:
    """The record of targets/doing.cpp, whose threads do `words`."""
    options = ("--agent", agent) if agent else ()
    done = recorder.run(target, *words, options=options)
    assert (done.returncode, done.stderr) == (0, "")
    return read(recorder, done.stdout)


def read(recorder: Recorder, output: str) -> Record:
    """The record, with the lines that the target's threads printed about themselves."""
    found = recorder.read()
    for line in output.splitlines():
        word, tid, switches = line.split()
        found.by_kind.setdefault("said", []).append(
            {"word": word, "tid": int(tid), "switches": int(switches)}
        )
    return found


def said(found: Record, word: str) -> Line:
    """The numbers that the first thread with this word printed about itself."""
    return next(line for line in found.all("said") if line["word"] == word)


def samples_of(found: Record, word: str, switches: bool) -> list[Line]:
    """The samples of a thread when it left its processor, or when it ran."""
    tid = said(found, word)["tid"]
    return [s for s in found.all("sample") if s["tid"] == tid and ("switch" in s) == switches]


def functions(found: Record, target: Path, stack: int) -> list[str]:
    """The target's own functions in a stack, innermost first."""
    symbols = []
    names = subprocess.run(["nm", "-C", target], capture_output=True, text=True, check=True)
    for line in names.stdout.splitlines():
        parts = line.split(maxsplit=2)
        if len(parts) == 3 and parts[1] in "tT":
            symbols.append((int(parts[0], 16), parts[2]))
    symbols.sort()
    (module,) = {m["id"] for m in found.all("module") if m["path"] == str(target)}
    (frames,) = [s["frames"] for s in found.all("stack") if s["id"] == stack]
    addresses = [address for number, address in frames if number == module]
    return [max(s for s in symbols if s[0] < a)[1].partition("(")[0] for a in addresses]

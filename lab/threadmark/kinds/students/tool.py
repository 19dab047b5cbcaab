"""The program tmk-students, and the writers in its description."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from threadmark.model.errors import LabError
from threadmark.model.executable import Executable, stamp_of
from threadmark.model.places import BUILD

DEFAULT_TOOL = BUILD / "apps/bin/tmk-students"
PLATFORM = "apps"
PROGRAM = "students"
_ANSWER_S = 10


@dataclass(frozen=True)
class Writer:
    """A way to write the files. `threads` 0: the requested number. `serial` is the writer of the
    same method on one thread."""

    name: str
    threads: int
    serial: str
    flushes: bool  # a write for each line
    summary: str


def executable(path: Path) -> Executable:
    """The program with its writers in its description. LabError if it is absent or another
    program."""
    if not path.is_file() or not os.access(path, os.X_OK):
        raise LabError(
            f"{path} is not a program; build it with ./threadmark setup --apps, or name it with "
            "--tool."
        )
    variants = [{**asdict(each), "parallel": each.threads != 1} for each in _writers(_answer(path))]
    if not variants:
        raise LabError(f"{path} names no writers; build it again with ./threadmark setup --apps.")
    said = {"program": PROGRAM, "backend": "writers", "variants": variants, "platform": {}}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Executable(path, PLATFORM, PROGRAM, "writers", digest, stamp_of(path), said)


def writers(description: dict[str, Any]) -> dict[str, Writer]:
    """Name -> writer, of a description."""
    names = Writer.__dataclass_fields__
    found = [
        Writer(**{key: each[key] for key in names}) for each in description.get("variants", [])
    ]
    return {each.name: each for each in found}


def _answer(path: Path) -> str:
    try:
        done = subprocess.run(
            [str(path), "writers"], check=False, capture_output=True, text=True, timeout=_ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{path} cannot be asked for its writers ({error}); build it again.") from (
            error
        )
    return done.stdout if done.returncode == 0 else ""


def _writers(text: str) -> list[Writer]:
    found = []
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[1].isdecimal():
            name, threads, serial, flushes, summary = fields
            found.append(Writer(name, int(threads), serial, flushes == "flushes", summary))
    return found

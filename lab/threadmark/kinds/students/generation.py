"""One process of a writer: from a new folder to a row.

Every process is checked: all writers must write the same bytes for a number of students, although
they have different code.
"""

from __future__ import annotations

import re
import shutil
import signal
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from threadmark.kinds.students import selection
from threadmark.machine import load
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Attempts
from threadmark.measure.outcome import Attempt
from threadmark.measure.process import Ending, Killed
from threadmark.measure.schedule import Task
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError
from threadmark.model.executable import Executable
from threadmark.model.request import Request

_TOOK = re.compile(r"took (\d+(?:\.\d+)?) ms\n?\Z")
_PIECE = 1 << 20


class Generation:
    """Runs processes of a run; `rows` are those of its part before an interruption."""

    def __init__(
        self, request: Request, cells: dict[Cell, Executable], cage: Cage, rows: Iterable[Row]
    ) -> None:
        self._request = request
        self._cells = cells
        self._attempts = Attempts(request, cells, cage)
        self._folder = _folder_in(selection.asked(request).folder)
        # The folder goes also when an interrupt comes while a folder of a process is made or
        # removed.
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._written: dict[tuple[object, ...], str] = {}  # problem -> checksum of the files
        for row in rows:
            if row.status is Status.OK:
                self._written.setdefault(row.cell.problem, str(row.facts.get("written")))

    def __call__(self, task: Task) -> Sequence[Row]:
        """Run the process of a task; LabError if its folder cannot be made."""
        made = _folder_in(self._folder)
        try:
            line = selection.command_line(
                task.cell, self._cells[task.cell], self._request.seed, made
            )
            attempt, ending, _ = self._attempts.run(task, line)
            return [self._row(attempt, ending, Path(made))]
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _row(self, attempt: Attempt, ending: Ending, made: Path) -> Row:
        status, reason = _status(attempt, ending)
        took = _TOOK.search(ending.output)
        written = ""
        if status is Status.OK and took is None:
            status, reason = Status.CRASHED, f"it did not print its time: {ending.output!r:.100}"
        if status is Status.OK:
            written = checksum(made)
            first = self._written.setdefault(attempt.cell.problem, written)
            if written != first:
                status, reason = Status.WRONG, "its files differ from those of the other writers"
        ns = float(took[1]) * 1e6 if took and status is Status.OK else None
        repeat = {"event": "repeat", "repeat": 0, "warmup": False, "wall_ns": ns}
        if attempt.cell.backend != selection.MEMORY:  # its process also makes the bytes
            repeat["cpu_ns"] = round(ending.cpu_s * 1e9)
        disturbed = load.disturbance(
            ending.load, ending.wall_s, [repeat] if ns else [], attempt.cell.threads
        )
        return Row(
            cell=attempt.cell,
            round=attempt.round,
            status=status,
            reason=reason,
            sample_ns=ns,
            repeats=(repeat,) if ns else (),
            command=attempt.command,
            started_at=attempt.started_at,
            disturbed=disturbed if status is Status.OK else "",
            facts={
                "exit_code": ending.exit_code,
                "signal": ending.signal,
                "wall_s": round(ending.wall_s, 6),
                "cpu_s": round(ending.cpu_s, 6),
                "others_s": round(ending.load.others_s, 3),
                "steal_s": round(ending.load.steal_s, 3),
                "cpus": list(attempt.cpus),
                "environment": attempt.environment,
                "written": written,
                "stderr": ending.errors[-500:] if status is not Status.OK else "",
            },
        )


def _folder_in(parent: str) -> str:
    try:
        return tempfile.mkdtemp(prefix=".students-", dir=parent)
    except OSError as error:
        raise LabError(
            f"No folder can be made in {parent} ({error.strerror}); choose another --folder."
        ) from error


def checksum(folder: Path) -> str:
    """Name, size and CRC-32 of each file of a folder."""
    found = []
    for path in sorted(folder.iterdir()):
        value = 0
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                value = zlib.crc32(piece, value)
        found.append(f"{path.name} {path.stat().st_size} {value:08x}")
    return ", ".join(found)


def _status(attempt: Attempt, ending: Ending) -> tuple[Status, str]:
    said = (ending.errors.strip().splitlines() or ["it gave no reason"])[-1][:300]
    if ending.not_started:
        return Status.UNAVAILABLE, f"the program could not be started: {ending.not_started}"
    if ending.killed is Killed.TIME:
        return Status.TIMEOUT, f"it did not end within {attempt.repeat_limit_s:.0f} s"
    if ending.killed is Killed.MEMORY or ending.memory_events:
        return Status.OUT_OF_MEMORY, "it used more memory than four fifths of the free memory"
    if ending.killed is Killed.OUTPUT:
        return Status.CRASHED, "it printed without end"
    if ending.signal is not None:
        return Status.CRASHED, f"ended by {signal.strsignal(ending.signal)}"
    by_code = {0: Status.OK, 1: Status.REFUSED, 2: Status.UNAVAILABLE}
    status = by_code.get(ending.exit_code or 0, Status.CRASHED)
    return status, "" if status is Status.OK else said

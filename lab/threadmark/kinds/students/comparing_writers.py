"""One invocation of `students`: a session that also writes its table and pages into a folder. When
it is interrupted, it shows the results so far."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from threadmark.kinds.session import Session
from threadmark.kinds.students import recordings, selection
from threadmark.kinds.students.kind import KIND
from threadmark.model.cell import Cell, Stored
from threadmark.model.errors import LabError
from threadmark.model.places import hint
from threadmark.model.request import Request, Selection
from threadmark.options import Measuring
from threadmark.present import files
from threadmark.present.wording import say
from threadmark.store.store import Store

_INTERRUPTED = 130


@dataclass(frozen=True)
class Results:
    """The places of the results. Without `threads` nothing is recorded."""

    folder: Path
    threads: bool


class Comparison(Session):
    """One invocation."""

    def __init__(self, request: Request, options: Measuring, results: Results) -> None:
        super().__init__(KIND, request, options, Console(stderr=True))
        self.results = results

    def _selection(self) -> Selection:
        return KIND.select(self.request, (), ())

    def _measure(self, store: Store, run_id: int, selection: Selection) -> None:
        try:
            super()._measure(store, run_id, selection)
        except KeyboardInterrupt:
            self._show(store, run_id)
            again = hint(self.options.store, KIND.command, "--resume")
            say(self.console, f"`./threadmark students` was interrupted; `{again}` goes on.")
            self.status = _INTERRUPTED

    def _show(self, store: Store, run_id: int) -> None:
        stored = store.load(run_id)
        if stored.run.finished_at and self.results.threads:
            self._record(store, stored)
            stored = store.load(run_id)
        super()._show(store, run_id)
        self._write(store, stored)

    def _record(self, store: Store, stored: Stored) -> None:
        times: dict[Cell, float] = {}
        for row in stored.rows:
            if row.sample_ns:  # also of disturbed runs: it shows the length of a record
                times[row.cell] = min(row.sample_ns, times.get(row.cell, row.sample_ns))
        tool = next(iter(KIND.select(self.request, (), ()).cells.values()))
        cells = recordings.chosen(times)
        tell = partial(say, self.console)
        try:
            recordings.record(store, stored.run.id, cells, tool, self.request.seed, tell)
        except LabError as error:  # there is no recorder
            store.add_note(stored.run.id, str(error))
        except KeyboardInterrupt:
            self.status = _INTERRUPTED

    def _write(self, store: Store, stored: Stored) -> None:
        folder, found = self.results.folder, KIND.judge(stored)
        paths = [folder / "students.csv"]
        files.write_atomically(paths[0], KIND.export(stored, found, "csv"), "--out")
        if self.options.report:
            paths.append(folder / "students.html")
            files.write_atomically(paths[1], KIND.page(stored, found), "--out")
            paths += recordings.write_pages(store, recordings.recorded(stored), folder)
        say(self.console, f"Written: {', '.join(map(str, paths))}")


def perform(request: Request, options: Measuring, results: Results, *, given: bool) -> int:
    """Run a command line. `given`: it chooses a part of the run, with which --resume must then
    agree. Returns the exit status."""
    request.check()
    for name, folder in (
        ("--out", results.folder),
        ("--folder", Path(selection.asked(request).folder)),
    ):
        _check_folder(name, folder)
    comparison = Comparison(request, options, results)
    if options.resume:
        comparison.resume(given=given)
    elif options.dry_run:
        comparison.dry_run()
    else:
        comparison.run()
    return comparison.status


def _check_folder(name: str, folder: Path) -> None:
    if not folder.is_dir():
        raise LabError(f"{folder} is not a folder; create it or name another with {name}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LabError(
            f"{folder} cannot be written (permission); name another with {name}.", exit_code=1
        )

"""Threads over time: after a comparison, one process of each writer with threads is recorded, and
explain shows its running and waiting threads."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadmark.kinds.explain import invocation, probe, table
from threadmark.kinds.explain.kind import KIND
from threadmark.kinds.students import selection
from threadmark.model.cell import Cell, Stored
from threadmark.model.errors import LabError
from threadmark.model.executable import Executable
from threadmark.model.places import hint
from threadmark.present import files
from threadmark.store.store import Store

RECORDINGS = "recordings"  # the document of the comparison
LONGEST_S = 3.0  # a longer record is large, and shows no more


@dataclass(frozen=True)
class Recorded:
    """A writer with the run of explain about its threads."""

    run: int
    name: str
    answer: Mapping[str, Any]
    store: Path

    @property
    def summary(self) -> str:
        """The first cause and its cost."""
        return table.summary(self.answer["causes"][0])

    @property
    def command(self) -> str:
        """The command that shows the whole explanation."""
        return hint(self.store, "report", self.run)

    def lines(self, width: int) -> list[str]:
        """The lines of the explanation."""
        return [line.plain for line in table.lines(self.answer, width, utf8=True)]


def recorded(stored: Stored) -> list[Recorded]:
    """The recordings of a comparison, in the order in which they were made."""
    found = stored.documents.get(RECORDINGS, {}).get("writers", [])
    return [Recorded(each["run"], each["name"], each["answer"], stored.store) for each in found]


def chosen(times_ns: Mapping[Cell, float]) -> list[Cell]:
    """For each writer with threads, the cell with the largest number of students that takes no
    longer than LONGEST_S, or the smallest."""
    by_name: dict[str, list[Cell]] = {}
    for cell in times_ns:
        if cell.backend == selection.THREADS:
            by_name.setdefault(cell.variant, []).append(cell)
    found = []
    for cells in by_name.values():
        ordered = sorted(cells, key=selection.students)
        short = [each for each in ordered if times_ns[each] <= LONGEST_S * 1e9]
        found.append((short or ordered[:1])[-1])
    return found


def record(
    store: Store,
    run_id: int,
    cells: Sequence[Cell],
    tool: Executable,
    seed: int,
    say: Callable[[str], None],
) -> None:
    """Record a process of each cell as a run of the same store, named in the comparison. LabError
    if there is no recorder; an interrupt keeps the finished ones."""
    if cells:
        probe.recorder()
    done: list[Recorded] = []
    for cell in cells:
        say(f"Recording {cell.variant}, {selection.students(cell):,} students.")
        folder = tempfile.mkdtemp(prefix="students-")
        try:
            line = selection.command_line(cell, tool, seed, folder)
            with invocation.temporary(store.path) as made:
                probe.record(["--follow", "--", *line], made, apart=True)
                run, answer = invocation.analysed(made, store.path)
                invocation.kept(made, store.path, run)
        except LabError as error:
            store.add_note(run_id, f"{cell.variant} was not recorded: {error}")
            continue
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        done.append(Recorded(run, cell.variant, answer, store.path))
        fields = [{"run": e.run, "name": e.name, "answer": e.answer} for e in done]
        store.add_document(run_id, RECORDINGS, {"writers": fields})


def write_pages(store: Store, found: Sequence[Recorded], folder: Path) -> list[Path]:
    """Write the page of each recorded run, with its threads over time."""
    written = []
    for each in found:
        stored = store.load(each.run)
        path = folder / f"students-threads-{each.name}.html"
        files.write_atomically(path, KIND.page(stored, KIND.judge(stored)), "--out")
        written.append(path)
    return written

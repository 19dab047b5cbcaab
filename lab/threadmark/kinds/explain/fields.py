"""Explains the cells of a measured run that do not scale, the worst first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rich.console import Console

from threadmark.judge.findings import Judged
from threadmark.judge.verdict import Kind
from threadmark.kinds.explain import beside, probe, subject
from threadmark.kinds.explain.beside import EXPLANATIONS, Explained
from threadmark.machine.limits import default_limits
from threadmark.measure.cage import Cage
from threadmark.model.cell import Cell, Status
from threadmark.model.cell_name import cell_name
from threadmark.model.errors import LabError
from threadmark.model.request import Request, Selection
from threadmark.present.progress import Progress
from threadmark.store.store import Store

BUDGET_S = 300.0
_BAD = (Kind.SLOWER, Kind.CONTENDED, Kind.NONE, Kind.POORLY)


def worst(judged: Iterable[Judged]) -> list[Cell]:
    """The cells that decided a verdict of not scaling, the slowest first."""
    found = [
        (each.verdict.speedup.estimate, replace(each.cell, threads=each.verdict.at_threads))
        for each in judged
        if each.verdict.kind in _BAD and each.verdict.speedup and each.verdict.at_threads
    ]
    return [cell for _, cell in sorted(found)]


@dataclass
class Fields:
    """The explanations of one measured run; `budget_s` bounds the time that they take."""

    store: Store
    run_id: int
    request: Request
    selection: Selection
    budget_s: float = BUDGET_S
    done: list[Explained] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def explain(self, cells: Sequence[Cell], console: Console) -> None:
        """Explain as many of these cells as the budget allows, each as a run of the same store, and
        note the rest. An interrupt keeps the finished ones."""
        if cells:
            probe.recorder()
        begin = time.monotonic()
        with Cage(default_limits()) as cage, Progress(console) as progress:
            for number, cell in enumerate(cells):
                spent_s = time.monotonic() - begin
                each_s = spent_s / max(1, number)
                if spent_s + each_s > self.budget_s:
                    break
                left_s = min(self.budget_s - spent_s, each_s * (len(cells) - number))
                progress.before(cell, number, len(cells), left_s)
                progress.after(cell, self._one(cell, cage))
        for sentence in self._notes(cells):
            self.store.add_note(self.run_id, sentence)

    def _one(self, cell: Cell, cage: Cage) -> Status:
        executables = {(e.program, e.backend, e.platform): e for e in self.selection.executables}
        executable = executables[cell.program, cell.backend, cell.platform]
        try:
            made = subject.of_executable(cell, executable, seed=self.request.seed)
            run, answer = subject.explain(made, cage, self.store.path, of=self.run_id)
        except LabError as error:
            self.failed.append(str(error))
            return Status.CRASHED
        self.done.append(Explained(run, cell, answer, self.store.path))
        self.store.add_document(self.run_id, EXPLANATIONS, beside.document(self.done))
        return Status.OK

    def _notes(self, cells: Sequence[Cell]) -> list[str]:
        if not cells:
            return ["No field surely fails to scale, so none was explained."]
        left = cells[len(self.done) + len(self.failed) :]
        found = list(self.failed)
        if left:
            found.append(
                f"{len(left)} fields that do not scale were not explained within "
                f"{self.budget_s:.0f} s; one is explained by ./threadmark explain --cell "
                f"{cell_name(left[0])}."
            )
        return found

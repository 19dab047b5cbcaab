"""The kind of `catalogue`: ways to write one operation, which threads do at the same time.

A process gives a row for each number of threads. The run is not valid on a platform whose
calibration failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text

from threadmark.kinds.catalogue import COMMAND, judgement, process_rows, selection
from threadmark.kinds.catalogue.profiles import CATALOGUE, NOT_VALID, PROFILES
from threadmark.kinds.catalogue.rounds import Usual
from threadmark.kinds.catalogue.sampling import CatalogueSchedule
from threadmark.kinds.cells import CellKind
from threadmark.machine import host
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Attempts, Runner
from threadmark.measure.observation import Observation
from threadmark.measure.schedule import Task
from threadmark.model.cell import Cell, Row, Status, Stored
from threadmark.model.executable import Absence, Executable
from threadmark.model.request import Request, Selection

if TYPE_CHECKING:
    from threadmark.judge.findings import Judged
    from threadmark.kinds.catalogue.judgement import Catalogue


class Contention(CellKind):
    """Runs of the catalogue."""

    command = COMMAND
    profiles = (CATALOGUE,)
    options: ClassVar[dict[str, str]] = {"profile": "", "seed": "", "size": "profile"}
    contends = True
    first_thread_works = False

    def programs(self, executables: Sequence[Executable]) -> list[dict[str, object]]:
        found: dict[str, dict[str, object]] = {}
        for each in (each for each in executables if each.contends):
            said = each.description
            known = {"program": each.program, "what": said.get("summary", "")}
            known |= {"operation": said.get("operation", ""), "ways": list(each.variants)}
            found.setdefault(each.program, known)
        return list(found.values())

    def select(
        self, request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
    ) -> Selection:
        return selection.select(request, executables, absent)

    def measures(self, executable: Executable) -> bool:
        return executable.contends

    def steady(
        self, request: Request, cell: Cell, executable: Executable, seconds: float
    ) -> list[str]:
        order = host.turned(cell.threads, host.processors(), 0)
        line = selection.arguments(request, cell, executable, order)
        return [*line, "--seconds", f"{seconds:g}"]

    def schedule(self, request: Request, selection: Selection) -> CatalogueSchedule:
        cores = host.cores(host.processors())
        threads = max(p for p in (1, *request.threads) if p <= cores)

        def uncertainty(speedups: Sequence[float]) -> float:
            from threadmark.kinds.catalogue import scaling  # it loads scipy: not before round one

            return scaling.uncertainty(speedups, threads) if threads > 1 else 0.0

        return CatalogueSchedule(
            selection.cells,
            PROFILES[request.size],
            seed=request.order_seed or 0,
            budget_s=request.budget_s,
            uncertainty=uncertainty,
        )

    def runner(
        self, request: Request, selection: Selection, cage: Cage, rows: Sequence[Row]
    ) -> Runner:
        cells, order, usual = selection.cells, host.processors(), Usual()
        attempts = Attempts(request, cells, cage)
        for process in self.processes(rows):
            if process[0].status is Status.OK:
                usual.learn(process)
        return lambda task: _run(request, attempts, cells[task.cell], task, order, usual)

    def processes(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        return judgement.processes(rows)

    def observe(self, rows: Sequence[Row]) -> Observation:
        return judgement.observe(rows)

    def status(self, request: Request, found: Catalogue) -> int:
        return NOT_VALID if found.invalid and request.size != "smoke" else 0

    def judge(self, stored: Stored) -> Catalogue:
        return judgement.judge(stored.rows, stored.descriptions)

    def judged(self, found: Catalogue) -> Sequence[Judged]:
        return found.said

    def table(self, stored: Stored, found: Catalogue, width: int, *, utf8: bool) -> list[Text]:
        from threadmark.kinds.catalogue import table

        return table.lines(stored, found, width, utf8=utf8)

    def page(self, stored: Stored, found: Catalogue) -> str:
        from threadmark.kinds.catalogue import page

        return page.page(stored, found)

    def record(self, stored: Stored, found: Catalogue) -> dict[str, Any]:
        from threadmark.kinds.catalogue import records

        return records.catalogue_record(found)

    def summaries(self, found: Catalogue) -> Iterator[dict[str, Any]]:
        from threadmark.kinds.catalogue import records

        return map(records.summary, found.entries)


def _run(
    request: Request,
    attempts: Attempts,
    executable: Executable,
    task: Task,
    order: Sequence[host.Processor],
    usual: Usual,
) -> list[Row]:
    """Run one process of a cell; a row for each number of threads."""
    asked = selection.asked(request, task.cell, executable)
    turned = host.turned(task.cell.threads, order, task.round)
    argv = selection.arguments(request, task.cell, executable, turned)
    rows = process_rows.judge(asked, *attempts.run(task, argv), usual)
    for row in rows:
        own = [each for each in order if each.number in row.facts["cpus"]]
        row.facts["cores"] = host.cores(own)
    return rows


KIND = Contention()

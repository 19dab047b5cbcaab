"""One invocation of `catalogue`: like one of `run`, but a process gives several rows, and the run
is not valid where its calibration failed. Its options are in commands/catalogue.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from threadmark import machine
from threadmark.catalogue import outcome, selection
from threadmark.catalogue.judgement import processes, sample
from threadmark.catalogue.profiles import CALIBRATION, PROFILES
from threadmark.catalogue.rounds import Usual
from threadmark.cell import Cell, Row, Status
from threadmark.limits import Cage
from threadmark.measurement import Attempts, Measurement, Take
from threadmark.preparation import Prepared
from threadmark.schedule import Schedule, Task
from threadmark.selection import Selection
from threadmark.session import Session
from threadmark.store import Store


class CatalogueMeasurement(Measurement):
    """A run of the catalogue in progress."""

    def taker(self, cage: Cage) -> Take:
        """What runs one process and keeps its rows."""
        attempts = Attempts(self.request, self.selection.cells, cage)
        order = machine.processors()
        usual = Usual()
        for rows in processes(self.store.rows(self.run_id)):  # of a run that is resumed
            if rows[0].status is Status.OK:
                usual.learn(rows)

        def take(task: Task) -> Row:
            executable = self.selection.cells[task.cell]
            asked = selection.asked(self.request, task.cell, executable)
            argv = selection.arguments(self.request, task.cell, executable, order)
            rows = outcome.judge(asked, *attempts.run(task, argv), usual)
            for row in rows:
                own = [each for each in order if each.number in row.facts["cpus"]]
                row.facts["cores"] = machine.cores(own)
            self.store.append_all(self.run_id, rows)
            return sample(rows)

        return take


class CatalogueSchedule(Schedule):
    """Goes on with a cell until its verdict is clear at a look, and with the calibration as long as
    with any other cell: it decides about all that was measured beside it."""

    def record(self, row: Row) -> None:
        """Take note of a process. A disturbed one leaves no sample, however often it was taken
        again: with few others the interval stays open, and the cell goes on."""
        super().record(replace(row, sample_ns=None) if row.disturbed else row)

    def _uncertain(self, elapsed_s: float) -> list[Cell]:
        found = [c for c in super()._uncertain(elapsed_s) if c.program != CALIBRATION]
        always = [c for c, s in self._cells.items() if c.program == CALIBRATION and s.open]
        return [*always, *found] if found else []

    def _in_time(self, cells: Sequence[Cell], elapsed_s: float) -> list[Cell]:
        first = sorted(cells, key=lambda cell: cell.program != CALIBRATION)
        return super()._in_time(first, elapsed_s)

    def _may_drop(self, cell: Cell) -> bool:
        return cell.program != CALIBRATION

    def _is_loose(self, cell: Cell) -> bool:
        return False  # what is still open is `unclear` in the table


class CatalogueSession(Session):
    """One invocation of the command."""

    catalogue = True
    valid = True  # whether the calibration came out

    def _select(self, ready: Prepared) -> Selection:
        return selection.select(self.request, ready.executables, ready.absent)

    def _schedule(self, chosen: Selection) -> CatalogueSchedule:
        return CatalogueSchedule(
            chosen.cells,
            PROFILES[self.request.size],
            seed=self.request.order_seed or 0,
            budget_s=self.request.budget_s,
            uncertainty=self._uncertainty,
        )

    def _uncertainty(self, speedups: Sequence[float]) -> float:
        from threadmark.catalogue import verdict  # brings scipy: not before the first round

        cores = machine.cores(machine.processors())
        threads = max(p for p in (1, *self.request.threads) if p <= cores)
        return verdict.uncertainty(speedups, threads) if threads > 1 else 0.0

    def _measurement(self, store: Store, run_id: int, chosen: Selection) -> CatalogueMeasurement:
        return CatalogueMeasurement(store, run_id, self.request, chosen)

    def _measured(self, rows: Sequence[Row]) -> list[Row]:
        return [sample(each) for each in processes(rows)]

    def _show(self, store: Store, run_id: int) -> None:
        from threadmark.catalogue import judgement

        found = judgement.judge(store.rows(run_id), store.descriptions(run_id))
        self.valid = self.request.size == "smoke" or not found.invalid
        super()._show(store, run_id)

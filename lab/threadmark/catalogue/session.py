"""One invocation of `catalogue`: as of `run`, but a process gives several rows and the run may turn
out not to be valid. Its options are in commands/catalogue.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from threadmark import machine
from threadmark.catalogue import outcome, selection
from threadmark.catalogue.judgement import processes, sample
from threadmark.catalogue.profiles import CALIBRATION, FEWEST_PROCESSES, PROFILES
from threadmark.cell import Cell, Row
from threadmark.limits import Cage
from threadmark.measurement import Attempts, Measurement, Take
from threadmark.preparation import Prepared
from threadmark.schedule import Schedule, Task
from threadmark.selection import Selection
from threadmark.session import Session
from threadmark.store import Store


class CatalogueMeasurement(Measurement):
    """A run of the catalogue in progress."""

    def taker(self, cage: Cage, **facts: object) -> Take:
        """What runs one process and keeps its rows, with these facts added."""
        attempts = Attempts(self.request, self.selection.cells, cage)
        processors = len(machine.processors())

        def take(task: Task) -> Row:
            executable = self.selection.cells[task.cell]
            asked = selection.asked(self.request, task.cell, executable)
            argv = selection.arguments(self.request, task.cell, executable)
            rows = outcome.judge(asked, *attempts.run(task, argv))
            for row in rows:
                row.facts.update(facts)
            self.store.append_all(self.run_id, rows)
            return sample(rows, processors)

        return take

    def conclude(self, schedule: Schedule, cage: Cage) -> None:
        """Give the calibration one more chance where it did not come out."""
        from threadmark.catalogue import judgement

        if schedule.profile.min_samples < FEWEST_PROCESSES:
            return  # then there are no verdicts that it could be needed for
        take = self.taker(cage, retry=True)
        stored = self.store.rows(self.run_id)
        found = judgement.judge(stored, self.store.descriptions(self.run_id))
        wanted = {each.platform for each in found.invalid}
        cells = [
            cell
            for cell in self.selection.cells
            if cell.program == CALIBRATION and cell.platform in wanted
        ]
        first = 1 + max((row.round for row in stored), default=0)
        for number in range(first, first + schedule.profile.min_samples):
            for cell in cells:
                take(Task(cell, number, 1, schedule.profile.limit_floor_s))


class CatalogueSchedule(Schedule):
    """Goes on while a cell's interval lies on both sides of a limit of its verdict."""

    def record(self, row: Row) -> None:
        """Take note of a process. A disturbed one leaves no sample, however often it was taken
        again: with few others the interval stays open, and the cell goes on."""
        super().record(replace(row, sample_ns=None) if row.disturbed else row)

    def _shorten(self, cell: Cell) -> None:
        if cell.program != CALIBRATION:  # without it nothing else can be said
            super()._shorten(cell)

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
        """0 when the verdict is clear, else the relative half width of the interval."""
        from threadmark.catalogue import verdict  # brings scipy: not before the first round

        threads = max(p for p in (1, *self.request.threads) if p <= len(machine.processors()))
        is_open = threads > 1 and verdict.is_open(speedups, threads)
        return verdict.interval(speedups).half_width if is_open else 0.0

    def _measurement(self, store: Store, run_id: int, chosen: Selection) -> CatalogueMeasurement:
        return CatalogueMeasurement(store, run_id, self.request, chosen)

    def _measured(self, rows: Sequence[Row]) -> list[Row]:
        processors = len(machine.processors())
        return [sample(each, processors) for each in processes(rows)]

    def _show(self, store: Store, run_id: int) -> None:
        from threadmark.catalogue import judgement

        found = judgement.judge(store.rows(run_id), store.descriptions(run_id))
        self.valid = self.request.size == "smoke" or not found.invalid
        super()._show(store, run_id)

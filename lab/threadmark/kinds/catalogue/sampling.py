"""The amount and the order of the catalogue's measurements of each way."""

from __future__ import annotations

from collections.abc import Sequence

from threadmark.kinds.catalogue.profiles import CALIBRATION
from threadmark.measure.schedule import Schedule
from threadmark.model.cell import Cell


class CatalogueSchedule(Schedule):
    """Goes on with a cell until its verdict is clear at a look, and with the calibration as long as
    with any other cell, because the calibration decides about all cells beside it."""

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
        return False  # open verdicts are `unclear` in the table

"""The kind of `students`: the writers of tmk-students, which write the same files in turns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from threadmark.kinds.cells import CellKind
from threadmark.kinds.students import COMMAND, selection, tool
from threadmark.kinds.students.generation import Generation
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Runner
from threadmark.measure.observation import Observation, observation
from threadmark.measure.schedule import Schedule
from threadmark.model.cell import Cell, Row, Stored
from threadmark.model.effort import Profile
from threadmark.model.executable import Absence, Executable
from threadmark.model.request import Request, Selection

if TYPE_CHECKING:
    from threadmark.judge.findings import Judged
    from threadmark.kinds.students.judgement import Entry

PROFILE = "students"
_LIMIT_S = 900.0  # of one process


class _Turns(Schedule):
    """Runs each cell the requested number of times. With a budget any cell may be left out, the
    costliest first, because the lines of the table are independent."""

    def _may_drop(self, cell: Cell) -> bool:
        return True

    def notes(self) -> list[str]:
        return [each.replace("--programs", "--writers") for each in super().notes()]


class Students(CellKind):
    """Runs of `students`."""

    command = COMMAND
    profiles = (PROFILE,)
    formats = ("csv", "json", "google-benchmark")

    def select(
        self, request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
    ) -> Selection:
        return selection.select(request, tool.executable(Path(request.executables)))

    def schedule(self, request: Request, selection_: Selection) -> Schedule:
        runs = selection.asked(request).runs
        profile = Profile(
            name=PROFILE,
            summary="writers of tmk-students in turns",
            size="custom",
            min_samples=runs,
            max_samples=runs,
            target=math.inf,
            limit_floor_s=_LIMIT_S,
            limit_factor=1,
            limit_ceiling_s=_LIMIT_S,
        )
        return _Turns(
            selection_.cells,
            profile,
            seed=request.order_seed or 0,
            budget_s=request.budget_s,
            uncertainty=lambda _: 0.0,
        )

    def runner(
        self, request: Request, selection: Selection, cage: Cage, rows: Sequence[Row]
    ) -> Runner:
        return Generation(request, selection.cells, cage, rows)

    def processes(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        return [[row] for row in rows]

    def observe(self, rows: Sequence[Row]) -> Observation:
        return observation(rows[0])

    def judge(self, stored: Stored) -> list[Entry]:
        from threadmark.kinds.students import judgement

        return judgement.judge(stored.rows, stored.descriptions)

    def judged(self, found: Sequence[Entry]) -> Sequence[Judged]:
        return [each.judged for each in found if each.serial]

    def table(
        self, stored: Stored, found: Sequence[Entry], width: int, *, utf8: bool
    ) -> list[Text]:
        from threadmark.kinds.students import table

        return table.lines(stored, found, width, utf8=utf8)

    def page(self, stored: Stored, found: Sequence[Entry]) -> str:
        from threadmark.kinds.students import page

        return page.page(stored, found)

    def record(self, stored: Stored, found: Sequence[Entry]) -> dict[str, Any]:
        from threadmark.kinds.students import records

        return {"writers": [records.entry_record(each) for each in found]}

    def summaries(self, found: Sequence[Entry]) -> Iterator[dict[str, Any]]:
        from threadmark.kinds.students import records

        return map(records.entry_record, found)


KIND = Students()

"""The kind of `run`: task-parallel programs on backends, each against its serial form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from threadmark.kinds.cells import CellKind
from threadmark.kinds.tasks import COMMAND, listing, selection
from threadmark.kinds.tasks.profiles import PROFILES
from threadmark.kinds.tasks.prospects import prospects, uncertainty
from threadmark.measure import outcome
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Attempts, Runner
from threadmark.measure.observation import Observation, observation
from threadmark.measure.schedule import Schedule, Task
from threadmark.model.cell import Cell, Row, Stored
from threadmark.model.effort import IMPORTED
from threadmark.model.executable import Absence, Executable
from threadmark.model.request import Request, Selection
from threadmark.present import plain

if TYPE_CHECKING:
    from threadmark.judge.findings import Judged


class Tasks(CellKind):
    """Runs of `run`, and those that `import` reads."""

    command = COMMAND
    profiles = (*PROFILES, IMPORTED)

    def programs(self, executables: Sequence[Executable]) -> list[dict[str, object]]:
        return listing.programs(executables)

    def select(
        self, request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
    ) -> Selection:
        return selection.select(request, executables, absent)

    def measures(self, executable: Executable) -> bool:
        return not executable.contends

    def steady(
        self, request: Request, cell: Cell, executable: Executable, seconds: float
    ) -> list[str]:
        return selection.arguments(request, executable, cell, ["--seconds", f"{seconds:g}"])

    def schedule(self, request: Request, selection: Selection) -> Schedule:
        return Schedule(
            selection.cells,
            PROFILES[request.profile],
            seed=request.order_seed or 0,
            budget_s=request.budget_s,
            uncertainty=uncertainty,
            prospects=prospects,
        )

    def runner(
        self, request: Request, selection: Selection, cage: Cage, rows: Sequence[Row]
    ) -> Runner:
        run = runner(request, selection.cells, cage)
        return lambda task: [run(task)]

    def processes(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        return [[row] for row in rows]

    def observe(self, rows: Sequence[Row]) -> Observation:
        return observation(rows[0])

    def judge(self, stored: Stored) -> list[Judged]:
        from threadmark.kinds.tasks import judgement

        return judgement.judge(stored.rows, stored.descriptions)

    def judged(self, found: list[Judged]) -> Sequence[Judged]:
        return found

    def table(self, stored: Stored, found: list[Judged], width: int, *, utf8: bool) -> list[Text]:
        from threadmark.kinds.tasks import table

        return table.lines(stored, found, width, utf8=utf8)

    def page(self, stored: Stored, found: list[Judged]) -> str:
        from threadmark.kinds.tasks import page

        return page.page(stored, found)

    def picture(self, stored: Stored, found: list[Judged]) -> str:
        from threadmark.kinds.tasks import figure

        return figure.picture(found)

    def record(self, stored: Stored, found: list[Judged]) -> dict[str, Any]:
        return {"verdicts": [plain.judged_record(each) for each in found]}

    def summaries(self, found: list[Judged]) -> Iterator[dict[str, Any]]:
        from threadmark.present.summary import verdict_summary

        return map(verdict_summary, found)


def runner(request: Request, cells: dict[Cell, Executable], cage: Cage) -> Callable[[Task], Row]:
    """The function that runs one process of a cell. LabError if its executable was rebuilt."""
    attempts = Attempts(request, cells, cage)

    def run(task: Task) -> Row:
        repeats = ["--repeats", str(task.repeats)]
        argv = selection.arguments(request, cells[task.cell], task.cell, repeats)
        return outcome.judge(*attempts.run(task, argv))

    return run


KIND = Tasks()

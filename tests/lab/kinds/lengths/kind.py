"""The kind of `lengths`: two processes of each program, and their median."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text
from threadmark.judge.estimates import median
from threadmark.judge.findings import Judged
from threadmark.judge.verdict import Kind, Verdict
from threadmark.kinds.cells import CellKind
from threadmark.kinds.lengths import COMMAND
from threadmark.measure import outcome
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Attempts, Runner
from threadmark.measure.observation import Observation, observation
from threadmark.measure.schedule import Schedule
from threadmark.model.cell import Cell, Row, Stored
from threadmark.model.effort import Profile
from threadmark.model.executable import Absence, Executable
from threadmark.model.request import Request, Selection

PROFILE = Profile(
    name="lengths",
    summary="two of each",
    size="smoke",
    min_samples=2,
    max_samples=2,
    target=1.0,
    limit_floor_s=20,
    limit_factor=1,
    limit_ceiling_s=20,
)
Found = dict[Cell, list[Row]]


class Lengths(CellKind):
    """Lengths of programs."""

    command = COMMAND
    profiles = (PROFILE.name,)

    def select(
        self, request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
    ) -> Selection:
        cells = {
            Cell(e.program, request.size, e.backend, variant, e.platform, "glibc", 1): e
            for e in executables
            for variant in e.variants
        }
        return Selection(cells, {})

    def schedule(self, request: Request, selection: Selection) -> Schedule:
        draw = request.order_seed or 0
        none = lambda _: 0.0  # noqa: E731
        return Schedule(selection.cells, PROFILE, seed=draw, budget_s=None, uncertainty=none)

    def runner(
        self, request: Request, selection: Selection, cage: Cage, rows: Sequence[Row]
    ) -> Runner:
        attempts = Attempts(request, selection.cells, cage)
        words = ["--run", "--threads", "1", "--size", request.size, "--repeats", "1", "--variant"]
        paths = {cell: str(each.path) for cell, each in selection.cells.items()}
        return lambda task: [
            outcome.judge(
                *attempts.run(task, [paths[task.cell], *words, task.cell.variant, "--seed", "1"])
            )
        ]

    def processes(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        return [[row] for row in rows]

    def observe(self, rows: Sequence[Row]) -> Observation:
        return observation(rows[0])

    def judge(self, stored: Stored) -> Found:
        found: Found = {}
        for row in (row for row in stored.rows if row.sample_ns):
            found.setdefault(row.cell, []).append(row)
        return found

    def judged(self, found: Found) -> Sequence[Judged]:
        none = Verdict(Kind.NONE, "measured")
        return [Judged(cell, none, None, {}, {1: tuple(rows)}) for cell, rows in found.items()]

    def table(self, stored: Stored, found: Found, width: int, *, utf8: bool) -> list[Text]:
        return [Text(f"{cell.program} {len(rows)} processes") for cell, rows in found.items()]

    def page(self, stored: Stored, found: Found) -> str:
        return f"<!doctype html><title>Threadmark: run {stored.run.id}</title>"

    def record(self, stored: Stored, found: Found) -> dict[str, Any]:
        return {"lengths": list(self.summaries(found))}

    def summaries(self, found: Found) -> Iterator[dict[str, Any]]:
        for cell, rows in found.items():
            yield {"program": cell.program, "ns": median([row.sample_ns or 0.0 for row in rows])}


KIND = Lengths()

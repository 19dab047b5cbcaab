"""A kind of run whose rows are processes of cells that a schedule chose."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from threadmark.kinds.kind import Answer, Question, RunKind
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Runner
from threadmark.measure.observation import Observation
from threadmark.measure.schedule import Schedule
from threadmark.model.cell import Cell, Row, Run, Stored
from threadmark.model.errors import LabError
from threadmark.model.executable import Absence, Executable
from threadmark.model.names import closest
from threadmark.model.request import Request, Selection

if TYPE_CHECKING:
    from threadmark.judge.comparison import Outcome
    from threadmark.judge.findings import Agreement, Judged


class CellKind(RunKind):
    """A kind that is measured by schedule. Sessions are the same for all of them."""

    formats: ClassVar[tuple[str, ...]] = ("csv", "json", "google-benchmark", "summary")
    compares_cells = True
    # The options of its command for request fields with another name; "" for none.
    options: ClassVar[Mapping[str, str]] = {}
    # Whether its programs are the contention programs.
    contends: ClassVar[bool] = False
    # Whether the first thread of a process takes part in the measurement if there are others.
    first_thread_works: ClassVar[bool] = True

    def programs(self, executables: Sequence[Executable]) -> list[dict[str, object]]:
        """The output of `list` for the programs that it measures."""
        return []

    @abstractmethod
    def select(
        self, request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
    ) -> Selection:
        """The cells of a request. LabError for an unknown name."""

    def measures(self, executable: Executable) -> bool:
        """Whether the executable is a program of this kind, so that explain can explain its
        cells."""
        return False

    def steady(
        self, request: Request, cell: Cell, executable: Executable, seconds: float
    ) -> list[str]:
        """The command line of a process that runs only this cell for that long, after one
        warm-up."""
        raise NotImplementedError

    @abstractmethod
    def schedule(self, request: Request, selection: Selection) -> Schedule:
        """The order of measuring."""

    @abstractmethod
    def runner(
        self, request: Request, selection: Selection, cage: Cage, rows: Sequence[Row]
    ) -> Runner:
        """The function that runs the processes. `rows` are those of the resumed part of the run."""

    @abstractmethod
    def processes(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        """The rows of each process, in the order of measuring."""

    @abstractmethod
    def observe(self, rows: Sequence[Row]) -> Observation:
        """The observation of a process for a schedule, by its rows."""

    @abstractmethod
    def judged(self, found: Any) -> Sequence[Judged]:
        """The verdicts for a comparison of two runs."""

    @abstractmethod
    def summaries(self, found: Any) -> Iterator[dict[str, Any]]:
        """The fields of each verdict that a document may publish."""

    def document(self, stored: Stored, found: Any) -> dict[str, Any]:
        from threadmark.kinds.explain import beside

        return super().document(stored, found) | {"explanations": beside.records(stored)}

    def status(self, request: Request, found: Any) -> int:
        """The exit status of the command, beyond processes that crashed or gave wrong answers."""
        return 0

    def export(self, stored: Stored, found: Any, form: str) -> str:
        from threadmark.present import foreign_formats, summary

        if form == "csv":
            return foreign_formats.to_csv(stored)
        if form == "google-benchmark":
            return foreign_formats.to_google_benchmark(stored)
        if form == "summary":
            command = summary.command(stored.run, self.command, self.options)
            return summary.to_summary(stored, command, self.summaries(found))
        return self.json(stored, found)

    def agree(self, a: Stored, b: Stored, question: Question) -> Answer:
        from threadmark.judge import comparison, findings

        _check_programs(question, (a, b))
        outcome = comparison.compare_runs(a.rows, b.rows, partial(_same_executable, a.run, b.run))
        # The judge gets all rows, because their samples have a part in each verdict.
        said = [
            [
                each
                for each in self.judged(self.judge(stored))
                if not question.programs or each.cell.program in question.programs
            ]
            for stored in (a, b)
        ]
        return _compared(outcome, question, findings.agreement(*said))

    def sides(self, stored: Stored, question: Question) -> Answer:
        from threadmark.judge import comparison

        _check_programs(question, (stored,))
        return _compared(comparison.compare_sides(stored.rows, *question.names), question, None)


def _check_programs(question: Question, runs: Sequence[Stored]) -> None:
    known = sorted({row.cell.program for stored in runs for row in stored.rows})
    for name in question.programs:
        if name not in known:
            raise LabError(
                f"There is no program '{name}' in it{closest(name, known)}; "
                f"it has {', '.join(known)}."
            )


def _same_executable(first: Run, second: Run, cell: Cell) -> bool:
    """Whether both runs are known to have measured the same file for a cell."""
    name = f"{cell.platform}/{cell.program}.{cell.backend}"
    digests = [each.machine.get("executables", {}).get(name) for each in (first, second)]
    return first.id == second.id or (digests[0] == digests[1] is not None)


def _compared(outcome: Outcome, question: Question, agreement: Agreement | None) -> Answer:
    from threadmark.judge.gate import gate
    from threadmark.present.comparison_text import Compared

    if question.programs:
        outcome = outcome.of_programs(question.programs)
    if not question.every_thread_count:
        outcome = outcome.at_most_threads()
    share = question.fail_above
    found = None if share is None else gate(outcome, share)
    return Compared(question.names, outcome, agreement, found)

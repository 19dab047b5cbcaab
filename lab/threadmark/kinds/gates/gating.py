"""One invocation of `gate`: the rounds, their sufficient number, and the output files."""

from __future__ import annotations

import math
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from threadmark.fixes.fix import Setting
from threadmark.judge.pairs import FEWEST
from threadmark.kinds.explain.briefly import explained
from threadmark.kinds.gates import demands, judgement, reports
from threadmark.kinds.gates.demands import Demand
from threadmark.kinds.gates.judgement import Found, Verdict
from threadmark.kinds.gates.kind import CAUSES, KIND, causes_of, name_of
from threadmark.kinds.program_runs import cell_of, one_run
from threadmark.machine import host, load
from threadmark.machine.limits import default_limits
from threadmark.measure.cage import Cage
from threadmark.model.cell import Row, Status
from threadmark.model.effort import parse_seconds
from threadmark.model.errors import LabError
from threadmark.model.names import check_name
from threadmark.model.places import hint
from threadmark.model.workload import Workload, threads_in_words
from threadmark.present import files
from threadmark.present.progress import Progress
from threadmark.present.terminal import print_table
from threadmark.present.wording import duration
from threadmark.store.store import Store

BUDGET_S = 120.0
MOST_ROUNDS = 200
STATUS = {Verdict.PASSED: 0, Verdict.FAILED: 1, Verdict.UNDECIDED: 3}
_LIMIT = 5.0  # times the usual time
_LEAST_LIMIT_S = 2.0
_FIRST_SHARE = 0.5  # of the budget, for a run of the first round
_FOR_BASELINE = 12  # rounds
_SUMMARY = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True)
class Wanted:
    """The demands of the command line."""

    efficiency: str = ""
    speedup: str = ""
    baseline: Path | None = None
    by: str = ""
    write: Path | None = None
    explain: bool = True
    budget: str = ""

    def demands(self, workload: Workload) -> list[Demand]:
        """All demands. LabError if there is none, or if they contradict each other."""
        if self.by and self.baseline is None:
            raise LabError("--by is for a baseline; give --no-worse-than FILE too.")
        found = demands.efficiencies(self.efficiency) + demands.speedups(self.speedup)
        if self.baseline is not None:
            allowed = demands.share(self.by or "5%")
            found += demands.of_baseline(self.baseline, allowed, workload.words)
        if not found and self.write is None:
            raise LabError(
                "Give a demand, such as --min-efficiency 0.7@2, or keep the speed-ups of the "
                "program with --write-baseline FILE."
            )
        return found


@dataclass(frozen=True)
class Outputs:
    """The files beside the answer."""

    junit: Path | None = None
    summary: Path | None = None
    annotations: str = ""
    as_json: bool = False

    @property
    def appended(self) -> Path | None:
        """The file of the summary, which a service may name."""
        of_service = os.environ.get(_SUMMARY)
        return self.summary or (Path(of_service) if of_service else None)

    def check(self) -> None:
        """LabError for an unknown form of annotations."""
        if self.annotations:
            check_name("form of annotations", self.annotations, reports.FORMS)

    def check_places(self) -> None:
        """LabError if a file cannot be written, before any measurement."""
        if self.junit is not None:
            files.check_place(self.junit, "--junit")
        if self.appended is not None:
            files.check_appendable(self.appended, "--summary")

    def write(self, name: str, found: Found, causes: Sequence[str]) -> None:
        """Write the files. LabError, after the others, if one of them can no longer be written."""
        try:
            if self.junit is not None:
                files.write_atomically(self.junit, reports.junit(name, found, causes), "--junit")
        finally:
            if self.appended is not None:
                files.append(self.appended, reports.markdown(name, found, causes), "--summary")

    def annotate(self, name: str, found: Found, causes: Sequence[str]) -> None:
        """Print the lines for the service that runs this."""
        form = self.annotations or reports.form_here()
        for each in reports.annotated(form, name, found, causes):
            (sys.stderr if self.as_json else sys.stdout).write(f"{each}\n")


def perform(workload: Workload, wanted: Wanted, outputs: Outputs, path: Path) -> int:
    """Run the gate; returns the exit status."""
    outputs.check()
    workload.no_program(KIND.command)  # a wrong option may have been meant as the demand
    asked = wanted.demands(workload)
    budget_s = parse_seconds(wanted.budget) if wanted.budget else BUDGET_S
    given = set(workload.counts) - {0}
    counts = sorted({1, *given, *(each.threads for each in asked)})
    if len(counts) < 2:
        raise LabError("A baseline needs two or more numbers of threads; give --threads 1,2.")
    workload = replace(workload, threads=",".join(map(str, counts)))
    workload.faults(KIND.command)
    outputs.check_places()
    if wanted.write is not None:
        files.check_place(wanted.write, demands.WRITE)
    request = {
        "workload": workload.as_json(),
        "demands": [asdict(each) for each in asked],
        "budget_s": budget_s,
    }
    with ExitStack() as stack:
        loop = stack.enter_context(_loop(workload, asked, wanted, budget_s))
        loop.first()
        store = stack.enter_context(Store.open(path, create=True))
        number = store.start_run(KIND.profiles[0], loop.seed, request, host.facts())
        loop.measure(partial(store.append_all, number))
        found = judgement.judge(loop.rows, asked)
        if found.verdict is Verdict.FAILED and wanted.explain and not found.failure:
            said = _explained(workload, found, path)
            if said:
                store.add_document(number, CAUSES, said)
        store.finish(number)
        stored = store.load(number)
    told = name_of(stored), found, causes_of(stored)
    outputs.annotate(*told)
    if outputs.as_json:
        sys.stdout.write(KIND.json(stored, found))
    else:
        print_table(Console(), partial(KIND.table, stored, found))
        sys.stdout.write(f"Run {number}; page: {hint(path, 'report', number)}\n")
    outputs.write(*told)
    if wanted.write is not None:
        _write_baseline(wanted.write, workload, found)
    return STATUS[found.verdict]


@dataclass
class Loop:
    """Rounds of a run with each number of threads, in a random order, until all demands are
    decided."""

    run: Callable[[int, int, float], Row]  # threads, round, limit in seconds
    counts: Sequence[int]
    demands: Sequence[Demand]
    budget_s: float
    least: int = 0  # rounds even if all is decided
    seed: int = 0
    clock: Callable[[], float] = time.monotonic
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._order = random.Random(self.seed)
        self._limits: dict[int, float] = {}

    def first(self) -> None:
        """A round that only warms up. LabError if the program is too slow for the budget, but not
        if it fails."""
        took = self._round(0, lambda _: None)
        if not self._failed() and took * (FEWEST + 1) > self.budget_s:
            raise LabError(
                f"A round takes {duration(1e9 * took)}, so {duration(1e9 * self.budget_s)} are too "
                f"few; give more with --budget, such as {math.ceil(took * (FEWEST + 4))}s."
            )

    def measure(self, keep: Callable[[Sequence[Row]], None]) -> None:
        """Make all rounds; `keep` stores the rows, including those of the first round."""
        keep(self.rows)
        for number in range(1, MOST_ROUNDS + 1):
            if self._failed():
                return
            took = self._round(number, keep)
            over = self.clock() - self._began + took > self.budget_s
            if over or (number >= self.least and self._decided()):
                return

    def _round(self, number: int, keep: Callable[[Sequence[Row]], None]) -> float:
        """Make a round, which ends if the program fails; returns its time."""
        counts, before = list(self.counts), self.clock()
        self._order.shuffle(counts)
        for threads in counts:
            row = self.run(threads, number, self._limits.get(threads) or self._first_limit_s())
            self.rows.append(row)
            keep([row])
            if self._failed():
                break
            self._limits[threads] = max(_LEAST_LIMIT_S, _LIMIT * row.facts["wall_s"])
        return self.clock() - before

    def _first_limit_s(self) -> float:
        """The limit of a run whose usual time is not known. A run of half of the budget is too slow
        to judge, and the runs of the first round share the budget."""
        left_s = self.budget_s - (self.clock() - self._began)
        return max(_LEAST_LIMIT_S, min(self.budget_s * _FIRST_SHARE, left_s))

    def _failed(self) -> bool:
        return bool(self.rows) and self.rows[-1].status is not Status.OK

    def _decided(self) -> bool:
        found = judgement.judge(self.rows, self.demands, ended=False)
        return bool(found.checked) and found.verdict is not Verdict.UNDECIDED


@contextmanager
def _loop(
    workload: Workload, asked: Sequence[Demand], wanted: Wanted, budget_s: float
) -> Iterator[Loop]:
    """The rounds of real runs, while their cage exists."""
    environment = dict(os.environ)
    processors = len(os.sched_getaffinity(0))
    with Cage(default_limits(), cap_threads=False) as cage, Progress(Console(stderr=True)) as line:

        def run(threads: int, number: int, limit_s: float) -> Row:
            line.note(f"round {number}, {threads_in_words(threads)}")
            cell = cell_of(workload, "as is", threads)
            row = one_run(workload, cell, number, limit_s, (environment, Setting()), cage)
            facts = row.facts
            if "watched_s" not in facts:
                return row
            seen = load.Load(facts["others_s"], facts["steal_s"], processors)
            return replace(row, disturbed=load.disturbance(seen, facts["watched_s"], (), threads))

        least = _FOR_BASELINE if wanted.write is not None else 0
        seed = random.SystemRandom().randrange(1 << 31)
        yield Loop(run, workload.counts, asked, budget_s, least, seed)


def _explained(workload: Workload, found: Found, path: Path) -> dict[str, object]:
    """The answer of explain for the program with the threads that fail; empty if there is none."""
    failed = next(each for each in found.checked if each.verdict is Verdict.FAILED)
    threads = str(failed.demand.threads)
    try:
        return explained(replace(workload, threads=threads), Setting(), os.environ, path)
    except LabError as error:
        sys.stderr.write(f"threadmark: the failure is not explained: {error}\n")
        return {}


def _write_baseline(path: Path, workload: Workload, found: Found) -> None:
    """Write the baseline unless the program fails. LabError if the speed-ups are not known."""
    if found.failure:
        sys.stderr.write(f"threadmark: {path} is not written, because the program failed.\n")
        return
    if len(found.known) < len(workload.counts) - 1:
        why = reports.rounds(found) or "there were too few rounds."
        raise LabError(f"No baseline is written: {why.rstrip('.')}; try again.", 3)
    demands.write_baseline(path, workload.words, found.known)

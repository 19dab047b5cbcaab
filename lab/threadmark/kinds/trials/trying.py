"""One invocation of `try`: the choice of fixes, the runs, the store, and the output."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from threadmark.fixes import choosing
from threadmark.fixes.fix import Candidate, Setting, together
from threadmark.kinds.explain.briefly import explained
from threadmark.kinds.program_runs import cell_of, one_run
from threadmark.kinds.trials import judgement
from threadmark.kinds.trials.arms import FIRST, OUTPUT, PAIR, TAKEN, Arm
from threadmark.kinds.trials.building import Builder, BuildError
from threadmark.kinds.trials.judgement import EXPLAINED, FIXES, GIVEN_UP, INTERRUPTED
from threadmark.kinds.trials.kind import KIND
from threadmark.kinds.trials.loop import SCREENING, TOGETHER, Loop
from threadmark.kinds.trials.menu import Menu
from threadmark.machine import host
from threadmark.machine.limits import default_limits
from threadmark.measure.cage import Cage
from threadmark.model.cell import Row
from threadmark.model.errors import LabError
from threadmark.model.places import hint
from threadmark.model.workload import Workload
from threadmark.present import wording
from threadmark.present.progress import Progress, duration
from threadmark.present.terminal import print_table
from threadmark.store.store import Store

BUDGET_S = 180.0
FIRST_TABLE_S = 60.0
INTERRUPTED_STATUS = 130
_BEST = 4  # fixes that are also measured with fewer threads


@dataclass(frozen=True)
class Asked:
    """The options of the command line beside the program."""

    only: tuple[str, ...] = ()
    budget_s: float = BUDGET_S
    explain: bool = False
    as_json: bool = False
    build: str = ""


def perform(workload: Workload, asked: Asked, path: Path) -> int:
    """Run the try; returns the exit status."""
    workload.faults(KIND.command, is_built=bool(asked.build))
    if (asked.build and not asked.build.strip()) or "\0" in asked.build:
        raise LabError("--build needs a value.")
    with ExitStack() as stack:
        session = _Session(workload, asked, stack, path)
        try:
            with session.measuring():
                session.try_all()
        except KeyboardInterrupt:
            session.interrupted = True
        return session.end()


class _Session:
    """The session of a try. `stack` closes the store, which opens when the program has run once."""

    def __init__(self, workload: Workload, asked: Asked, stack: ExitStack, path: Path) -> None:
        self.interrupted = False
        self._workload = workload
        self._asked = asked
        self._stack = stack
        self._path = path
        self._store: Store | None = None
        self._environment = dict(os.environ)
        self._menu = Menu(workload, self._environment, self._building)
        self._settings: dict[str, Setting] = {}
        self._described: dict[str, Any] = {}
        self._explained: dict[str, Any] = {}
        self._notes: list[str] = []
        self._run_id = 0
        self._seed = random.SystemRandom().randrange(1 << 31)
        self._loop = Loop(self._run, self._keep, workload.counts, asked.budget_s, self._seed)

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """The cage of all runs, and a line of progress."""
        console = Console(stderr=True)
        with Cage(default_limits(), cap_threads=False) as self._cage, Progress(console) as line:
            self._line = line
            yield

    def try_all(self) -> None:
        """Make all rounds."""
        loop = self._loop
        counts = self._workload.counts
        if self._asked.build:
            self._menu.build_by(self._stack.enter_context(
                Builder.of(self._asked.build, self._workload.words[0])
            ))  # fmt: skip
        candidates, left_out = self._menu.candidates(self._asked.only)
        loop.start()
        loop.first()
        fitting = self._fitting(len(candidates))
        if self._asked.explain:
            candidates = choosing.ordered(candidates, self._explain())
            fitting = self._fitting(len(candidates))
        self._start()
        dropped = {
            each.name: f"no time; --budget {loop.enough_s(len(candidates))}s tries all"
            for each in candidates[fitting:]
        }
        candidates = candidates[:fitting]
        # The arms: each fix with the most threads, a combination, and the best ones with fewer
        # threads.
        loop.family = len(candidates) + 1 + (_BEST + 1) * (len(counts) - 1)
        self._described = {
            "family": loop.family,
            "tried": [],
            "left_out": {**left_out, **dropped},
            "checked": bool(self._workload.check),
            "units": bool(self._workload.progress or self._workload.metric),
            "built": bool(self._asked.build),
        }
        self._begin(candidates, [max(counts)])
        self._until(TOGETHER * loop.budget_s)
        best = self._found().best_of_kinds
        named = [each for each in candidates if each.name in {one.name for one in best}]
        # A fix that sets the number of threads has no arms with other numbers.
        free = [each for each in named if not self._settings[each.name].sets_threads]
        self._loop.add([Arm(e.name, n) for e in free[:_BEST] for n in counts if n != max(counts)])
        if len(named) > 1:
            self._begin_together(named)
        loop.measure(loop.budget_s)
        if self._explained:
            self._explain_best()

    def end(self) -> int:
        """Mark the run as complete, also after an interrupt, and print the results; returns the
        exit status."""
        if self._store is None:
            raise LabError("The try was interrupted before its first round.", INTERRUPTED_STATUS)
        if self.interrupted:
            self._notes.append("The try was interrupted; the runs before that count.")
            self._document(FIXES, self._described | {INTERRUPTED: True})
        for note in self._notes:
            self._store.add_note(self._run_id, note)
        self._store.finish(self._run_id)
        stored = self._store.load(self._run_id)
        found = KIND.judge(stored)
        if self._asked.as_json:
            sys.stdout.write(KIND.json(stored, found))
        else:
            print_table(Console(), partial(KIND.table, stored, found))
            page = hint(self._store.path, "report", self._run_id)
            sys.stdout.write(f"Run {self._run_id}; page: {page}\n")
        return INTERRUPTED_STATUS if self.interrupted else 0

    def _begin(self, candidates: Sequence[Candidate], counts: Sequence[int]) -> None:
        """Add fixes to the run, and store their records."""
        for each in candidates:
            self._settings[each.name] = each.setting
            self._described["tried"].append(self._menu.record(each))
        self._loop.add([Arm(each.name, count) for each in candidates for count in counts])
        self._document(FIXES, self._described)

    def _begin_together(self, parts: Sequence[Candidate]) -> None:
        """Add the combination of all parts, which may need one more build."""
        before = self._loop.clock()
        try:
            both = self._menu.built(together(parts))
        except BuildError as why:
            self._notes.append(f"{' + '.join(each.name for each in parts)}: {why}.")
        else:
            self._begin([both], [max(self._workload.counts)])
        self._loop.leave_out(self._loop.clock() - before)

    def _building(self, what: str) -> None:
        self._line.note(f"building: {wording.printable(what)}")

    def _fitting(self, fixes: int) -> int:
        """The number of fixes for which there is time. LabError if there is no time for one."""
        loop = self._loop
        found = loop.fitting(fixes)
        if found < 1:
            raise LabError(
                f"A run takes {wording.duration(1e9 * loop.usual_s)}, so the "
                f"{max(0.0, loop.left_s):.1f}s that are left of the budget are too few for one "
                f"fix; give more with --budget, such as {loop.enough_s(1)}s."
            )
        return found

    def _explain(self) -> list[str]:
        """Explain the program; returns the fixes that can help, the likeliest first."""
        self._explained = self._said_of("the program as it is", Setting())
        return list(self._explained.get("bounds", ()))

    def _explain_best(self) -> None:
        """Explain the program with the best fix."""
        best = next(iter(self._found().winners), None)
        if best is None:
            return
        left = self._said_of(f"the program with {best.name}", self._settings[best.name])
        self._explained |= {"best": best.name, "left": left} if left else {}
        self._document(EXPLAINED, self._explained)

    def _said_of(self, what: str, setting: Setting) -> dict[str, Any]:
        """The answer of explain; if there is none, empty, and a note."""
        self._line.pause()
        try:
            own = self._menu.base | setting
            return explained(self._workload, own, self._environment, self._path)
        except LabError as error:
            self._notes.append(f"explain says nothing of {what}: {error}")
            return {}

    def _until(self, end_s: float) -> None:
        """Measure, leave out hopeless fixes if time is short, and show a first table."""
        loop = self._loop
        given_up = loop.screen(SCREENING * loop.budget_s)
        self._described[GIVEN_UP] = [arm.fix for arm in given_up]
        self._document(FIXES, self._described)
        first = min(FIRST_TABLE_S, end_s)
        if loop.measure(first) and first < end_s:
            self._line.pause()
            console = Console(stderr=True)
            spent = duration(loop.spent_s)
            console.print(f"After {spent}, before it is refined:", highlight=False)
            assert self._store is not None
            stored = self._store.load(self._run_id)
            print_table(console, partial(KIND.table, stored, KIND.judge(stored)))
            console.print()
            loop.measure(end_s)

    def _found(self) -> judgement.Found:
        return judgement.judged(self._loop.rows, self._described, self._explained)

    def _run(self, variant: str, arm: Arm, number: int, limit_s: float) -> Row:
        """One run of a pair."""
        loop = self._loop
        self._line.note(
            f"{duration(max(0.0, loop.left_s))} left  round {number}  {wording.printable(variant)}"
        )
        setting = self._settings.get(variant, Setting())
        facts = {} if variant == FIRST else {PAIR: arm.fix}
        cell = cell_of(self._workload, variant, arm.threads)
        row = one_run(
            self._workload, cell, number, limit_s,
            (self._environment, self._menu.base | setting), self._cage,
        )  # fmt: skip
        row.facts.update(facts)
        if "watched_s" in row.facts:
            taken_s = row.facts["others_s"] + row.facts["steal_s"]
            row.facts[TAKEN] = (taken_s, row.facts["watched_s"] * len(os.sched_getaffinity(0)))
        if setting.sets_threads or self._workload.check:
            row.facts.pop(OUTPUT, None)  # it may contain the number of threads
        return row

    def _start(self) -> None:
        """Open the store, and keep the earlier runs: all of them or, after an interrupt, none."""
        request = {
            "command": list(self._workload.words),
            "workload": self._workload.as_json(),
            "only": list(self._asked.only),
            "budget_s": self._asked.budget_s,
            "build": self._asked.build,
        }
        machine = host.facts()
        store = self._stack.enter_context(Store.open(self._path, create=True))
        with store.at_once():
            number = store.start_run(KIND.profiles[0], self._seed, request, machine)
            store.append_all(number, self._loop.rows)
            if self._explained:
                store.add_document(number, EXPLAINED, self._explained)
        self._run_id, self._store = number, store

    def _keep(self, rows: Sequence[Row]) -> None:
        if self._store is not None:
            self._store.append_all(self._run_id, rows)

    def _document(self, name: str, document: Mapping[str, Any]) -> None:
        assert self._store is not None
        self._store.add_document(self._run_id, name, document)

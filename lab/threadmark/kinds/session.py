"""One invocation of a command that measures cells: prepare, measure or resume, show.

The options are in the `command` module of the kind.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from threadmark.kinds import plan
from threadmark.kinds.cells import CellKind
from threadmark.kinds.ending import NOTHING, check_fail_on, endings, last_line
from threadmark.machine import examination, host
from threadmark.machine.limits import default_limits
from threadmark.measure import measurement
from threadmark.measure.cage import Cage
from threadmark.measure.measurement import Measurement
from threadmark.measure.observation import Observation
from threadmark.model import effort
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.effort import Profile, parse_seconds
from threadmark.model.errors import LabError
from threadmark.model.executable import CONTENTION
from threadmark.model.names import check_name
from threadmark.model.places import report_path
from threadmark.model.request import Request, Selection
from threadmark.options import Measuring, listed, options_given
from threadmark.present import files
from threadmark.present.plain import document, write_json
from threadmark.present.progress import Progress
from threadmark.present.terminal import print_table
from threadmark.present.wording import say
from threadmark.setup import allocators, discovery, preparation
from threadmark.store.store import Store

_BAD = (Status.WRONG, Status.CRASHED)  # shown in the last line, whatever --fail-on says
_INTERRUPTED = 130  # what a shell reports for a command ended by Ctrl-C


def thread_counts(options: Measuring, profile: Profile) -> tuple[int, ...]:
    """The requested numbers of threads, else those of the profile on this machine."""
    if options.threads:
        return effort.parse_threads(options.threads)
    return effort.thread_counts(profile, host.cores(host.processors()))


def perform(kind: CellKind, options: Measuring, request: Request) -> int:
    """Run a command line; `request` needs only the fields special to its kind. Returns the exit
    status."""
    folder = str(options.executables.absolute()) if options.executables else ""
    whole = replace(
        request,
        programs=listed(options.programs),
        variants=listed(options.variants),
        platforms=listed(options.platforms),
        order_seed=options.order_seed,
        executables=folder,
        budget_s=parse_seconds(options.budget) if options.budget else request.budget_s,
    )
    whole.check()
    session = Session(kind, whole, options, Console(stderr=True))
    if options.resume:
        session.resume(given=options_given())
    elif options.dry_run:
        session.dry_run()
    else:
        session.run()
    return session.status


class Session:
    """One invocation of the command of `kind`."""

    begun = False  # whether this process has an unfinished run in a store

    def __init__(
        self, kind: CellKind, request: Request, options: Measuring, console: Console
    ) -> None:
        check_fail_on(listed(options.fail_on))
        self.kind = kind
        self.request = request
        self.options = options
        self.console = console
        self.status = 0  # of the command

    def run(self) -> None:
        """Measure a new run."""
        with Store.open(self.options.store, create=True):
            pass  # report an unusable store before minutes of building
        selection = self._selection()
        with Store.open(self.options.store, create=True) as store:
            facts = host.facts()
            facts["executables"] = measurement.fingerprint(selection.cells)
            others = store.measuring()
            if self.request.order_seed is None:
                self.request = replace(self.request, order_seed=_draw())
            request, notes = self.request, self._complaints(others)
            notes.append(
                f"The order of measuring was drawn with --order-seed {request.order_seed}."
            )
            with store.at_once():  # a resumed run cannot know what a killed lab did not write
                run_id = store.start_run(request.profile, request.seed, request.as_json(), facts)
                for sentence in notes:
                    store.add_note(run_id, sentence)
                Measurement(store, run_id, request, selection).start()
                Session.begun = True
            self._measure(store, run_id, selection)

    def resume(self, *, given: bool) -> None:
        """Go on with the newest unfinished run, or list its remaining cells."""
        with Store.open(self.options.store, create=False) as store:
            run_id = store.unfinished(self.kind.profiles)
            if run_id is None:
                raise LabError(
                    f"{self.options.store} has no unfinished run of ./threadmark "
                    f"{self.kind.command}; start one without --resume."
                )
            stored = store.run(run_id)
            request = Request.from_json(stored.request)
            if given and not self.request.agrees(request):
                raise LabError(
                    f"The unfinished run {run_id} has other options; give --resume without "
                    "other options, or start a new run without --resume."
                )
            if machine_changes := host.changes(stored.machine, host.facts()):
                raise LabError(
                    f"The machine differs from that of run {run_id} "
                    f"({'; '.join(machine_changes)}), so its figures cannot be continued; start a "
                    "new run without --resume."
                )
            (store.check_ended if self.options.dry_run else store.take_over)(run_id)
            Session.begun = True
            self.request = request
            selection = self._selection()
            before = stored.machine.get("executables", {})
            now = measurement.fingerprint(selection.cells)
            changed = sorted(name for name in before | now if before.get(name) != now.get(name))
            if changed:
                raise LabError(
                    f"{len(changed)} executables differ from those of run {run_id} (such as "
                    f"{changed[0]}), so its figures cannot be continued; start a new run."
                )
            if self.options.dry_run:
                self._list(selection, store.rows(run_id))
            else:
                self._measure(store, run_id, selection)

    def dry_run(self) -> None:
        """List the cells of a new run."""
        self._list(self._selection(), [])

    def _list(self, selection: Selection, measured: Sequence[Row]) -> None:
        """Print the cells that are left and the time they need, and measure nothing."""
        schedule = self.kind.schedule(self.request, selection)
        spent_s = schedule.replay(self._observed(measured))
        seconds, left = schedule.remaining_s(spent_s), set(schedule.going_on(spent_s))
        cells = [each for each in selection.cells if each in left]
        if self.options.json:
            fields = {
                "cells": [_record(each) for each in cells],
                "unavailable": [
                    {**_record(cell), "reason": reason}
                    for cell, reason in selection.unavailable.items()
                ],
                "expected_s": seconds,
            }
            write_json(document("plan", fields))
            return
        print_table(Console(), partial(plan.lines, cells, selection.unavailable, seconds))

    def _selection(self) -> Selection:
        # Report wrong names before minutes of building.
        allocators.absent(self.request.allocators)
        if not self.request.executables:
            known = {
                name: backends
                for name, backends in discovery.sources().items()
                if (CONTENTION in backends) == self.kind.contends
            }
            for name in self.request.programs:
                check_name("program", name, known)
            for name in self.request.backends:
                check_name("backend", name, set().union(*known.values()))
        names, folder = self.request.platforms, self.request.executables
        ready = (
            preparation.look_at(Path(folder), names)
            if folder
            else preparation.prepare(
                names,
                self.console,
                install=self.options.install,
                targets=discovery.targets(self.request.programs),
            )
        )
        # Builds of other commands do not change the cells of a run.
        unasked = set() if folder else discovery.on_request() - set(self.request.programs)
        executables = [each for each in ready.executables if each.program not in unasked]
        selection = self.kind.select(self.request, executables, ready.absent)
        absent = allocators.absent({cell.allocator for cell in selection.cells})
        cells = {c: e for c, e in selection.cells.items() if c.allocator not in absent}
        for cell in selection.cells.keys() - cells.keys():
            selection.unavailable[cell] = absent[cell.allocator]
        if not cells:
            reasons = sorted(set(selection.unavailable.values()))
            raise LabError("Nothing of this can be measured here: " + "; ".join(reasons))
        return replace(selection, cells=cells)

    def _observed(self, rows: Sequence[Row]) -> list[Observation]:
        """The observations of stored rows for a schedule."""
        return [self.kind.observe(each) for each in self.kind.processes(rows)]

    def _complaints(self, others: list[int]) -> list[str]:
        """The complaints of the instant checks of the machine, which are also printed at once."""
        found = [f"{each.what}; {each.remedy}" for each in examination.instant()]
        if others:
            listed = ", ".join(map(str, others))
            found.append(
                f"Another lab is measuring at the same time (process {listed}); wait for it"
            )
        for sentence in found:
            say(self.console, f"{sentence}.")
        return [f"{each}." for each in found]

    def _measure(self, store: Store, run_id: int, selection: Selection) -> None:
        kind, request, rows = self.kind, self.request, store.rows(run_id)
        schedule = kind.schedule(request, selection)
        spent_s = schedule.replay(self._observed(rows))
        measurement = Measurement(store, run_id, request, selection)
        with Cage(default_limits()) as cage, Progress(self.console) as progress:
            for process in kind.processes(rows):
                if process[-1].cell in selection.cells:  # others have rows with reasons
                    progress.after(process[-1].cell, process[0].status)
            run = kind.runner(request, selection, cage, rows)
            measurement.measure(schedule, run, kind.observe, progress, spent_s)
        measurement.finish(schedule)
        interrupted = self.options.explain and not self._explain(store, run_id, selection)
        self._show(store, run_id)
        if interrupted:
            command = f"`./threadmark {self.kind.command}`"
            say(self.console, f"{command} was interrupted; its measurements are kept.")
            self.status = _INTERRUPTED

    def _explain(self, store: Store, run_id: int, selection: Selection) -> bool:
        """Explain the cells that do not scale according to the run. False: interrupted."""
        from threadmark.kinds.explain.fields import Fields, worst

        found = self.kind.judged(self.kind.judge(store.load(run_id)))
        try:
            fields = Fields(store, run_id, self.request, selection)
            fields.explain(worst(found), self.console)
        except LabError as error:  # there is no recorder
            store.add_note(run_id, str(error))
        except KeyboardInterrupt:
            return False
        return True

    def _show(self, store: Store, run_id: int) -> None:
        """Print the results, write the report, and set the exit status."""
        kind, stored = self.kind, store.load(run_id)
        found = kind.judge(stored)
        if self.options.report:
            path = report_path(self.options.store, run_id)
            files.write_atomically(path, kind.page(stored, found), "--store")
        if self.options.json:
            print(kind.json(stored, found), end="")
        else:
            print_table(Console(), partial(kind.table, stored, found))
            if self.options.report:
                say(self.console, f"Report: {path}")
        self.status = kind.status(self.request, found)
        ended = endings(stored.rows)
        fails = {Status(each) for each in listed(self.options.fail_on) if each != NOTHING}
        if fails & ended.keys():
            self.status = 1
        worth_saying = {s: cells for s, cells in ended.items() if s in fails | set(_BAD)}
        if worth_saying:
            say(self.console, last_line(run_id, worth_saying, self.status))


def _draw() -> int:
    """A seed of the order that is unlikely to repeat, and short enough to type again."""
    return secrets.randbelow(1_000_000)


def _record(cell: Cell) -> dict[str, object]:
    return {**asdict(cell), "arguments": dict(cell.arguments)}

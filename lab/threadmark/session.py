"""One invocation of `run`: prepare, measure or resume, show. Its options are in commands/run.py."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from threadmark import allocators, doctor, machine, measurement, preparation
from threadmark.cell import Cell, Row, Status
from threadmark.errors import LabError
from threadmark.limits import Cage, default_limits
from threadmark.measurement import Measurement, prospects, uncertainty
from threadmark.output import document, write_json
from threadmark.places import report_path
from threadmark.preparation import Prepared
from threadmark.profile import PROFILES
from threadmark.progress import Progress, duration
from threadmark.schedule import Schedule
from threadmark.selection import Request, Selection, select
from threadmark.store import Store


class Session:
    """One invocation of the command. What the catalogue does otherwise are its methods below."""

    catalogue = False

    def __init__(
        self,
        request: Request,
        store: Path,
        console: Console,
        *,
        as_json: bool,
        report: bool,
        install: bool,
    ) -> None:
        self.status = 0  # of the command: 1 when a process crashed or gave a wrong answer
        self.report = report
        self.install = install
        self.request = request
        self.path = store
        self.console = console
        self.as_json = as_json

    def run(self) -> None:
        """Measure a new run."""
        with Store.open(self.path, create=True):
            pass  # a store that cannot be used is said before minutes of building
        selection = self._selection()
        with Store.open(self.path, create=True) as store:
            facts = machine.facts()
            facts["executables"] = measurement.fingerprint(selection.cells)
            others = store.measuring()
            if self.request.order_seed is None:
                self.request = replace(self.request, order_seed=_draw())
            request, notes = self.request, self._complaints(others)
            notes.append(
                f"The order of measuring was drawn with --order-seed {request.order_seed}."
            )
            with store.at_once():  # a resumed run cannot tell what a killed lab did not write
                run_id = store.start_run(request.profile, request.seed, request.as_json(), facts)
                for sentence in notes:
                    store.add_note(run_id, sentence)
                self._measurement(store, run_id, selection).start()
            self._measure(store, run_id, selection)

    def resume(self, *, given: bool, dry_run: bool) -> None:
        """Go on with the newest unfinished run, or list what is left of it."""
        with Store.open(self.path, create=False) as store:
            run_id = store.unfinished(catalogue=self.catalogue)
            if run_id is None:
                kind = " of the catalogue" if self.catalogue else ""
                raise LabError(
                    f"{self.path} has no unfinished run{kind}; start one without --resume."
                )
            stored = store.run(run_id)
            request = Request.from_json(stored.request)
            if given and not self.request.agrees(request):
                raise LabError(
                    f"The unfinished run {run_id} was asked for otherwise; give --resume without "
                    "other options, or start a new run without --resume."
                )
            if machine_changes := machine.changes(stored.machine, machine.facts()):
                raise LabError(
                    f"The machine differs from that of run {run_id} "
                    f"({'; '.join(machine_changes)}), so its figures cannot be continued; start a "
                    "new run without --resume."
                )
            if not dry_run:
                store.take_over(run_id)
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
            if dry_run:
                self._list(selection, store.rows(run_id))
            else:
                self._measure(store, run_id, selection)

    def dry_run(self) -> None:
        """List the cells of a new run."""
        self._list(self._selection(), [])

    def _list(self, selection: Selection, measured: Sequence[Row]) -> None:
        """Print the cells that are left and the time they need, and measure nothing."""
        schedule = self._schedule(selection)
        seconds = schedule.remaining_s(schedule.replay(self._measured(measured)))
        left = set(schedule.left())
        cells = [each for each in selection.cells if each in left]
        if self.as_json:
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
        for cell in cells:
            print(
                f"{cell.program} {cell.size} {cell.backend}:{cell.variant} "
                f"{cell.platform} {cell.allocator} x{cell.threads}"
            )
        for cell, reason in selection.unavailable.items():
            print(f"{cell.program} {cell.backend} {cell.platform}: unavailable, {reason}")
        print(f"{len(cells)} cells, about {duration(seconds)}")

    def _selection(self) -> Selection:
        allocators.absent(
            self.request.allocators
        )  # a wrong name is said before minutes of building
        names, folder = self.request.platforms, self.request.executables
        ready = (
            preparation.look_at(Path(folder), names)
            if folder
            else preparation.prepare(names, self.console, install=self.install)
        )
        selection = self._select(ready)
        absent = allocators.absent({cell.allocator for cell in selection.cells})
        cells = {c: e for c, e in selection.cells.items() if c.allocator not in absent}
        for cell in selection.cells.keys() - cells.keys():
            selection.unavailable[cell] = absent[cell.allocator]
        if not cells:
            reasons = sorted(set(selection.unavailable.values()))
            raise LabError("Nothing of this can be measured here: " + "; ".join(reasons))
        return replace(selection, cells=cells)

    def _select(self, ready: Prepared) -> Selection:
        return select(self.request, ready.executables, ready.absent)

    def _measurement(self, store: Store, run_id: int, selection: Selection) -> Measurement:
        return Measurement(store, run_id, self.request, selection)

    def _measured(self, rows: Sequence[Row]) -> Sequence[Row]:
        """What the schedule is to know of stored rows."""
        return rows

    def _schedule(self, selection: Selection) -> Schedule:
        return Schedule(
            selection.cells,
            PROFILES[self.request.profile],
            seed=self.request.order_seed or 0,
            budget_s=self.request.budget_s,
            uncertainty=uncertainty,
            prospects=prospects,
        )

    def _complaints(self, others: list[int]) -> list[str]:
        """What the instant checks of the machine say; also told at once."""
        found = [f"{each.what}; {each.remedy}" for each in doctor.instant()]
        if others:
            listed = ", ".join(map(str, others))
            found.append(
                f"Another lab is measuring at the same time (process {listed}); wait for it"
            )
        for sentence in found:
            preparation.say(self.console, f"{sentence}.")
        return [f"{each}." for each in found]

    def _measure(self, store: Store, run_id: int, selection: Selection) -> None:
        schedule = self._schedule(selection)
        spent_s = schedule.replay(self._measured(store.rows(run_id)))
        measurement = self._measurement(store, run_id, selection)
        with Cage(default_limits()) as cage, Progress(self.console) as progress:
            measurement.measure(schedule, measurement.taker(cage), progress, spent_s)
        measurement.finish(schedule)
        self._show(store, run_id)
        bad = {r.cell for r in store.rows(run_id) if r.status in (Status.WRONG, Status.CRASHED)}
        if bad:
            self.status = 1
            example = min(f"{each.program} {each.backend}:{each.variant}" for each in bad)
            preparation.say(
                self.console,
                f"The exit status is 1, because {len(bad)} cell{'s' * (len(bad) > 1)} "
                f"crashed or gave a wrong answer, such as {example}.",
            )

    def _show(self, store: Store, run_id: int) -> None:
        from threadmark import exchange, matrix
        from threadmark.catalogue import table

        path = self._report(store, run_id) if self.report else None
        if self.as_json:
            rows, descriptions = store.rows(run_id), store.descriptions(run_id)
            sys.stdout.write(exchange.to_json(store.run(run_id), rows, descriptions))
            return
        (table if self.catalogue else matrix).render(store, run_id, Console())
        if path:
            preparation.say(self.console, f"Report: {path}")

    def _report(self, store: Store, run_id: int) -> Path:
        from threadmark.reports import catalogue, html

        path = report_path(self.path, run_id)
        (catalogue if self.catalogue else html).write(store, run_id, path)
        return path


def _draw() -> int:
    """A seed of the order that no other run is likely to have, short enough to type again."""
    return secrets.randbelow(1_000_000)


def _record(cell: Cell) -> dict[str, object]:
    return {**asdict(cell), "arguments": dict(cell.arguments)}

"""`threadmark run`: set up, build, measure, show the matrix, write the report."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import cyclopts
from cyclopts import Parameter

from threadmark.errors import LabError
from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption
from threadmark.profile import PROFILES, Profile, parse_threads, thread_counts
from threadmark.selection import Request, Selection, select

if TYPE_CHECKING:
    from rich.console import Console

    from threadmark.cell import Cell
    from threadmark.schedule import Schedule
    from threadmark.store import Store

Names = Annotated[
    tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)
]


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(run)


def run(
    *,
    programs: Names = (),
    backends: Names = (),
    variants: Names = (),
    platforms: Names = (),
    allocators: Names = ("glibc",),
    threads: str | None = None,
    size: Literal["smoke", "quick", "full"] | None = None,
    profile: Literal["smoke", "quick", "full", "paper"] = "quick",
    arg: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    executables: Path | None = None,
    seed: int = 1,
    budget: float | None = None,
    resume: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    report: Annotated[bool, Parameter(show_default=False)] = True,
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Measure how programs scale on backends; print the matrix and write the report.

    Everything that is needed is set up and built first. Without options the quick profile measures
    all programs, backends, variants and platforms in at most five minutes.

    Parameters
    ----------
    programs
        Only these programs, separated by spaces; ./threadmark list names them.
    backends
        Only these backends; serial always runs, as the base of every speed-up.
    variants
        Only these ways of launching, such as futures, fork_join, async.
    platforms
        Only these platforms: compiler and standard library.
    allocators
        glibc, jemalloc, mimalloc, tcmalloc, tbbmalloc; the default is glibc alone.
    threads
        Thread counts such as 1,2,4 or 1-4; the default is 1, 2, 4, ... up to the processors.
    size
        Size of the problems; the default is that of the profile.
    profile
        smoke: does everything run? quick: a verdict in minutes. full: the paper's sizes.
        paper: five samples, 900 s limit.
    arg
        A parameter of a program as name=value or program.name=value; may be repeated.
    executables
        Measure what lies in this folder as PLATFORM/bin/PROGRAM.BACKEND; set up and build nothing.
    seed
        Seed of the programs' inputs and of the order of measuring.
    budget
        Seconds for measuring; beyond it repeats, then cells are left out. Quick has 300.
    resume
        Go on with the newest unfinished run of the store.
    report
        --no-report leaves the HTML report out; ./threadmark report makes it later.
    dry_run
        List the cells and the time expected; measure nothing.
    """
    from rich.console import Console

    chosen = PROFILES[profile]
    request = Request(
        programs=programs,
        backends=backends,
        variants=variants,
        platforms=platforms,
        allocators=tuple(dict.fromkeys(allocators)),
        threads=_threads(threads, chosen),
        size=size or chosen.size,
        arguments=arg,
        profile=profile,
        seed=seed,
        executables=str(executables.absolute()) if executables else "",
        budget_s=budget if budget is not None else chosen.budget_s,
    )
    if request.budget_s is not None and not 0 < request.budget_s < 1e9:
        raise LabError("--budget is a positive number of seconds; change it.")
    if not 0 <= seed < 1 << 63:
        raise LabError("--seed goes from 0 to 2^63 - 1; change it.")
    session = _Session(request, store, Console(stderr=True), as_json=json, report=report)
    if resume:
        session.resume(given=_options_given())
    elif dry_run:
        session.dry_run()
    else:
        session.run()


def _record(cell: Cell) -> dict[str, object]:
    return {**asdict(cell), "arguments": dict(cell.arguments)}


def _threads(text: str | None, profile: Profile) -> tuple[int, ...]:
    from threadmark.machine import processors

    return parse_threads(text) if text else thread_counts(profile, len(processors()))


def _options_given() -> bool:
    """Whether the command line chooses anything itself, which --resume then must agree with."""
    words = sys.argv[2:]
    names = {each.partition("=")[0] for each in words if each.startswith("--")}
    return bool(names - {"--resume", "--store", "--json", "--dry-run"})


class _Session:
    """One invocation of the command."""

    def __init__(
        self, request: Request, store: Path, console: Console, *, as_json: bool, report: bool
    ) -> None:
        self.report = report
        self.request = request
        self.path = store
        self.console = console
        self.as_json = as_json

    def run(self) -> None:
        """Measure a new run."""
        from threadmark import machine, measurement
        from threadmark.store import Store

        with Store.open(self.path, create=True):
            pass  # a store that cannot be used is said before minutes of building
        selection = self._selection()
        with Store.open(self.path, create=True) as store:
            facts = machine.facts()
            facts["executables"] = measurement.fingerprint(selection.cells)
            others = store.measuring()
            request = self.request
            run_id = store.start_run(request.profile, request.seed, request.as_json(), facts)
            for sentence in self._complaints(others):
                store.add_note(run_id, sentence)
            self._measure(store, run_id, selection, spent=False)

    def resume(self, *, given: bool) -> None:
        """Go on with the newest unfinished run."""
        from threadmark import measurement
        from threadmark.store import Store

        with Store.open(self.path, create=False) as store:
            run_id = store.unfinished()
            if run_id is None:
                raise LabError(f"{self.path} has no unfinished run; start one without --resume.")
            stored = store.run(run_id)
            if given and Request.from_json(stored.request) != self.request:
                raise LabError(
                    f"The unfinished run {run_id} was asked for otherwise; give --resume without "
                    "other options, or start a new run without --resume."
                )
            store.take_over(run_id)
            self.request = Request.from_json(stored.request)
            selection = self._selection()
            before = stored.machine.get("executables", {})
            now = measurement.fingerprint(selection.cells)
            changed = sorted(name for name in before | now if before.get(name) != now.get(name))
            if changed:
                raise LabError(
                    f"{len(changed)} executables differ from those of run {run_id} (such as "
                    f"{changed[0]}), so its figures cannot be continued; start a new run."
                )
            self._measure(store, run_id, selection, spent=True)

    def dry_run(self) -> None:
        """List the cells."""
        from threadmark import records
        from threadmark.progress import duration

        selection = self._selection()
        schedule = self._schedule(selection)
        seconds = schedule.remaining_s()
        if self.request.budget_s is not None:
            seconds = min(seconds, self.request.budget_s)
        if self.as_json:
            document = {
                "cells": [_record(each) for each in selection.cells],
                "unavailable": [
                    {**_record(cell), "reason": reason}
                    for cell, reason in selection.unavailable.items()
                ],
                "expected_s": seconds,
            }
            sys.stdout.write(records.dumps(document) + "\n")
            return
        for cell in selection.cells:
            print(
                f"{cell.program} {cell.size} {cell.backend}:{cell.variant} "
                f"{cell.platform} {cell.allocator} x{cell.threads}"
            )
        for cell, reason in selection.unavailable.items():
            print(f"{cell.program} {cell.backend} {cell.platform}: unavailable, {reason}")
        print(f"{len(selection.cells)} cells, about {duration(seconds)}")

    def _selection(self) -> Selection:
        from dataclasses import replace

        from threadmark import preparation

        absent = preparation.unavailable_allocators(self.request.allocators)
        names, folder = self.request.platforms, self.request.executables
        ready = (
            preparation.look_at(Path(folder), names)
            if folder
            else preparation.prepare(names, self.console)
        )
        selection = select(self.request, ready.executables, ready.absent)
        cells = {c: e for c, e in selection.cells.items() if c.allocator not in absent}
        for cell in selection.cells.keys() - cells.keys():
            selection.unavailable[cell] = absent[cell.allocator]
        if not cells:
            reasons = sorted(set(selection.unavailable.values()))
            raise LabError("Nothing of this can be measured here: " + "; ".join(reasons))
        return replace(selection, cells=cells)

    def _schedule(self, selection: Selection) -> Schedule:
        from threadmark.measurement import uncertainty
        from threadmark.schedule import Schedule

        return Schedule(
            selection.cells,
            PROFILES[self.request.profile],
            seed=self.request.seed,
            budget_s=self.request.budget_s,
            uncertainty=uncertainty,
        )

    def _complaints(self, others: list[int]) -> list[str]:
        """What the instant checks of the machine say; also told at once."""
        from threadmark import doctor

        found = [f"{each.what}; {each.remedy}" for each in doctor.instant()]
        if others:
            listed = ", ".join(map(str, others))
            found.append(
                f"Another lab is measuring at the same time (process {listed}); wait for it"
            )
        for sentence in found:
            self.console.print(
                f"{sentence}.", highlight=False, soft_wrap=not self.console.is_terminal
            )
        return [f"{each}." for each in found]

    def _measure(self, store: Store, run_id: int, selection: Selection, *, spent: bool) -> None:
        from threadmark.limits import Cage, default_limits
        from threadmark.measurement import Measurement
        from threadmark.progress import Progress

        schedule = self._schedule(selection)
        spent_s = schedule.replay(store.rows(run_id)) if spent else 0.0
        measurement = Measurement(store, run_id, self.request, selection)
        if not spent:
            measurement.start()
        with Cage(default_limits()) as cage, Progress(self.console) as progress:
            measurement.measure(schedule, cage, progress, spent_s)
        measurement.finish(schedule)
        self._show(store, run_id)

    def _show(self, store: Store, run_id: int) -> None:
        from rich.console import Console

        from threadmark import exchange, matrix

        path = self._report(store, run_id) if self.report else None
        if self.as_json:
            rows, descriptions = store.rows(run_id), store.descriptions(run_id)
            sys.stdout.write(exchange.to_json(store.run(run_id), rows, descriptions))
            return
        matrix.render(store, run_id, Console())
        if path:
            self.console.print(
                f"Report: {path}", highlight=False, soft_wrap=not self.console.is_terminal
            )

    def _report(self, store: Store, run_id: int) -> Path:
        from threadmark.reports import html

        path = self.path.with_name(f"report-{run_id}.html")
        html.write(store, run_id, path)
        return path

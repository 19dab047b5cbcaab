"""`threadmark doctor`: is this machine fit for measuring, and how small a difference is seen?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.errors import LabError
from threadmark.options import JsonOption
from threadmark.output import write_json

if TYPE_CHECKING:
    from threadmark.doctor import Noise


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(doctor)


def doctor(
    *,
    pairs: Annotated[int, Parameter(help="Comparisons of a cell with itself; 0 for none.")] = 200,
    json: JsonOption = False,
) -> int:
    """Judge the machine: load, frequency, limits, clock, and the noise of comparisons.

    Two copies of one cell are measured alternately and compared, many times: how often is a
    difference seen where there is none? The exit status is 1 when there is a complaint.
    """
    from dataclasses import asdict

    from threadmark import doctor as examination

    if not 0 <= pairs <= 10000:
        raise LabError("--pairs goes from 0 to 10000; change it.")
    complaints = examination.thorough()
    facts = examination.facts()
    noise = _noise(pairs) if pairs else None
    if noise and noise.rate > examination.FALSE_ALARMS:
        complaints.append(
            examination.Complaint(
                f"Comparisons see a difference in {noise.rate:.1%} of pairs that have none",
                "calm the machine; figures taken on it mislead",
            )
        )
    if json:
        document = {
            "facts": facts,
            "complaints": [asdict(each) for each in complaints],
            "noise": noise and {**asdict(noise), "rate": noise.rate},
        }
        write_json(document)
        return 1 if complaints else 0
    for name, value in facts.items():
        print(f"{name}: {value}")
    if noise:
        print(
            f"noise: {noise.false_alarms} of {noise.pairs} pairs of equals look different "
            f"({noise.rate:.1%}), 95 % of them differ by less than {noise.floor:.1%} ({noise.cell})"
        )
    for each in complaints:
        print(f"! {each.what}; {each.remedy}.")
    if not complaints:
        print("No complaints.")
    return 1 if complaints else 0


def _noise(pairs: int) -> Noise | None:
    from rich.console import Console

    from threadmark import doctor as examination
    from threadmark import executable, limits, measurement, platforms, schedule, selection
    from threadmark.cell import Status

    names = [each.name for each in platforms.platforms()]
    built = [each for each in executable.find(names) if each.backend == "serial" and not each.fault]
    if not built:
        message = "noise: not measured, nothing is built yet; run: ./threadmark run --profile smoke"
        print(message, file=sys.stderr)
        return None
    request = selection.Request(size="smoke", threads=(1,))
    cells = selection.select(request, built, ()).cells
    with limits.Cage(limits.default_limits()) as cage:
        attempt = measurement.Attempts(request, cells, cage)

        def once(task: schedule.Task) -> float:
            row = attempt(task)
            if row.status is not Status.OK or row.sample_ns is None:
                raise LabError(f"{task.cell.program} cannot be measured: {row.reason}.")
            return row.sample_ns

        # The longest that still ends within 30 ms: short ones measure the clock and the caches.
        tasks = [schedule.Task(cell, 0, 1, 10.0) for cell in cells]
        times = {task: once(task) for task in tasks}
        fitting = [task for task in tasks if times[task] < 30e6] or tasks
        task = max(fitting, key=lambda each: times[each])
        name = f"{task.cell.program}, {times[task] / 1e6:.1f} ms, {task.cell.platform}"
        Console(stderr=True).print(f"Comparing a cell with itself {pairs} times: {name}")
        return examination.noise(lambda: once(task), name, pairs)

"""`threadmark doctor`: is this machine fit for measuring, and how small a difference does it
show?"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.model.errors import LabError
from threadmark.options import JsonOption
from threadmark.present.plain import document, write_json

if TYPE_CHECKING:
    from threadmark.measure.noise import Noise


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(doctor)


def doctor(
    *,
    pairs: Annotated[int, Parameter(help="Comparisons of a cell with itself; 0 for none.")] = 200,
    json: JsonOption = False,
) -> int:
    """Judge the machine: load, frequency, limits, clock, and the noise of comparisons.

    Two copies of one cell are measured in turns and compared, many times. doctor reports how often
    compare sees a difference where there is none, and the smallest difference that it sees in four
    of five pairs. Both figures are about this cell alone: it is serial, has one thread, and the
    processes of a pair follow one another. The noise of other cells differs, and cells of several
    threads have more. The exit status is 1 when there is a complaint.
    """
    from threadmark.machine import examination

    if not 0 <= pairs <= 10000:
        raise LabError("--pairs goes from 0 to 10000; change it.")
    complaints = examination.thorough()
    facts = examination.facts()
    noise = _noise(pairs) if pairs else None
    complaints += noise.complaints() if noise else []
    if json:
        fields = {
            "facts": facts,
            "complaints": [asdict(each) for each in complaints],
            "noise": noise
            and {**asdict(noise), "rate": noise.rate, "expected": list(noise.expected)},
        }
        write_json(document("doctor", fields))
        return 1 if complaints else 0
    for name, value in facts.items():
        print(f"{name}: {value}")
    for line in noise.words if noise else []:
        print(line)
    for each in complaints:
        print(f"! {each.what}; {each.remedy}.")
    if not complaints:
        print("No complaints.")
    return 1 if complaints else 0


def _noise(pairs: int) -> Noise | None:
    from rich.console import Console
    from rich.progress import Progress

    from threadmark.kinds.tasks.kind import runner
    from threadmark.kinds.tasks.selection import select
    from threadmark.machine.limits import default_limits
    from threadmark.measure import noise
    from threadmark.measure.cage import Cage
    from threadmark.measure.schedule import Task
    from threadmark.model.request import Request
    from threadmark.setup import discovery, platforms

    names = [each.name for each in platforms.platforms()]
    built = [each for each in discovery.find(names) if each.backend == "serial" and not each.fault]
    if not built:
        message = "noise: not measured, nothing is built yet; run: ./threadmark run --profile smoke"
        print(message, file=sys.stderr)
        return None
    request = Request(size="smoke", threads=(1,))
    cells = select(request, built, ()).cells
    with Cage(default_limits()) as cage:
        attempt = runner(request, cells, cage)

        def once(task: Task) -> float:
            return noise.sample(lambda: attempt(task))

        # The longest cell that still ends within 30 ms, because short ones measure the clock and
        # the caches.
        tasks = [Task(cell, 0, 1, 10.0) for cell in cells]
        times = {task: once(task) for task in tasks}
        fitting = [task for task in tasks if times[task] < 30e6] or tasks
        task = max(fitting, key=lambda each: times[each])
        name = f"{task.cell.program}, {times[task] / 1e6:.1f} ms, {task.cell.platform}"
        console = Console(stderr=True)
        console.print(f"Comparing a cell with itself {pairs} times: {name}")
        shown = Progress(
            console=console, transient=True, auto_refresh=False, disable=not console.is_terminal
        )
        with shown as progress:
            bar = progress.add_task("pairs", total=pairs)

            def seen(done: int) -> None:
                progress.update(bar, completed=done, refresh=True)

            return noise.noise(lambda: once(task), name, pairs, seen)

"""`threadmark compare`: is A slower than B, by how much, or are they not distinguishable?"""

from __future__ import annotations

import re
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.model.errors import LabError
from threadmark.options import DEFAULT_STORE, JsonOption, Names, StoreOption, listed
from threadmark.present.plain import document, write_json


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(compare)


def compare(
    a: Annotated[str, Parameter(help="A run's number, or a side: tbb, std_async:async, jemalloc.")],
    b: Annotated[str, Parameter(help="The other run or side, of the same kind.")],
    *,
    programs: Annotated[
        Names, Parameter(help="Only these programs, separated by spaces or commas.")
    ] = (),
    run: Annotated[
        str | None, Parameter(help="The run whose sides are compared; default: the last.")
    ] = None,
    every_thread_count: Annotated[
        bool, Parameter(negative="", help="Not only at the most threads.")
    ] = False,
    fail_above: Annotated[
        str,
        Parameter(
            show_default=False,
            help="A percentage such as 5 or 5%: the exit status is 1 when A is slower than B by "
            "more than that in any pair, or failed where B has a time. Slower means beyond the "
            "interval, the drift between runs and the effect of code layout. All intervals "
            "together have a one-sided level of 97.5 %.",
        ),
    ] = "",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    """Compare two runs, or two backends, variants, platforms or allocators of one run.

    The ratio is time(A) / time(B) with its 95 % interval. Sides of one run are paired round by
    round. Of two separate runs the interval allows for the drift between them, so one run sees
    smaller differences. Of two runs the number of equal verdicts is printed too.
    """
    from rich.console import Console

    from threadmark.kinds import registry
    from threadmark.kinds.kind import Question
    from threadmark.store.store import Store

    share = _share(fail_above) if fail_above else None
    question = Question((a, b), listed(programs), every_thread_count, share)
    with Store.open(store, create=False) as opened:
        numbered = [side for side in (a, b) if side.isdecimal() or side == "last"]
        if len(numbered) == 1:
            raise LabError(f"'{a}' and '{b}' are a run and a side; compare two runs or two sides.")
        if numbered and run is not None:
            raise LabError(f"'{a}' and '{b}' are runs, so leave out --run, which is for two sides.")
        stored = [opened.load(each) for each in numbered or [run or "last"]]
    if a == b or (numbered and stored[0].run.id == stored[1].run.id):
        raise LabError(f"'{a}' and '{b}' are the same; compare two runs or two sides of one.")
    kind = registry.kind_of_all(stored)
    if question.options and not kind.compares_cells:
        raise LabError(
            f"Runs of {kind.command} are compared as a whole; leave out "
            f"{' and '.join(question.options)}."
        )
    answer = (
        kind.agree(stored[0], stored[1], question) if numbered else kind.sides(stored[0], question)
    )
    if json:
        write_json(document("compare", answer.record()))
    else:
        console = Console()
        for line in answer.lines():
            console.print(line, highlight=False)
    return 1 if answer.failed else 0


def _share(text: str) -> float:
    """'5%' as 0.05."""
    if not re.fullmatch(r"\d{1,6}(\.\d+)?\s?%?", text, re.ASCII):
        raise LabError(f"--fail-above takes a percentage such as 5 or 2.5%, not '{text}'.")
    return float(text.rstrip("% ")) / 100

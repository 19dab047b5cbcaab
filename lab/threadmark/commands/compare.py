"""`threadmark compare`: is A slower than B, by how much, or is there no difference?"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import cyclopts
from cyclopts import Parameter

from threadmark.errors import LabError
from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption

if TYPE_CHECKING:
    from rich.console import Console

    from threadmark.comparison import Outcome, Pair
    from threadmark.judgement import Agreement
    from threadmark.store import Store


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(compare)


def compare(
    a: Annotated[str, Parameter(help="A run's number, or a side: tbb, std_async:async, jemalloc.")],
    b: Annotated[str, Parameter(help="What to compare it with, of the same kind.")],
    *,
    program: Annotated[str, Parameter(help="Only this program.")] = "",
    run: Annotated[str, Parameter(help="The run whose sides are compared.")] = "last",
    every_thread_count: Annotated[
        bool, Parameter(name="--all", negative="", help="Not only at the most threads.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Compare two runs, or two backends, variants, platforms or allocators of one run.

    The ratio is time(A) / time(B) with its 95 % interval. Sides of one run are paired round by
    round. Two separate runs must differ by more than their drift to count: prefer one run. Of two
    runs it is also said how many verdicts are equal.
    """
    from rich.console import Console

    from threadmark import records
    from threadmark.store import Store

    with Store.open(store, create=False) as opened:
        agreement = _agreement(opened, a, b, program)
        outcome = _outcome(opened, a, b, run, program)
    if not every_thread_count:
        outcome = _at_most_threads(outcome)
    if json:
        record = _record(outcome) | {"verdicts": asdict(agreement) if agreement else None}
        sys.stdout.write(records.dumps(record) + "\n")
    else:
        _print(outcome, agreement, a, b, Console())


def _outcome(opened: Store, a: str, b: str, run: str, program: str) -> Outcome:
    from threadmark import comparison

    filters: dict[str, str | int] = {"program": program} if program else {}
    runs = [opened.run(x).id if x.isdecimal() or x == "last" else None for x in (a, b)]
    numbers = [n for n in runs if n is not None]
    if len(numbers) == 1:
        raise LabError(f"'{a}' and '{b}' are a run and a side; compare two runs or two sides.")
    if not numbers:
        numbers = [opened.run(run).id]
    rows = [opened.rows(number, **filters) for number in numbers]
    if not any(rows):
        known = sorted({row.cell.program for n in numbers for row in opened.rows(n)})
        raise LabError(f"There is no program '{program}' in it; it has {', '.join(known)}.")
    if len(rows) == 2:
        return comparison.compare_runs(*rows)
    return comparison.compare_sides(rows[0], a, b)


def _agreement(opened: Store, a: str, b: str, program: str) -> Agreement | None:
    """Of two runs, how many verdicts are equal; None when two sides of one run are compared."""
    from threadmark import judgement
    from threadmark.catalogue import judgement as catalogue
    from threadmark.profile import CATALOGUE

    if not all(x.isdecimal() or x == "last" for x in (a, b)):
        return None
    ids = [opened.run(x).id for x in (a, b)]
    kinds = {opened.run(n).profile == CATALOGUE for n in ids}
    if len(kinds) == 2:
        raise LabError(f"Of the runs {a} and {b} one is of the catalogue; compare two of one kind.")
    found = [(opened.rows(n), opened.descriptions(n)) for n in ids]
    if kinds == {True}:
        said = [catalogue.judge(*each).said for each in found]
    else:
        said = [judgement.judge(*each) for each in found]
    # Judged with all others: their samples have a part in each verdict.
    of = [[judged for judged in each if program in ("", judged.cell.program)] for each in said]
    return judgement.agreement(*of)


def _at_most_threads(outcome: Outcome) -> Outcome:
    """Only the pairs with the most threads of their program, platform, size and variants."""
    from threadmark import statistics

    most: dict[tuple[Any, ...], Pair] = {}
    for pair in outcome.pairs:
        variant = pair.a.variant if pair.a.variant == pair.b.variant else ""
        key = (replace(pair.a, threads=0, variant=variant), pair.b.backend)
        if key not in most or pair.a.threads > most[key].a.threads:
            most[key] = pair
    ratios = [pair.comparison.ratio.estimate for pair in most.values()]
    overall = statistics.geometric_mean(ratios) if ratios else None
    return replace(outcome, pairs=tuple(most.values()), overall=overall)


def _record(outcome: Outcome) -> dict[str, Any]:
    from threadmark import records

    record: dict[str, Any] = records.finite(asdict(outcome))
    for pair, said in zip(outcome.pairs, record["pairs"], strict=True):
        said["words"] = pair.comparison.words
    return record


def _print(outcome: Outcome, agreement: Agreement | None, a: str, b: str, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from threadmark import statistics
    from threadmark.wording import printable

    console.print(
        Text(printable(f"A = {a}, B = {b}; ratio = time(A) / time(B), 95 % interval"), "bold")
    )
    sections: dict[str, list[Pair]] = defaultdict(list)
    for pair in outcome.pairs:
        sections[_section(pair)].append(pair)
    for title, pairs in sorted(sections.items()):
        console.print(Text("\n" + printable(title), "underline"))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        for pair in pairs:
            found, cell = pair.comparison, pair.a
            style = "" if not found.different else "yellow" if found.ratio.estimate > 1 else "cyan"
            name = " ".join((cell.program, *(f"{k}={v}" for k, v in cell.arguments)))
            table.add_row(
                Text(printable(name)),
                f"{found.ratio.estimate:.3f}",
                f"{found.ratio.low:.3f} .. {found.ratio.high:.3f}",
                Text(found.words, style=style),
                f"{statistics.effect_word(found.delta)} ({found.delta:+.2f})",
            )
        console.print(table, highlight=False)
    console.print(Text("\n".join(["", *_summary(outcome)])), highlight=False)
    if agreement:
        share = agreement.equal / max(1, agreement.of)
        said = [f"Verdicts: {agreement.equal} of {agreement.of} are equal ({share:.1%})."]
        said += [f"  {what}: {first} | {second}" for what, first, second in agreement.differ]
        console.print(Text("\n".join(["", *map(printable, said)])), highlight=False)


def _section(pair: Pair) -> str:
    """What a group of pairs has in common, A and B both named where they differ."""
    fields = ("platform", "size", "allocator", "backend", "variant")
    both = [(getattr(pair.a, field), getattr(pair.b, field)) for field in fields]
    parts = [x if x == y else f"{x} | {y}" for x, y in both if x or y]
    return ", ".join([*parts, f"{pair.a.threads} thread{'s' * (pair.a.threads > 1)}"])


def _summary(outcome: Outcome) -> list[str]:
    said = []
    if outcome.overall and len(outcome.pairs) > 1:
        mean = outcome.overall
        said.append(
            f"All {len(outcome.pairs)} together: ratio {mean.estimate:.3f} "
            f"({mean.low:.3f} .. {mean.high:.3f}), geometric mean."
        )
        said.append(
            f"Of {len(outcome.pairs)} equal pairs about {0.05 * len(outcome.pairs):.1f} would "
            "differ by chance."
        )
    if outcome.margin:
        said.append(
            f"Separate runs: only what differs by more than {100 * outcome.margin:.0f} % counts, "
            "as the machine drifts between them; measure both in one run to see less."
        )
    for why, count in Counter(skipped.why for skipped in outcome.skipped).most_common():
        said.append(f"{count} cell{'s' * (count > 1)} not compared: {why}.")
    if not outcome.pairs:
        said.append("Nothing could be compared.")
    return said

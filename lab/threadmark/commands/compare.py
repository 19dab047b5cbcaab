"""`threadmark compare`: is A slower than B, by how much, or are they not distinguishable?"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import cyclopts
from cyclopts import Parameter

from threadmark.errors import LabError
from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption
from threadmark.output import document, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from threadmark.cell import Cell, Run
    from threadmark.comparison import Outcome, Pair
    from threadmark.gate import Gate
    from threadmark.judgement import Agreement
    from threadmark.store import Store


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(compare)


def compare(
    a: Annotated[str, Parameter(help="A run's number, or a side: tbb, std_async:async, jemalloc.")],
    b: Annotated[str, Parameter(help="What to compare it with, of the same kind.")],
    *,
    programs: Annotated[
        tuple[str, ...],
        Parameter(
            consume_multiple=True,
            negative="",
            show_default=False,
            help="Only these programs, separated by spaces.",
        ),
    ] = (),
    run: Annotated[str, Parameter(help="The run whose sides are compared.")] = "last",
    every_thread_count: Annotated[
        bool, Parameter(negative="", help="Not only at the most threads.")
    ] = False,
    fail_above: Annotated[
        str,
        Parameter(
            show_default=False,
            help="A percentage such as 5 or 5%: the exit status is 1 when A is slower than B by "
            "more than that in any pair, or failed where B has a time. Slower means beyond the "
            "interval, the drift between runs and what code layout can do; all intervals together "
            "have a one-sided level of 97.5 %.",
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

    from threadmark import gate as gating
    from threadmark.store import Store

    share = _share(fail_above) if fail_above else None
    with Store.open(store, create=False) as opened:
        agreement = _agreement(opened, a, b, programs)
        outcome = _outcome(opened, a, b, run, programs)
    if not every_thread_count:
        outcome = outcome.at_most_threads()
    gate = None if share is None else gating.gate(outcome, share)
    if json:
        write_json(_record(outcome, agreement, (a, b), gate))
    else:
        _print(outcome, agreement, a, b, Console())
        if gate:
            print("", *gate.words, sep="\n")
    return 1 if gate and gate.closed else 0


def _share(text: str) -> float:
    """'5%' as 0.05."""
    if not re.fullmatch(r"\d{1,6}(\.\d+)?\s?%?", text, re.ASCII):
        raise LabError(f"--fail-above takes a percentage such as 5 or 2.5%, not '{text}'.")
    return float(text.rstrip("% ")) / 100


def _outcome(opened: Store, a: str, b: str, run: str, programs: tuple[str, ...]) -> Outcome:
    from threadmark import comparison
    from threadmark.cli import closest

    runs = [opened.run(x) if x.isdecimal() or x == "last" else None for x in (a, b)]
    numbered = [each for each in runs if each]
    if len(numbered) == 1:
        raise LabError(f"'{a}' and '{b}' are a run and a side; compare two runs or two sides.")
    rows = [opened.rows(each.id) for each in numbered or [opened.run(run)]]
    known = sorted({row.cell.program for each in rows for row in each})
    for name in programs:
        if name not in known:
            raise LabError(
                f"There is no program '{name}' in it{closest(name, known)}; "
                f"it has {', '.join(known)}."
            )
    if numbered:
        first, second = numbered
        outcome = comparison.compare_runs(rows[0], rows[1], lambda cell: _same(first, second, cell))
    else:
        outcome = comparison.compare_sides(rows[0], a, b)
    return outcome.of_programs(programs) if programs else outcome


def _same(first: Run, second: Run, cell: Cell) -> bool:
    """Whether both runs are known to have measured the same executable."""
    name = f"{cell.platform}/{cell.program}.{cell.backend}"
    digests = [each.machine.get("executables", {}).get(name) for each in (first, second)]
    return first.id == second.id or (digests[0] == digests[1] is not None)


def _agreement(opened: Store, a: str, b: str, programs: tuple[str, ...]) -> Agreement | None:
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
    of = [[one for one in each if not programs or one.cell.program in programs] for each in said]
    return judgement.agreement(*of)


def _record(
    outcome: Outcome,
    agreement: Agreement | None,
    names: tuple[str, str],
    gate: Gate | None,
) -> dict[str, Any]:
    """What --json prints."""
    from threadmark import records
    from threadmark.ratios import LAYOUT, LEVEL

    fields: dict[str, Any] = records.finite({
        "a": names[0],
        "b": names[1],
        "level": LEVEL,
        "layout": LAYOUT,
        "drift": outcome.drift,
        "pairs": [_pair_record(pair, gate) for pair in outcome.pairs],
        "skipped": [
            {"cell": _cell_record(each.cell), "why": each.why, "fails": gate and each.failed}
            for each in outcome.skipped
        ],
        "overall": records.interval_record(outcome.overall),
        "different_by_chance": outcome.different_by_chance,
        "fail_above": gate and gate.share,
        "verdicts": agreement and {
            "equal": agreement.equal,
            "of": agreement.of,
            "unclear": {"a": agreement.unclear[0], "b": agreement.unclear[1]},
            "unmatched": agreement.unmatched,
            "differ": [{"cell": c, "a": x, "b": y} for c, x, y in agreement.differ],
        },
    })  # fmt: skip
    return document("compare", fields)


def _pair_record(pair: Pair, gate: Gate | None) -> dict[str, Any]:
    from threadmark import records

    found = pair.comparison
    return {
        "a": _cell_record(pair.a),
        "b": _cell_record(pair.b),
        "ratio": records.interval_record(found.ratio),
        "rounds": {"a": found.rounds[0], "b": found.rounds[1]},
        "drift": found.drift,
        "layout": found.layout,
        "different": found.different,
        "exceeds_layout": found.exceeds_layout,
        "fails": gate and pair in gate.slower,
        "words": found.words,
    }


def _cell_record(cell: Cell) -> dict[str, Any]:
    return {**asdict(cell), "arguments": dict(cell.arguments)}


def _print(outcome: Outcome, agreement: Agreement | None, a: str, b: str, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

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
            slower = "yellow" if found.ratio.estimate > 1 else "cyan"
            name = " ".join((cell.program, *(f"{k}={v}" for k, v in cell.arguments)))
            table.add_row(
                Text(printable(name)),
                f"{found.ratio.estimate:.3f}",
                f"{found.ratio.low:.3f} .. {found.ratio.high:.3f}",
                Text(found.words, style=slower if found.exceeds_layout else ""),
            )
        console.print(table, highlight=False)
    console.print(Text("\n".join(["", *_summary(outcome)])), highlight=False)
    if agreement:
        share = agreement.equal / max(1, agreement.of)
        said = [
            f"Verdicts: of {agreement.of} that can differ {agreement.equal} are definite and equal "
            f"in both runs ({100 * share:.1f} %); unclear in A {agreement.unclear[0]}, "
            f"in B {agreement.unclear[1]}."
        ]
        if agreement.unmatched:
            said.append(f"  {agreement.unmatched} more are in only one of the two runs.")
        said += [f"  {what}: {first} | {second}" for what, first, second in agreement.differ]
        console.print(Text("\n".join(["", *map(printable, said)])), highlight=False)


def _section(pair: Pair) -> str:
    """What a group of pairs has in common, A and B both named where they differ."""
    fields = ("platform", "size", "allocator", "backend", "variant")
    both = [(getattr(pair.a, field), getattr(pair.b, field)) for field in fields]
    parts = [x if x == y else f"{x} | {y}" for x, y in both if x or y]
    return ", ".join([*parts, f"{pair.a.threads} thread{'s' * (pair.a.threads > 1)}"])


def _summary(outcome: Outcome) -> list[str]:
    from threadmark.ratios import percent

    found = [pair.comparison for pair in outcome.pairs]
    said = []
    if outcome.overall and len(found) > 1:
        mean = outcome.overall
        said.append(
            f"All {len(found)} together: ratio {mean.estimate:.3f} "
            f"({mean.low:.3f} .. {mean.high:.3f}), geometric mean."
        )
    if found:
        different = sum(each.different is True for each in found)
        chance = f"{outcome.different_by_chance:.1f}"
        said.append(
            f"{different} of {len(found)} pairs differ. If none did, "
            f"{'about' if outcome.drift is None else 'at most'} {chance} of them "
            "would look different by chance, because each interval has a level of 95 %."
        )
    if any(each.different and not each.exceeds_layout for each in found):
        most = max(each.layout for each in found)
        said.append(
            f"'layout': A and B are different executables, and code layout alone moves 95 of 100 "
            f"such ratios by up to {percent(most)}, so the code need not be the cause."
        )
    if outcome.drift is not None:
        said.append(
            f"Separate runs: the intervals allow for a drift of the machine of "
            f"{percent(outcome.drift)} or more. Measure both in one run to see less."
        )
    for why, count in Counter(skipped.why for skipped in outcome.skipped).most_common():
        said.append(f"{count} cell{'s' * (count > 1)} not compared: {why}.")
    if not outcome.pairs:
        said.append("Nothing could be compared.")
    return said

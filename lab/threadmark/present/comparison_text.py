"""A comparison as lines of a terminal and as plain values for JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from threadmark.judge.comparison import Outcome, Pair
from threadmark.judge.findings import Agreement
from threadmark.judge.gate import Gate
from threadmark.judge.ratios import LAYOUT, LEVEL, percent
from threadmark.model.cell import Cell
from threadmark.present import plain
from threadmark.present.wording import printable


@dataclass(frozen=True)
class Compared:
    """The result of `compare`. `names` are the sides as typed; `agreement` is None for two sides of
    one run, `gate` unless --fail-above was given."""

    names: tuple[str, str]
    outcome: Outcome
    agreement: Agreement | None
    gate: Gate | None

    @property
    def failed(self) -> bool:
        """Whether A is slower than --fail-above allows."""
        return self.gate is not None and self.gate.closed

    def record(self) -> dict[str, Any]:
        """The fields of its JSON."""
        outcome, agreement, gate = self.outcome, self.agreement, self.gate
        fields: dict[str, Any] = plain.finite({
            "a": self.names[0],
            "b": self.names[1],
            "level": LEVEL,
            "layout": LAYOUT,
            "drift": outcome.drift,
            "pairs": [_pair_record(pair, gate) for pair in outcome.pairs],
            "skipped": [
                {"cell": _cell_record(each.cell), "why": each.why, "fails": gate and each.failed}
                for each in outcome.skipped
            ],
            "overall": plain.interval_record(outcome.overall),
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
        return fields

    def lines(self) -> list[RenderableType]:
        """The lines for a terminal."""
        a, b = self.names
        title = f"A = {a}, B = {b}; ratio = time(A) / time(B), 95 % interval"
        lines: list[RenderableType] = [Text(printable(title), "bold")]
        sections: dict[str, list[Pair]] = defaultdict(list)
        for pair in self.outcome.pairs:
            sections[_section(pair)].append(pair)
        for title, pairs in sorted(sections.items()):
            lines += [Text("\n" + printable(title), "underline"), _table(pairs)]
        lines.append(Text("\n".join(["", *_summary(self.outcome)])))
        if self.agreement:
            lines.append(Text("\n".join(["", *map(printable, _agreement(self.agreement))])))
        if self.gate:
            lines.append(Text("\n".join(["", *map(printable, self.gate.words)])))
        return lines


def _table(pairs: Sequence[Pair]) -> Table:
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
    return table


def _agreement(agreement: Agreement) -> list[str]:
    share = agreement.equal / max(1, agreement.of)
    said = [
        f"Verdicts: of {agreement.of} that can differ {agreement.equal} are definite and equal "
        f"in both runs ({100 * share:.1f} %); unclear in A {agreement.unclear[0]}, "
        f"in B {agreement.unclear[1]}."
    ]
    if agreement.unmatched:
        said.append(f"  {agreement.unmatched} more are in only one of the two runs.")
    return said + [f"  {what}: {first} | {second}" for what, first, second in agreement.differ]


def _pair_record(pair: Pair, gate: Gate | None) -> dict[str, Any]:
    found = pair.comparison
    return {
        "a": _cell_record(pair.a),
        "b": _cell_record(pair.b),
        "ratio": plain.interval_record(found.ratio),
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


def _section(pair: Pair) -> str:
    """The common part of a group of pairs, with A and B both named if they differ."""
    fields = ("platform", "size", "allocator", "backend", "variant")
    both = [(getattr(pair.a, field), getattr(pair.b, field)) for field in fields]
    parts = [x if x == y else f"{x} | {y}" for x, y in both if x or y]
    return ", ".join([*parts, f"{pair.a.threads} thread{'s' * (pair.a.threads > 1)}"])


def _summary(outcome: Outcome) -> list[str]:
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

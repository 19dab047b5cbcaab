"""The answer of a try as lines of a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any

from rich.text import Text

from threadmark.judge.estimates import Interval
from threadmark.judge.pairs import FEWEST
from threadmark.judge.trials import WORTH, Finding, Judgement
from threadmark.kinds.trials.gaps import gaps
from threadmark.kinds.trials.judgement import Found, Tried
from threadmark.model.cell import Stored
from threadmark.model.places import hint
from threadmark.model.workload import threads_in_words
from threadmark.present import wording
from threadmark.present.terminal import TextPage

_KEPT = 2  # fixes whose lines are printed
_UNCLEAR = 3  # unclear fixes with a line
_ENDLESS = 10.0  # an upper limit of ten times as fast has no meaning


def lines(stored: Stored, found: Found, width: int, *, utf8: bool) -> list[Text]:
    """The output of `show` and `try`."""
    page = TextPage(max(60, min(width, 100)), utf8=utf8)
    _head(page, stored, found)
    if not found.bases:
        return page.lines
    shown = _shown(found)
    if shown:
        _table(page, found, shown)
    page.lines.append(Text())
    _answer(page, found)
    _others(page, found)
    _explained(page, found, stored.store)
    if found.left_out:
        _left_out(page, found)
    for each in (*found.limits, *stored.run.notes):
        page.say(f"- {each}", "dim")
    return page.lines


def _head(page: TextPage, stored: Stored, found: Found) -> None:
    name = PurePath(stored.run.request["command"][0]).name
    said = []
    for count, base in found.bases.items():
        unit = _unit(stored, base.seconds)
        ratio = ""
        if faster := found.speedups.get(count):
            known = f"{faster.low:.2f} to {faster.high:.2f}" if faster.high < _ENDLESS else ""
            than = f"{faster.estimate:.2f} times as fast as on {min(found.bases)}"
            ratio = f" ({', '.join(filter(None, (than, known)))})"
        said.append(f"{unit}{_on(count)}{ratio}")
    page.say(f"{name} as it is: {', '.join(said) or 'nothing was measured'}.", "bold")
    noise = [
        f"{_span(each)}{_on(count)}" for count, each in found.noise.items() if each.high < _ENDLESS
    ]
    page.say(
        f"{found.rounds} round{'s' * (found.rounds != 1)} of pairs of runs, as is and with each "
        "fix."
        + (f" The noise, as is against as is: {', '.join(noise)}." if noise else "")
    )  # fmt: skip
    if not found.finished:
        page.say("The try is unfinished: this is what its runs say so far.", "bold")


def _unit(stored: Stored, seconds: float) -> str:
    work = stored.run.request["workload"]
    if work["metric"]:
        return f"{1 / seconds:,.4g} by --metric"
    return wording.duration(1e9 * seconds) + (" a unit" if work["progress"] else "")


def _on(count: int) -> str:
    return f" on {threads_in_words(count)}" if count else ""


def _shown(found: Found) -> list[Tried]:
    """The fixes with a line: those that gain or lose with some number of threads, and the likeliest
    of the unclear ones."""
    clear: list[Tried] = []
    unclear: list[Tried] = []
    for each in found.tried:
        findings = {one.finding for one in each.arms.values() if one.pairs >= FEWEST}
        if each.broken or findings <= {Finding.NONE}:
            continue
        (unclear if findings <= {Finding.NONE, Finding.UNCLEAR} else clear).append(each)
    return [each for each in found.tried if each in clear or each in unclear[:_UNCLEAR]]


def _is_short(tried: Tried) -> bool:
    """Whether there were too few pairs for a finding."""
    return not tried.broken and all(each.pairs < FEWEST for each in tried.arms.values())


def _table(page: TextPage, found: Found, shown: Sequence[Tried]) -> None:
    counts = list(found.bases)
    heads = ["fix", *(threads_in_words(count) or "faster by" for count in counts), "memory"]
    rows = [
        [
            each.name,
            *(_cell(each.arms.get(count)) for count in counts),
            "" if each.memory is None else f"x{each.memory:.2f}",
        ]
        for each in shown
    ]
    page.columns([heads, *rows], ["dim", *("bold" if each.gains else "" for each in shown)])


def _cell(judged: Judgement | None) -> str:
    if judged is None:
        return ""
    if judged.ratio.high >= _ENDLESS and judged.finding is Finding.UNCLEAR:
        return f"unclear, {judged.pairs} pair{'s' * (judged.pairs != 1)}"
    words = _span(judged.ratio)
    if judged.finding is Finding.UNCLEAR:
        return f"unclear {words}"
    if judged.finding is Finding.NONE:
        return "none"
    return f"{percent(judged.ratio.estimate)} {words}"


def percent(ratio: float, *, factor: bool | None = None) -> str:
    """A ratio of speed: 1.43 as '+43 %', 0.9 as '-10 %'; as a factor on request, or from two on."""
    if ratio >= 2 if factor is None else factor:
        return f"x{wording.speed(ratio)}"
    share = 100 * (ratio - 1)
    return f"{share:+.{1 if abs(share) < 9.95 else 0}f} %"


def span(ratio: Interval) -> str:
    """'+38 % to +49 %'; factors where the estimate is two or more."""
    factor = ratio.estimate >= 2
    return f"{percent(ratio.low, factor=factor)} to {percent(ratio.high, factor=factor)}"


def _span(ratio: Interval) -> str:
    return f"({span(ratio)})"


def _answer(page: TextPage, found: Found) -> None:
    winners = found.winners
    if not winners:
        known = [each for each in found.tried if not each.broken and not _is_short(each)]
        sure = not any(each.most and each.most.finding is Finding.UNCLEAR for each in known)
        helps = f"None of the {len(known)} fixes that were measured "
        helps += "helps" if sure else "is sure to help"
        if len(known) == 1:
            helps = f"{known[0].name} {'does not' if sure else 'is not sure to'} help"
        page.say(f"{helps}; {_could_be(found)}" if known else _nothing_known(found), "bold")
        return
    for each in winners[:_KEPT]:
        _keep(page, each)
    _sum(page, found)


def _nothing_known(found: Found) -> str:
    if found.tried and all(each.broken for each in found.tried):
        return "No fix can be kept, because each that was tried breaks the program."
    if found.budget_over:
        return "No fix was measured often enough; give more time with --budget."
    if found.finished:
        return "The try was interrupted before a fix was measured often enough."
    return "No fix was measured often enough so far."


def _could_be(found: Found) -> str:
    if found.seen is None or found.seen >= _ENDLESS - 1:
        more = ", give more time with --budget" if found.budget_over else ""
        return f"there are too few runs to say more{more}."
    return f"a gain of {_gain(found.seen)} or more would have been seen."


def _gain(share: float) -> str:
    """The largest possible gain of fixes: '5.0 %', 'x3.37'; smaller ones count as none."""
    return percent(1 + max(share, WORTH)).removeprefix("+")


def _keep(page: TextPage, tried: Tried) -> None:
    most = tried.most
    assert most
    page.say(f"{tried.name}: {tried.what}, {percent(most.ratio.estimate)}. To keep it:", "bold")
    if build := tried.keep.get("build"):
        page.lines.append(Text(f"  {wording.printable(build)}"))
    if command := tried.keep["command"]:
        page.lines.append(Text(f"  {wording.printable(command)}"))
    if dockerfile := tried.keep["dockerfile"]:
        page.lines.append(Text("  or in a Dockerfile:", style="dim"))
        page.lines += [Text(f"  {wording.printable(each)}") for each in dockerfile]
    page.say(f"  Risk: {tried.risk}")


def _sum(page: TextPage, found: Found) -> None:
    """The lines on a combination and its parts."""
    known = {each.name: each for each in found.tried}
    for each in found.tried:
        parts = [known[name].most for name in each.parts if name in known]
        if not parts or each.most is None or each.broken:
            continue
        measured = each.most.ratio
        product, best = 1.0, 1.0
        for part in filter(None, parts):
            product *= part.ratio.estimate
            best = max(best, part.ratio.estimate)
        if measured.high < product:
            page.say(
                f"The gains do not add up: {each.name} gives {percent(measured.estimate)} "
                f"{_span(measured)}, and its parts would give {percent(product)}"
                + (", which one alone reaches." if measured.high < best else ".")
            )


def _others(page: TextPage, found: Found) -> None:
    shown = _shown(found)
    quiet = [each for each in found.tried if not each.broken and each not in shown and each.arms]
    for finding, words in ((Finding.NONE, ""), (Finding.UNCLEAR, "Not clear")):
        known = [(each, each.most) for each in quiet if not _is_short(each)]
        some = [(each, most.ratio.high) for each, most in known if most and most.finding is finding]
        if some:
            highest = max(high for _, high in some)
            above = f"no gain above {_gain(highest - 1)}" if highest < _ENDLESS else ""
            said = wording.capital(", but ".join(filter(None, (words, above))))
            page.say(f"{said}: {_listed(each for each, _ in some)}.")
    if lost := [each for each in found.tried if not each.broken and not each.arms]:
        page.say(f"No pair of runs ended well: {_listed(lost)}.")
    short = [each for each in quiet if _is_short(each)]
    if given_up := [each for each in short if each.name in found.given_up]:
        page.say(
            f"Given up early, because time was short and others promised more: {_listed(given_up)}."
        )
    if others := [each for each in short if each not in given_up]:
        end = (
            "before the budget was over" if found.budget_over else "before the try was interrupted"
        )
        page.say(f"Fewer than {FEWEST} pairs of runs ended well "
                 f"{end if found.finished else 'so far'}: {_listed(others)}.")  # fmt: skip
    for each in found.tried:
        if each.broken:
            page.say(f"{each.name} breaks the program: {each.broken}.")


def _listed(tried: Iterable[Tried]) -> str:
    return ", ".join(each.name for each in tried)


def _explained(page: TextPage, found: Found, store: Path) -> None:
    said = found.explained
    if not said:
        return
    page.heading(f"What explain says ({hint(store, 'show', said['run'])})")
    for gap in gaps(found):
        page.say(f"- {gap.cause}")
        if gap.fix and gap.fix.most:
            bound = (
                f"{wording.capital(wording.at_most(gap.bound))}; measured "
                if gap.bound
                else "Measured "
            )
            measured = f"{percent(gap.fix.most.ratio.estimate)} {_span(gap.fix.most.ratio)}"
            page.say(f"  {bound}{measured} with {gap.fix.name}: {gap.said}.")
        if gap.left:
            page.say(f"  {wording.capital(gap.left)}.")
    if left := said.get("left"):
        command = hint(store, "show", left["run"])
        page.say(f"Causes left with {said['best']} ({command}):")
        for cause in left["causes"]:
            page.say(f"- {cause}")


def left_out(found: Found) -> dict[str, list[str]]:
    """The reasons for not trying fixes, each with the names of the fixes."""
    reasons: dict[str, list[str]] = {}
    for name, why in found.left_out.items():
        reasons.setdefault(why, []).append(name)
    return reasons


def _left_out(page: TextPage, found: Found) -> None:
    said = [f"{', '.join(names)} ({why})" for why, names in left_out(found).items()]
    page.say(f"Not tried: {'; '.join(said)}.", "dim")


def command_line(request: dict[str, Any]) -> str:
    """The program's command line from the request."""
    return shlex.join(request["command"])

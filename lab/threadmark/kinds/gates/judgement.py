"""From the rows of a gate to its verdict; pure.

The probability of wrongly finding a demand unmet, over all demands, is at most ERROR, and so is
that of finding one met, however many looks there are, see threadmark.judge.trials.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from threadmark.judge import pairs
from threadmark.judge.estimates import Interval
from threadmark.judge.trials import ERROR, error_at_end, looks_with_errors
from threadmark.kinds.gates.demands import Demand
from threadmark.model.cell import Row, Status
from threadmark.model.workload import threads_in_words

KNOWN = 1e6  # a larger limit of a speed-up means not known


class Verdict(StrEnum):
    """The verdict of a demand, and of all demands."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "not decidable on this machine today"
    STOPPED = "not decided, because the program failed"  # of a demand alone


@dataclass(frozen=True)
class Checked:
    """A demand, and the speed-up that decided it."""

    demand: Demand
    verdict: Verdict
    speedup: Interval
    rounds: int


@dataclass(frozen=True)
class Found:
    """The whole result of a gate. `seconds`: medians by the number of threads, of the rounds that
    count. `failure`: the failure of the program, if any. `disturbed`: rounds that do not count, and
    the event in the last one."""

    checked: Sequence[Checked]
    speedups: Mapping[int, Interval]
    seconds: Mapping[int, float]
    rounds: int
    disturbed: int
    why: str = ""
    failure: str = ""

    @property
    def known(self) -> dict[int, Interval]:
        """The speed-ups that are precise enough for a baseline."""
        return {threads: each for threads, each in self.speedups.items() if each.high < KNOWN}

    @property
    def verdict(self) -> Verdict:
        """One unmet demand fails; one undecidable demand leaves all undecided. Without demands a
        speed-up must be known."""
        verdicts = {each.verdict for each in self.checked}
        if self.failure or Verdict.FAILED in verdicts:
            return Verdict.FAILED
        undecided = Verdict.UNDECIDED in verdicts or not (self.checked or self.known)
        return Verdict.UNDECIDED if undecided else Verdict.PASSED


def judge(rows: Sequence[Row], demands: Sequence[Demand], *, ended: bool = True) -> Found:
    """The result of rows. Before the end only the looks decide, because the end has only one
    look."""
    logs, disturbed = _logs(rows)
    failed = next((row for row in rows if row.status is not Status.OK), None)
    checked = [_checked(each, logs.get(each.threads, []), len(demands), ended) for each in demands]
    if failed:
        checked = [
            replace(each, verdict=Verdict.STOPPED) if each.verdict is Verdict.UNDECIDED else each
            for each in checked
        ]
    return Found(
        checked,
        {threads: pairs.interval(each, ERROR / 2) for threads, each in sorted(logs.items())},
        _seconds(row for row in rows if row.round and row.round not in disturbed),
        max((row.round for row in rows), default=0),
        len(disturbed),
        next(reversed(disturbed.values()), ""),
        _failure(failed) if failed else "",
    )


def _checked(demand: Demand, logs: Sequence[float], demands: int, ended: bool) -> Checked:
    """The demand as the first look that decided it, or the end, finds it."""
    for count, error in looks_with_errors(len(logs), demands):
        ratio = pairs.interval(logs[:count], error)
        verdict = _verdict(ratio, demand.speedup)
        if verdict is not Verdict.UNDECIDED:
            return Checked(demand, verdict, ratio, count)
    ratio = pairs.interval(logs, error_at_end(demands))
    verdict = _verdict(ratio, demand.speedup) if ended else Verdict.UNDECIDED
    return Checked(demand, verdict, ratio, len(logs))


def _verdict(ratio: Interval, least: float) -> Verdict:
    if ratio.low >= least:
        return Verdict.PASSED
    return Verdict.FAILED if ratio.high < least else Verdict.UNDECIDED


def _logs(rows: Iterable[Row]) -> tuple[dict[int, list[float]], dict[int, str]]:
    """The logarithms of the speed-ups of each number of threads by rounds, and the reasons for
    which rounds do not count."""
    rounds: dict[int, dict[int, float]] = defaultdict(dict)
    disturbed: dict[int, str] = {}
    for row in rows:
        if row.round and row.disturbed:
            disturbed[row.round] = row.disturbed
        if row.round and row.sample_ns:
            rounds[row.round][row.cell.threads] = math.log(row.sample_ns)
    found: dict[int, list[float]] = defaultdict(list)
    for number, times in sorted(rounds.items()):
        if number in disturbed or 1 not in times:
            continue
        for threads, log in times.items():
            if threads > 1:
                found[threads].append(times[1] - log)
    return dict(found), disturbed


def _seconds(rows: Iterable[Row]) -> dict[int, float]:
    times: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row.sample_ns:
            times[row.cell.threads].append(row.sample_ns / 1e9)
    return {threads: median(each) for threads, each in sorted(times.items())}


def _failure(row: Row) -> str:
    return f"with {threads_in_words(row.cell.threads)} {row.reason}"

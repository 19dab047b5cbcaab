"""From the rows of a try to the gain of each fix; pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from threadmark.judge import pairs
from threadmark.judge.estimates import Interval
from threadmark.judge.trials import Finding, Judgement, Trial
from threadmark.kinds.trials.arms import (
    AGAIN,
    AS_IS,
    EQUAL,
    OUTPUT,
    PAIR,
    TAKEN,
    Arm,
    broken,
    failures,
    is_base,
    usual_outputs,
)
from threadmark.model.cell import Row, Status, Stored
from threadmark.model.workload import threads_in_words

FIXES = "fixes"  # the document with the planned fixes
GIVEN_UP, INTERRUPTED = "given_up", "interrupted"  # in that document: the end of the measurement
EXPLAINED = "explained"  # the document with explain's answer
_ERROR = 0.025  # of each limit of a figure that claims nothing
_BUSY = 0.1  # of the processors' time, above which the answer mentions other load
_KEPT_SHORT = 0.01  # seconds; below, the start of a process is a good part of a run


@dataclass(frozen=True)
class Base:
    """The program as it is: median seconds for a unit, the numbers of runs and of failures, and
    whether all had the same output (None if not known)."""

    seconds: float
    runs: int
    failed: int
    constant: bool | None


@dataclass(frozen=True)
class Tried:
    """One fix. `memory`: its peak against that as is. `keep`: the lines that keep it."""

    name: str
    kind: str
    what: str
    risk: str
    keep: Mapping[str, Any]
    arms: Mapping[int, Judgement]
    broken: str = ""
    memory: float | None = None
    parts: tuple[str, ...] = ()
    bound: float | None = None  # of the explained cause that it can help with

    @property
    def most(self) -> Judgement | None:
        """The judgement with the most threads."""
        return self.arms[max(self.arms)] if self.arms else None

    @property
    def gains(self) -> bool:
        """Whether it is certainly faster with the most threads."""
        most = self.most
        return not self.broken and most is not None and most.finding is Finding.GAIN


@dataclass(frozen=True)
class Found:
    """The result of a try. `speedups`: against the fewest threads. `seen`: the least gain that
    fixes without one can still have, as a share; None if nothing was measured. `given_up`: fixes
    that were not measured further, because others promised more."""

    bases: Mapping[int, Base]
    speedups: Mapping[int, Interval]
    noise: Mapping[int, Interval]
    tried: Sequence[Tried]
    left_out: Mapping[str, str]
    rounds: int
    seen: float | None
    limits: Sequence[str] = ()
    explained: Mapping[str, Any] = field(default_factory=dict)
    given_up: Sequence[str] = ()
    interrupted: bool = False
    finished: bool = True  # False while it goes on, and if it was killed

    @property
    def budget_over(self) -> bool:
        """Whether there are no more runs because the time was used up."""
        return self.finished and not self.interrupted

    @property
    def winners(self) -> list[Tried]:
        """The fixes that gain with the most threads, the best first, and parts of combinations."""
        return [each for each in self.tried if each.gains]

    @property
    def best_of_kinds(self) -> list[Tried]:
        """The best gaining fix of each kind."""
        found: dict[str, Tried] = {}
        for each in self.winners:
            if not each.parts:
                found.setdefault(each.kind, each)
        return list(found.values())


def judge(stored: Stored) -> Found:
    """The result of a stored try."""
    described = stored.documents.get(FIXES, {})
    found = judged(stored.rows, described, stored.documents.get(EXPLAINED, {}))
    return replace(found, finished=bool(stored.run.finished_at))


def judged(
    rows: Sequence[Row], described: Mapping[str, Any], explained: Mapping[str, Any]
) -> Found:
    """The result of rows and of the planned fixes."""
    trial = trial_of(rows, described.get("family", 0))
    judgements = trial.judge()
    faults = broken(rows)
    bounds = explained.get("bounds", {})
    tried = []
    for each in described.get("tried", ()):
        name = each["name"]
        arms = {arm.threads: found for arm, found in judgements.items() if arm.fix == name}
        if not any(row.cell.variant == name for row in rows):
            continue
        tried.append(
            Tried(
                name,
                each["kind"],
                each["what"],
                each["risk"],
                each["keep"],
                arms,
                faults.get(name, ""),
                _memory(rows, name),
                tuple(each["parts"]),
                bounds.get(name),
            )
        )
    bases = _bases(rows)
    counts = sorted(bases)
    return Found(
        bases,
        _speedups(rows, counts),
        {count: trial.noise(Arm(AGAIN, count)) for count in counts},
        _ranked(tried),
        described.get("left_out", {}),
        max((row.round for row in rows), default=0),
        _seen(tried),
        _limits(rows, bases, described),
        explained,
        described.get(GIVEN_UP, ()),
        described.get(INTERRUPTED, False),
    )


def trial_of(rows: Iterable[Row], family: int) -> Trial[Arm]:
    """The trial that decides on all arms, at most `family` of them."""
    found = logs_of(rows)
    return Trial(
        {arm: list(each.values()) for arm, each in found.items()},
        family,
        {arm: list(each) for arm, each in found.items()},
    )


def logs_of(rows: Iterable[Row]) -> dict[Arm, dict[int, float]]:
    """For each arm by rounds, in their order, the logarithm of time as is / time with the fix."""
    sides: dict[tuple[Arm, int], dict[bool, float]] = defaultdict(dict)
    for row in rows:
        if row.sample_ns and PAIR in row.facts:
            arm = Arm(row.facts[PAIR], row.cell.threads)
            sides[arm, row.round][row.cell.variant == AS_IS] = row.sample_ns
    found: dict[Arm, dict[int, float]] = defaultdict(dict)
    for (arm, number), each in sides.items():
        if len(each) == 2:
            found[arm][number] = math.log(each[True] / each[False])
    return dict(found)


def _bases(rows: Sequence[Row]) -> dict[int, Base]:
    found = {}
    constant = usual_outputs(rows)
    for count in sorted({row.cell.threads for row in rows}):
        own = [row for row in rows if row.cell.threads == count and is_base(row)]
        times = [row.sample_ns / 1e9 for row in own if row.sample_ns]
        if times:
            printed = any(row.facts.get(OUTPUT) for row in own)
            found[count] = Base(
                median(times),
                len(own),
                sum(row.status is not Status.OK for row in own),
                bool(constant.get(count)) if printed and len(own) >= EQUAL else None,
            )
    return found


def _speedups(rows: Sequence[Row], counts: Sequence[int]) -> dict[int, Interval]:
    """The speed-ups of each number of threads as is against the fewest, by rounds."""
    if len(counts) < 2:
        return {}
    logs: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if is_base(row) and row.sample_ns:
            logs[row.cell.threads][row.round].append(math.log(row.sample_ns))
    least = logs[counts[0]]
    found = {}
    for count in counts[1:]:
        own = logs[count]
        ratios = [median(least[r]) - median(own[r]) for r in sorted(own) if r and r in least]
        found[count] = pairs.interval(ratios, _ERROR)
    return found


def _memory(rows: Sequence[Row], name: str) -> float | None:
    """The ratio of memory with the most threads, by medians of the peaks."""
    peaks: dict[bool, list[float]] = {True: [], False: []}
    most = max((row.cell.threads for row in rows), default=0)
    for row in rows:
        peak = row.facts.get("peak_bytes")
        if row.cell.threads == most and row.facts.get(PAIR) == name and peak:
            peaks[row.cell.variant == AS_IS].append(peak)
    return median(peaks[False]) / median(peaks[True]) if all(peaks.values()) else None


def _ranked(tried: Sequence[Tried]) -> list[Tried]:
    """The fixes: gains first, by size; those that break the program last. A combination that is not
    certainly faster comes after the best fix alone."""
    order = (Finding.GAIN, Finding.UNCLEAR, Finding.NONE, Finding.LOSS)
    alone = [each.most for each in tried if each.gains and each.most and not each.parts]
    best = max((each.ratio.estimate for each in alone), default=1.0)

    def place(each: Tried) -> tuple[int, bool, float]:
        if each.broken or each.most is None:
            return len(order), False, 0.0
        ratio = each.most.ratio
        needless = bool(each.parts) and ratio.low <= best
        return order.index(each.most.finding), needless, -ratio.estimate

    return sorted(tried, key=place)


def _seen(tried: Iterable[Tried]) -> float | None:
    """The highest possible gain, with the most threads, of the fixes without a gain."""
    highs = [
        each.most.ratio.high - 1
        for each in tried
        if each.most
        and not each.broken
        and each.most.finding is not Finding.GAIN
        and each.most.pairs >= pairs.FEWEST
    ]
    return max(0.0, *highs) if highs else None


def _limits(
    rows: Sequence[Row], bases: Mapping[int, Base], described: Mapping[str, Any]
) -> list[str]:
    found = []
    failed, faults = failures(rows), broken(rows)
    if described.get("built"):
        found.append("The base is the program that --build makes in a copy without more flags.")
    shares = [row.facts[TAKEN] for row in rows if TAKEN in row.facts]
    taken, whole = sum(each[0] for each in shares), sum(each[1] for each in shares)
    if whole and taken >= _BUSY * whole:
        found.append(f"Other processes, or the hypervisor, took {100 * taken / whole:.0f} % of the "
                     "processors' time meanwhile, so a fix that needs more of it gains less than "
                     "on an idle machine.")  # fmt: skip
    for count, base in bases.items():
        threads = f" on {threads_in_words(count)}" if count else ""
        if base.failed:
            found.append(f"The program as it is failed in {base.failed} of {base.runs} "
                         f"runs{threads}; these and their pairs count for nothing.")  # fmt: skip
            too = [
                f"{arm.fix} ({own.all.failed} of {own.all.runs})"
                for arm, own in failed.items()
                if arm.threads == count and own.reason and arm.fix not in faults
            ]
            if too:
                found.append(f"It failed{threads} with fixes too, but not clearly more often: "
                             f"{', '.join(too)}.")  # fmt: skip
        if base.constant is False and not described.get("checked"):
            found.append(f"The program as it is does not print the same each time{threads}, so "
                         "only its exit status was checked; --check CMD checks its "
                         "output.")  # fmt: skip
        if base.seconds < _KEPT_SHORT and not described.get("units"):
            found.append(f"A run{threads} takes {1e3 * base.seconds:.2g} ms, of which starting "
                         "the process is a good part; give the program more to do.")  # fmt: skip
    return found

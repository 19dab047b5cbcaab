"""The order of the runs of a try: which pair is next, and when it is enough.

A round has a pair of each arm that is open, in a random order: one run of the program as it is and
one under the fix, whichever chance puts first. A pair with no fix at all shows the noise.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from threadmark.judge import trials
from threadmark.judge.pairs import FEWEST
from threadmark.kinds.trials import arms, judgement
from threadmark.kinds.trials.arms import AGAIN, AS_IS, FIRST, Arm
from threadmark.model.cell import Row, Status
from threadmark.model.errors import LabError

MOST_ROUNDS = 200  # more would tell gains below what anybody keeps a fix for
TOGETHER = 0.65  # of the budget, after which the best fixes are tried together
_LIMIT = 5.0  # times the slowest run as is: a fix that slow is no fix
_LIMIT_AS_IS = 20.0  # times the usual time: that the program ends as it is is known
_LEAST_LIMIT_S = 2.0
_ROOM = 1.25  # times a budget that would just do, for one that does
SCREENING = 0.8  # of the budget, after which the fixes that are left have enough pairs
_SHARE = 0.5  # of the budget that the first rounds may take
_SCREENED = 2  # first rounds, where there is time for as many
_KEPT = 1 / 3  # of the fixes, at least, after each of the first rounds
_RECENT = 30  # runs as is that say how long one takes
_OF_SPEEDUP = 8  # rounds that tell how much faster more threads are
_ENOUGH = 6  # rounds that the others are to have beside these

# Of a variant, with a number of threads, in a round, as part of an arm, within seconds.
Runs = Callable[[str, Arm, int, float], Row]


@dataclass
class Loop:
    """`keep` stores rows, `arms_of` are the arms of a fix. All that was measured is in `rows`."""

    run: Runs
    keep: Callable[[Sequence[Row]], None]
    counts: Sequence[int]
    budget_s: float
    seed: int
    family: int = 0  # arms that there can be at most
    clock: Callable[[], float] = time.monotonic
    rows: list[Row] = field(default_factory=list)
    arms: list[Arm] = field(default_factory=list)
    number: int = 0  # of the round
    _open: list[Arm] = field(default_factory=list)
    _out: list[Arm] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._began = self.clock()
        self._took: dict[int, list[float]] = {}  # runs as is, with all that belongs to them
        self._usual: dict[int, float] = {}
        self._slowest: dict[int, float] = {}
        self._broken: set[str] = set()  # fixes; one may prove to be none, as the program fails too

    def start(self) -> None:
        """Count the budget from now on."""
        self._began = self.clock()

    def leave_out(self, seconds: float) -> None:
        """Time that the budget is not for."""
        self._began += seconds

    @property
    def spent_s(self) -> float:
        """Since the beginning."""
        return self.clock() - self._began

    @property
    def left_s(self) -> float:
        """Of the budget."""
        return self.budget_s - self.spent_s

    def first(self) -> None:
        """One run as it is with each number of threads, which counts for no pair. LabError where
        the program fails."""
        for count in self.counts:
            before = self.clock()
            row = self.run(FIRST, Arm(AS_IS, count), 0, max(self.left_s, _LEAST_LIMIT_S))
            self.keep([row])
            self.rows.append(row)
            if row.status is Status.TIMEOUT:
                raise LabError(
                    f"The program as it is took more than the budget of {self.budget_s:.3g} s; "
                    "give more with --budget, or --load for a server."
                )
            if row.status is not Status.OK:
                raise LabError(f"The program as it is failed: {row.reason}; correct that first.")
            self._took[count] = [self.clock() - before]
            self._usual[count], self._slowest[count] = self._took[count][0], arms.wall_s(row)

    def fitting(self, fixes: int, rounds: int = 1) -> int:
        """How many fixes the budget has so many first rounds for."""
        room = _SHARE * self.left_s - self._of_nothing_s(rounds)
        return min(fixes, int(room / self._of_fix_s(rounds)))

    def enough_s(self, fixes: int) -> int:
        """A budget with a first round for so many fixes, also where runs take longer then."""
        round_s = self._of_nothing_s(1) + fixes * self._of_fix_s(1)
        return math.ceil(_ROOM * (self.spent_s + round_s / _SHARE))

    def screen(self, until: float) -> list[Arm]:
        """The first rounds. Where there is no time for enough pairs of all, those that promise
        least are left out after each; returns these. They have too few pairs for a claim, so that
        leaving them out makes no claim less sure."""
        fixes = len(self._open)
        self.measure(until, _SCREENED if self.fitting(fixes, _SCREENED) == fixes else 1)
        while self._race(until) and self.number < FEWEST - 1 and self.spent_s < until:
            self.measure(until, self.number + 1)
        return self._out

    def _race(self, until: float) -> bool:
        """Leave out those that promise least; returns whether there are any."""
        logs = judgement.logs_of(self.rows)
        room = until - self.spent_s - self._of_nothing_s(_ENOUGH)
        most = max(1, int(room / self._of_fix_s(_ENOUGH)))
        # What seems to break the program promises nothing, and is soon found to do so, or not.
        faults = arms.broken(self.rows)
        still = [arm for arm in self._measured() if arm.fix not in faults]
        if self.number < FEWEST - 1:
            most = max(most, math.ceil(_KEPT * len(still)))
        promised = trials.promises({arm: list(logs.get(arm, {}).values()) for arm in still})
        out = sorted(still, key=lambda arm: -promised[arm])[most:]
        self._open = [arm for arm in self._open if arm not in out]
        self._out += out
        return bool(out)

    def _of_fix_s(self, rounds: int) -> float:
        """How long so many pairs with a fix take."""
        return rounds * 2 * self._usual[max(self.counts)]

    def _of_nothing_s(self, rounds: int) -> float:
        """How long the pairs without a fix take."""
        return rounds * 2 * self.usual_s

    @property
    def usual_s(self) -> float:
        """How long a run takes with all numbers of threads, one after the other."""
        return sum(self._usual.values())

    def add(self, arms: Sequence[Arm]) -> None:
        """More arms, which the next round has."""
        self.arms += arms
        self._open += arms

    def measure(self, until: float, rounds: int = MOST_ROUNDS) -> bool:
        """Rounds until so many seconds are spent, or so many are made; returns whether an arm is
        still open."""
        while self._measured() and self.number < rounds:
            if self.spent_s >= until or not self._round(until):
                break
            self._look()
        return bool(self._measured())

    def _measured(self) -> list[Arm]:
        """The arms that the next round has."""
        return [arm for arm in self._open if arm.fix not in self._broken]

    def _round(self, until: float) -> bool:
        """Whether there was time for all of it."""
        self.number += 1
        # Fewer threads than the most are of interest for the speed-up, and where a fix has them.
        measured = self._measured()
        asked = {max(self.counts), *(arm.threads for arm in measured)}
        counts = self.counts if self.number <= _OF_SPEEDUP else sorted(asked)
        pairs = [*measured, *(Arm(AGAIN, count) for count in counts)]
        self._random.shuffle(pairs)
        for arm in pairs:
            if self.spent_s + 2 * self._usual[arm.threads] > until and self.number > 1:
                return False
            self._pair(arm)
        return True

    def _pair(self, arm: Arm) -> None:
        order = [AS_IS, arm.fix]
        self._random.shuffle(order)
        limits = {
            AS_IS: max(_LEAST_LIMIT_S, _LIMIT_AS_IS * self._usual[arm.threads]),
            arm.fix: max(_LEAST_LIMIT_S, _LIMIT * self._slowest[arm.threads]),
        }
        made: list[Row] = []
        try:
            for variant in order:
                before = self.clock()
                made.append(self.run(variant, arm, self.number, limits[variant]))
                if variant == AS_IS:
                    self._known(made[-1], self.clock() - before)
        finally:  # an interrupt leaves what was measured
            self.rows += made
            self.keep(made)
        alike = len({row.facts.get(arms.OUTPUT) for row in made}) == 1
        fine = alike and all(row.status is Status.OK for row in made)
        if not fine:
            self._broken = set(arms.broken(self.rows, ended=False))

    def _known(self, row: Row, took_s: float) -> None:
        """A run as it is says how long runs take."""
        count = row.cell.threads
        if row.status is Status.OK:
            self._took[count].append(took_s)
            self._usual[count] = median(self._took[count][-_RECENT:])
            self._slowest[count] = max(self._slowest[count], arms.wall_s(row))

    def _look(self) -> None:
        """Leave out what needs no more pairs. Between two looks nothing can settle."""
        logs = judgement.logs_of(self.rows)
        if not {len(logs.get(arm, ())) for arm in self._measured()} & set(
            trials.looks(self.number)
        ):
            return
        still = set(judgement.trial_of(self.rows, self.family).open())
        self._open = [
            arm for arm in self.arms if arm not in self._out and (arm in still or arm not in logs)
        ]

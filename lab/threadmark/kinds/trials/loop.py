"""The order of the runs of a try: the next pair, and the end.

A round has a pair of each open arm, in a random order: one run of the program as it is and one
under the fix, in a random order too. A pair with no fix at all shows the noise.
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

MOST_ROUNDS = 200  # more would only show gains too small to keep a fix for
TOGETHER = 0.65  # of the budget; then the best fixes are tried together
_LIMIT = 5.0  # times the slowest run as is: a slower fix is no fix
_LIMIT_AS_IS = 20.0  # times the usual time: the program as it is is known to end
_LEAST_LIMIT_S = 2.0
_ROOM = 1.25  # times a budget that would just suffice
SCREENING = 0.8  # of the budget; then the remaining fixes have enough pairs
_SHARE = 0.5  # of the budget, for the first rounds
_SCREENED = 2  # first rounds, if there is time
_KEPT = 1 / 3  # of the fixes, at least, after each of the first rounds
_RECENT = 30  # runs as is for the usual time
_OF_SPEEDUP = 8  # rounds for the speed-up by more threads
_ENOUGH = 6  # least rounds of the others beside these

# Runs a variant as part of an arm with its number of threads, in a round, within seconds.
Runs = Callable[[str, Arm, int, float], Row]


@dataclass
class Loop:
    """The loop of a try. `keep` stores rows, `arms_of` gives the arms of a fix. `rows` has all
    measurements."""

    run: Runs
    keep: Callable[[Sequence[Row]], None]
    counts: Sequence[int]
    budget_s: float
    seed: int
    family: int = 0  # the largest possible number of arms
    clock: Callable[[], float] = time.monotonic
    rows: list[Row] = field(default_factory=list)
    arms: list[Arm] = field(default_factory=list)
    number: int = 0  # of the round
    _open: list[Arm] = field(default_factory=list)
    _out: list[Arm] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._began = self.clock()
        self._took: dict[int, list[float]] = {}  # times of runs as is, with their side work
        self._usual: dict[int, float] = {}
        self._slowest: dict[int, float] = {}
        self._broken: set[str] = set()  # fixes; one may be cleared when the program also fails

    def start(self) -> None:
        """Count the budget from now on."""
        self._began = self.clock()

    def leave_out(self, seconds: float) -> None:
        """Take time off that does not count for the budget."""
        self._began += seconds

    @property
    def spent_s(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - self._began

    @property
    def left_s(self) -> float:
        """Seconds left of the budget."""
        return self.budget_s - self.spent_s

    def first(self) -> None:
        """One run of the program as it is with each number of threads, which counts for no pair.
        LabError if the program fails."""
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
        """The number of fixes for which the budget has `rounds` first rounds."""
        room = _SHARE * self.left_s - self._of_nothing_s(rounds)
        return min(fixes, int(room / self._of_fix_s(rounds)))

    def enough_s(self, fixes: int) -> int:
        """A budget with a first round for this number of fixes, with room for longer runs."""
        round_s = self._of_nothing_s(1) + fixes * self._of_fix_s(1)
        return math.ceil(_ROOM * (self.spent_s + round_s / _SHARE))

    def screen(self, until: float) -> list[Arm]:
        """Make the first rounds. If there is no time for enough pairs of all arms, the arms that
        promise least are left out after each round; returns these. They have too few pairs for a
        claim, so leaving them out makes no claim less certain."""
        fixes = len(self._open)
        self.measure(until, _SCREENED if self.fitting(fixes, _SCREENED) == fixes else 1)
        while self._race(until) and self.number < FEWEST - 1 and self.spent_s < until:
            self.measure(until, self.number + 1)
        return self._out

    def _race(self, until: float) -> bool:
        """Leave out the arms that promise least; returns whether there are any."""
        logs = judgement.logs_of(self.rows)
        room = until - self.spent_s - self._of_nothing_s(_ENOUGH)
        most = max(1, int(room / self._of_fix_s(_ENOUGH)))
        # A fix that seems to break the program promises nothing; later runs soon decide.
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
        """The time of `rounds` pairs with a fix."""
        return rounds * 2 * self._usual[max(self.counts)]

    def _of_nothing_s(self, rounds: int) -> float:
        """The time of the pairs without a fix."""
        return rounds * 2 * self.usual_s

    @property
    def usual_s(self) -> float:
        """The time of a run with all numbers of threads, one after the other."""
        return sum(self._usual.values())

    def add(self, arms: Sequence[Arm]) -> None:
        """Add arms to the next round."""
        self.arms += arms
        self._open += arms

    def measure(self, until: float, rounds: int = MOST_ROUNDS) -> bool:
        """Make rounds until `until` seconds are spent, or `rounds` are made; returns whether an arm
        is still open."""
        while self._measured() and self.number < rounds:
            if self.spent_s >= until or not self._round(until):
                break
            self._look()
        return bool(self._measured())

    def _measured(self) -> list[Arm]:
        """The arms of the next round."""
        return [arm for arm in self._open if arm.fix not in self._broken]

    def _round(self, until: float) -> bool:
        """Make a round; returns whether there was time for all of it."""
        self.number += 1
        # Fewer threads than the most matter for the speed-up, and for fixes with such arms.
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
        finally:  # an interrupt keeps the measurements
            self.rows += made
            self.keep(made)
        alike = len({row.facts.get(arms.OUTPUT) for row in made}) == 1
        fine = alike and all(row.status is Status.OK for row in made)
        if not fine:
            self._broken = set(arms.broken(self.rows, ended=False))

    def _known(self, row: Row, took_s: float) -> None:
        """Learn the time of runs from a run as it is."""
        count = row.cell.threads
        if row.status is Status.OK:
            self._took[count].append(took_s)
            self._usual[count] = median(self._took[count][-_RECENT:])
            self._slowest[count] = max(self._slowest[count], arms.wall_s(row))

    def _look(self) -> None:
        """Leave out arms that need no more pairs. Between two looks no arm can settle."""
        logs = judgement.logs_of(self.rows)
        if not {len(logs.get(arm, ())) for arm in self._measured()} & set(
            trials.looks(self.number)
        ):
            return
        still = set(judgement.trial_of(self.rows, self.family).open())
        self._open = [
            arm for arm in self.arms if arm not in self._out and (arm in still or arm not in logs)
        ]

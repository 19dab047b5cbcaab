"""The order of the runs of a try, and the judgement of their rows, with made-up runs and a made-up
clock."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from threadmark.judge.trials import Finding
from threadmark.kinds.trials import arms, judgement
from threadmark.kinds.trials.arms import AGAIN, AS_IS, FIRST, Arm
from threadmark.kinds.trials.loop import MOST_ROUNDS, SCREENING, Loop
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError


@dataclass
class Machine:
    """Runs take `seconds` divided by the gain of their fix, with a spread of `noise`."""

    seconds: float = 1.0
    gains: dict[str, float] = field(default_factory=dict)
    noise: float = 0.02
    breaks: dict[str, tuple[Status, str]] = field(default_factory=dict)
    prints: dict[str, str] = field(default_factory=dict)
    fails: float = 0.0  # the share of the runs, with any fix
    seed: int = 3
    aside: float = 0.0  # seconds of a run outside the program
    interrupt_after: int = 10**9
    now: float = 0.0
    stored: list[Row] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)  # of the last run of each variant

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.order: list[tuple[str, Arm]] = []

    def run(self, variant: str, arm: Arm, number: int, limit_s: float) -> Row:
        if len(self.order) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.order.append((variant, arm))
        self.limits[variant] = limit_s
        time_s = self.seconds / self.gains.get(variant, 1.0)
        time_s *= self.random.lognormvariate(0, self.noise)
        fails = self.fails and variant != FIRST and self.random.random() < self.fails
        usual = (Status.CRASHED, "it ended with exit status 9") if fails else (Status.OK, "")
        status, reason = self.breaks.get(variant, usual)
        if time_s > limit_s:
            time_s, status, reason = limit_s, Status.TIMEOUT, "it did not end"
        self.now += time_s + self.aside
        facts: dict[str, Any] = {"wall_s": time_s, "output": self.prints.get(variant, "same")}
        if variant != FIRST:
            facts["pair"] = arm.fix
        cell = Cell("p", "custom", "program", variant, "", "", arm.threads)
        sample = 1e9 * time_s if status is Status.OK else None
        return Row(cell, number, status, reason, sample, facts=facts)

    def loop(self, fixes: Sequence[str], *, counts: Sequence[int] = (2,), budget_s: float = 300):
        made = Loop(self.run, self.stored.extend, counts, budget_s, seed=1, clock=lambda: self.now)
        made.first()
        made.add([Arm(fix, max(counts)) for fix in fixes])
        return made


def described(*fixes: str) -> dict[str, Any]:
    """The document of a try."""
    own = {"kind": "k", "what": "w", "risk": "r.", "keep": {}, "parts": []}
    return {"tried": [{"name": each, **own} for each in fixes], "left_out": {}}


def test_each_round_has_pairs_of_neighbours_in_both_orders_and_one_without_a_fix() -> None:
    machine = Machine()
    loop = machine.loop(["a", "b"], counts=(1, 2))
    loop.measure(1000, rounds=8)
    runs = machine.order[2:]
    firsts = set()
    for one, other in zip(runs[::2], runs[1::2], strict=True):
        assert one[1] == other[1]
        assert {one[0], other[0]} == {AS_IS, one[1].fix}
        firsts.add((one[1], one[0] == AS_IS))
    assert {arm for arm, _ in firsts} == {
        Arm("a", 2), Arm("b", 2), Arm(AGAIN, 1), Arm(AGAIN, 2)
    }  # fmt: skip
    assert len(firsts) == 8  # each arm has the program as it is once first, and once last
    assert len(runs) == 8 * 8
    assert machine.stored == loop.rows
    loop.measure(1000, rounds=10)
    assert {arm.threads for _, arm in machine.order[2 + 8 * 8 :]} == {2}


def test_a_gain_is_found_and_what_is_settled_is_measured_no_more() -> None:
    machine = Machine(gains={"good": 1.5, "bad": 0.5})
    loop = machine.loop(["good", "bad", "none"])
    loop.measure(290)
    found = judgement.judged(loop.rows, described("good", "bad", "none"), {})
    by_name = {each.name: each.arms[2] for each in found.tried}
    assert by_name["good"].finding is Finding.GAIN
    assert by_name["good"].ratio.low < 1.5 < by_name["good"].ratio.high
    assert by_name["bad"].finding is Finding.LOSS
    assert by_name["bad"].pairs < by_name["none"].pairs
    assert [each.name for each in found.winners] == ["good"]
    assert found.tried[-1].name == "bad"
    assert found.seen is not None
    assert 0 <= found.seen < 0.1


@pytest.mark.parametrize("seconds", [0.003, 0.05, 0.4, 7.0])
@pytest.mark.parametrize("fixes", [1, 9])
def test_the_budget_that_is_advised_is_enough(seconds: float, fixes: int) -> None:
    machine = Machine(seconds, noise=0.001)
    advised = machine.loop([], budget_s=1.01 * seconds).enough_s(fixes)
    slower = Machine(1.1 * seconds, noise=0.001)
    assert slower.loop([], budget_s=advised).fitting(fixes) == fixes
    assert advised < 2 + 12 * seconds * (1 + fixes)


def test_the_budget_is_kept_and_nobody_measures_without_end() -> None:
    machine = Machine()
    machine.loop(["a", "b"]).measure(100)
    assert 95 < machine.now < 102
    short = Machine(seconds=0.001, noise=0.5)
    loop = short.loop(["a"])
    loop.measure(300)
    assert loop.number == MOST_ROUNDS
    assert short.now < 10


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"breaks": {"a": (Status.CRASHED, "it was ended by SIGSEGV")}}, "it was ended by SIGSEGV"),
        ({"prints": {"a": "other"}}, "its output differs from that of the program as it is"),
        ({"gains": {"a": 0.01}}, "it did not end"),
    ],
)
def test_a_fix_that_breaks_the_program_costs_that_fix_only(
    change: dict[str, Any], reason: str
) -> None:
    machine = Machine(**change)
    loop = machine.loop(["a", "b"])
    loop.measure(100)
    found = judgement.judged(loop.rows, described("a", "b"), {})
    broken = {each.name: each.broken for each in found.tried}
    assert broken == {"a": reason, "b": ""}
    assert sum(variant == "a" for variant, _ in machine.order) <= 3
    # The program is known to end as it is, and a fix that is five times as slow does not count.
    assert 4 < machine.limits["b"] < 5 * 1.5 < 15 < machine.limits[AS_IS]
    assert not found.winners


def test_what_belongs_to_a_run_beside_the_program_counts_for_the_budget() -> None:
    machine = Machine(seconds=0.1, aside=0.9)
    loop = machine.loop(["a"], budget_s=100)
    assert loop.usual_s == pytest.approx(1.0, rel=0.1)
    assert loop.fitting(40) < 25
    assert loop.fitting(40, 2) < 13
    loop.measure(100)
    assert machine.now < 102


def test_a_program_that_prints_something_else_each_time_is_not_held_to_its_output() -> None:
    machine = Machine(prints={"a": "other", AGAIN: "third"})
    loop = machine.loop(["a"])
    loop.measure(60)
    found = judgement.judged(loop.rows, described("a"), {})
    assert not found.tried[0].broken
    assert any("does not print the same each time" in each for each in found.limits)


def test_a_program_that_fails_now_and_then_as_it_is_blames_no_fix_for_as_much() -> None:
    rows = [row for number in range(1, 9) for row in _pair(number, fails=number in (2, 5))]
    assert arms.broken(rows) == {}
    worse = [row for number in range(1, 9) for row in _pair(number, fails=True)]
    assert arms.broken(worse) == {"a": "it ended"}
    elsewhere = [replace(row, cell=replace(row.cell, threads=1)) for row in worse]
    assert arms.broken([*rows, *elsewhere[::2]]) == {}
    limits = judgement.judged(rows, described("a"), {}).limits
    assert any("failed in 1 of 8 runs on 2 threads" in each for each in limits)
    said = "It failed on 2 threads with fixes too, but not clearly more often: a (2 of 8)."
    assert said in limits


def test_a_program_that_fails_by_chance_is_hardly_ever_blamed_on_a_fix() -> None:
    blamed = 0
    for seed in range(60):
        machine = Machine(fails=0.25, seed=seed, gains={"good": 1.5})
        loop = machine.loop(["a", "good"])
        loop.measure(290)
        found = judgement.judged(loop.rows, described("a", "good"), {})
        blamed += any(each.broken for each in found.tried)
        # The loop retries a fix that fails before the program as it is has failed.
        assert min(sum(name == fix for name, _ in machine.order) for fix in ("a", "good")) >= 3
    assert blamed <= 3


def test_a_fix_breaks_a_program_that_fails_by_chance_where_it_fails_more_often() -> None:
    machine = Machine(fails=0.1, breaks={"a": (Status.CRASHED, "it was ended by SIGSEGV")})
    loop = machine.loop(["a", "b"])
    loop.measure(290)
    assert arms.broken(loop.rows) == {"a": "it was ended by SIGSEGV"}
    assert sum(variant == "a" for variant, _ in machine.order) < 10


def _pair(number: int, *, fails: bool) -> list[Row]:
    made = []
    for variant, bad in ((AS_IS, number == 2), ("a", fails)):
        cell = Cell("p", "custom", "program", variant, "", "", 2)
        status = Status.CRASHED if bad else Status.OK
        facts = {"pair": "a", "wall_s": 1.0}
        sample = None if bad else 1e9
        made.append(Row(cell, number, status, "it ended" if bad else "", sample, facts=facts))
    return made


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        (Machine(breaks={FIRST: (Status.CRASHED, "it ended with exit status 1")}),
         "The program as it is failed: it ended with exit status 1; correct that first"),
        (Machine(seconds=400), "took more than the budget of 300 s"),
    ],
)  # fmt: skip
def test_a_program_that_fails_as_it_is_is_not_tried(machine: Machine, sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        machine.loop(["a"])
    assert len(machine.stored) == 1


def test_where_time_is_short_the_hopeless_are_left_out() -> None:
    names = [f"fix {number}" for number in range(8)]
    machine = Machine(gains={"fix 5": 1.4, "fix 2": 1.2})
    loop = machine.loop(names, budget_s=100)
    assert loop.fitting(8, 2) == 8
    assert loop.fitting(30) < 30
    out = loop.screen(100)
    assert len(out) > 3
    assert not {Arm("fix 5", 2), Arm("fix 2", 2)} & set(out)
    before = len(machine.order)
    loop.measure(100)
    assert not {arm for _, arm in machine.order[before:]} & set(out)


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_where_there_is_time_for_one_round_of_all_the_best_is_found_still(noise: float) -> None:
    names = [f"fix {number}" for number in range(20)]
    for seed in range(5):
        machine = Machine(2.0, gains={"fix 17": 1.5}, noise=noise, seed=seed)
        loop = machine.loop(names, budget_s=200)
        assert loop.fitting(20, 2) < 20
        assert loop.fitting(20) == 20
        out = loop.screen(SCREENING * 200)
        assert {variant for variant, _ in machine.order} >= set(names)
        loop.measure(200)
        found = judgement.judged(loop.rows, described(*names), {})
        assert [each.name for each in found.winners] == ["fix 17"]
        # A fix that was given up has too few pairs for a claim.
        logs = judgement.logs_of(loop.rows)
        assert all(len(logs[arm]) < 4 for arm in out)
        assert machine.now < 204


def test_a_fix_that_seems_to_break_the_program_takes_no_time_from_one_that_gains() -> None:
    machine = Machine(gains={"good": 1.4}, breaks={"bad": (Status.CRASHED, "it ended")})
    loop = machine.loop(["bad", "good"], budget_s=45)
    assert loop.screen(45) == []
    loop.measure(45)
    assert sum(variant == "good" for variant, _ in machine.order) > 5
    assert sum(variant == "bad" for variant, _ in machine.order) == 3


def test_an_interrupt_leaves_all_that_was_measured() -> None:
    machine = Machine(interrupt_after=12)
    loop = machine.loop(["a", "b"])
    with pytest.raises(KeyboardInterrupt):
        loop.measure(100)
    assert len(machine.stored) == 12
    assert machine.stored == loop.rows


def test_the_rounds_as_is_tell_how_much_faster_more_threads_are() -> None:
    rows = []
    for number in range(1, 9):
        for threads, time in ((1, 2.0), (2, 1.25)):
            for variant in (AS_IS, AGAIN):
                cell = Cell("p", "custom", "program", variant, "", "", threads)
                facts = {"pair": AGAIN, "wall_s": time, "peak_bytes": 1 << 20}
                sample = 1e9 * time * (1 + number / 1000)
                rows.append(Row(cell, number, Status.OK, "", sample, facts=facts))
    found = judgement.judged(rows, described(), {})
    assert found.speedups[2].estimate == pytest.approx(1.6)
    assert 1 not in found.speedups
    assert found.bases[1].runs == 16


def test_what_a_look_said_holds_though_other_arms_come_later() -> None:
    """The pairs of a combination begin later and may spread more than all earlier ones."""
    early = [
        row
        for number in range(1, 5)
        for fix, share in (("lost", 0.95), ("a", 1.0), ("b", 1.0), ("c", 1.0))
        for row in _timed(number, fix, share * (1 + 0.002 * ((7 * number + len(fix)) % 5)))
    ]
    late = [row for number in range(5, 9) for row in _timed(number, "both", 1.5 ** (number % 3))]
    names = described("lost", "a", "b", "c", "both")

    def lost(rows: Sequence[Row]) -> tuple[Finding, bool]:
        found = next(e for e in judgement.judged(rows, names, {}).tried if e.name == "lost")
        return found.arms[2].finding, found.arms[2].settled

    assert lost(early) == (Finding.LOSS, True)
    assert lost([*early, *late]) == (Finding.LOSS, True)


def _timed(number: int, fix: str, ratio: float) -> list[Row]:
    """A pair in which the program as it is takes `ratio` times as long as with the fix."""
    made = []
    for variant, seconds in ((AS_IS, ratio), (fix, 1.0)):
        cell = Cell("p", "custom", "program", variant, "", "", 2)
        facts = {"pair": fix, "wall_s": seconds}
        made.append(Row(cell, number, Status.OK, "", 1e9 * seconds, facts=facts))
    return made

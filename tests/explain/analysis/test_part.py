"""The answer for a part of a record has the causes of its own threads and time, and calls itself a
part."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made import MAIN, MS, TICK, Doing, Made, ready, waits, works
from threadmark.kinds.explain.analysis import reading
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.part import PartError, cut
from threadmark.kinds.explain.analysis.recording import Part, Recording, short_threads

A, B, C = 101, 102, 103
JOIN = waits("join", 0, "pthread_join@libc main", A)
LOCK = waits("mutex", 1, "take worker", B)
PAUSE = waits("sleep", 0, "rest worker")
HALF = 0.2  # seconds: fifty ticks


def in_phases() -> Made:
    """Two threads, which contend for a lock in the first half and sleep in the second."""
    first = Made().thread(MAIN, JOIN)
    first.thread(A, [LOCK, works()] * 25 + [PAUSE] * 50, "main")
    first.thread(B, [works(), waits("mutex", 1, "take worker", A)] * 25 + [PAUSE] * 50, "main")
    first.thing(1, "mutex", module=1, offset=8, waits=500, wait_ns=50 * TICK, holds=1000,
                hold_ns=40 * TICK).data[1, 8] = ("a_lock", "a.cpp:1")  # fmt: skip
    return first


def recorded(made: Made, part: Part) -> Recording:
    return cut(reading.read(made.text()), part)


def categories(found: dict[str, Any]) -> set[str]:
    return {each["category"] for each in found["causes"]}


def test_each_range_names_its_own_cause_and_the_whole_both() -> None:
    made = in_phases()
    assert categories(made.answer()) == {"mutex", "sleep"}
    lock, rest = made.answer(Part(to_s=HALF)), made.answer(Part(from_s=HALF))
    assert [(c["category"], c["name"]) for c in lock["causes"]] == [("mutex", "a_lock")]
    assert categories(rest) == {"sleep"}
    assert (lock["wall_s"], lock["thread_s"], lock["states"]["waiting"]) == (0.2, 0.6, 0.3333)
    assert (rest["states"]["sleep"], rest["states"]["useful"]) == (0.6667, 0)
    for found in (lock, rest):
        assert found["accounted"] == 1
        assert found["causes"][0]["certain"]
        assert found["causes"][0]["bound"] is None


def test_an_answer_of_a_part_says_so() -> None:
    made = in_phases()
    made.threads[A]["name"] = "reader 1"
    found = made.answer(Part(("reader*", "102"), 0.1, 9.0))
    assert found["part"] == {"threads": ["reader*", "102"], "from_s": 0.1, "to_s": 0.4}
    assert found["limits"][0] == (
        "This answer is of a part of the record: threads named reader* or 102, from 0.1 s to "
        "0.4 s. Counts and times of its waits and holds are estimated from 75 ticks."
    )
    assert found["threads"] == 2
    assert made.answer()["part"] is None


def test_counts_are_shared_out_by_the_ticks() -> None:
    whole = in_phases()
    part = recorded(whole, Part(to_s=HALF / 2))
    [pair] = [each for each in part.pairs if each.activity == "mutex"]
    assert (pair.waits, pair.wait_ns) == (25, 25 * TICK)
    assert (part.things[1].waits, part.things[1].holds, part.things[1].hold_ns) == (
        250, 500, 20 * TICK)  # fmt: skip
    assert {k: t.totals["mutex"].times for k, t in part.threads.items() if k != MAIN} == {
        A: 13, B: 12}  # fmt: skip
    late = recorded(whole, Part(from_s=HALF)).pairs
    assert {each.activity for each in late} == {"join", "sleep"}


def test_waits_and_holds_of_a_phase_are_those_of_its_own_stacks() -> None:
    early, late = (waits("mutex", 1, f"{name} worker", B) for name in ("load", "store"))
    made = Made().thread(MAIN, works()).thread(A, [early] * 50 + [late] * 50).thread(B, works())
    made.thing(1, "mutex", module=1, offset=8)
    for name, ns in (("load", 50), ("store", 50)):
        made.pair(1, "mutex", f"{name} worker", f"with_{name} other", ns * TICK)
        made.hold(1, f"with_{name} other", 50, ns * TICK)
    whole = made.first()
    assert {each["frames"][0] for each in whole["holders"]} == {"with_load", "with_store"}
    for part, name in ((Part(to_s=HALF), "load"), (Part(from_s=HALF), "store")):
        cause = made.first(part)
        assert [each["frames"][0] for each in cause["waiters"]] == [name]
        assert [each["frames"][0] for each in cause["holders"]] == [f"with_{name}"]
        assert cause["holders"][0]["hold_us"] == TICK / 1000


def test_waits_of_threads_have_the_length_that_they_have_in_their_own_functions() -> None:
    short, long = (waits("mutex", 1, f"{name} worker", B) for name in ("load", "store"))
    made = Made().thread(MAIN, works()).thread(A, short, "main").thread(B, works())
    made.thread(C, long, "main")
    made.thing(1, "mutex", module=1, offset=8, waits=20, wait_ns=100 * TICK)
    for name, ns in (("load", 20), ("store", 80)):  # ten waits each
        made.pair(1, "mutex", f"{name} worker", "with other", ns * TICK)
    for tid, mean in ((A, 2), (C, 8)):
        thing = recorded(made, Part((str(tid),))).things[1]
        assert thing.wait_ns / thing.waits == pytest.approx(mean * TICK, rel=0.1)


@pytest.mark.parametrize(("from_s", "ready_ns"), [(0.1, 52 * MS), (0.102, 50 * MS)])
def test_run_and_ready_time_are_cut_within_a_tick(from_s: float, ready_ns: int) -> None:
    made = Made().thread(MAIN, works()).thread(A, [works(), ready()])
    thread = recorded(made, Part(from_s=from_s, to_s=0.2)).threads[A]
    assert (thread.run_ns, thread.ready_ns) == (48 * MS, ready_ns)
    assert thread.life_ns == 48 * MS + ready_ns


def test_time_that_no_tick_shows_lies_between_ticks_and_ends_of_a_thread() -> None:
    made = Made().thread(MAIN, works()).thread(A, [works()] * 50 + [None] * 50)
    made.threads[A] |= {"ended_ns": 100 * TICK, "run_ns": 75 * TICK}
    assert recorded(made, Part(from_s=HALF)).threads[A].run_ns == 25 * TICK
    assert (
        recorded(made, Part(from_s=0.1, to_s=0.3)).threads[A].run_ns == 25 * TICK + 25 * TICK // 2
    )


def test_the_first_tick_of_a_range_counts_as_far_as_it_lies_in_it() -> None:
    made = Made().thread(MAIN, works()).thread(A, works())
    first, *_, last = recorded(made, Part(from_s=0.103, to_s=0.2)).ticks
    assert [each.run_ns for each in first.glances] == [TICK // 4] * 2
    assert [each.run_ns for each in last.glances] == [TICK] * 2


def test_who_is_left_out_is_known_as_a_holder_but_does_not_count() -> None:
    made = Made().thread(MAIN, JOIN).thread(A, LOCK, name="client").thread(B, works(), name="owner")
    made.thing(1, "mutex", module=1, offset=8).pair(
        1, "mutex", "take worker", "own main", 10 * TICK
    )
    for _ in range(9):
        made.sample(B, "think own main")
    found = made.answer(Part(("client",)))
    assert (found["thread_s"], found["states"]["waiting"], found["states"]["useful"]) == (0.4, 1, 0)
    assert found["processors"] == [1, 0, 0]
    cause = found["causes"][0]
    assert (cause["category"], cause["certain"], cause["share"]) == ("mutex", True, 1)
    assert cause["holders"][0]["frames"][-2:] == ["own", "main"]
    busy = made.answer(Part(("owner",)))
    assert (busy["causes"][0]["category"], busy["states"]["useful"]) == ("none", 1)
    details = made.analysed(Part(("client",)))[1]
    assert [each["name"] for each in details["threads"]] == ["client"]
    assert not details["running"]


def test_a_thread_that_only_ticks_and_samples_know_does_not_count_with_chosen_ones() -> None:
    made = Made().thread(MAIN, works(), name="main").thread(A, PAUSE).thread(B, PAUSE)
    made.sample(B, "spin b", 9).sample(C, "spin c", 9)
    records = [each for each in made.records() if (each["kind"], each.get("tid")) != ("thread", B)]
    part = cut(reading.read([json.dumps(each) for each in records]), Part(("main",)))
    assert not list(part.own_samples)
    assert [part.counts(tid) for tid in (MAIN, A, B, C)] == [True, False, False, False]


def test_unequal_work_is_known_when_only_those_that_wait_are_chosen() -> None:
    step = waits("barrier", 1, "pthread_barrier_wait@libc run worker")
    made = Made().thread(MAIN, JOIN).thread(A, [works(), step, step, step]).thread(B, works())
    made.thing(1, "barrier")
    made.pair(1, "barrier", "pthread_barrier_wait@libc run worker", "", 75 * TICK)
    made.lines[-1]["waits"] = 7500  # each wait is short
    assert made.first()["category"] == "imbalance"
    assert made.first(Part((str(A),)))["category"] == "imbalance"


def test_an_atomic_is_contended_also_by_threads_that_are_left_out() -> None:
    made = Made().thread(MAIN, JOIN).thread(A, works(), "main").thread(B, works(), "main")
    for tid, stack in ((A, "count worker"), (B, "count other")):
        made.sample(tid, stack, 40, ax=0x5000)
        made.operands[made.stack(stack)] = Operand(base="ax")
    whole, part = made.first(), made.answer(Part((str(A),)))
    assert (whole["category"], part["causes"][0]["category"]) == ("atomic", "atomic")
    assert (part["thread_s"], part["states"]["atomic"]) == (0.4, 1)
    assert [each["frames"] for each in part["causes"][0]["waiters"]] == [["count", "worker"]]


def test_few_ticks_make_nothing_certain() -> None:
    made = in_phases()
    assert not made.first(Part(to_s=0.096))["certain"]
    assert made.first(Part(to_s=0.1))["certain"]
    scales = Made().thread(MAIN, works()).thread(A, works())
    assert not scales.first(Part(to_s=0.08))["certain"]
    assert scales.first(Part(to_s=0.1))["certain"]
    rare = Made().thread(A, ([LOCK] * 6 + [works()] * 19) * 4, "main")
    rare.thread(B, works(), "main").thing(1, "mutex", module=1, offset=8)
    assert rare.first()["certain"]
    part = rare.first(Part(to_s=0.1))
    assert (part["category"], part["certain"]) == ("mutex", False)


def test_waits_of_threads_that_are_left_out_make_nothing_certain() -> None:
    made = Made().thread(MAIN, JOIN).thread(A, ([LOCK] * 3 + [works()] * 47) * 2, name="few")
    made.thread(B, LOCK, name="many").thing(1, "mutex", module=1, offset=8)
    for names, certain in ((("few",), False), (("few", "many"), True)):
        cause = made.first(Part(names))
        assert (cause["category"], cause["certain"]) == ("mutex", certain)


def test_blocked_time_of_a_range_without_a_sign_of_its_reason_is_not_known() -> None:
    made = Made().thread(MAIN, works()).thread(A, [LOCK] * 50 + [works()] * 50)
    records = made.records()
    for tick in [each for each in records if each["kind"] == "tick"][50:]:
        tick["threads"][1][7] = TICK // 2  # the thread ran at the tick, but only half of the time
    [thread] = [each for each in records if each["kind"] == "thread" and each["tid"] == A]
    thread |= {"run_ns": 25 * TICK, "totals": {"mutex": {"ns": 75 * TICK, "times": 5}}}
    late = cut(reading.read([json.dumps(each) for each in records]), Part(from_s=HALF)).threads[A]
    assert (late.life_ns, late.run_ns, late.totals["mutex"].ns) == (50 * TICK, 25 * TICK, 0)


def test_estimates_fit_into_the_time_in_which_the_thread_was_blocked() -> None:
    # By chance the ticks met the lock equally often in both halves; the kernel's times are right.
    made = Made().thread(MAIN, works()).thread(A, [LOCK, works()])
    records = made.records()
    for at, tick in enumerate(each for each in records if each["kind"] == "tick"):
        for glance in tick["threads"]:
            if glance[0] == A:
                glance[7] = TICK if at >= 50 and at % 4 else (TICK // 4 if at < 50 else 0)
    ran = sum(g[7] for r in records if r["kind"] == "tick" for g in r["threads"] if g[0] == A)
    [thread] = [each for each in records if each["kind"] == "thread" and each["tid"] == A]
    thread |= {"run_ns": ran, "totals": {"mutex": {"ns": 100 * TICK - ran, "times": 100}}}
    whole = reading.read([json.dumps(each) for each in records])
    first, second = (cut(whole, part).threads[A] for part in (Part(to_s=HALF), Part(from_s=HALF)))
    for half in (first, second):
        assert half.totals["mutex"].ns == pytest.approx(half.life_ns - half.run_ns, abs=9)
    assert first.totals["mutex"].ns > 2 * second.totals["mutex"].ns


def test_all_threads_and_all_time_are_the_whole() -> None:
    made = in_phases()
    whole, part = made.answer(), made.answer(Part(("*",), 0.0, 9.0))
    for found in (whole, part):
        for cause in found["causes"]:
            del cause["bound"]
        for fix in found["fixes"]:
            del fix["bound"]
        del found["part"], found["limits"]
    assert part == whole


def test_a_number_that_two_threads_had_is_the_chosen_one_only() -> None:
    made = Made().thread(MAIN, works()).thread(A, [PAUSE] * 50 + [LOCK] * 50, name="late")
    made.threads[A]["began_ns"] = 50 * TICK + 1
    made.threads[A]["totals"] = {"mutex": {"ns": 50 * TICK, "times": 5}}
    made.thing(1, "mutex", module=1, offset=8)
    made.line(kind="thread", tid=A, name="early", began_ns=0, ended_ns=50 * TICK - 1,
              totals={"sleep": {"ns": 50 * TICK, "times": 5}})  # fmt: skip
    made.look(A, "work worker", 9)  # within the first milliseconds
    late = recorded(made, Part(("late",)))
    assert [late.threads[A].name, sorted(late.threads)] == ["late", [MAIN, A]]
    assert {g.activity for tick in late.ticks for g in tick.glances if g.tid == A} == {"mutex"}
    assert not late.samples
    assert made.first(Part(("late",)))["category"] == "mutex"
    early = recorded(made, Part(("early",), to_s=HALF))
    assert early.threads[A].name == "early"
    assert early.samples


def test_a_range_neither_makes_a_storm_of_threads_nor_hides_one() -> None:
    pool = Made().thread(MAIN, works())
    for tid in range(200, 260):
        pool.thread(tid, [works()] * 51 + [None] * 49, "main")
    assert not short_threads(recorded(pool, Part(from_s=HALF)))
    storm = Made().thread(MAIN, works())
    for number in range(60):
        plan: list[Doing | None] = [None] * 100
        plan[number] = waits("starting")
        storm.thread(200 + number, plan, "main")
    for part in (Part(), Part(to_s=HALF / 2)):
        assert storm.first(part)["category"] == "thread_creation"


def test_threads_that_only_sleep_are_a_matter_of_their_own_if_asked_for() -> None:
    made = Made().thread(MAIN, works(), name="main").thread(A, PAUSE, name="timer")
    assert made.first()["category"] == "serial_dependency"
    assert made.first(Part(("timer",)))["category"] == "sleep"
    assert made.first(Part(("timer", "main")))["category"] == "serial_dependency"


def test_a_file_that_is_not_written_in_a_range_is_not_named_for_it() -> None:
    one, other = (waits("io", number, f"write@libc {name} main") for number, name in
                  ((1, "log"), (2, "save")))  # fmt: skip
    made = Made().thread(MAIN, [one] * 60 + [other] * 40).thread(A, waits("join"))
    for number, path in ((1, "/tmp/log"), (2, "/tmp/save")):
        made.thing(number, "file")
        made.line(kind="file", object=number, path=path, writes=100, bytes=800, ns=number * TICK)
    assert made.first(Part(to_s=HALF))["name"] == "/tmp/log"
    assert made.first(Part(from_s=0.3))["name"] == "/tmp/save"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Part(("reader",)), "No thread is named reader; the names are worker (2), 100."),
        (Part(("worker", "x")), "No thread is named x;"),
        (Part(("1,2",)), "100; --threads takes numbers of threads."),
        (Part(("a_name_that_is_long",)), "the kernel keeps 15 bytes of a name."),
        (Part(from_s=0.4), "The recording lasts 0.4 s, so nothing of it comes after 0.4 s"),
        (Part(("101",), from_s=0.3), "The record has nothing of threads named 101, from 0.3 s;"),
    ],
)
def test_what_a_record_has_nothing_of_is_refused_in_one_sentence(part: Part, said: str) -> None:
    made = Made().thread(MAIN, works()).thread(A, [works()] * 50 + [None] * 50, name="worker")
    with pytest.raises(PartError) as caught:
        recorded(made.thread(B, works(), name="worker"), part)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1

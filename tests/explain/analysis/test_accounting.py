"""The analysis divides all of the time, whatever a record contains, and answers a hostile record
with a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import MAIN, TICK, Doing, Made, ready, sleeps, waits, works
from threadmark.kinds.explain import table
from threadmark.kinds.explain.analysis import accounting, reading
from threadmark.kinds.explain.analysis.cause import LEAST, LEAST_OF, PASSED_ON, Cause
from threadmark.kinds.explain.analysis.doubts import doubted
from threadmark.kinds.explain.analysis.frames import plain_name
from threadmark.model.errors import LabError

ACTIVITIES = (
    "mutex", "read_lock", "write_lock", "spin_lock", "condition", "relock", "timed_condition",
    "barrier", "semaphore", "join", "once", "futex", "sleep", "yield", "poll", "io", "creating",
)  # fmt: skip

LOCKS = ("mutex", "rwlock", "spin", "allocator", "stdio", "loader")


@st.composite
def plans(draw: st.DrawFn) -> list[list[Doing | None]]:
    """Plans of up to four threads. Each thread may wait for any other, in circles too."""
    one = st.one_of(
        st.none(),
        st.just(works()),
        st.just(ready()),
        st.builds(sleeps, st.sampled_from([0, 1, 11, 35, 202, 999]), st.just("f g")),
        st.builds(
            waits,
            st.sampled_from(ACTIVITIES),
            st.integers(0, 3),
            st.sampled_from(["", "lock worker", "malloc@libc grow"]),
            st.integers(MAIN - 1, MAIN + 4),
        ),
    )
    return draw(st.lists(st.lists(one, min_size=1, max_size=6), min_size=1, max_size=4))


@settings(max_examples=200, deadline=None)
@given(plans())
def test_states_are_the_whole_time_and_causes_are_in_the_order_of_their_cost(
    whole: list[list[Doing | None]],
) -> None:
    made = Made(ticks=12)
    for number, plan in enumerate(whole):
        made.thread(MAIN + number, plan, "main")
    for number, what in enumerate(("mutex", "condition", "barrier"), 1):
        made.thing(number, what)
    found = made.answer()
    states = found["states"]
    assert all(share >= 0 for share in states.values())
    if found["thread_s"]:
        assert sum(states.values()) == pytest.approx(1, abs=0.002)
    categories = [cause["category"] for cause in found["causes"]]
    queue = categories.index("run_queue") if "run_queue" in categories else 0
    queued = found["causes"][queue]["share"]
    for cause in found["causes"][:queue]:  # a queue stands behind what makes programs faster
        is_usual = queued < LEAST_OF["run_queue"] * (1 - states["runnable"]) + 0.001
        assert is_usual or cause["share"] >= 0.25 * queued - 0.001
    assert are_in_order(found["causes"][:queue])
    assert are_in_order(found["causes"][queue:])
    assert all(0 <= cause["share"] <= 1 for cause in found["causes"])
    assert all(cause["bound"] is None or cause["bound"] >= 1 for cause in found["causes"])
    assert len(found["causes"]) == 1 or "none" not in categories
    json.dumps(found, allow_nan=False)


def are_in_order(causes: list[dict[str, Any]]) -> bool:
    """Causes that cost too little for their category stand behind the others."""
    little = [each["share"] < LEAST_OF.get(each["category"], LEAST) for each in causes]
    return any(
        all(little[at:]) and are_falling(causes[:at]) and are_falling(causes[at:])
        for at in range(len(causes) + 1)
    )


def are_falling(causes: list[dict[str, Any]]) -> bool:
    shares = [cause["share"] for cause in causes]
    first = [cause["category"] for cause in causes[:2]]
    passed_on = len(first) == 2 and first[0] in LOCKS and first[1] in PASSED_ON
    if passed_on and shares[1] > shares[0] >= 0.5 * shares[1] - 0.001:
        shares[:2] = shares[1::-1]  # a lock precedes a cause of little more, or of turns
    return shares == sorted(shares, reverse=True)


def test_a_wait_that_lasts_longer_than_the_thread_was_blocked_ran_in_part() -> None:
    made = Made().thread(MAIN, works())
    made.threads[MAIN]["run_ns"] = 80 * TICK
    made.threads[MAIN]["totals"] = {"mutex": {"ns": 50 * TICK, "times": 9}}
    states = made.answer()["states"]
    assert (states["waiting"], states["spinning"], states["useful"]) == (0.2, 0.3, 0.5)


def test_a_call_for_output_that_runs_is_output_and_not_spinning() -> None:
    made = Made().thread(MAIN, works())
    made.threads[MAIN]["run_ns"] = 80 * TICK
    made.threads[MAIN]["totals"] = {"io": {"ns": 50 * TICK, "times": 9}}
    found = made.thread(MAIN + 1, works()).answer()
    states = found["states"]
    assert (states["io"], states["spinning"], states["useful"]) == (0.25, 0, 0.75)
    assert found["causes"][0]["category"] == "io"


def test_a_program_that_loses_a_tenth_without_a_cause_is_not_said_to_scale() -> None:
    made = Made().thread(MAIN, works()).thread(MAIN + 1, works())
    made.threads[MAIN]["run_ns"] = 80 * TICK
    made.threads[MAIN]["totals"] = {"mutex": {"ns": 50 * TICK, "times": 9}}
    for number in range(1, 21):  # twenty locks that cost a little each
        made.thing(number, "mutex", module=1, offset=number).data[1, number] = (f"l{number}", "")
        made.pair(number, "mutex", "f main", "g main", 5 * TICK // 2)
    [cause] = made.answer()["causes"]
    assert (cause["category"], cause["certain"]) == ("unknown", False)
    assert "no one object or place" in cause["words"]


def test_a_record_of_a_moment_says_that_it_is_too_short() -> None:
    [cause] = Made(ticks=3).thread(MAIN, works()).thread(MAIN + 1, works()).answer()["causes"]
    assert (cause["category"], cause["certain"]) == ("unknown", False)
    assert "too short" in cause["words"]


def test_a_small_imbalance_may_be_chance() -> None:
    amounts = (("mutex", 30.0), ("imbalance", 5.0))
    large, small = (Cause(name, "a", "", "", ns=ns, seen=99) for name, ns in amounts)
    doubted([large, small], 100.0)
    assert (small.certain, large.certain) == (False, True)


def test_what_the_agent_does_not_see_is_divided_by_ticks() -> None:
    plan = [works(), sleeps(1, "write@libc"), sleeps(35), sleeps(35)]
    states = Made().thread(MAIN, plan).answer()["states"]
    assert (states["useful"], states["io"], states["sleep"]) == (0.25, 0.25, 0.5)


def test_processors_in_use_are_counted() -> None:
    made = Made().thread(MAIN, works()).thread(MAIN + 1, [works(), None], "x")
    assert made.answer()["processors"] == [0.0, 0.5, 0.5]


def lines(**changes: Any) -> list[str]:
    """The lines of a record with changes in the first one."""
    first, *rest = Made(ticks=2).thread(MAIN, works()).records()
    return [json.dumps({**first, **changes}), *map(json.dumps, rest)]


@pytest.mark.parametrize(
    ("record", "sentence"),
    [([], "it is empty"), (["no JSON"], "no JSON object"), (["[" * 9999], "no JSON object"),
     (['{"kind":"end"}'], "not of kind 'record'"), (lines(version=9), "reads version 1"),
     (lines(pid="x"), "'pid' is not a whole number"), (lines(pid=True), "'pid'"),
     (lines(pid=1 << 70), "'pid'"), (lines(limits=3), "'limits' is not a list"),
     ([*lines(), '{"kind":"tick","at_ns":1,"threads":[[1]]}'], "'threads'"),
     ([*lines(), '{"kind":"stack","id":1,"frames":[7]}'], "'frames'"),
     ([*lines(), '{"kind":"thread","tid":1,"totals":{"mutex":7}}'], "'totals'")],
)  # fmt: skip
def test_what_is_no_record_is_one_sentence(record: list[str], sentence: str) -> None:
    with pytest.raises(LabError) as caught:
        reading.read(record)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_keys_and_kinds_are_ignored_and_a_cut_record_says_so() -> None:
    record = [*lines(colour="blue"), '{"kind":"of tomorrow"}']
    assert reading.read(record).limits == ()
    [limit] = reading.read(record[:-2]).limits
    assert "ends before the program did" in limit
    assert "1 lines of the record are damaged" in reading.read([*record, "{"]).limits[0]


def test_a_record_that_was_cut_off_lasts_as_long_as_what_is_left_of_it() -> None:
    made = Made(head={"complete": False}).thread(MAIN, works())
    made.thread(MAIN + 1, works(), ended_ns=3 * made.ticks * TICK)
    found = made.answer()
    assert found["wall_s"] == pytest.approx(3 * made.ticks * TICK / 1e9)
    assert found["thread_s"] <= 2 * found["wall_s"]


def test_names_are_without_arguments_templates_and_return_types() -> None:
    for name, plain in {
        "void Cache::put<int>(int)": "Cache::put",
        "main::{lambda()#1}::operator()() const": "main::{lambda#1}::operator()",
        "std::ostream& std::operator<< <char>(std::ostream&, char const*)": "std::operator<<",
        "Foo::operator bool() const": "Foo::operator bool",
        "std::enable_if<(x > 3), int>::type foo<int>(int)": "foo",
        "(anonymous namespace)::work(int) [clone .cold]": "(anonymous namespace)::work",
        "A::operator->() const": "A::operator->",
        "fopen@@GLIBC_2.2.5": "fopen",
        "broken<(": "broken",
    }.items():
        assert plain_name(name) == plain


GOLDEN = """\
prog: 3 threads, 0.4 s, 100 % of 1.2 s of thread time accounted for.

 1  50 %  waits for a lock: cache_mutex (server.cpp:41), 410,000 waits of 5.7 us
          without it the program is at most 2.08 times as fast
          instead  Let each thread work on its own part of the data first; where
                   it cannot, a smaller and shorter lock loses less.
          held by   Cache::put < worker                       100 %  1.9 us each
          waits in  Cache::get < handle < worker                           100 %

    33 %  useful work
    33 %  waiting for a lock
    33 %  waiting for the end or result of a thread
Processors used: both 0 % of the time, one 100 %.
- The program was ended by signal 9."""


@pytest.mark.parametrize(
    ("frames", "shown"),
    [
        ("std::locale::locale std::ios_base::ios_base std::ostream::ostream write_a_bill work main",
         "std::locale::locale < ... < write_a_bill < work < main"),
        ("std::locale::locale std::ios::ios std::ostream::ostream invoice work_of_a_thread main",
         "std::locale::locale < std::ios::ios < ... < invoice < ..."),
        ("__memcmp_evex memcmp std::char_traits::compare std::string::compare Counter::line",
         "__memcmp_evex < memcmp < ... < Counter::line"),
        ("[vdso]+0xb46 clock_gettime std::chrono::steady_clock::now busy_for audit_the_books",
         "[vdso]+0xb46 < clock_gettime < ... < busy_for < audit_..."),
        ("std::_Rb_tree::_M_emplace_hint_unique_of_nodes std::at std::x Histogram::add main",
         "... < Histogram::add < main"),
        ("std::locale::locale invoice", "std::locale::locale < invoice"),
        ("Cache::get_the_entry Cache::find_the_key Server::handle_the_request worker",
         "Cache::get_the_entry < Cache::find_the_key < Server::h..."),
    ],
)  # fmt: skip
def test_a_stack_that_does_not_fit_keeps_the_functions_of_the_program(
    frames: str, shown: str
) -> None:
    page = table.Page(70, utf8=True)
    page.fill("waits in ", page.stack("waits in ", frames.split(), "9 %"), "9 %")
    assert page.lines[0].plain == f"waits in {shown:<57} 9 %"


def test_the_first_ten_lines_answer_in_80_columns_and_in_ascii() -> None:
    wait = waits("mutex", 1, "Cache::get handle worker", MAIN + 1)
    made = Made(head={"signal": 9}).thread(MAIN, waits("join", 0, "main", MAIN + 1))
    made.thread(MAIN + 1, [wait, works()], "main").thread(MAIN + 2, [works(), wait], "main")
    made.thing(1, "mutex", module=1, offset=64, waits=410_000, wait_ns=410_000 * 5_700)
    made.pair(1, "mutex", "Cache::get handle worker", "Cache::put worker", 100 * TICK)
    made.hold(1, "Cache::put worker", 100, 190_000).data[1, 64] = ("cache_mutex", "server.cpp:41")
    for tid in (MAIN + 1, MAIN + 2):
        made.sample(tid, "work worker", 100)
    for utf8 in (True, False):
        shown = [line.plain for line in table.lines(made.answer(), 80, utf8=utf8)]
        assert "\n".join(shown) == GOLDEN
        assert max(map(len, shown)) <= 80
        before = made.answer()  # a stored run from before remedies were known
        for cause in before["causes"]:
            del cause["remedy"], cause["versions"]
        shown = [line.plain for line in table.lines(before, 80, utf8=utf8)]
        assert [line for line in GOLDEN.splitlines() if line not in shown] == GOLDEN.splitlines()[
            4:6
        ]


def test_threads_that_live_between_two_ticks_use_processors_too() -> None:
    made = Made(ticks=50).thread(MAIN, waits("join", 0, "pthread_join@libc main"))
    for number in range(49):  # each runs for a whole tick, and no tick sees it
        begin = number * TICK + TICK // 2
        made.thread(MAIN + 1 + number, [None], "main", began_ns=begin, ended_ns=begin + TICK,
                    run_ns=TICK)  # fmt: skip
    used = accounting.processors(made.read()[0])
    assert used[1] == pytest.approx(1, abs=0.04)


def test_what_a_thread_ran_after_its_last_tick_is_not_counted_twice() -> None:
    made = Made(ticks=50).thread(MAIN, works()).thread(MAIN + 1, [works()] * 25 + [None] * 25)
    used = accounting.processors(made.read()[0])
    assert used[1:] == pytest.approx([0.5, 0.5], abs=0.01)


def test_of_more_threads_than_one_tick_shows_all_are_looked_at_in_turn() -> None:
    made = Made(processors=4).thread(MAIN, waits("join", 0, "pthread_join@libc main", MAIN + 1))
    for number in range(80):  # every other thread waits for the other lock
        made.thread(MAIN + 1 + number, waits("mutex", number % 2 + 1, "take worker"), "main")
    for number, name in ((1, "in_lock"), (2, "out_lock")):
        made.thing(number, "mutex", module=1, offset=number).data[1, number] = (name, "a.cpp:1")
    shares = {each["name"]: each["share"] for each in made.answer()["causes"]}
    assert shares == {name: pytest.approx(0.5, abs=0.02) for name in ("in_lock", "out_lock")}


def test_what_is_enough_for_a_cause_of_its_category_precedes_what_costs_more_but_is_not() -> None:
    fault, lock = sleeps(-1, "fill worker", "D"), waits("mutex", 1, "put worker", MAIN + 1)
    made = Made().thread(MAIN, [fault] * 8 + [lock] * 14 + [works()] * 78).thing(1, "mutex")
    made.thread(MAIN + 1, [works()] * 92 + [fault] * 8, "main")
    causes = made.answer()["causes"]
    assert [(each["category"], each["share"]) for each in causes] == [
        ("mutex", 0.07), ("kernel_memory", 0.08)
    ]  # fmt: skip

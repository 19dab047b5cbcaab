"""Work of one thread while the other threads do not exist or only sleep."""

from __future__ import annotations

import pytest
from made import MAIN, MS, TICK, Doing, Made, waits, works
from threadmark.kinds.explain.analysis.serial_parts import BUCKET

A, B = 101, 102


def phases(alone: int) -> Made:
    """Main prepares for so many of a hundred ticks, and then two threads work."""
    join = waits("join", 0, "pthread_join@libc main", A)
    made = Made().thread(MAIN, [works()] * alone + [join] * (100 - alone))
    for tid in (A, B):
        made.thread(tid, [None] * alone + [works()] * (100 - alone), "main")
    return made.sample(MAIN, "prepare main", alone)


@pytest.mark.parametrize(("alone", "certain"), [(40, False), (80, True)])
def test_a_long_part_in_which_one_thread_exists_is_a_serial_part(alone: int, certain: bool) -> None:
    made = phases(alone)
    first = made.first()
    assert (first["category"], first["name"]) == ("serial_dependency", "prepare")
    assert first["certain"] == certain
    lived = 100 + 2 * (100 - alone)
    assert first["share"] == pytest.approx(alone / (lived + alone), abs=0.02)


def test_the_beginning_of_a_program_is_no_serial_part() -> None:
    assert phases(20).first()["category"] == "none"


def test_what_one_thread_does_before_a_recording_of_a_server_is_not_its_serial_part() -> None:
    made = phases(80)
    made.head["tier"] = {"agent": True, "perf": True, "sample_ns": 2_000_000, "attached": True}
    assert made.first()["category"] != "serial_dependency"


def test_a_serial_part_has_the_function_in_which_most_of_it_is() -> None:
    made = phases(80)
    made.sample(MAIN, "compare std::sort read main", 60).sample(MAIN, "add read main", 60)
    assert made.first()["name"] == "read"


def test_a_serial_part_is_one_too_where_each_thread_lives_for_a_moment() -> None:
    made = Made(ticks=400, processors=4)
    made.thread(MAIN, works()).sample(MAIN, "parse main", 300)
    for number in range(200):  # made in groups of ten, each of which takes a tick in twenty
        plan: list[Doing | None] = [None] * 400
        plan[number // 10 * 20] = works()
        made.thread(A + number, plan, "spawn main")
    first = made.first()
    assert (first["category"], first["name"]) == ("serial_dependency", "parse")


def test_the_making_of_threads_is_no_serial_part() -> None:
    made = Made(ticks=200)
    made.thread(MAIN, works(), totals={"creating": {"ns": 190 * TICK, "times": 100}})
    for number in range(100):
        plan: list[Doing | None] = [None] * 200
        plan[2 * number] = works()
        made.thread(A + number, plan, "spawn main")
    assert made.first()["category"] == "thread_creation"


def test_only_its_own_making_of_threads_is_taken_from_the_work_of_a_thread() -> None:
    made = phases(80)
    made.threads[A]["totals"] = {"creating": {"ns": 90 * TICK, "times": 9}}
    assert made.first()["category"] == "serial_dependency"


@pytest.mark.parametrize(
    ("stack", "name"),
    [("deflate@libz pack main", "pack"), ("deflate@libz prog+0x1060", "deflate")],
)
def test_the_work_of_a_library_is_named_by_the_function_that_calls_it_if_that_has_a_name(
    stack: str, name: str
) -> None:
    made = Made().thread(MAIN, [works()] * 80 + [waits("join", 0, "join@libc main", A)] * 20)
    made.thread(A, [None] * 80 + [works()] * 20, "main")
    for at in range(80):
        made.lines.append({"kind": "sample", "tid": MAIN, "at_ns": at * TICK + 1, "registers": {},
                           "stack": made.stack(stack)})  # fmt: skip
    first = made.first()
    assert (first["category"], first["name"]) == ("serial_dependency", name)


def test_done_by_shows_what_a_thread_did_alone_although_others_waited_later() -> None:
    made = Made().thread(MAIN, works())
    made.thread(A, [None] * 80 + [waits("condition", 1, "wait worker")] * 20, "main")
    for at in range(100):
        text = "read main" if at < 80 else "merge main"
        made.lines.append({"kind": "sample", "tid": MAIN, "at_ns": at * TICK + 1, "registers": {},
                           "stack": made.stack(text)})  # fmt: skip
    holders = made.first()["holders"]
    assert holders[0]["frames"] == ["read", "main"]


@pytest.mark.parametrize(
    "helper", [waits("sleep", 0, "nanosleep@libc tick"), waits("poll", 0, "poll@libc watch")]
)
def test_one_thread_that_works_beside_threads_that_sleep_does_not_scale(helper: Doing) -> None:
    made = Made().thread(MAIN, works()).thread(A, helper, "main")
    first = made.first()
    assert (first["category"], first["certain"]) == ("serial_dependency", True)
    assert "one thread that works" in first["words"]
    assert made.thread(B, works(), "main").first()["category"] == "none"


def test_a_server_may_serve_by_threads_that_sleep_when_nobody_asks() -> None:
    made = Made().thread(MAIN, works()).thread(A, waits("sleep", 0, "nanosleep@libc tick"), "main")
    made.head["tier"] = {"agent": True, "perf": True, "sample_ns": 2_000_000, "attached": True}
    assert made.first()["category"] == "none"


def test_a_record_without_threads_says_nothing_for_sure() -> None:
    answer = Made(head={"agent_ns": MS}).answer()
    first = answer["causes"][0]
    assert (first["category"], first["certain"]) == ("unknown", False)
    assert not [each for each in answer["limits"] if "%" in each]
    works_alone = Made(head={"agent_ns": MS}).thread(MAIN, works()).answer()
    assert "The agent itself took 0.2 % of the threads' time." in works_alone["limits"]


@pytest.mark.parametrize(
    ("lone", "own", "other", "category", "certain"),
    [
        # The last job of a pool.
        ("draw work run main", "draw work main", "draw work", "imbalance", False),
        ("draw main", "draw main", "draw worker", "imbalance", False),
        ("draw check main", "draw work main", "draw work", "serial_dependency", False),
        ("merge sort main", "merge sort sort", "merge sort", "serial_dependency", False),
        ("sum main", "draw work main", "draw work", "serial_dependency", True),
    ],
    ids=["one loop", "one call", "another caller", "recursion", "other work"],
)
def test_a_thread_that_goes_on_alone_with_what_others_did_too_may_have_the_larger_part(
    lone: str, own: str, other: str, category: str, certain: bool
) -> None:
    made = Made().thread(MAIN, works()).thread(A, [works()] * 20 + [None] * 80, "main")
    made.stack(own)
    made.stacks |= {f"elsewhere{number}": number for number in range(2, 2 * BUCKET)}
    for tick in range(100):
        did = own if tick < 20 else lone
        made.line(kind="sample", tid=MAIN, at_ns=tick * TICK, registers={}, stack=made.stack(did))
    for tick in range(20):
        stack = made.stack(other)
        made.line(kind="sample", tid=A, at_ns=tick * TICK + MS, registers={}, stack=stack)
    first = made.first()
    assert (first["category"], first["certain"]) == (category, certain)


@pytest.mark.parametrize(
    ("code", "certain"), [(("add", "xor", "jne", "mov"), False), (("mulsd", "addsd"), True)]
)
def test_a_copy_with_its_instructions_in_another_order_may_be_the_same_work(
    code: tuple[str, ...], certain: bool
) -> None:
    made = phases(80)
    stack = made.stack("{lambda}")
    for tick in range(80, 100):
        made.line(kind="sample", tid=A, at_ns=tick * TICK + MS, registers={}, stack=stack)
    made.code = {
        made.stack("prepare main"): ("mov", "add", "xor", "jne"),
        made.stack("{lambda}"): code,
    }
    first = made.first()
    assert (first["category"], first["certain"]) == ("serial_dependency", certain)
    assert ("larger part" in first["words"]) is not certain

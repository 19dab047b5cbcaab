"""Programs that serve others: recorded from outside, with threads without work, and idle."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made import MAIN, MS, TICK, Made, sleeps, waits, works
from threadmark.kinds.explain.analysis import reading

A, B, C = 101, 102, 103
FUTEX = "__futex_abstimed_wait_common@libc"


def attached(*plans: Any) -> Made:
    """A program without the agent, with threads that do `plans`."""
    made = Made(head={"tier": {"agent": False, "attached": True, "perf": True}})
    for tid, plan in enumerate(plans, MAIN):
        made.thread(tid, plan, "", totals={})
    return made


@pytest.mark.parametrize(
    ("function", "state", "category"),
    [("__pthread_cond_wait@libc", "condition", "serial_dependency"),
     ("pthread_cond_timedwait@libc", "sleep", "sleep"),
     ("pthread_cond_clockwait@libc", "sleep", "sleep"),
     ("__new_sem_wait_slow64@libc sem_wait@libc", "semaphore", "semaphore"),
     ("pthread_barrier_wait@libc", "barrier", "imbalance"),
     ("pthread_rwlock_rdlock@libc", "waiting", "rwlock"),
     ("pthread_rwlock_timedwrlock@libc", "waiting", "rwlock"),
     ("__pthread_mutex_cond_lock@libc pthread_cond_wait@libc", "waiting", "mutex"),
     ("___pthread_mutex_lock@libc", "waiting", "mutex")],
)  # fmt: skip
def test_functions_of_the_c_library_tell_what_a_futex_is_for_without_the_agent(
    function: str, state: str, category: str
) -> None:
    found = attached(works(), [sleeps(202, f"{FUTEX} {function} get serve"), works()]).answer()
    assert found["states"][state] == pytest.approx(0.25, abs=0.01)
    assert found["causes"][0]["category"] == category


CHILD = ("join", 0, "waitpid@libc main", 0, "S", 61)


def with_children(*plans: Any) -> Made:
    """A process that starts others, which do `plans`, and waits for their ends."""
    made = Made().thread(MAIN, CHILD, run_ns=0)
    for tid, plan in enumerate(plans, A):
        made.thread(tid, plan, "main", process=tid)
    return made


def test_who_only_waits_for_the_end_of_a_process_is_no_thread_that_loses_time() -> None:
    first = with_children(works()).first()
    assert (first["category"], first["certain"]) == ("serial_dependency", True)
    assert "one thread" in first["words"]
    fault = sleeps(11, "munmap@libc shrink main", "D")
    assert with_children([works(), works(), fault]).first()["category"] == "kernel_memory"


def test_who_waits_for_two_processes_at_one_time_waits_for_the_longer_one() -> None:
    first = with_children(works(), [works()] * 40 + [None] * 60).first()
    assert first["category"] in ("imbalance", "serial_dependency")
    assert "for one" in first["words"] or "others wait" in first["words"]


def pool(**thing: Any) -> Made:
    """One thread works on input from outside; two others wait for its jobs."""
    made = Made().thread(MAIN, [works(), waits("poll", 0, "epoll_wait@libc serve main")])
    for tid in (A, B):
        made.thread(tid, waits("condition", 3, "take_job worker"), "main", totals={})
    return made.thing(3, "condition", **thing)


def test_spare_workers_that_nobody_wakes_wait_for_nothing() -> None:
    answer = pool().answer()
    assert answer["states"]["condition"] == pytest.approx(2 / 3, abs=0.01)
    assert all(each["share"] < 0.25 for each in answer["causes"])
    before = pool(signal_stack="give_job serve main").answer()  # a signal before the recording
    assert before["causes"] == answer["causes"]
    woken = pool(signals=5, signal_stack="give_job serve main").answer()
    assert woken["causes"][0]["share"] > 0.4


def test_workers_that_nobody_wakes_are_the_cause_where_nothing_goes_on() -> None:
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for tid in (A, B):
        made.thread(tid, waits("condition", 3, "take_job worker"), "main", totals={})
    assert made.thing(3, "condition").first()["category"] == "condition"


def test_timers_of_one_kind_are_no_cause_beside_threads_that_work_or_want_to() -> None:
    pause = waits("sleep", 0, "usleep@libc purge")
    lock = waits("mutex", 1, "put worker", A)
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, works(), "main").thread(B, [works(), lock, lock], "main").thing(1, "mutex")
    for tid in (C, C + 1):
        made.thread(tid, pause, "start_purging")
    assert [each["category"] for each in made.answer()["causes"]] == ["mutex"]


def timed(signals: int, woken: str = "") -> Made:
    """A thread that waits for a condition with a time limit, beside a thread that works. Such
    waits of the function `woken` end by signals."""
    wait = waits("condition", 3, "await_result watch")
    made = Made().thread(MAIN, works()).thread(A, wait, "main", totals={
        "timed_condition": {"ns": 400_000_000, "times": 100}})  # fmt: skip
    made.thread(B, [works()] * 10 + [None] * 90, "begin").thread(C, [None] * 50 + [works()], "c")
    made.thing(3, "condition", waits=100, signals=signals, signal_stack="finish main")
    if woken:
        made.pair(3, "condition", woken, "finish main", 50_000_000)
    return made.sample(MAIN, "finish main", 20).pair(
        3, "timed_condition", "await_result watch", "", 400_000_000
    )


def test_a_wait_for_a_condition_that_ends_by_time_is_a_timer_only_where_nobody_signals() -> None:
    assert timed(50, "await_result watch").first()["category"] == "serial_dependency"
    assert timed(50, "await_start watch").first()["category"] == "none"
    assert timed(2).first()["category"] == "none"


def test_a_program_that_executes_another_is_known_by_the_one_that_lived_longer() -> None:
    made = Made().thread(MAIN, [waits("mutex", 1, "put main", A), works()])
    made.thread(A, works(), "main").thing(1, "mutex")
    whole = made.records()
    shell = {"kind": "thread", "tid": MAIN, "name": "sh", "began_ns": 0, "ended_ns": 1000}
    at = next(i for i, each in enumerate(whole) if each["kind"] == "thread")
    lines = [json.dumps(each) for each in [*whole[:at], shell, *whole[at:]]]
    threads = reading.read(lines).threads
    assert {name for name in (threads[MAIN].name, "sh") if name} == {"sh"}
    assert threads[MAIN].life_ns == 100 * TICK
    assert sorted(each.tid for each in threads.values()) == [MAIN, MAIN, A]


POLL = waits("poll", 0, "epoll_wait@libc serve main")


def serving(idle: int, tier: str = "late", **head: Any) -> Made:
    """Two threads, which wait for requests in `idle` of a hundred ticks, and for a lock in some."""
    made = Made(head={"tier": {"agent": True, "perf": True, "sample_ns": 2 * MS, tier: True}})
    busy = [waits("mutex", 1, "put serve", A), works(), works(), works()] * 25
    for tid in (MAIN, A):
        made.thread(tid, [POLL] * idle + busy[idle:], "")
    return made.thing(1, "mutex", module=1, offset=8)


@pytest.mark.parametrize("tier", ["late", "attached"])
def test_waits_for_requests_come_after_what_the_program_loses(tier: str) -> None:
    causes = serving(60, tier).answer()["causes"]
    assert [each["category"] for each in causes] == ["mutex", "io"]
    assert [each["certain"] for each in causes] == [True, False]
    assert causes[1]["knowledge"] == "own_requests.toml"


@pytest.mark.parametrize(
    ("call", "tier", "categories"),
    [("recv", "late", ["mutex", "io"]), ("accept4", "attached", ["mutex", "io"]),
     ("read", "late", ["io", "mutex"]), ("recv", "whole", ["io", "mutex"])],
)  # fmt: skip
def test_a_server_blocked_in_a_socket_waits_for_requests(
    call: str, tier: str, categories: list[str]
) -> None:
    made = Made(head={"tier": {"agent": True, "perf": True, "sample_ns": 2 * MS, tier: True}})
    busy = [waits("mutex", 1, "put serve", A), works(), works(), works()] * 10
    for tid in (MAIN, A):
        made.thread(tid, [waits("io", 0, f"{call}@libc serve")] * 60 + busy, "")
    causes = made.thing(1, "mutex", module=1, offset=8).answer()["causes"]
    assert [each["category"] for each in causes] == categories
    [io] = [each for each in causes if each["category"] == "io"]
    assert io["certain"] == (tier == "whole")


def test_a_program_that_is_asked_for_nothing_loses_nothing() -> None:
    first = serving(96).first()
    assert first["category"] == "none"
    assert "waited for requests for 96 %" in first["words"]


def test_a_program_that_is_recorded_from_its_start_waits_for_its_input() -> None:
    first = serving(60, "whole").first()
    assert (first["category"], first["certain"]) == ("io", True)
    assert "until there is input" in first["words"]


def test_the_condition_of_a_convoy_is_called_a_condition() -> None:
    convoy = waits("relock", 3, "take_job worker")
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for tid in (A, B):
        made.thread(tid, [works(), convoy], "main")
    made.thing(3, "condition", mutex=4, signals=100).thing(4, "mutex")
    assert "condition in take_job wakes wait for its mutex" in made.first()["words"]


@pytest.mark.parametrize(("paths", "name"), [((7,), "a socket"), ((7, 8, 9), "3 sockets")])
def test_sockets_are_one_kind_of_file(paths: tuple[int, ...], name: str) -> None:
    call = waits("io", 1, "write@libc answer main")
    made = Made().thread(MAIN, [call, works()]).thread(A, [works(), call], "main")
    made.thing(1, "file")
    for number in paths:
        made.line(kind="file", object=1, path=f"socket:[{number}]", writes=100, bytes=800, ns=MS)
    made.line(kind="file", object=1, path="/tmp/log", writes=1, bytes=80, ns=MS // 2)
    first = made.first()
    assert first["name"] == name
    assert f"{name}, {100 * len(paths)} writes of 8 bytes" in first["words"]


@pytest.mark.parametrize(("tier", "sleeps_too"), [("late", False), ("whole", True)])
def test_who_keeps_house_in_a_server_does_not_sleep_at_its_cost(
    tier: str, sleeps_too: bool
) -> None:
    made = serving(60, tier).thread(C, [waits("sleep", 0, "usleep@libc tidy")] * 95 + [works()] * 5)
    assert ("sleep" in [each["category"] for each in made.answer()["causes"]]) == sleeps_too


@pytest.mark.parametrize(
    ("stack", "state"),
    [("__libc_poll@libc poll@libc accept_one serve", "io"),
     ("__clock_nanosleep@libc tidy serve", "sleep"),
     (f"{FUTEX} ___pthread_cond_timedwait@libc purge serve", "sleep"),
     (f"{FUTEX} __pthread_cond_wait@libc take_job serve", "condition")],
)  # fmt: skip
def test_a_wait_that_goes_on_after_a_stop_is_what_the_c_librarys_function_says(
    stack: str, state: str
) -> None:
    states = attached(works(), sleeps(219, stack)).answer()["states"]
    assert states[state] == pytest.approx(0.5, abs=0.01)
    assert states["unknown"] == 0


@pytest.mark.parametrize(("sockets", "certain"), [(1, True), (2, False)])
@pytest.mark.parametrize("activity", ["poll", "io"])
def test_a_socket_may_have_its_other_end_in_the_program(
    activity: str, sockets: int, certain: bool
) -> None:
    stack = f"{'poll' if activity == 'poll' else 'recv'}@libc fetch main"
    made = Made().thread(MAIN, [works(), *[waits(activity, 7, stack)] * 3])
    made.thread(A, [works(), *[waits(activity, 7, stack)] * 3], "main")
    for number in range(7, 7 + sockets):
        made.thing(number, "file", address=number)
        fields = {"tid": 0, "object": number, "descriptor": number, "calls": 9, "ns": TICK}
        made.line(kind="file", path=f"socket:[{number}]", writes=9, bytes=99, **fields)
    first = made.first()
    assert (first["category"], first["certain"]) == ("io", certain)
    assert ("at the other end" in first["words"]) == (not certain)


def test_a_poll_while_all_processors_have_work_costs_nothing() -> None:
    polls = waits("poll", 0, "poll@libc main")
    made = Made().thread(MAIN, [*[polls] * 9, works()])
    made.thread(A, works(), "main").thread(B, works(), "main")
    made.pair(0, "poll", "poll@libc main", "", 100 * TICK)
    first = made.first()
    assert (first["category"], first["certain"]) == ("none", True)
    made.thread(B, [works(), polls], "main")
    assert made.first()["category"] == "io"


@pytest.mark.parametrize(
    ("consumer", "worker", "shared", "category"),
    [
        (0, 0, False, "serial_dependency"),
        (0, B, False, "sleep"),
        (A, 0, False, "condition"),
        (A, 0, True, "serial_dependency"),
        (0, B, True, "serial_dependency"),
    ],
)
def test_threads_of_other_processes_do_not_work_for_who_waits_for_a_condition(
    consumer: int, worker: int, shared: bool, category: str
) -> None:
    """A consumer waits while one producer sleeps and another one works. `consumer` and `worker`:
    the processes of those; the sleeping one belongs to the first process."""
    rests = waits("sleep", 0, "nanosleep@libc produce")
    pops = waits("condition", 3, "pthread_cond_wait@libc pop consume")
    made = Made(processors=4).thread(MAIN, [works()] * 20 + [rests] * 80)
    made.thread(A, [works()] * 20 + [pops] * 80, "main", process=consumer)
    made.thread(B, works(), process=worker)
    made.thing(3, "condition", signals=9, signal_stack="push produce", shared=shared)
    made.sample(MAIN, "make produce", 20).sample(A, "use consume", 20).sample(B, "make produce", 99)
    assert made.first()["category"] == category

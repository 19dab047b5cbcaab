"""Waits that the agent does not see: switches of threads, inline futexes, faults, slow paths."""

from __future__ import annotations

from typing import Any

import pytest
from made import MAIN, TICK, Made, queued, sleeps, waits, works
from threadmark.kinds.explain.analysis.calls import kind_of_kernel
from threadmark.kinds.explain.analysis.frames import Frame, plain_name, without_aliases
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.knowledge import knowledge

A, B, C = 101, 102, 103
JOIN_A = waits("join", 0, "pthread_join@libc main", A)
MALLOC = "__lll_lock_wait_private@libc malloc@libc grow worker"


def blocked(part: float = 0.5) -> Made:
    """Two workers that are blocked for a part of the time, although all ticks see them running."""
    made = Made().thread(MAIN, JOIN_A)
    for tid in (A, B):
        run = round((1 - part) * 100) * TICK
        made.thread(tid, works(), "main", run_ns=run)
    return made


def switched(made: Made, stack: str, times: int = 30, **more: Any) -> Made:
    for tid in (A, B):
        made.look(tid, stack, times, **{"switch": True, "kernel": True, "entry": "call", **more})
    return made


def test_switches_tell_what_short_waits_were_for() -> None:
    found = switched(blocked(), MALLOC, sleeps_in="futex_wait_queue").answer()
    first = found["causes"][0]
    assert (first["category"], first["name"], first["certain"]) == ("allocator", "malloc", True)
    assert first["share"] == pytest.approx(1 / 3, abs=0.01)
    assert found["states"]["waiting"] == pytest.approx(1 / 3, abs=0.01)


def test_a_preempted_thread_and_a_wait_that_the_agent_timed_are_no_unseen_wait() -> None:
    made = switched(blocked(), MALLOC, preempted=True, entry="interrupt")
    agents = "futex_wait@libc pthread_mutex_lock@libthreadmark-agent grow worker"
    found = switched(made, agents, sleeps_in="futex_wait_queue").answer()
    assert found["states"]["waiting"] == 0
    assert found["states"]["unknown"] == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("steal_ns", "runnable"), [(0, 0), (50 * TICK, 1 / 6), (900 * TICK, 1 / 3)]
)
def test_time_that_the_host_stole_is_time_without_a_processor(
    steal_ns: int, runnable: float
) -> None:
    made = blocked()
    made.head["steal_ns"] = steal_ns
    states = made.answer()["states"]
    assert states["runnable"] == pytest.approx(runnable, abs=0.01)
    assert states["unknown"] == pytest.approx(1 / 3 - runnable, abs=0.01)


def test_a_thread_that_was_asleep_in_what_nobody_timed_was_robbed_of_nothing() -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, [works(), sleeps(0, "read@libc worker")], "main")
    made.head["steal_ns"] = 900 * TICK
    assert made.answer()["states"]["runnable"] == 0


def test_a_thread_that_wakes_others_may_wait_for_the_lock_of_their_condition() -> None:
    wakes = waits("futex", 1, "pthread_cond_broadcast@libc pass worker")
    takes = waits("mutex", 2, "pthread_mutex_lock@libc pass worker")
    made = Made().thread(MAIN, JOIN_A)
    for tid, plan in ((A, [takes, wakes, works()]), (B, [works(), wakes, wakes])):
        made.thread(tid, plan, "main", totals={"mutex": {"ns": TICK, "times": 1}})
    made.thing(1, "condition", mutex=2).thing(2, "mutex")
    found = made.answer()
    assert found["causes"][0]["category"] == "mutex"
    assert found["states"]["unknown"] == 0


def test_the_weight_of_a_switch_counts() -> None:
    made = switched(blocked(), MALLOC, sleeps_in="futex_wait", weight=9)
    found = switched(made, "read@libc worker", sleeps_in="pipe_read").answer()
    assert found["states"]["waiting"] == pytest.approx(0.9 / 3, abs=0.01)
    assert found["states"]["io"] == pytest.approx(0.1 / 3, abs=0.01)


def test_without_the_kernels_functions_those_of_the_c_library_tell_the_wait() -> None:
    found = switched(blocked(), "read@libc worker").answer()
    assert found["states"]["io"] == pytest.approx(1 / 3, abs=0.01)


def test_few_switches_do_not_outweigh_ticks() -> None:
    made = Made().thread(MAIN, JOIN_A)
    for tid in (A, B):
        made.thread(tid, [works(), sleeps(202, MALLOC)], "main")
    made.look(A, "read@libc worker", 3, switch=True, entry="call", sleeps_in="pipe_read")
    found = made.answer()
    assert found["causes"][0]["category"] == "allocator"
    assert found["states"]["io"] == 0


def test_a_thread_that_leaves_its_processor_in_a_fault_waits_for_the_kernels_memory() -> None:
    found = switched(blocked(), "fill worker", entry="fault", sleeps_in="rwsem_down_read_slowpath")
    assert found.answer()["states"]["kernel_memory"] == pytest.approx(1 / 3, abs=0.01)
    pages = switched(blocked(), "fill worker", entry="fault", sleeps_in="folio_wait_bit_common")
    assert pages.answer()["states"]["kernel_memory"] == pytest.approx(1 / 3, abs=0.01)


def test_a_futex_of_the_program_has_the_name_of_its_word_and_who_takes_it_holds_it() -> None:
    made = switched(
        blocked(), "lock std::lock_guard::lock_guard record run", sleeps_in="futex_wait_queue",
        registers={"di": 4096},
    )  # fmt: skip
    made.thing(7, "futex", address=4096, module=1, offset=64, sampled=True)
    made.data[1, 64] = ("ring_lock", "ring.cpp:9")
    made.sample(A, "fill record run", 30).sample(B, "idle", 30)
    first = made.first()
    assert (first["category"], first["name"], first["certain"]) == ("mutex", "ring_lock", True)
    assert first["holders"][0]["frames"] == ["fill", "record", "run"]
    assert first["waiters"][0]["frames"] == ["record", "run"]


@pytest.mark.parametrize(
    ("function", "certain"),
    [("Ticket::lock", True), ("try_lock_slow", True), ("read_lock", True), ("acquire", True),
     ("pthread_mutex_lock@libc", True), ("lock_guard", True), ("await_turn", False),
     ("process_block", False), ("read_clock", False), ("enter", False)],
)  # fmt: skip
def test_a_futex_is_certainly_a_lock_where_its_function_is_called_so(
    function: str, certain: bool
) -> None:
    made = switched(blocked(), f"{function} put run", sleeps_in="futex_wait_queue")
    first = made.first()
    assert (first["category"], first["certain"]) == ("mutex", certain)
    if certain:  # the answer does not show the functions of a lock
        assert first["waiters"][0]["frames"] == ["put", "run"]


@pytest.mark.parametrize("sampled", [True, False])
def test_a_word_that_only_ticks_saw_is_unseen_although_the_thread_has_totals(sampled: bool) -> None:
    wait = waits("futex", 7, "lock run")
    made = Made().thread(MAIN, JOIN_A)
    totals = {"creating": {"ns": 1, "times": 1}}
    for tid in (A, B):
        made.thread(tid, [works(), wait], "main", totals=totals)
    made.thing(7, "futex", address=4096, sampled=sampled)
    found = made.answer()
    assert (found["states"]["waiting"] > 0.3) == sampled
    assert (found["states"]["unknown"] > 0.3) != sampled


def test_page_faults_are_time_of_the_kernel_not_work() -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, works(), "main")
    for tid in (A, B):
        made.look(tid, "fill worker", 60, kernel=True, entry="fault")
        made.look(tid, "look worker", 40)
    found = made.answer()
    first = found["causes"][0]
    assert (first["category"], first["name"]) == ("kernel_memory", "fill")
    assert found["states"]["kernel_memory"] == pytest.approx(0.6 * 2 / 3, abs=0.01)
    assert "malloc" not in first["words"]


def test_memory_that_malloc_gives_back_names_both() -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, works(), "main")
    for tid in (A, B):
        made.look(tid, "munmap@libc free@libc drop worker", 60, kernel=True, entry="call")
        made.look(tid, "look worker", 40)
    first = made.first()
    assert first["category"] == "kernel_memory"
    assert "malloc" in first["words"]


def test_the_slow_path_of_a_librarys_lock_is_spinning_for_it() -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, works(), "main")
    for tid in (A, B):
        made.look(tid, "__lll_lock_wake_private@libc __tz_convert@libc stamp worker", 50,
                  kernel=True, entry="call")  # fmt: skip
        made.look(tid, "stamp worker", 50)
    found = made.answer()
    assert found["causes"][0]["name"] == "tz"
    assert found["states"]["spinning"] == pytest.approx(1 / 3, abs=0.01)


def test_time_inside_of_a_wait_that_the_agent_has_is_not_counted_twice() -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, works(), "main")
    for tid in (A, B):
        made.look(tid, "__lll_lock_wait@libc lock@libthreadmark-agent put worker", 50)
        made.look(tid, "fill put worker", 50, kernel=True, entry="fault")
    states = made.answer()["states"]
    assert (states["useful"], states["kernel_memory"]) == (0, pytest.approx(2 / 3, abs=0.01))


def test_the_kernels_part_of_an_unlock_is_time_for_the_lock_and_the_programs_is_not() -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, works(), "main")
    for tid in (A, B):
        made.look(tid, "pthread_rwlock_unlock@libc put worker", 50, kernel=True, entry="call")
        made.look(tid, "pthread_rwlock_unlock@libc put worker", 50)
    states = made.answer()["states"]
    assert states["spinning"] == pytest.approx(1 / 3, abs=0.01)
    assert states["useful"] == pytest.approx(1 / 3, abs=0.01)


def test_giving_back_a_lock_is_part_of_the_lock_that_is_waited_for_there() -> None:
    made = Made().thread(MAIN, JOIN_A)
    lock = waits("mutex", 1, "put worker", A)
    made.thread(A, works(), "main").thread(B, [works(), lock], "main")
    made.thing(1, "mutex", module=1, offset=64, waits=50, wait_ns=50 * TICK)
    made.data[1, 64] = ("cache_mutex", "server.cpp:41")
    wake = "__lll_lock_wake@libc pthread_mutex_unlock@libthreadmark-agent put worker"
    made.look(A, wake, 40, kernel=True, entry="call").look(A, "put worker", 60)
    found = made.answer()
    assert [c["name"] for c in found["causes"]] == ["cache_mutex"]
    assert found["causes"][0]["share"] == pytest.approx((50 + 40) / 300, abs=0.01)


@pytest.mark.parametrize(
    ("function", "kind"),
    [("futex_wait_queue", "futex"), ("__do_semtimedop", "semaphore"),
     ("rwsem_down_read_slowpath", "kernel_memory"), ("pipe_read", "io"),
     ("do_nanosleep", "sleep"), ("some_driver", "")],
)  # fmt: skip
def test_functions_of_the_kernel_say_what_a_thread_sleeps_for(function: str, kind: str) -> None:
    assert kind_of_kernel(function) == kind


def test_other_names_of_one_function_of_the_c_library_are_left_out() -> None:
    assert plain_name("__GI___libc_read") == "__libc_read"
    frames = [Frame(n, own=False) for n in ("__libc_read", "read")] + [Frame("read"), Frame("ask")]
    assert [f.name for f in without_aliases(frames)] == ["read", "read", "ask"]


def test_words_of_one_line_that_threads_write_plainly_may_be_false_sharing() -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, works(), "main")
    made.operands[made.stack("roll worker")] = Operand("di", plain=True, writes=True)
    made.members[made.stack("roll worker"), "false_sharing"] = ("Roller::state_", "dice.cpp:9")
    made.sample(A, "roll worker", 40, di=4096).sample(B, "roll worker", 40, di=4104)
    made.sample(A, "other worker", 20).sample(B, "other worker", 20)
    first = made.first()
    assert (first["category"], first["name"]) == ("false_sharing", "Roller::state_")
    assert not first["certain"]


@pytest.mark.parametrize(
    ("where", "writes", "others"),
    [(4096, True, 20), (4104, False, 20), (8192, True, 20), (4104, True, 900)],
    ids=["the same word", "nobody writes", "another line", "seldom"],
)
def test_other_words_that_threads_use_are_no_false_sharing(
    where: int, writes: bool, others: int
) -> None:
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, works(), "main")
    made.operands[made.stack("roll worker")] = Operand("di", plain=True, writes=writes)
    made.sample(A, "roll worker", 40, di=4096).sample(B, "roll worker", 40, di=where)
    made.sample(A, "other worker", others).sample(B, "other worker", others)
    assert made.first()["category"] == "none"


@pytest.mark.parametrize("call", [65, 220])
def test_a_wait_in_a_call_for_a_semaphore_of_the_kernel_is_for_that(call: int) -> None:
    asleep = sleeps(call, "semop@libc print main")
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [asleep, works()] * 50, "main").thread(B, [works(), asleep] * 50, "main")
    assert made.first()["category"] == "semaphore"


@pytest.mark.parametrize("call", [69, 70, 242, 243])
def test_a_wait_for_a_message_is_for_the_work_of_the_other_threads(call: int) -> None:
    asleep = sleeps(call, "mq_receive@libc consume")
    made = Made().thread(MAIN, JOIN_A).thread(A, works(), "main").thread(B, asleep, "again")
    made.sample(A, "produce", 90)
    first = made.first()
    assert (first["category"], first["name"]) == ("serial_dependency", "produce")


@pytest.mark.parametrize("call", [-1, 0, 999])
def test_a_thread_that_the_recorder_saw_blocked_has_a_state(call: int) -> None:
    asleep = ("blocked", 0, "", 0, "D" if call < 0 else "S", call)
    made = Made().thread(A, [asleep, works()]).thread(B, works())
    document, details = made.analysed()
    assert document["causes"]
    state = {-1: "kernel_memory", 0: "io", 999: "unknown"}[call]
    assert any(state in [name for _, name in each["slices"]] for each in details["threads"])


def test_a_thread_that_the_end_of_the_program_wakes_was_still_waiting() -> None:
    wakes = (*JOIN_A[:4], "R", -1)
    made = Made().thread(MAIN, [*[JOIN_A] * 99, wakes], totals={"io": {"ns": 1, "times": 1}})
    states = made.thread(A, works(), "main").answer()["states"]
    assert states["join"] == pytest.approx(1 / 2, abs=0.01)


def test_a_wait_that_goes_on_as_the_record_ends_is_counted_up_to_then() -> None:
    # The agent counts the wait when it returns. One page fault was seen meanwhile.
    idle = [sleeps(-1, "fill serve", "D"), *[waits("condition", 1, "serve")] * 99]
    made = Made().thread(MAIN, works()).thread(A, idle, "main").thing(1, "condition")
    before = {"condition": {"ns": TICK // 2, "times": 5}}
    made.threads[A]["totals"] = before
    found = made.answer()
    assert found["states"]["condition"] == pytest.approx(0.495, abs=0.003)
    assert found["states"]["kernel_memory"] < 0.01
    # All of these waits had returned, so the thread spent the rest of the time elsewhere.
    made.threads[A]["totals"] = {"condition": {"ns": 100 * TICK, "times": 5}}
    assert made.answer()["states"]["condition"] == pytest.approx(0.5, abs=0.003)


def test_a_lock_that_is_waited_for_to_the_end_is_the_cause() -> None:
    stuck = [works(), *[waits("mutex", 1, "pthread_mutex_lock@libc take serve", MAIN)] * 99]
    made = Made().thread(MAIN, works()).thread(A, stuck, "main")
    made.thing(1, "mutex", module=1, offset=64).pair(1, "mutex", "", "", 0)
    made.data[1, 64] = ("door", "prog.cpp:3")
    made.threads[A]["totals"] = {"io": {"ns": 1, "times": 1}}
    first = made.first()
    assert (first["category"], first["name"], first["waits"]) == ("mutex", "door", 1)
    assert first["waiters"][0]["frames"][0] == "take"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"kind": "symbol", "name": "runtime.futex.abi0"}, "Go's block and mutex profiles"),
        ({"kind": "module", "id": 7, "path": "/usr/lib/jvm/lib/server/libjvm.so"}, "(JFR)"),
        ({"kind": "symbol", "name": "runtime.futex_table"}, ""),
        ({"kind": "module", "id": 7, "path": "/usr/lib/libjvm.so.conf"}, ""),
    ],
)
def test_waits_within_a_language_are_said_not_to_be_visible(
    line: dict[str, Any], words: str
) -> None:
    made = Made().thread(MAIN, works())
    made.line(**({"module": 1, "address": 64, "size": 8} if "name" in line else {}), **line)
    found = made.answer()
    limits = [each for each in found["limits"] if "not visible" in each]
    assert found["causes"][0]["certain"] is not bool(words)
    assert len(limits) == (1 if words else 0)
    assert words in "".join(limits)


def test_the_lock_of_an_interpreter_is_named_however_it_waits_for_it() -> None:
    stack = "PyCOND_TIMEDWAIT@libpython3 take_gil@libpython3 eval@libpython3"
    waiting = waits("timed_condition", 1, stack)
    made = Made().thread(MAIN, [works(), waiting]).thread(A, [waiting, works()], "main")
    first = made.thing(1, "condition").first()
    assert (first["category"], first["name"]) == ("mutex", "GIL")


@pytest.mark.parametrize("module", ["libpython3.11.so.1.0", "python3.11"])
def test_functions_of_an_interpreter_are_no_functions_of_the_program(module: str) -> None:
    frames = [Frame("PyCOND_TIMEDWAIT", "", module), Frame("take_gil", "", module)]
    piece = knowledge().cause(frames)
    assert piece is not None
    assert piece.name == "GIL"
    assert knowledge().cause([Frame("hold", "", "prog"), frames[1]]) is None


def test_waits_for_the_lock_of_a_file_are_told_although_the_agent_times_none() -> None:
    for_lock = ("io", 0, "flock@libc update build", 0, "S", 73)
    totals = {"io": {"ns": 1, "times": 1}}
    made = Made().thread(MAIN, JOIN_A)
    made.thread(A, [works(), for_lock], "main", process=A, totals=totals)
    made.thread(B, [for_lock, works()], "main", process=B, totals=totals)
    first = made.first()
    assert (first["category"], first["knowledge"]) == ("io", "own_file_lock.toml")
    assert first["certain"]
    assert "lock of a file" in first["words"]


def test_a_thread_that_gets_no_processor_before_it_ends_was_ready() -> None:
    """The kernel adds the time without a processor when the thread gets one again."""
    made = Made(processors=2).thread(A, works(), "main").thread(B, works(), "main")
    made.thread(C, [works()] * 50 + [queued()] * 50, "main")
    found = made.answer()
    assert found["states"]["unknown"] == 0
    assert found["states"]["runnable"] == pytest.approx(50 / 300, abs=0.01)
    assert "more threads than processors" in found["causes"][0]["words"]

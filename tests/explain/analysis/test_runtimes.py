"""Task runtimes: tasks that are too small, unequal parts, and work outside of parallel regions."""

from __future__ import annotations

import pytest
from made import MAIN, MS, Made, ready, sleeps, waits, works
from threadmark.fixes.choosing import helping
from threadmark.kinds.explain.analysis.cause import SPINNERS, Cause, is_minor, merged, unite_tasks
from threadmark.kinds.explain.analysis.frames import Frame, is_beneath
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.knowledge import knowledge

A, B, C = 101, 102, 103
WAIT = "wait@libgomp.so.1 count._omp_fn.0 GOMP_parallel@libgomp.so.1 main"
WORK = "row count._omp_fn.0 GOMP_parallel@libgomp.so.1 main"


def regions(wait: str, work: str, *, turns: bool = False) -> Made:
    """One thread waits within the runtime while the other works. With `turns` the two alternate."""
    made = Made().thread(MAIN, works()).thread(A, works(), "main")
    for at in range(100):
        first = not turns or at % 2 == 0
        for tid, text in ((MAIN, wait if first else work), (A, work if first else wait)):
            made.lines.append({
                "kind": "sample", "tid": tid, "at_ns": at * 2 * MS, "registers": {},
                "stack": made.stack(text),
            })  # fmt: skip
    return made


def test_tasks_that_are_made_all_the_time_are_overhead() -> None:
    made = regions("GOMP_task@libgomp.so.1 evaluate main", "evaluate main", turns=True)
    first = made.first()
    assert (first["category"], first["name"]) == ("task_overhead", "evaluate")
    assert first["certain"]


def test_the_inlined_code_of_a_runtime_that_is_headers_is_the_runtime() -> None:
    made = regions("tmk::detail::submit evaluate main", "evaluate main", turns=True)
    first = made.first()
    assert (first["category"], first["name"]) == ("task_overhead", "evaluate")
    assert first["share"] > 0.4


def test_a_template_of_a_runtime_without_lines_may_be_the_programs_own_work() -> None:
    known = knowledge()
    assert known.in_runtime([Frame("tbb::detail::d1::start_for::run_body", "for.h:7", "prog")])
    assert not known.in_runtime([Frame("tbb::detail::d1::start_for::run_body", "prog+0x7", "prog")])


@pytest.mark.parametrize("spins", [True, False])
def test_threads_that_spin_in_a_runtime_take_the_processors_of_ready_ones(spins: bool) -> None:
    """Two threads have both processors. Main awaits a third, which is ready half of the time."""
    made = Made(processors=2).thread(MAIN, waits("join", 0, "pthread_join@libc main", B))
    made.thread(A, works(), "main").thread(C, works(), "main")
    made.thread(B, [ready(), works()], "main")
    wait = "libgomp.so.1+0x1f5e0@libgomp.so.1 count._omp_fn.0 main"
    made.operands[made.stack(wait)] = Operand(loops=True)
    made.sample(C, "prepare run", 50).sample(B, "pack run", 25)
    made.sample(A, wait if spins else "prepare run", 50)
    causes = made.answer()["causes"]
    queue = next((each for each in causes if each["category"] == "run_queue"), None)
    if not spins:
        assert queue is None  # there is one thread more than processors
        return
    assert "spin on these" in queue["words"]
    assert queue["knowledge"] == "libgomp_spinning.toml"
    assert queue["bound"] > 1.2
    assert next(iter(helping([queue]))) == "omp-passive"


def test_a_queue_behind_spinning_threads_counts_from_a_few_per_cent() -> None:
    """Otherwise one thread more than processors is usual."""
    queue = Cause("run_queue", "", "", "", ns=20.0)
    assert is_minor(queue, rest=100.0)
    queue.case = SPINNERS
    assert not is_minor(queue, rest=100.0)


def test_one_thread_that_has_more_to_do_is_imbalance() -> None:
    first = regions(WAIT, WORK).first()
    assert (first["category"], first["name"]) == ("imbalance", "count._omp_fn.0")


def test_work_between_parallel_regions_is_a_serial_part() -> None:
    first = regions("wait@libgomp.so.1", "prepare main").first()
    assert first["category"] == "serial_dependency"


def test_a_runtime_whose_other_threads_find_nothing_to_do_has_a_serial_part() -> None:
    idle = sleeps(202, "futex@libgomp.so.1 GOMP_parallel@libgomp.so.1 bake main")
    made = Made().thread(MAIN, idle).thread(A, works(), "main")
    made.sample(A, "knead bake._omp_fn.0", 30)
    assert made.first()["category"] == "serial_dependency"


def test_a_runtime_whose_threads_have_unequal_parts_has_none() -> None:
    idle = sleeps(202, "futex@libgomp.so.1 GOMP_parallel@libgomp.so.1 bake main")
    made = Made().thread(MAIN, [idle, works(), idle]).thread(A, works(), "main")
    made.sample(A, "knead bake._omp_fn.0", 60).sample(MAIN, "knead bake main", 20)
    assert made.first()["category"] == "imbalance"


def test_waits_while_nobody_works_are_the_barrier_itself() -> None:
    assert regions(WAIT, WAIT).first()["category"] == "barrier"


def test_waits_in_turns_for_one_another_are_the_barrier_itself() -> None:
    first = regions(WAIT, WORK, turns=True).first()
    assert first["category"] == "barrier"


@pytest.mark.parametrize(
    ("together", "category", "certain"),
    [
        (0, "serial_dependency", True),
        (2, "serial_dependency", True),
        (10, "imbalance", False),
        (50, "imbalance", False),
    ],
)
def test_a_function_in_which_one_thread_is_while_the_others_wait_is_a_serial_part(
    together: int, category: str, certain: bool
) -> None:
    made = regions(WAIT, WORK, turns=True)
    for number in range(64):
        made.stack(f"code{number}")  # the code between that of the functions
    for at in range(100):  # further rounds, in which both threads work
        for tid in (MAIN, A):
            stack = made.stack(WORK if at < together else "prepare count._omp_fn.0 main")
            made.line(kind="sample", tid=tid, at_ns=(200 + at) * MS, registers={}, stack=stack)
    first = made.first()
    assert (first["category"], first["certain"]) == (category, certain)
    assert first["holders"][0]["frames"][0] == "row"


def test_waits_that_are_no_loops_tell_that_regions_are_short() -> None:
    made = regions(WAIT, WORK).sample(MAIN, "loop@libgomp.so.1 count._omp_fn.0 main", 60)
    made.operands[made.stack("loop@libgomp.so.1 count._omp_fn.0 main")] = Operand(loops=True)
    assert made.first()["category"] == "barrier"
    made = regions(WAIT, WORK, turns=True).sample(MAIN, "row main", 400)
    first = made.first()  # the analysis knows no loop yet
    assert (first["category"], first["certain"]) == ("serial_dependency", False)
    made.sample(MAIN, "loop@libgomp.so.1 count._omp_fn.0 main", 60)
    made.operands[made.stack("loop@libgomp.so.1 count._omp_fn.0 main")] = Operand(loops=True)
    assert made.first()["category"] == "barrier"


@pytest.mark.parametrize(("functions", "category"), [(1, "imbalance"), (4, "barrier")])
def test_a_runtime_that_does_much_beside_waiting_has_short_regions(
    functions: int, category: str
) -> None:
    made = regions(WAIT, WORK).sample(MAIN, "row main", 400)
    for number in range(functions):
        made.sample(MAIN, f"f{number}@libomp.so.5 count.omp_outlined main", 120 // functions)
    assert made.first()["category"] == category


SEEK = (
    "tbb::detail::r1::stealing_loop_backoff::pause@libtbb.so.12 tbb::detail::r1::wait@libtbb.so.12"
)
STAGE = "stitch tbb::detail::d1::concrete_filter::operator() run@libtbb.so.12 main"


def test_who_looks_in_vain_for_a_task_while_one_stage_works_lacks_its_results() -> None:
    made = regions(f"{SEEK} main", STAGE, turns=True)
    made.threads[A]["totals"] = {"yield": {"ns": 20 * MS, "times": 999}}
    stack = made.stack(f"sched_yield@libc {SEEK} main")
    made.line(kind="pair", object=0, activity="yield", waiter=stack, holder=0,
              waits=999, wait_ns=20 * MS)  # fmt: skip
    [first] = made.answer()["causes"]
    assert (first["category"], first["name"]) == ("serial_dependency", "stitch")


def test_threads_that_give_their_processors_away_in_a_runtime_do_not_work() -> None:
    made = regions(f"{SEEK} main", STAGE, turns=True)
    for tid in range(A + 1, A + 4):
        made.thread(tid, works(), "main", totals={"yield": {"ns": 20 * MS, "times": 999}})
        gives = "__sched_yield@libc sched_yield@libthreadmark-agent"
        made.sample(tid, f"{gives} {SEEK} main", 200)
    made.lines.sort(key=lambda each: each.get("tid", 0), reverse=True)
    assert made.first()["words"].startswith("one stage of a pipeline")


def test_a_runtime_that_makes_hardly_a_task_has_no_short_regions() -> None:
    made = regions(f"{SEEK} main", "knead run@libtbb.so.12 main")
    assert made.first()["category"] == "task_idle"
    spins = f"pause@libtbb.so.12 {SEEK} main"
    made.sample(MAIN, spins, 60)  # a part of the wait is in a loop that is known to wait
    made.operands[made.stack(spins)] = Operand(loops=True)
    assert made.first()["category"] == "task_idle"


DISPATCHES = "libtbb.so.12+0x26a90@libtbb.so.12 libtbb.so.12+0x275a0@libtbb.so.12"


@pytest.mark.parametrize(
    ("caller", "category"),
    [
        ("tbb::detail::r1::wait@libtbb.so.12 tbb::detail::d1::wait main", "serial_dependency"),
        ("start_thread@libc", "serial_dependency"),
        ("tbb::detail::r1::spawn@libtbb.so.12 tbb::detail::d1::spawn main", "task_overhead"),
    ],
    ids=["awaits", "worker", "makes tasks"],
)
def test_functions_of_a_runtime_without_names_look_for_tasks_unless_one_makes_tasks(
    caller: str, category: str
) -> None:
    made = regions(f"{DISPATCHES} {caller}", STAGE, turns=True)
    made.sample(A, "tbb::detail::r1::spawn@libtbb.so.12 tbb::detail::d1::spawn main", 8)
    assert made.first()["category"] == category


def test_who_looks_in_vain_for_a_task_while_another_works_finds_none() -> None:
    first = regions(f"{SEEK} main", "knead run@libtbb.so.12 main", turns=True).first()
    assert first["category"] == "task_idle"


def test_an_ordered_region_is_a_chain_and_not_unequal_work() -> None:
    first = regions(WAIT.replace("count", "GOMP_ordered_start@libgomp.so.1 count"), WORK).first()
    assert (first["category"], first["name"]) == ("serial_dependency", "OpenMP ordered region")


def test_a_program_that_seldom_enters_its_runtime_has_no_cause_there() -> None:
    made = regions(WORK, WORK).sample(A, WAIT, 2)
    assert made.first()["category"] == "none"


TASK_WAIT = "wait@libomp.so.5 __kmpc_barrier@libomp.so.5 bake main"
TASK_WORK = "knead .omp_outlined. .omp_task_entry. run@libomp.so.5 __kmpc_barrier@libomp.so.5 main"


def test_threads_without_a_ready_task_are_idle_while_one_works() -> None:
    first = regions(TASK_WAIT, TASK_WORK, turns=True).first()
    assert (first["category"], first["name"]) == ("task_idle", "bake")
    assert first["bound"] > 1.3  # tasks for both threads would divide the work


def test_tasks_that_hardly_work_are_overhead() -> None:
    wait = "wait@libomp.so.5 __kmpc_end_taskgroup@libomp.so.5 rain main"
    assert regions(wait, wait).first()["category"] == "task_overhead"


def test_awaiting_tasks_is_a_part_of_their_overhead() -> None:
    stack = "sched_yield@libc wait@libomp.so.5 __kmpc_omp_taskwait@libomp.so.5 rain main"
    made = regions("make@libomp.so.5 __kmpc_omp_task_alloc@libomp.so.5 rain main", "rain main")
    made.threads[A]["totals"] = {"yield": {"ns": 60 * MS, "times": 999}}
    made.line(kind="pair", object=0, activity="yield", waiter=made.stack(stack), holder=0,
              waits=999, wait_ns=60 * MS)  # fmt: skip
    causes = {each["category"] for each in made.answer()["causes"]}
    assert causes == {"task_overhead"}


def test_a_runtime_that_the_program_brings_along_is_one() -> None:
    spawn = Frame("r1::spawn", module="libtbb.so.12")
    template, own = Frame("tbb::detail::d1::spawn", module="prog"), Frame("rain", module="prog")
    assert knowledge().library_part([spawn, template, own]) == [spawn, template]
    assert knowledge().in_runtime([spawn, own])
    body = Frame("tbb::detail::d2::function_task::execute", module="prog")
    assert not knowledge().in_runtime([body, spawn])  # the program's function may be inlined


def test_the_function_that_makes_tasks_is_the_programs() -> None:
    template = "make@libtbb.so.12 tbb::detail::d1::spawn rain main"
    assert regions(template, "rain main", turns=True).first()["name"] == "rain"
    body = "spawn@libtbb.so.12 tbb::detail::d2::function_task::execute rain main"
    assert regions(body, body, turns=True).first()["name"] == "rain"


def test_a_serial_part_is_no_part_of_the_overhead_of_tasks() -> None:
    serial = Cause("serial_dependency", "load", "", "", ns=70.0, in_runtime=True)
    waits = Cause("barrier", "wait", "", "", ns=20.0, in_runtime=True)
    found = merged([serial, waits, Cause("task_overhead", "spawn", "", "", ns=10.0)])
    assert {each.category: each.ns for each in found} == {
        "serial_dependency": 70.0,
        "task_overhead": 30.0,
    }


@pytest.mark.parametrize(("useful_ns", "united"), [(20, True), (100, False)])
def test_tasks_that_cost_as_much_as_their_work_are_why_others_take_none(
    useful_ns: int, united: bool
) -> None:
    idle = Cause("serial_dependency", "load", "", "", ns=70.0, in_runtime=True)
    apart = Cause("imbalance", "join", "", "", ns=5.0)
    found = unite_tasks([idle, Cause("task_overhead", "spawn", "", "", ns=20.0), apart], useful_ns)
    assert (len(found), found[0].ns) == ((2, 90.0) if united else (3, 70.0))


def test_a_wait_within_a_runtime_that_has_tasks_is_not_certain() -> None:
    idle = sleeps(202, "futex@libgomp.so.1 GOMP_parallel@libgomp.so.1 bake main")
    for work, certain in (
        ("knead bake main", True),
        ("knead bake._omp_fn.0 GOMP_taskloop@libgomp.so.1 bake main", False),
    ):
        made = Made().thread(MAIN, idle).thread(A, works(), "main").sample(A, work, 100)
        first = made.first()
        assert (first["category"], first["certain"]) == ("serial_dependency", certain)


@pytest.mark.parametrize(
    "function",
    [
        "tbb::detail::d1::spin_rw_mutex::lock_shared",
        "tbb::detail::d2::concurrent_hash_map::lookup",
        "tbb::detail::d1::rw_scoped_lock::acquire",
        "oneapi::tbb::enumerable_thread_specific::local",
    ],
)
def test_a_container_or_lock_of_a_runtime_manages_no_tasks(function: str) -> None:
    known = knowledge()
    assert not known.in_runtime([Frame(function, "x.h:7", "prog", own=True)])
    assert known.in_runtime([Frame("tbb::detail::d1::start_for::run_body", "for.h:7", "prog")])
    monitor = "tbb::detail::r1::concurrent_monitor::wait"
    assert known.in_runtime([Frame(monitor, "x", "libtbb.so.12", own=False)])


BEGIN = "threadmark::agent::start_of_thread@libthreadmark-agent start_thread@libc"


def test_a_worker_that_spins_below_the_agents_begin_of_threads_waits_in_the_runtime() -> None:
    made = Made().thread(MAIN, works()).thread(A, works(), "main")
    made.sample(MAIN, "prepare main", 100)
    wait = f"wait@libgomp.so.1 gomp_thread_start@libgomp.so.1 {BEGIN}"
    made.operands[made.stack(wait)] = Operand(loops=True)
    made.sample(A, wait, 90).sample(A, f"row count._omp_fn.0 run@libgomp.so.1 {BEGIN}", 10)
    answer = made.answer()
    assert answer["states"]["runtime_idle"] > 0.4
    first = answer["causes"][0]
    assert (first["category"], first["name"]) == ("serial_dependency", "main")


def test_a_worker_that_sleeps_while_one_thread_works_outside_of_regions_is_idle() -> None:
    idle = sleeps(202, "futex@libgomp.so.1 gomp_thread_start@libgomp.so.1")
    inside = "row count._omp_fn.0 GOMP_parallel@libgomp.so.1 main"
    for meanwhile, category in (("prepare main", "serial_dependency"), (inside, "imbalance")):
        made = Made().thread(MAIN, works()).thread(A, [works()] * 50 + [idle] * 50, "main")
        for at in range(100):
            for tid in (MAIN, A)[: 2 if at < 50 else 1]:
                text = inside if at < 50 else meanwhile
                made.lines.append({
                    "kind": "sample", "tid": tid, "at_ns": at * 4 * MS + MS, "registers": {},
                    "stack": made.stack(text),
                })  # fmt: skip
        first = made.first()
        assert first["category"] == category
        done = first["holders"][0]
        assert done["frames"] == meanwhile.replace("@libgomp.so.1", "").split()
        assert done["share"] == 1.0  # of the work during the wait, not before it
    assert made.first()["name"] == "main"


def test_work_in_a_library_of_the_system_is_work_also_within_a_parallel_region() -> None:
    text = "convolve@libimage.so.3 GOMP_parallel@libgomp.so.1 blur@libimage.so.3 main"
    made = Made().thread(MAIN, works()).thread(A, works(), "main").sample(MAIN, text, 100)
    made.sample(A, f"convolve@libimage.so.3 gomp_thread_start@libgomp.so.1 {BEGIN}", 100)
    states = made.answer()["states"]
    assert states["useful"] == 1.0


def test_the_work_of_each_known_runtime_is_done_for_its_caller() -> None:
    for each in knowledge().runtimes:
        assert is_beneath(Frame("wait", "", f"{each}.so.1", own=False))

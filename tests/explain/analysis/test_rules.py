"""Rules that decide between two explanations, each on a made-up record that needs it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from made import MAIN, MS, TICK, Made, ready, sleeps, waits, works
from threadmark.kinds.explain.analysis.barriers import barriers_take_long
from threadmark.kinds.explain.analysis.cause import Cause, merged
from threadmark.kinds.explain.analysis.frames import Frame, with_libraries_of_thread
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.recording import Pair
from threadmark.kinds.explain.analysis.roles import outermost
from threadmark.kinds.explain.analysis.slow_paths import part_of_lock

A, B, C = 101, 102, 103
JOIN_A = waits("join", 0, "pthread_join@libc main", A)
STEP = waits("barrier", 1, "pthread_barrier_wait@libc run worker")


def workers(a: object, b: object) -> Made:
    made = Made().thread(MAIN, JOIN_A)
    return made.thread(A, a, "main").thread(B, b, "main")  # type: ignore[arg-type]


def at_barriers(turns: bool, wait_ns: int) -> Made:
    """Threads that wait for each other: with `turns` alternately, else always the same one."""
    made = workers([STEP, works()], [works(), STEP] if turns else works())
    made.thing(1, "barrier")
    made.line(kind="pair", object=1, activity="barrier", waiter=made.stack("run worker"), holder=0,
              waits=1000, wait_ns=1000 * wait_ns)  # fmt: skip
    return made


@pytest.mark.parametrize(
    ("turns", "wait_ns", "category"),
    [(True, 30_000, "barrier"), (False, 30_000, "imbalance"), (True, 900_000, "imbalance")],
    ids=["briefly in turns", "briefly for one", "long in turns"],
)
def test_brief_waits_in_turns_are_the_barriers_own(
    turns: bool, wait_ns: int, category: str
) -> None:
    assert at_barriers(turns, wait_ns).first()["category"] == category


@pytest.mark.parametrize(("worked", "category"), [(3, "barrier"), (11, "none")])
def test_brief_waits_at_a_barrier_of_a_few_per_cent_may_be_chance(
    worked: int, category: str
) -> None:
    one = [STEP, *[works()] * worked]
    half = len(one) // 2
    made = workers(one, [*one[half:], *one[:half]]).thing(1, "barrier")
    made.line(kind="pair", object=1, activity="barrier", waiter=made.stack("run worker"), holder=0,
              waits=1000, wait_ns=30_000_000)  # fmt: skip
    first = made.first()
    assert first["category"] == category
    assert ("may be chance" in first["words"]) == (category == "none")
    assert category != "none" or not first["certain"]


@pytest.mark.parametrize(("work", "category"), [(2, "barrier"), (20, "imbalance")])
def test_long_waits_with_next_to_no_work_between_them_are_the_barriers_own(
    work: int, category: str
) -> None:
    made = at_barriers(turns=True, wait_ns=900_000)
    for tid in (A, B):
        made.look(tid, "run worker", work).look(tid, "team_barrier@libgomp worker", 50 - work)
    assert made.first()["category"] == category


@pytest.mark.parametrize(("times", "even"), [((90, 100, 3), True), ((40, 100, 3), False)])
def test_a_thread_that_only_makes_the_barrier_is_not_compared(
    times: tuple[int, ...], even: bool
) -> None:
    works = {"useful": 50.0, "barrier": 0.0}
    threads = {
        tid: SimpleNamespace(
            timed_ns={"barrier": ns}, states=works, thread=SimpleNamespace(ready_ns=0)
        )
        for tid, ns in enumerate(times)
    }
    pairs = [Pair(1, "barrier", 1, 0, 9, 90)]
    recording = SimpleNamespace(pairs=pairs, tier={"agent": True})
    account = SimpleNamespace(threads=threads, everyone=threads)
    assert barriers_take_long(recording, account, []) == even


@pytest.mark.parametrize(
    ("waits", "unready", "short"),
    [(1, 20, True), (1, 10, False), (200, 0, True), (1, 60, False)],
    ids=["no processor", "had one", "short waits", "mostly none"],
)
def test_waits_for_threads_without_a_processor_are_not_those_of_the_barrier(
    waits: int, unready: int, short: bool
) -> None:
    """Two threads wait for 100 ms, of which a fifth is in one place, in so many waits. `unready`:
    the ms for which they had no processor."""
    thread = SimpleNamespace(ready_ns=unready * MS // 2)
    times = {"timed_ns": {"barrier": 50 * MS}, "states": {"useful": 50.0 * MS, "barrier": 0.0}}
    threads = {tid: SimpleNamespace(**times, thread=thread) for tid in (A, B)}
    pairs = [Pair(1, "barrier", 1, 0, waits, 20 * MS), Pair(1, "barrier", 2, 0, 1000, 10 * MS)]
    recording = SimpleNamespace(pairs=pairs, tier={"agent": True})
    account = SimpleNamespace(threads=threads, everyone=threads)
    assert barriers_take_long(recording, account, []) == short


@pytest.mark.parametrize(("times", "category"), [(2, "barrier"), (1, "imbalance")])
def test_without_an_agent_threads_that_hardly_work_wait_because_of_the_barrier(
    times: int, category: str
) -> None:
    step = sleeps(202, "pthread_barrier_wait@libc step worker")
    tier = {"agent": False, "perf": True, "sample_ns": 2_000_000}
    made = Made(head={"tier": tier}).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, [*[step] * times, works()], "main").thread(B, [works(), *[step] * times], "main")
    first = made.first()
    assert first["category"] == category
    assert not (category == "barrier" and first["certain"])


def test_waking_at_a_barrier_belongs_to_the_thread_that_has_more_to_do() -> None:
    uneven = Cause("imbalance", "run", "", "threads wait at a barrier for one", ns=60.0, seen=9)
    barrier = Cause("barrier", "step", "", "", ns=70.0, seen=9)
    [found] = merged([uneven, barrier])
    assert (found.category, found.ns) == ("imbalance", 130.0)
    apart = Cause("imbalance", "run", "", "threads wait in a join for one", ns=60.0, seen=9)
    assert len(merged([apart, Cause("barrier", "step", "", "", ns=70.0)])) == 2


@pytest.mark.parametrize("category", ["sleep", "spin", "io"])
def test_waits_whose_stack_no_tick_saw_have_the_name_of_the_others(category: str) -> None:
    unseen = Cause(category, "", "", "", ns=60.0)
    seen = Cause(category, "rest", "a.cpp:3", "", ns=40.0, seen=9)
    [found] = merged([unseen, seen])
    assert (found.name, found.where, found.ns) == ("rest", "a.cpp:3", 100.0)


def test_a_librarys_lock_is_one_cause_wherever_the_program_meets_it() -> None:
    made = workers([sleeps(202, "__tz_convert@libc stamp worker"), works()],
                   [works(), sleeps(202, "__tz_convert@libc print worker")])  # fmt: skip
    assert [each["name"] for each in made.answer()["causes"]] == ["tz"]


@pytest.mark.parametrize(("samples", "category"), [(9, "none"), (40, "kernel_memory")])
def test_a_few_page_faults_are_no_cause(samples: int, category: str) -> None:
    made = workers(works(), works())
    for tid in (A, B):
        made.look(tid, "fill worker", samples, kernel=True, entry="fault")
        made.look(tid, "look worker", 120 - samples)
    assert made.first()["category"] == category


def test_a_word_of_the_librarys_pool_has_the_name_of_what_waits() -> None:
    wait = waits("futex", 7, "std::latch::wait run worker")
    made = workers([wait, works()], [works(), wait]).thing(7, "futex", module=1, offset=64)
    made.data[1, 64] = ("std::__detail::__waiter_pool_base::_S_for::__w[2]", "libstdc++")
    made.line(kind="pair", object=7, activity="futex", holder=0, waits=9000, wait_ns=90 * MS,
              waiter=made.stack("std::latch::wait run worker"))  # fmt: skip
    found = [each["name"] for each in made.answer()["causes"]]
    assert "latch in run" in found


@pytest.mark.parametrize(
    ("beside", "wakes", "signals", "pool", "category"),
    [
        ("std::_Hash_bytes", "run worker", 50, "__waiter_pool", "imbalance"),
        ("std::_Hash_bytes", "push main", 50, "__waiter_pool", "condition"),
        ("memcpy", "run worker", 50, "__waiter_pool", "serial_dependency"),
        ("memcpy", "run worker", 1, "__waiter_pool", "serial_dependency"),
        ("std::_Hash_bytes", "run worker", 50, "turn", "mutex"),
    ],
    ids=["a barrier", "another function wakes", "no hash", "one wake, no hash", "no pool"],
)
def test_a_wait_in_the_librarys_pool_is_for_a_barrier_if_the_thread_takes_its_place_there(
    beside: str, wakes: str, signals: int, pool: str, category: str
) -> None:
    wait = waits("futex", 7, "syscall@libc run worker")
    made = workers([wait, works()], works())
    made.thing(7, "futex", module=1, offset=64, signals=signals, broadcasts=signals,
               signal_stack=wakes)  # fmt: skip
    made.data[1, 64] = (f"std::__detail::{pool}_base::_S_for::__w[2]", "libstdc++")
    made.beside[made.stack("syscall@libc run worker")] = frozenset({beside})
    for tid in (A, B):
        made.look(tid, "step run worker", 40)
    assert made.first()["category"] == category


def test_an_object_without_a_name_has_that_of_the_member_that_its_waiters_use() -> None:
    lock = waits("mutex", 1, "book clerk", A)
    made = workers(works(), [works(), lock]).thing(1, "mutex", waits=9, region="heap")
    made.members[made.stack("book clerk"), "mutex"] = ("Warehouse::shelf_lock_", "shelf.cpp:3")
    first = made.first()
    assert (first["name"], first["where"]) == ("Warehouse::shelf_lock_", "shelf.cpp:3")


def test_a_loop_that_yields_has_the_name_of_the_word_that_it_looks_at() -> None:
    gives = ("yield", 0, "sched_yield@libc claim worker", 0, "R", -1)
    made = workers([gives, works()], [works(), gives])
    assert made.first()["name"] == "loop in claim"
    made.members[made.stack("sched_yield@libc claim worker"), "awaited"] = ("busy", "desk.cpp:3")
    assert (made.first()["category"], made.first()["name"]) == ("spin", "busy")


def test_a_futex_within_a_condition_is_waiting_for_its_mutex() -> None:
    wait = waits("futex", 1, "pthread_cond_signal@libc put worker")
    made = workers([wait, works()], [works(), wait]).thing(1, "condition", mutex=2)
    made.thing(2, "mutex", module=1, offset=64)
    made.data[1, 64] = ("queue_mutex", "queue.cpp:2")
    assert made.first()["name"] == "queue_mutex"


def test_a_futex_of_a_runtime_is_a_wait_at_its_barrier() -> None:
    wait = sleeps(202, "futex@libgomp.so.1 run main")
    found = workers([wait, works()], [works(), wait]).answer()
    assert found["states"]["barrier"] == pytest.approx(1 / 3, abs=0.01)


def test_a_lone_thread_that_mostly_waits_is_not_said_to_be_serial() -> None:
    first = Made().thread(MAIN, [ready(), ready(), ready(), works()]).first()
    assert (first["category"], first["certain"]) == ("unknown", False)


def test_a_program_that_scales_is_certain_in_spite_of_short_waits_for_processors() -> None:
    made = workers([works()] * 19 + [ready()], works())
    first = made.first()
    assert (first["category"], first["certain"]) == ("none", True)


def test_the_holder_of_a_semaphore_is_shown() -> None:
    wait = waits("semaphore", 1, "sem_wait@libc unpack fetch")
    made = workers([wait, works()], [works(), wait]).thing(1, "semaphore")
    made.sample(A, "inflate unpack fetch", 40).sample(A, "idle fetch", 60)
    assert made.first()["holders"][0]["frames"] == ["inflate", "unpack", "fetch"]


@pytest.mark.parametrize(
    ("gives", "holder"),
    [
        ("sem_post@libc close ~Lease serve", ["reply", "answer", "serve"]),
        ("sem_post@libc produce feed", ["produce", "feed"]),
        ("sem_post@libc refill serve", ["refill", "serve"]),
    ],
    ids=["the same threads", "others", "another that begins alike"],
)
def test_the_holder_of_a_permit_is_what_works_between_taking_and_giving_it(
    gives: str, holder: list[str]
) -> None:
    """Objects take and give back the permit. Their functions have ended, or not begun, while the
    permit is held."""
    wait = waits("semaphore", 1, "sem_wait@libc open Lease serve")
    made = workers([wait, works()], [works(), wait]).thing(1, "semaphore")
    made.line(
        kind="pair", object=1, activity="semaphore", waiter=made.stack(wait[2]),
        holder=made.stack(gives), waits=100, wait_ns=100 * TICK,
    )  # fmt: skip
    made.sample(A, "reply answer serve", 30).sample(B, "reply answer serve", 30)
    made.thread(C, sleeps(230), "main").sample(C, "refill serve", 3 * gives.endswith("l serve"))
    first = made.first()
    assert first["category"] == "semaphore"
    assert first["holders"][0]["frames"] == holder


@pytest.mark.parametrize(
    ("function", "peers", "takes", "category", "certain"),
    [
        ("pack", False, 0, "serial_dependency", True),
        ("pack", True, 0, "serial_dependency", False),
        ("unpack", False, 0, "semaphore", False),
        ("unpack", False, 10, "semaphore", True),
        ("pack", False, 10, "semaphore", True),
        ("pack", False, 1, "serial_dependency", True),
        ("", False, 0, "semaphore", False),
    ],
    ids=["another's work", "that of one of two", "around the wait", "around its own wait",
         "that of one who waits too", "waits at its start", "not known"],
)  # fmt: skip
def test_a_semaphore_that_counts_items_is_no_cause(
    function: str, peers: bool, takes: int, category: str, certain: bool
) -> None:
    """Two threads wait for items that another makes, or for a permit that it has after `takes`
    waits for it."""
    wait = waits("semaphore", 1, "sem_wait@libc unpack fetch")
    made = workers(*2 * [wait]).thing(1, "semaphore", waits=100, wait_ns=100 * TICK)
    made.thread(C, [wait] * takes + [works()] * (100 - takes), "feed")
    made.sample(C, f"inflate {function} feed", 40 * bool(function))
    made.sample(A, "deflate unpack fetch", 9)
    if peers:
        made.thread(C, [works(), sleeps(230)], "feed")
        made.thread(C + 1, [sleeps(230), works()], "feed").sample(C + 1, "inflate pack feed", 40)
    first = made.first()
    assert (first["category"], first["certain"]) == (category, certain)


def test_waits_of_which_the_agent_timed_few_are_not_counted() -> None:
    """Most of the waits are for a semaphore that it does not see."""
    made = workers(*2 * [waits("semaphore", 0, "sem_wait@libc unpack fetch")])
    made.thread(C, works(), "feed").sample(C, "inflate pack feed", 40)
    made.threads[MAIN]["totals"] = {}
    made.plans[MAIN][0] = waits("condition", 7, "pthread_cond_wait@libc main", C)
    made.thing(7, "condition", waits=1, wait_ns=TICK)
    first = made.first()
    assert first["waits"] == 0
    assert first["waiters"][0]["frames"] == ["unpack", "fetch"]


def test_frames_of_the_agent_are_not_shown() -> None:
    lock = waits("mutex", 1, "book clerk", A)
    made = workers(works(), [works(), lock]).thing(1, "mutex", waits=9)
    made.pair(1, "mutex", "book begin_once@libthreadmark-agent clerk", "book clerk", 50 * TICK)
    assert made.first()["waiters"][0]["frames"] == ["book", "clerk"]


def test_what_calls_a_thread_is_no_name_for_its_work() -> None:
    names = ("bake", "std::__invoke", "__gthread_once", "_start")
    assert outermost([Frame(each) for each in names]) == "bake"


def test_a_few_samples_of_a_runtime_are_no_cause() -> None:
    made = Made().thread(MAIN, works()).thread(A, works(), "main")
    made.sample(A, "GOMP_task@libgomp.so.1 evaluate main", 4)
    assert made.first()["category"] == "none"


@pytest.mark.parametrize(
    "called", ["pthread_mutex_trylock@libc", "[vdso]+0xb46@[vdso] __clock_gettime_2@libc"]
)
def test_taking_a_lock_is_nothing_that_its_holder_does(called: str) -> None:
    lock = waits("mutex", 1, "append worker", A)
    made = workers([works(), lock], [lock, works()]).thing(1, "mutex", waits=9)
    made.pair(1, "mutex", "append worker", "append worker", 100 * TICK)
    made.hold(1, "append worker", 100, 200 * MS)
    made.sample(A, "sort append worker", 40)
    taking = f"{called} pthread_mutex_lock@libthreadmark-agent append worker"
    made.sample(A, taking, 60)
    assert made.first()["holders"][0]["frames"] == ["sort", "append", "worker"]


def polls(in_ticks: bool) -> Made:
    """Threads that give their processors away. Either ticks see it, or only the totals of the agent
    do."""
    spin = ("yield", 0, "", 0, "R", 24)
    made = workers([spin, works()], [works(), spin]) if in_ticks else workers(works(), works())
    for tid in (A, B):
        made.threads[tid]["totals"] = {"yield": {"ns": 50 * TICK, "times": 999}}
    made.line(kind="pair", object=0, activity="yield", waiter=0, holder=0, waits=1, wait_ns=1)
    return made.sample(A, "sched_yield@libc await_turn worker", 20)


@pytest.mark.parametrize("in_ticks", [True, False])
def test_a_word_that_threads_poll_has_the_name_of_the_member(in_ticks: bool) -> None:
    made = polls(in_ticks)
    stack = made.stack("sched_yield@libc await_turn worker")
    made.members[stack, "yield"] = ("Turn::taken_", "turn.cpp:4")
    spins = [each for each in made.answer()["causes"] if each["category"] == "spin"]
    assert [each["name"] for each in spins] == ["Turn::taken_"]


def test_waits_that_ended_for_nothing_are_said_although_nobody_works_meanwhile() -> None:
    wait = waits("condition", 1, "take work")
    made = workers([wait, works(), wait], [wait, wait, works()])
    made.thing(1, "condition", waits=100, futile=80)
    first = made.first()
    assert first["category"] == "condition"
    assert "ended for nothing" in first["words"]


@pytest.mark.parametrize("sampled", [True, False])
def test_the_bars_of_the_page_show_the_states_of_the_account(sampled: bool) -> None:
    stack = "futex@libgomp.so.1 run main" if sampled else "std::latch::wait run worker"
    made = workers(waits("futex", 7, stack), works()).thing(7, "futex", sampled=sampled)
    made.threads[A]["totals"] = {"creating": {"ns": 1, "times": 1}}
    threads = {each["tid"]: each["slices"] for each in made.analysed()[1]["threads"]}
    assert {state for _, state in threads[A]} == {"barrier"}


@pytest.mark.parametrize("waited", [True, False])
def test_the_word_of_a_mutex_is_the_mutex_and_no_atomic_of_the_program(waited: bool) -> None:
    lock = waits("mutex", 1, "put worker", A)
    made = workers(works(), [works(), works(), works(), lock] if waited else works())
    made.thing(1, "mutex", module=1, offset=64, waits=25, wait_ns=25 * TICK)
    made.data[1, 64] = ("cache_mutex", "server.cpp:41")
    stack = "__pthread_mutex_trylock@libc pthread_mutex_lock@libthreadmark-agent put worker"
    for tid in (A, B):
        made.sample(tid, stack, 40, bx=0x1000)
    made.operands[made.stack(stack)] = Operand(base="bx")
    causes = made.answer()["causes"]
    assert [c["category"] for c in causes] == ["mutex"]
    assert causes[0]["name"] == ("cache_mutex" if waited else "mutex in put")


def test_a_call_that_takes_no_lock_by_its_name_is_no_part_of_a_lock() -> None:
    def of(name: str) -> str:
        frames = [Frame("__libc_read", "", "libc.so.6", own=False)]
        return part_of_lock((*frames, Frame(name, "", "libc.so.6", own=False)), kernel=True)

    assert of("__fread_unlocked") == ""
    assert of("_IO_funlockfile") == "lock"
    # Without symbols their wake-ups have no names of their own.
    for each in ("sem_post", "pthread_cond_signal", "pthread_cond_broadcast"):
        assert of(each) == "lock"


@pytest.mark.parametrize(("inner", "part"), [("lll_mutex_lock_optimized", ""),
                                             ("__lll_lock_wait_private", "lock")])  # fmt: skip
def test_taking_a_free_lock_is_no_part_of_a_wait(inner: str, part: str) -> None:
    """The first function is the fast path, which has a frame where the C library's debug
    information is installed."""
    names = (inner, "___pthread_mutex_lock", "pthread_mutex_lock")
    frames = tuple(Frame(name, "", "libc.so.6", own=False) for name in names)
    assert part_of_lock(frames, kernel=False) == part


def test_the_work_of_a_thread_that_a_library_began_is_work() -> None:
    libc, image, agent = (f"{each}.so" for each in ("libc", "libimage", "libthreadmark-agent"))
    names = (("memcpy", libc), ("scale", image), ("start_of_thread", agent), ("start_thread", libc))
    frames = tuple(Frame(name, "", module, own=False) for name, module in names)
    assert part_of_lock(frames, kernel=False) == ""
    assert [each.own for each in with_libraries_of_thread(frames)] == [False, True, False, False]
    main = (*frames[:2], Frame("main", "", "program"))  # main called the library
    assert [each.own for each in with_libraries_of_thread(main)] == [False, False, True]
    loader = (*frames[:2], Frame("call_init", "", "ld-linux-x86-64.so.2", own=False))
    assert not any(each.own for each in with_libraries_of_thread(loader))


def test_a_runtime_that_a_program_brings_along_is_no_function_of_the_program() -> None:
    brought = (
        Frame("wait", "", "libtbb.so.12"),
        Frame("_GLOBAL__sub_I_main.cpp", "", "libtbb.so.12"),
    )
    assert outermost(brought) == ""
    assert outermost((Frame("render", "", "libscene.so"), *brought)) == "render"
    work = (Frame("scale", "", "libimage.so", own=False), *brought)
    assert [each.own for each in with_libraries_of_thread(work)] == [True, True, True]

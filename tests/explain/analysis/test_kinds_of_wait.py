"""The functions of the C++ library around a call of the C library tell the purpose of the call."""

from __future__ import annotations

import pytest
from made import MAIN, TICK, Made, waits, works
from threadmark.kinds.explain.analysis.frames import closure_in

A, B = 101, 102
JOIN_A = waits("join", 0, "pthread_join@libc main", A)
LIBCXX = "std::__1::"


def two(activity: str, stack: str) -> Made:
    """One thread waits while another works, in turns."""
    wait = waits(activity, 1, stack)
    made = Made().thread(MAIN, JOIN_A).thread(A, [wait, works()], "main")
    made.thread(B, [works(), wait], "main").thing(1, "condition", waits=200)
    return made.pair(1, activity, stack, "", 100 * TICK)


@pytest.mark.parametrize(
    ("activity", "function", "category"),
    [
        ("condition", "__assoc_sub_state::wait@libc++", "serial_dependency"),
        ("timed_condition", "__assoc_sub_state::wait_for@libc++", "serial_dependency"),
        ("sleep", "barrier::arrive_and_wait", "imbalance"),
        ("condition", "__call_once@libc++", "once"),
        ("condition", "__shared_mutex_base::lock@libc++", "rwlock"),
        ("mutex", "__shared_mutex_base::lock_shared@libc++", "rwlock"),
        ("futex", "__atomic_semaphore_base::acquire", "semaphore"),
    ],
)
def test_calls_of_libcxx_are_what_they_are_made_for(
    activity: str, function: str, category: str
) -> None:
    assert two(activity, f"wait@libc {LIBCXX}{function} worker").first()["category"] == category


@pytest.mark.parametrize("glue", ["__async_func::operator()", "__function::__func::operator()"])
def test_a_lock_in_a_task_is_no_wait_for_a_future(glue: str) -> None:
    stack = f"syscall@libc {LIBCXX}{glue} {LIBCXX}__async_assoc_state::__execute@libc++"
    assert two("futex", stack).first()["category"] == "mutex"


def test_a_lock_in_an_initialiser_is_no_wait_for_it() -> None:
    stack = f"wait@libc fill {LIBCXX}__call_once@libc++ worker"
    assert two("mutex", stack).first()["category"] == "mutex"


def test_waits_of_a_thread_are_divided_by_what_ticks_saw_of_it() -> None:
    future = waits("condition", 1, f"wait@libc {LIBCXX}__assoc_sub_state::wait@libc++ worker")
    plain = waits("condition", 2, "wait@libc take worker")
    made = Made().thread(MAIN, JOIN_A).thread(A, future, "main").thread(B, plain, "main")
    made.thing(1, "condition").thing(2, "condition")
    made.pair(1, "condition", f"wait@libc {LIBCXX}__assoc_sub_state::wait@libc++ worker", "", TICK)
    made.pair(2, "condition", "wait@libc take worker", "", 3 * TICK)
    shown = {each["tid"]: each["states"] for each in made.analysed()[1]["threads"]}
    assert set(shown[A]) == {"join"}
    assert set(shown[B]) == {"condition"}


@pytest.mark.parametrize(
    ("stack", "spins"),
    [
        ("std::__detail::__atomic_spin std::latch::wait worker", True),
        ("syscall@libc syscall@libthreadmark-agent std::latch::__notify worker", True),
        ("syscall@libc syscall@libthreadmark-agent std::latch::wait worker", False),
        ("step std::__invoke_impl std::latch::wait worker", False),
        ("malloc@libc std::promise::set_value worker", False),
    ],
)
def test_polling_and_waking_at_a_barrier_are_the_barriers_time(stack: str, spins: bool) -> None:
    made = Made().thread(MAIN, JOIN_A)
    for tid in (A, B):
        made.thread(tid, works(), "main").sample(tid, stack, 60).sample(tid, "work worker", 40)
    found = made.answer()
    assert (found["states"]["spinning"] > 0.3) == spins
    assert (found["causes"][0]["category"] == "barrier") == spins


@pytest.mark.parametrize(
    ("symbol", "maker"),
    [
        (
            "void std::__wait<int, std::latch::wait() const::{lambda()#1}>(int const*)",
            "std::latch::wait",
        ),
        (
            "void std::__wait<std::__tree_barrier<X<Y> >::wait(Z<W>&&) const::{lambda()#1}>(int)",
            "std::__tree_barrier::wait",
        ),
        (
            "bool std::__1::poll[abi:ne1]<P<B<long, true>, std::__1::latch::wait[abi:ne1]() "
            "const::{lambda(long&)#1}>&>(int)",
            "std::__1::latch::wait",
        ),
        ("void std::f<run(std::vector<int>&, int (*)(int))::{lambda(int)#1}>(int)", "run"),
        ("int std::f<int>(int)", ""),
    ],
)
def test_a_lambda_tells_the_function_that_passes_it(symbol: str, maker: str) -> None:
    assert closure_in(symbol) == (maker, "{lambda#1}" if maker else "")


def test_the_holder_of_a_lock_of_libcxx_for_shared_use_is_who_gave_it_back() -> None:
    gate = f"wait@libc {LIBCXX}shared_timed_mutex::lock_shared read worker"
    gave = f"{LIBCXX}shared_timed_mutex::unlock change worker"
    inner = f"{LIBCXX}mutex::lock@libc++ {LIBCXX}shared_timed_mutex::lock_shared read worker"
    wait, brief = waits("condition", 1, gate), waits("mutex", 2, inner, B)
    made = Made().thread(MAIN, JOIN_A).thread(A, [wait, works(), brief, works()], "main")
    made.thread(B, works(), "main").thing(2, "mutex", module=1, offset=64)
    made.thing(1, "condition", module=1, offset=104)
    made.data.update({(1, 64): ("list", "a.cpp:1"), (1, 104): ("list+40", "a.cpp:1")})
    made.pair(1, "condition", gate, gave, 30 * TICK).pair(1, "condition", gate, inner, 70 * TICK)
    made.pair(2, "mutex", inner, inner, 100 * TICK).hold(2, inner, 9, 9 * TICK)
    first = made.first()
    assert (first["category"], first["holders"][0]["frames"]) == ("rwlock", ["change", "worker"])


@pytest.mark.parametrize(("chain", "category"), [(False, "imbalance"), (True, "serial_dependency")])
def test_parts_that_one_thread_awaits_are_no_chain(chain: bool, category: str) -> None:
    stack = f"wait@libc {LIBCXX}__assoc_sub_state::wait@libc++ go"
    wait = waits("condition", 1, stack)
    join = waits("join", 0, "pthread_join@libc main", B)
    made = Made().thread(MAIN, join if chain else wait).thread(A, works(), "main")
    made.thread(B, wait if chain else [works()] * 5 + [None] * 95, "main").thing(1, "condition")
    assert made.pair(1, "condition", stack, "", 100 * TICK).first()["category"] == category


def test_threads_that_await_the_end_of_their_equals_are_a_chain() -> None:
    """Futures of std::async are such threads: they end their threads in get()."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", B))
    awaits = waits("join", 0, "pthread_join@libc run_leg", A)
    made.thread(A, [works()] * 50 + [None] * 50, "main")
    made.thread(B, [awaits] * 50 + [works()] * 50, "main")
    assert made.first()["category"] == "serial_dependency"


def test_the_end_of_a_thread_of_a_chain_waits_for_the_chain() -> None:
    stack = f"wait@libc {LIBCXX}__assoc_sub_state::wait@libc++ go worker"
    wait = waits("condition", 1, stack)
    made = Made().thread(MAIN, JOIN_A).thread(A, [works(), wait], "main")
    made.thread(B, [wait, works()], "main").thing(1, "condition")
    [cause] = made.pair(1, "condition", stack, "", 200 * TICK).answer()["causes"]
    assert (cause["category"], cause["certain"]) == ("serial_dependency", True)
    assert cause["share"] == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("function", "category"),
    [("Gate::lock", "mutex"), ("Gate::acquire", "mutex"), ("Gate::pass", "serial_dependency")],
)
def test_a_word_that_a_function_called_lock_waits_for_is_a_lock(
    function: str, category: str
) -> None:
    stack = f"syscall@libc std::__atomic_base::wait {function} book worker"
    assert two("futex", stack).thing(1, "futex", waits=99).first()["category"] == category


@pytest.mark.parametrize(
    ("call", "entry", "sleeps_in", "state"),
    [
        ("openat64", "call", "rwsem_down_write_slowpath", "io"),
        ("openat64", "", "rwsem_down_write_slowpath", "kernel_memory"),
        ("mmap", "call", "rwsem_down_write_slowpath", "kernel_memory"),
        ("poll", "call", "schedule_hrtimeout_range", "sleep"),
    ],
)
def test_the_kernels_lock_of_a_directory_is_input_and_output(
    call: str, entry: str, sleeps_in: str, state: str
) -> None:
    made = Made().thread(MAIN, JOIN_A)
    for tid in (A, B):
        made.thread(tid, works(), "main", run_ns=50 * TICK)
        made.look(tid, f"{call}@libc create worker", 30, switch=True, kernel=True, entry=entry,
                  sleeps_in=sleeps_in)  # fmt: skip
    assert made.answer()["states"][state] == pytest.approx(1 / 3, abs=0.01)

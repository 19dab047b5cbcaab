"""A herd at a std::condition_variable_any, whose woken threads take two mutexes."""

from __future__ import annotations

import pytest
from made import MAIN, MS, TICK, Made, waits, works

CLERK = 101
SESSIONS = range(102, 110)
ANY = "std::_V2::condition_variable_any::"
COLLECT = "collect session"
WITH_NAMES = (
    f"pthread_cond_wait@libc {ANY}wait {COLLECT}",
    f"pthread_mutex_lock@libc {ANY}_Unlock::~_Unlock {ANY}wait {COLLECT}",
)
OF_QT = (
    f"pthread_cond_wait@libc QWaitCondition::wait@libQt5Core {COLLECT}",
    f"syscall@libc QMutex::lock@libQt5Core QWaitCondition::wait@libQt5Core {COLLECT}",
)
INLINED = f"pthread_cond_wait@libc {COLLECT}", f"pthread_mutex_lock@libc {COLLECT}"


def herd(sleeps: str, relocks: str, *, signals: int = 100, work: int = 0) -> Made:
    """Sessions that one clerk wakes, and that then wait for the program's mutex. Each of `work`
    samples is of a session that works; 20 are of sessions within the lock."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", CLERK))
    made.thread(CLERK, works(), "main")
    lock = "futex" if relocks.startswith("syscall") else "mutex"  # of a library
    taking = waits(lock, 2, relocks)
    for tid in SESSIONS:
        made.thread(tid, [waits("condition", 1, sleeps), *[taking] * 3, works()], "main")
        made.sample(tid, (work and "receive session") or relocks, max(work, 20) // len(SESSIONS))
    made.sample(SESSIONS[0], relocks, 20)
    made.thing(1, "condition", waits=1_000, wait_ns=200 * TICK, signals=signals, mutex=3)
    made.thing(2, lock, waits=1_000, wait_ns=480 * TICK, hold_ns=MS)
    made.thing(3, "mutex", hold_ns=MS)
    made.pair(1, "condition", sleeps, "notify_all@libc place clerk", 160 * TICK)
    return made.pair(2, lock, relocks, relocks, 480 * TICK)


@pytest.mark.parametrize("stacks", [WITH_NAMES, INLINED, OF_QT])
def test_the_mutex_of_threads_that_wake_for_nothing_belongs_to_the_condition(
    stacks: tuple[str, str],
) -> None:
    first = herd(*stacks).first()
    assert first["category"] == "condition"
    assert "100 signals ended 1,000 waits" in first["words"]


@pytest.mark.parametrize(("stacks", "category"), [(WITH_NAMES, "condition"), (INLINED, "mutex")])
def test_only_the_name_of_the_wait_tells_a_herd_without_samples(
    stacks: tuple[str, str], category: str
) -> None:
    made = herd(*stacks)
    made.lines = [each for each in made.lines if each["kind"] != "sample"]
    assert made.first()["category"] == category


@pytest.mark.parametrize(
    ("stacks", "certain"), [(WITH_NAMES, False), (INLINED, True), (OF_QT, False)]
)
@pytest.mark.parametrize("more", [{"signals": 900}, {"work": 800}])
def test_threads_that_have_work_wait_for_the_mutex(
    stacks: tuple[str, str], certain: bool, more: dict[str, int]
) -> None:
    first = herd(*stacks, **more).first()
    assert (first["category"], first["certain"]) == ("mutex", certain)
    assert ("woken for nothing" in first["words"]) == (not certain)

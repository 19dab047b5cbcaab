"""Input and output while a lock is held: the cause of the lock counts it, and has a remedy."""

from __future__ import annotations

from typing import Any

import pytest
from made import MAIN, TICK, Made, waits, works

A, B = 101, 102
FILE, LOCK, OTHER = 5, 1, 2
WRITES = "xsputn@libstdc++ save worker"


def saved(calls: int, ns: int, *, size: int = 16, writes: bool = True, has: str = "") -> Made:
    """Two threads that write to a file in turns under one lock, in these calls."""
    join = waits("join", 0, "pthread_join@libc main", A)
    lock_a, lock_b = (waits("mutex", LOCK, "save worker", other) for other in (A, B))
    made = Made().thread(MAIN, join)
    made.thread(A, [works(), lock_b], "main").thread(B, [lock_a, works()], "main")
    made.thing(LOCK, "mutex", module=1, offset=64, waits=100, wait_ns=100 * TICK)
    made.thing(OTHER, "mutex", module=1, offset=128)
    made.data[1, 64] = ("file_mutex", "save.cpp:7")
    made.hold(LOCK, "save worker", 100, 90 * TICK).hold(OTHER, "log worker", 100, TICK)
    made.pair(LOCK, "mutex", "save worker", "save worker", 100 * TICK)
    made.thing(FILE, "file", waits=calls, wait_ns=ns)
    stacks = {"waiter": made.stack(WRITES), "holder": made.stack(has or "save worker")}
    made.line(kind="pair", object=FILE, activity="io", waits=calls, wait_ns=ns, **stacks)
    written = {"calls": calls, "writes": calls if writes else 0, "bytes": calls * size, "ns": ns}
    return made.line(kind="file", tid=0, object=FILE, descriptor=3, path="/tmp/out", **written)


def first(made: Made) -> dict[str, Any]:
    found = made.first()
    assert (found["category"], found["name"]) == ("mutex", "file_mutex")
    return dict(found)


def test_small_writes_under_a_lock_are_counted_in_its_cause_with_what_to_do() -> None:
    found = first(saved(80_000, 30 * TICK))
    assert (
        "its holders make 80,000 writes of 16 bytes meanwhile, which take 30 % of the time"
    ) in found["words"]
    assert found["knowledge"] == "own_mutex_small_writes.toml"
    assert "write it in pieces" in found["remedy"]


def test_large_writes_and_other_calls_under_a_lock_are_to_be_made_without_it() -> None:
    large = first(saved(300, 30 * TICK, size=1 << 20))
    assert "its holders make 300 writes of 1,048,576 bytes meanwhile" in large["words"]
    reads = first(saved(300, 30 * TICK, writes=False))
    assert "its holders make 300 calls of input and output meanwhile" in reads["words"]
    assert large["knowledge"] == reads["knowledge"] == "own_mutex_calls.toml"


def test_calls_that_take_little_are_said_and_not_what_to_do_something_about() -> None:
    found = first(saved(1_000, 3 * TICK))
    assert "1,000 writes of 16 bytes meanwhile, which take 3 % of the time" in found["words"]
    assert found["knowledge"] == "own_mutex.toml"


def test_calls_that_take_hardly_any_time_or_have_another_lock_are_not_said() -> None:
    for made in (saved(80_000, TICK // 2), saved(80_000, 30 * TICK, has="log worker")):
        assert "meanwhile" not in first(made)["words"]


def test_a_record_without_holders_of_calls_says_nothing_of_them() -> None:
    made = saved(80_000, 30 * TICK)
    for line in made.lines:
        if line.get("activity") == "io":
            line["holder"] = 0
    assert "meanwhile" not in first(made)["words"]


def in_turns(writing: int, *, without: int = 0) -> Made:
    """Two threads that spend `writing` of 20 ticks in writes, in which the kernel works, and the
    others in waits for the lock. Writes without the lock take `without` ticks of 100."""
    made = saved(1_000, 100 * TICK).pair(FILE, "io", WRITES, "", without * TICK)
    writes = [("io", FILE, WRITES, 0, "R", 1)] * writing
    lock_a, lock_b = ([waits("mutex", LOCK, "save worker", o)] * (20 - writing) for o in (A, B))
    return made.thread(A, writes + lock_b, "main").thread(B, lock_a + writes, "main")


@pytest.mark.parametrize(
    ("made", "category"),
    [(in_turns(12), "mutex"), (in_turns(12, without=50), "io"), (in_turns(15), "io")],
    ids=["the lock costs much", "many writes without the lock", "the lock costs less"],
)
def test_a_lock_comes_before_the_writes_that_its_holders_make_if_it_costs_much(
    made: Made, category: str
) -> None:
    found = made.answer()["causes"]
    other = "io" if category == "mutex" else "mutex"
    assert [each["category"] for each in found[:2]] == [category, other]
    assert found[0]["certain"]

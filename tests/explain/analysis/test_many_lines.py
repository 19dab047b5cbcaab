"""Atomics of so many objects that each cache line has few samples."""

from __future__ import annotations

import pytest
from made import MAIN, TICK, Made, waits, works
from threadmark.kinds.explain.analysis.meaning import Operand

A, B = 101, 102
OBJECT = 0x100  # bytes from one object to the next


def walks(*threads: list[tuple[int, int]]) -> Made:
    """Threads A and B with samples at atomics, and as many elsewhere. For each thread objects and
    samples at each of them: object N is at N times OBJECT."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, works(), "main").thread(B, works(), "main")
    for tid, found in zip((A, B), threads, strict=True):
        for number, samples in found:
            made.sample(tid, "visit worker", samples, bx=number * OBJECT)
            made.sample(tid, "compute worker", samples)
    made.operands[made.stack("visit worker")] = Operand(base="bx")
    return made


def test_objects_that_both_threads_use_are_contended() -> None:
    both = [(number, 1) for number in range(1, 40)]
    first = walks(both, both).first()
    assert (first["category"], first["certain"]) == ("atomic", False)
    assert first["name"] == "atomic in visit"
    assert "many objects" in first["words"]
    assert first["share"] == pytest.approx(1 / 3, abs=0.03)


def test_objects_with_few_samples_are_like_those_with_enough() -> None:
    both = [(0, 20), *((number, 1) for number in range(1, 40))]
    first = walks(both, both).first()
    assert (first["category"], first["certain"]) == ("atomic", True)
    assert first["share"] == pytest.approx(1 / 3, abs=0.03)


def test_many_locks_are_no_cause() -> None:
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, works(), "main").thread(B, works(), "main")
    stack = "pthread_mutex_trylock@libc pthread_mutex_lock@agent visit worker"
    for number in range(1, 40):
        for tid in (A, B):
            made.sample(tid, stack, 1, bx=number * OBJECT).sample(tid, "compute worker", 1)
    made.operands[made.stack(stack)] = Operand(base="bx")
    assert made.first()["category"] == "none"


def test_different_words_of_many_lines_are_false_sharing() -> None:
    made = walks([(number, 1) for number in range(1, 40)], [])
    for number in range(1, 40):
        made.sample(B, "visit worker", 1, bx=number * OBJECT + 8).sample(B, "compute worker")
    assert made.first()["category"] == "false_sharing"


@pytest.mark.parametrize(
    ("beside", "writes", "later", "category"),
    [
        (8, True, 0, "false_sharing"),
        (8, False, 0, "none"),  # all only read
        (0, True, 0, "none"),  # they share one word
        (OBJECT // 2, True, 0, "none"),  # another line
        (8, True, 50, "none"),  # the second thread comes much later
    ],
    ids=["beside", "read", "one word", "another line", "later"],
)
def test_plain_words_beside_those_of_another_thread_are_suspected_in_many_objects(
    beside: int, writes: bool, later: int, category: str
) -> None:
    made = walks([], [])
    for tid, offset, delay in ((A, 0, 0), (B, beside, later)):
        for number in range(1, 40):
            made.line(
                kind="sample", tid=tid, at_ns=(number + delay) * TICK,
                registers={"bx": number * OBJECT + offset}, stack=made.stack("visit worker"),
            )  # fmt: skip
            made.sample(tid, "compute worker")
    made.operands[made.stack("visit worker")] = Operand(base="bx", plain=True)
    if writes:
        word = Operand(base="bx", plain=True, writes=True)
        made.writes[made.stack("visit worker")] = (word,)
    first = made.first()
    assert first["category"] == category
    if category == "false_sharing":
        assert not first["certain"]
        assert "many objects" in first["words"]


@pytest.mark.parametrize("samples", [2, 4, 9])
def test_objects_of_each_thread_are_not_contended(samples: int) -> None:
    own = [(number, samples) for number in range(1, 40)]
    others = [(number, samples) for number in range(41, 80)]
    first = walks(own, others).first()
    assert (first["category"], first["certain"]) == ("none", True)


def test_it_is_not_known_whether_objects_that_were_seen_once_are_shared() -> None:
    own = [(number, 1) for number in range(1, 40)]
    others = [(number, 1) for number in range(38, 77)]  # two lines were seen twice
    first = walks(own, others).first()
    assert (first["category"], first["certain"]) == ("none", False)
    assert "50 % of them are at atomics of very many objects" in first["words"]


def test_few_shared_objects_among_those_of_each_thread_are_no_cause() -> None:
    own = [(number, 3) for number in range(1, 40)]
    others = [(number, 3) for number in range(36, 75)]
    first = walks(own, others).first()
    assert first["category"] == "none"


def in_pairs(objects: int, samples: int, *, later: bool) -> Made:
    """Two threads with objects of their own, and two more at the same addresses: `later`, when the
    first two have ended, or at the same time."""
    made = Made(processors=4).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for number, tid in enumerate((A, B, A + 2, B + 2)):
        plan = [works()] * 50 + [None] * 50
        made.thread(tid, plan[:: -1 if number > 1 else 1] if later else works(), "main")
        for each in range(objects):
            address = (100 * (number % 2) + each) * OBJECT
            made.sample(tid, "visit worker", samples, bx=address)
            made.sample(tid, "compute worker", samples)
    made.operands[made.stack("visit worker")] = Operand(base="bx")
    return made


@pytest.mark.parametrize(("objects", "samples"), [(1, 20), (40, 1)])
def test_threads_that_follow_one_another_have_objects_of_their_own_in_the_same_memory(
    objects: int, samples: int
) -> None:
    assert in_pairs(objects, samples, later=False).first()["category"] == "atomic"
    assert in_pairs(objects, samples, later=True).first()["category"] == "none"

"""explain tells work of one thread for all from unequal parts by the code that runs side by
side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from made import MAIN, MS, TICK, Doing, Made, ready, sleeps, waits, works
from threadmark.kinds.explain.analysis.serial_parts import SerialPart, serial_part

A, B = 101, 102
JOIN_A = waits("join", 0, "pthread_join@libc main", A)


def code_of_its_own(made: Made, stack: str) -> int:
    """The number of the stack. The number is an address, so other stacks are added to keep its code
    apart."""
    for number in range(64 if stack not in made.stacks else 0):
        made.stack(f"code{len(made.stacks)}.{number}")
    return made.stack(stack)


def rounds(
    side_by_side: Sequence[str],
    alone: Sequence[str],
    wait: str = "barrier",
    *,
    turns: bool = False,
    count: int = 50,
    apart_ns: int = 0,
    before: int = 0,
    uneven: int = 0,
) -> Made:
    """Two threads that work for 4 ms side by side, and then one of them alone for 4 ms. The samples
    of a part take its stacks in turn. The other thread's samples are `apart_ns` later. `before`:
    ticks in which only the main thread exists, and works. `uneven`: in every round of this number
    the second thread has more to do."""
    stop = waits(wait, 1, f"{wait}_wait@libc step worker")
    rest = [(stop, works()), (works(), stop)]
    plans: list[list[Any]] = [[None] * before, [None] * before]
    made = Made(ticks=before + 2 * count).thing(1, wait, signal_stack="step worker")
    for stack in dict.fromkeys((*side_by_side, *alone)):
        code_of_its_own(made, stack)
    for number in range(count):
        more = bool(uneven) and number % uneven == 0
        worker = number % 2 if turns else int(more)
        for plan, doing in zip(plans, rest[not worker], strict=True):
            plan += [works(), doing]
        for half in range(2):
            at_ns = (before + number * 2) * TICK + half * 2 * MS
            at = 2 * number + half
            samples = [(tid, side_by_side[at % len(side_by_side)], at_ns) for tid in (A, B)]
            samples[1] = (*samples[1][:2], at_ns + apart_ns)
            stacks = side_by_side if more else alone
            samples.append(((A, B)[worker], stacks[at % len(stacks)], at_ns + TICK))
            for tid, stack, ns in samples:
                made.line(
                    kind="sample", tid=tid, at_ns=ns, registers={}, stack=made.stack(stack)
                )  # fmt: skip
    made.thread(MAIN, [works()] * before + [JOIN_A] * 2 * count)
    made.sample(MAIN, "generate main", before * TICK // MS)
    for tid, plan in zip((A, B), plans, strict=True):
        made.thread(tid, plan, "main")
    return made


@pytest.mark.parametrize("wait", ["barrier", "condition"])
@pytest.mark.parametrize("turns", [False, True], ids=["one thread", "in turns"])
def test_what_one_thread_does_for_all_is_a_serial_part(wait: str, turns: bool) -> None:
    alone = ["sum settle worker", "sum settle worker", "sort settle worker", "sort settle worker"]
    first = rounds(["row step worker"], alone, wait, turns=turns).first()
    locks = turns and wait == "condition"  # a lock made of a condition looks the same
    assert (first["category"], first["certain"]) == ("serial_dependency", not locks)
    assert first["name"] == "settle"  # the function with all of the work that is done alone
    assert {each["frames"][0] for each in first["holders"]} == {"sum", "sort"}


@pytest.mark.parametrize("before", [0, 100])
@pytest.mark.parametrize("wait", ["barrier", "condition"])
def test_unequal_parts_are_run_side_by_side_too(wait: str, before: int) -> None:
    found = rounds(["row step worker"], ["row step worker"], wait, before=before).answer()
    [uneven] = [each for each in found["causes"] if each["category"] == "imbalance"]
    assert uneven["certain"] or before
    assert not any("for all" in each["words"] for each in found["causes"])


def test_a_serial_part_that_is_inlined_without_names_has_code_of_its_own() -> None:
    made = rounds(["row worker"], ["row worker"])
    first = made.first()
    assert first["category"] == "imbalance"
    alone = code_of_its_own(made, "row  worker")
    for line in made.lines:
        if line["kind"] == "sample" and line["at_ns"] // TICK % 2:
            line["stack"] = alone
    first = made.first()
    assert (first["category"], first["name"]) == ("serial_dependency", "worker")


@pytest.mark.parametrize(
    ("rest", "category"), [(ready(), "imbalance"), (works(), "serial_dependency")]
)
def test_what_threads_with_processors_never_do_side_by_side_is_serial(
    rest: Doing, category: str
) -> None:
    """The two threads never have samples of one moment. Threads that share one processor have none
    either."""
    made = rounds(["row step worker"], ["row step worker"], apart_ns=MS, turns=True)
    made.plans[B] = [rest if each == works() else each for each in made.plans[B]]
    first = made.first()
    assert (first["category"], first["certain"]) == (category, False)
    assert ("or threads wait for one that has more to do" in first["words"]) == (rest == works())


def test_ticks_show_the_waits_of_a_runtime_that_makes_its_own_system_calls() -> None:
    made = rounds(["row step worker"], ["sum settle worker"])
    unseen = sleeps(202, "pthread_barrier_wait@libc step worker")
    for tid in (A, B):
        made.plans[tid] = [each if each == works() else unseen for each in made.plans[tid]]
    assert made.first()["category"] == "serial_dependency"


def test_too_few_samples_to_tell_a_serial_part_leave_a_doubt() -> None:
    first = rounds(["row step worker"], ["sum settle worker"], count=4).first()
    assert (first["category"], first["certain"]) == ("serial_dependency", False)
    assert "or threads wait for one that has more to do" in first["words"]


def test_a_serial_part_that_is_short_beside_the_waits_is_not_certain() -> None:
    made = rounds(["row step worker"], ["sum settle worker"])
    alone = [each for each in made.lines if each["kind"] == "sample" and each["at_ns"] // TICK % 2]
    for line in alone[2 * len(alone) // 5 :]:
        made.lines.remove(line)
    first = made.first()
    assert (first["category"], first["certain"]) == ("serial_dependency", False)
    assert "or threads wait for one that has more to do" in first["words"]


def test_far_more_of_the_same_code_is_no_serial_part() -> None:
    """The outer functions of the threads differ, like those of main and of a worker."""
    made = rounds(["row step worker"], ["row step worker"])
    lead = made.stack("row step lead")  # its code lies next to the other's
    others = []
    for line in made.lines:
        if line["kind"] == "sample" and line["tid"] == A:
            line["stack"] = lead
        elif line["kind"] == "sample" and line["tid"] == B:
            others.append(line)
    for line in others[len(others) // 5 :]:
        made.lines.remove(line)
    first = made.first()
    assert (first["category"], first["certain"]) == ("imbalance", False)


def test_a_thread_that_does_not_meet_the_others_hides_no_serial_part() -> None:
    made = rounds(["row step worker"], ["sum settle worker"])
    made.sample(MAIN, "render main", 100 * TICK // MS)
    assert made.first()["name"] == "sum"


def test_looking_whether_all_have_come_is_no_work_beside_a_serial_part() -> None:
    made = rounds(["row step worker"], ["sum settle worker"])
    look = made.stack("std::latch::wait@libstdc++ step worker")
    alone = [each for each in made.lines if each["kind"] == "sample" and each["at_ns"] // TICK % 2]
    made.lines += [{**each, "tid": B, "stack": look} for each in alone]
    assert made.first()["name"] == "sum"


def test_of_two_threads_that_others_wait_for_one_may_only_have_more_to_do() -> None:
    found = rounds(["row step worker"], ["sum settle worker"], uneven=3).answer()["causes"]
    assert {each["category"] for each in found} == {"serial_dependency", "imbalance"}


@pytest.mark.parametrize(("waited", "category"), [(30, "imbalance"), (1, "serial_dependency")])
def test_work_that_a_lock_keeps_apart_may_be_no_work_for_all(waited: int, category: str) -> None:
    """Each thread runs 'settle' alone for 25 ticks, with a lock held."""
    made = rounds(["row step worker"], ["sum settle worker"], turns=True)
    made.thing(2, "mutex", hold_ns=50 * TICK, wait_ns=waited * TICK, waits=100)
    first = made.first()
    assert (first["category"], first["certain"]) == (category, category == "serial_dependency")


@pytest.mark.parametrize(
    ("stack", "category"),
    [("row settle step worker", "serial_dependency"), ("row step settle", "imbalance")],
    ids=["called in the common work", "around it"],
)
def test_a_serial_function_within_the_common_work_may_have_the_code_of_the_others(
    stack: str, category: str
) -> None:
    made = rounds(["row step worker"], ["row step worker"])
    alone = made.stack(stack)  # its code lies next to the other's
    for line in made.lines:
        if line["kind"] == "sample" and line["at_ns"] // TICK % 2:
            line["stack"] = alone
    first = made.first()
    assert (first["category"], first["certain"]) == (category, category == "serial_dependency")


def part_of(*samples: tuple[int, float, str]) -> SerialPart:
    """The serial part among samples of threads: microseconds and stack of each."""
    made = Made().thread(A, works()).thread(B, works())
    for stack in dict.fromkeys(stack for _, _, stack in samples):
        code_of_its_own(made, stack)
    for tid, at_us, stack in samples:
        at_ns = round(at_us * 1_000)
        made.line(kind="sample", tid=tid, at_ns=at_ns, registers={}, stack=made.stack(stack))
    recording, names = made.read()
    return serial_part(recording, names, lambda _: True)


def test_a_thread_with_little_of_the_same_work_is_seldom_close_to_the_other() -> None:
    offsets = [0, 55, 60, 65, 70, 80, 90, *(100 + 16 * number for number in range(53))]
    uneven = [(B, 2_000.0 * number, "advance worker") for number in range(600)]
    uneven += [(A, 20_000.0 * number + us, "advance worker") for number, us in enumerate(offsets)]
    both = [(tid, 2e6 + 2_000.0 * number, "worker") for number in range(30) for tid in (A, B)]
    assert not part_of(*uneven, *both).samples


def test_a_thread_that_works_beside_another_ones_small_part_does_not_work_for_all() -> None:
    """A compiler may inline the work in the thread with the small part only."""
    made = [(A, 2e3 * number, "step worker") for number in range(576)]
    made += [(B, 26e3 * number + (40 if number < 5 else 700), "main") for number in range(45)]
    found = part_of(*made)
    assert not found.samples or found.is_open


def test_rest_that_runs_side_by_side_at_any_distance_leaves_a_doubt() -> None:
    """Two pairs of samples are as close as the shortest distance, too few to show it."""
    row, level = "row worker", "level worker"
    rest = [
        (tid, 2_000.0 * n + 150 * (tid == B and n > 1), row) for n in range(100) for tid in (A, B)
    ]
    alone = [(A, 1e6 + 2_000.0 * number, level) for number in range(44)]
    later = [(B, 1e6 + 2_000.0 * number + 300, row) for number in range(44)]
    found = part_of(*rest, *alone, *later)
    assert found.is_open
    assert found.name == "level"  # which no other thread runs


@pytest.mark.parametrize(
    ("alone", "near", "is_open"),
    [(44, 0, True), (90, 0, True), (400, 4, True), (400, 100, False)],
    ids=["not decided", "likelier serial", "the rest by another distance", "by the same one"],
)
def test_a_part_that_is_likelier_serial_is_not_sure(alone: int, near: int, is_open: bool) -> None:
    """Two threads work side by side, and then one works alone, 60 us before the other's samples.
    The shortest distance is 50 us. `near`: pairs of samples that are closer."""
    both = [
        (tid, 2e3 * n + (20 if n < near else 150) * (tid == B), "row worker")
        for n in range(100)
        for tid in (A, B)
    ]
    level = [(A, 1e6 + 2e3 * n, "level worker") for n in range(alone)]
    later = [(B, 1e6 + 2e3 * n + 60, "row worker") for n in range(alone)]
    part = part_of(*both, *level, *later)
    assert (part.name, part.is_open) == ("level", is_open)

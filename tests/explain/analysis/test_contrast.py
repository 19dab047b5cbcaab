"""Comparisons of one thread with two, on made-up records of three rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from made import MAIN, Made, estimate, ready, sleeps, waits, works
from threadmark.kinds.explain.analysis.answer import analyse
from threadmark.kinds.explain.analysis.contrast import contrast
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.paired_runs import Rounds
from threadmark.kinds.explain.analysis.per_unit import run_of
from threadmark.kinds.explain.analysis.sharing import Sharing
from threadmark.kinds.explain.knowledge import knowledge
from threadmark.kinds.explain.table import lines

A, B = 101, 102
WORD = Operand("ax", plain=True, writes=True)
LINE = 0x10000
FULL = 100  # ticks of a run with one thread


def made(threads: int, ticks: int, stack: str = "add worker", **head: Any) -> Made:
    """Main waits for workers, and they work from the beginning to the end."""
    found = Made(ticks=ticks, head=head)
    found.thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for tid in (A, B)[:threads]:
        found.thread(tid, works(), "main")
        found.look(tid, stack, 2 * ticks)
    return found


def touching(ticks: int, address: Callable[[int, int], int], operand: Operand = WORD) -> Made:
    """Two workers whose samples show addresses."""
    found = Made(ticks=ticks).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for number, tid in enumerate((A, B)):
        found.thread(tid, works(), "main")
        for at in range(2 * ticks):
            found.sample(tid, "add worker", ax=address(number, at))
    found.operands[found.stack("add worker")] = operand
    return found


def compared(
    one: list[Made], many: list[Made], units: tuple[float, float] = (1, 1)
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document and details of the last run of `many`."""
    runs = {
        threads: [
            run_of(*each.read(), knowledge(), threads=threads, units=units[threads > 1])
            for each in group
        ]
        for threads, group in ((1, one), (2, many))
    }
    recording, names = many[-1].read()
    found, details = analyse(recording, names, knowledge())
    contrast(
        found,
        details,
        alone=one[-1].answer(),
        sharing=Sharing(recording, names, knowledge()),
        rounds=Rounds(runs),
    )
    return found, details


def first(one: Made, many: Made) -> dict[str, Any]:
    """The first cause."""
    cause: dict[str, Any] = compared([one] * 3, [many] * 3)[0]["causes"][0]
    return cause


def test_growth_at_different_words_of_one_line_is_false_sharing_for_sure() -> None:
    found = first(made(1, FULL), touching(80, lambda thread, _: LINE + 8 * thread))
    assert (found["category"], found["certain"]) == ("false_sharing", True)
    # The work takes 100 of 160 ticks on processors. Main's 80 ticks are thread time too.
    assert found["share"] == pytest.approx(60 / 240, abs=0.01)
    assert estimate(found) == pytest.approx(80 / 50, abs=0.01)
    assert "1.6 times as much processor time" in found["words"]


def test_growth_at_one_word_that_threads_share_is_no_false_sharing() -> None:
    found = first(made(1, FULL), touching(80, lambda *_: LINE))
    assert (found["category"], found["certain"]) == ("unknown", False)


def test_different_words_of_one_line_that_cost_nothing_are_no_cause() -> None:
    many = touching(52, lambda thread, _: LINE + 8 * thread)
    assert many.first()["category"] == "false_sharing"
    found, _ = compared([made(1, FULL)] * 3, [many] * 3)
    assert [(c["category"], c["certain"]) for c in found["causes"]] == [("none", True)]
    assert found["speedup"] == pytest.approx(100 / 52, abs=0.01)
    assert "1.92 times as fast with 2 threads as with 1" in found["causes"][0]["words"]


def test_a_word_that_threads_only_read_may_lie_beside_those_that_they_write() -> None:
    many = touching(80, lambda thread, _: LINE + 8 + 8 * thread)
    one = made(1, FULL)
    for tid in (A, B):
        many.sample(tid, "add loop worker", 80, ax=LINE)
        one.look(tid, "add loop worker", 80)
    many.operands[many.stack("add loop worker")] = Operand("ax", plain=True)
    found = first(one, many)
    assert (found["category"], found["certain"]) == ("false_sharing", True)


def test_words_that_the_code_writes_soon_after_its_samples_count_as_written() -> None:
    read = Operand("ax", plain=True)
    many = touching(80, lambda thread, _: LINE - 16 + 24 * thread, read)
    assert first(made(1, FULL), many)["category"] == "unknown"
    many.writes[many.stack("add worker")] = (Operand("ax", offset=16, plain=True, writes=True),)
    found = first(made(1, FULL), many)
    assert (found["category"], found["certain"]) == ("false_sharing", True)


def test_lines_that_threads_only_read_are_no_false_sharing() -> None:
    many = Made(ticks=80).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for number, tid in enumerate((A, B)):
        many.thread(tid, works(), "main")
        for at in range(150):
            many.sample(tid, "add worker", ax=LINE + 16 * at + 8 * number)
        many.sample(tid, "add put worker", 10, ax=(2 + number) * LINE)
    many.operands[many.stack("add worker")] = Operand("ax", plain=True)
    many.operands[many.stack("add put worker")] = WORD
    categories = [c["category"] for c in compared([made(1, FULL)] * 3, [many] * 3)[0]["causes"]]
    assert "false_sharing" not in categories


def test_growth_in_code_that_one_thread_does_not_run_has_two_explanations() -> None:
    many = touching(80, lambda thread, _: LINE + 8 * thread)
    other = Made(stacks={"": 0, "main": 1, "add main": 2}, ticks=FULL)
    other.thread(MAIN, works()).look(MAIN, "add main", 200)
    found = first(other, many)
    assert (found["category"], found["certain"]) == ("false_sharing", False)
    assert "are others, and faster" in found["words"]


def test_words_of_many_lines_that_are_each_seen_seldom_are_false_sharing_too() -> None:
    def alternating(thread: int, at: int) -> int:
        return LINE + 16 * at + 8 * thread

    found = first(made(1, FULL), touching(80, alternating))
    assert (found["category"], found["certain"]) == ("false_sharing", True)


def streams(thread: int, at: int) -> int:
    return LINE + (thread << 30) + 4096 * 7 * at


def test_growth_at_addresses_all_over_is_the_bandwidth_of_memory() -> None:
    found = first(made(1, FULL), touching(80, streams))
    assert (found["category"], found["certain"]) == ("memory_bandwidth", True)
    assert found["name"] == "add"


def test_memory_that_both_threads_write_all_over_has_two_explanations() -> None:
    found = first(made(1, FULL), touching(80, lambda t, at: LINE + 4096 * at + 1024 * t))
    assert (found["category"], found["certain"]) == ("memory_bandwidth", False)
    assert "false sharing" in found["words"]


def test_twice_the_time_with_twice_the_threads_may_be_the_work_done_twice() -> None:
    found = first(made(1, FULL), touching(100, streams))
    assert (found["category"], found["certain"]) == ("memory_bandwidth", False)
    assert "each thread does the work of all" in found["words"]


def test_addresses_all_over_without_growth_scale() -> None:
    assert first(made(1, FULL), touching(52, streams))["category"] == "none"


def test_processors_that_were_not_full_are_not_short_of_bandwidth() -> None:
    lock = waits("mutex", 1, "take worker", B)
    many = touching(120, streams).thing(1, "mutex")
    many.thread(A, [works(), lock]).thread(B, [lock, works(), works(), works()])
    found, _ = compared([made(1, FULL)] * 3, [many] * 3)
    assert "memory_bandwidth" not in [c["category"] for c in found["causes"]]
    assert found["causes"][0]["category"] == "mutex"


def test_growth_within_the_noise_of_like_runs_is_none() -> None:
    noisy = [made(1, ticks) for ticks in (70, 100, 160)]
    many = [touching(ticks, streams) for ticks in (60, 80, 100)]
    found, _ = compared(noisy, many)
    assert found["differential"]["grows"] == []
    assert [(c["category"], c["certain"]) for c in found["causes"]] == [("none", False)]


def test_the_unit_of_work_makes_weak_scaling_right() -> None:
    found, details = compared([made(1, 100)] * 3, [made(2, 104)] * 3, units=(10, 20))
    assert found["speedup"] == pytest.approx(1.92, abs=0.01)
    assert found["causes"][0]["category"] == "none"
    times = found["differential"]["time_per_unit"]
    assert times["1"]["s"] == pytest.approx(0.04)
    assert times["2"]["s"] == pytest.approx(0.0208)
    [[frames, one_ns, many_ns]] = details["differential"]["stacks"]
    assert frames == ["add", "worker"]
    assert (one_ns, many_ns) == (pytest.approx(40e6), pytest.approx(41.6e6))


@pytest.mark.parametrize(
    ("many", "said"),
    [
        (made(2, 90).thread(A, [works(), ready()]), "Other programs had the processors for 25 %"),
        (made(2, 90, processors=1), "2 threads had only 1 processor,"),
        (made(2, 90, steal_ns=90 * 4_000_000), "The machine's host kept 50 %"),
        (
            made(2, 90, processors=4)
            .thread(A, works(), allowed=[3])
            .thread(B, works(), allowed=[3]),
            "The 2 threads may run on only 1 processor of 4,",
        ),
    ],
    ids=["others", "processors", "host", "allowed"],
)
def test_threads_that_did_not_run_side_by_side_are_not_judged(many: Made, said: str) -> None:
    many.look(A, "add worker", 100)
    found, _ = compared([made(1, FULL)] * 3, [many] * 3)
    assert found["limits"][0].startswith(said)
    assert found["limits"][0].endswith("so the comparison says nothing of what threads share.")
    assert found["differential"]["unjudged"] == found["limits"][0]
    shown = [line.plain for line in lines(found, 100, utf8=True)]
    assert " ".join(shown).count(said) == 1
    assert said in " ".join(shown[: shown.index("")])  # before the causes
    judged = [c for c in found["causes"] if c["category"] not in ("run_queue", "affinity")]
    assert not any(cause["certain"] for cause in judged)
    assert found["speedup"] == pytest.approx(100 / 90, abs=0.01)


def test_a_number_of_threads_that_changes_nothing_is_said() -> None:
    found, _ = compared([made(1, FULL)] * 3, [made(1, FULL)] * 3)
    assert "as many threads with 2 as with 1 (2 at one time)" in found["limits"][0]
    assert found["causes"][0]["category"] == "serial_dependency"


@pytest.mark.parametrize(("ticks", "category"), [(80, "atomic"), (FULL // 2, "none")])
def test_growth_proves_atomics_of_many_objects(ticks: int, category: str) -> None:
    many = touching(ticks, lambda _, at: (1 + at % 80) * 4 * LINE, Operand("ax"))
    found = first(made(1, FULL), many)
    assert (found["category"], found["certain"]) == (category, True)


def test_growth_at_an_atomic_confirms_it() -> None:
    many = touching(80, lambda *_: LINE, Operand("ax"))
    found = first(made(1, FULL), many)
    assert (found["category"], found["certain"]) == ("atomic", True)
    assert "1.6 times as much processor time" in found["words"]


def files(threads: int, part: list[Any]) -> Made:
    found = Made(ticks=120).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for tid in (A, B)[:threads]:
        found.thread(tid, part, "main")
        found.look(tid, "put worker", 60)
    return found


def test_what_costs_as_much_with_one_thread_is_no_cause_of_what_is_lost() -> None:
    write = waits("io", 0, "write@libc put worker")
    lock = waits("mutex", 1, "take worker", B)
    one = files(1, [works(), write, write, works()])
    many = files(2, [works(), write, lock, works()]).thing(1, "mutex")
    found, _ = compared([one] * 3, [many] * 3)
    categories = {c["category"]: c for c in found["causes"]}
    assert "as much per unit of work with one thread" in categories["io"]["words"]
    assert not categories["io"]["certain"]
    assert found["causes"][0]["category"] == "mutex"
    assert "with one thread" not in categories["mutex"]["words"]


def writing(threads: int, ticks: int, writes: int) -> Made:
    """Each thread writes in `writes` of six ticks, and works in the others."""
    found = Made(ticks=ticks).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    stack = "write@libc put worker"
    write = ("io", 0, stack, 0, "R", 1)
    for tid in (A, B)[:threads]:
        found.thread(tid, [*[write] * writes, *[works()] * (6 - writes)], "main")
        found.look(tid, stack, ticks * writes, kernel=True)
        found.look(tid, "worker", ticks * (6 - writes))
    return found


def test_a_cause_whose_calls_take_more_in_all_rounds_is_one_though_one_run_was_slow() -> None:
    """Writes of one thread take an eighth of the time that writes of two take, but in the last
    round as much."""
    quick, slow, many = writing(1, 60, 1), writing(1, 120, 4), writing(2, 60, 4)
    found, _ = compared([quick] * 9 + [slow], [many] * 10)
    assert found["causes"][0]["category"] == "io"
    assert "as much per unit" not in found["causes"][0]["words"]
    found, _ = compared([slow] * 10, [writing(2, 100, 2)] * 10)
    assert any("as much per unit" in cause["words"] for cause in found["causes"])


def test_what_explains_next_to_nothing_stands_behind_what_costs_much() -> None:
    """The runs with one thread differ too much to show growth. In the last of them writes take as
    much as with two threads. A lock takes few ticks."""
    many = writing(2, 100, 3).thing(1, "mutex")
    plan = [works(), ("io", 0, "write@libc put worker", 0, "R", 1)] * 50
    many.thread(B, [*plan[:-4], *[waits("mutex", 1, "take worker", A)] * 4], "main")
    found, _ = compared([writing(1, 70, 3)] * 2 + [writing(1, 200, 3)], [many] * 3)
    assert [c["category"] for c in found["causes"]][:2] == ["io", "mutex"]
    assert "as much per unit" in found["causes"][0]["words"]


def test_a_cause_that_explains_a_small_part_of_the_loss_is_not_certain() -> None:
    lock = waits("mutex", 1, "take worker", B)
    many = made(2, 90).thing(1, "mutex")
    many.thread(A, [*[works()] * 5, lock, *[sleeps(999)] * 3], "main")
    many.thread(B, [*[works()] * 5, *[sleeps(999)] * 4], "main")
    alone = next(c for c in many.answer()["causes"] if c["category"] == "mutex")
    assert alone["certain"]
    found, _ = compared([made(1, FULL)] * 3, [many] * 3)
    mutex = next(c for c in found["causes"] if c["category"] == "mutex")
    assert found["causes"][0]["category"] == "unknown"
    assert not mutex["certain"]
    assert "only a part of what the threads lose" in mutex["words"]


@pytest.mark.parametrize(("alone", "certain"), [(50, True), (16, False)])
def test_time_with_one_thread_only_is_serial_dependence(alone: int, certain: bool) -> None:
    both = (FULL - alone) // 2
    many = Made(ticks=alone + both).thread(
        MAIN, [works()] * alone + [waits("join", 0, "join@libc main", A)] * both
    )
    for tid in (A, B):
        many.thread(tid, [None] * alone + [works()] * both, "main")
        many.look(tid, "part worker", 2 * both, at_ns=250_000_000)
    many.look(MAIN, "prepare main", 2 * alone)
    one = Made(ticks=FULL).thread(MAIN, works()).look(MAIN, "prepare main", 200)
    found = first(one, many)
    assert (found["category"], found["name"], found["certain"]) == (
        "serial_dependency",
        "prepare",
        certain,
    )
    assert found["holders"][0]["frames"] == ["prepare", "main"]


def test_one_round_gives_a_ratio_without_limits() -> None:
    found, _ = compared([made(1, FULL)], [made(2, 52)])
    assert found["speedup_interval"] == [0.0, None]
    assert not found["causes"][0]["certain"]
    assert "1 round, too few to know the error" in found["differential"]["words"]
    assert math.isfinite(found["differential"]["time_per_unit"]["1"]["s"])


@pytest.mark.parametrize("always", [True, False])
def test_unequal_work_of_one_round_alone_is_not_certain(always: bool) -> None:
    def uneven() -> Made:
        found = made(2, 75)
        return found.thread(A, works(), "main").thread(B, [works()] * 25 + [None] * 50, "main")

    rounds = [uneven() if always else made(2, 60) for _ in range(2)]
    found, _ = compared([made(1, FULL)] * 3, [*rounds, uneven()])
    cause = found["causes"][0]
    assert (cause["category"], cause["certain"]) == ("imbalance", always)
    assert ("ended nearly together" in cause["words"]) is not always

"""The order of measuring, its limits and its budget, played through without a clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from lab_support import cell
from threadmark.cell import Cell, Row, Status
from threadmark.known import Standing, Standings, fastest
from threadmark.measurement import standings
from threadmark.profile import PROFILES, thread_counts
from threadmark.schedule import Schedule, Task

QUICK = PROFILES["quick"]
SERIAL = cell(backend="serial", variant="plain")
CELLS = [SERIAL, cell(), cell(threads=2), cell(variant="fork_join"), cell(program="sort")]


def row(task: Task, *, status: Status = Status.OK, ns: float = 40e6, **changes: object) -> Row:
    """What a process of `task` leaves; it takes a tenth of a second unless told otherwise."""
    made = Row(
        task.cell,
        task.round,
        status,
        reason="" if status is Status.OK else "why",
        sample_ns=ns if status is Status.OK else None,
        facts={"wall_s": 0.1},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def make(cells: Sequence[Cell] = CELLS, **changes: object) -> Schedule:
    values = {"profile": QUICK, "seed": 1, "budget_s": None, "uncertainty": lambda _: 0.0}
    return Schedule(cells, **(values | changes))  # type: ignore[arg-type]


def play(
    schedule: Schedule, answer: Callable[[Task], Row] = row, *, begin_s: float = 0
) -> list[Task]:
    """Run to the end, time passing as the rows say."""
    elapsed_s, tasks = begin_s, []
    while task := schedule.next(elapsed_s):
        made = answer(task)
        elapsed_s += float(made.facts["wall_s"])
        schedule.record(made)
        tasks.append(task)
        assert len(tasks) < 10000
    return tasks


def test_every_cell_gets_six_samples_and_rounds_alternate() -> None:
    tasks = play(make(CELLS[1:]))
    assert Counter(task.cell for task in tasks) == dict.fromkeys(CELLS[1:], 6)
    assert [task.round for task in tasks] == [r for r in range(6) for _ in CELLS[1:]]


def test_what_others_are_compared_with_is_taken_more_often() -> None:
    slower = cell(program="fib", backend="serial", variant="fork_join", threads=1)
    tasks = play(
        make([*CELLS, slower]), lambda task: row(task, ns=9e6 if task.cell == slower else 8e6)
    )
    assert Counter(task.cell for task in tasks) == dict.fromkeys(CELLS, 6) | {SERIAL: 14, slower: 8}
    rounds = [Counter(task.cell for task in tasks if task.round == each) for each in range(6)]
    assert [each[SERIAL] for each in rounds] == [1, 2, 2, 3, 3, 3]
    assert [each[slower] for each in rounds] == [1, 2, 2, 1, 1, 1]


def test_the_fastest_of_two_that_are_alike_is_not_the_one_with_few_samples() -> None:
    assert fastest({"many": [10.0] * 14, "few": [9.0] * 5}) == "many"
    assert fastest({"many": [10.0] * 14, "as many": [9.0] * 7, "none": []}) == "as many"
    assert fastest({"none": []}) is None


def test_serial_cells_come_first_in_the_first_round_only() -> None:
    tasks = play(make())
    assert tasks[0].cell == SERIAL
    starts = [tasks[5 * each].cell for each in range(6)]
    assert any(first != SERIAL for first in starts)


def test_the_seed_alone_decides_the_order() -> None:
    assert play(make()) == play(make(CELLS[::-1]))
    assert play(make()) != play(make(seed=2))


def test_the_limit_follows_the_serial_time() -> None:
    tasks = play(make(), lambda task: row(task, ns=200e6))
    limits = {task.cell: task.repeat_limit_s for task in tasks}
    assert limits[CELLS[1]] == 20 * 0.2
    assert limits[SERIAL] == QUICK.limit_ceiling_s
    assert limits[CELLS[4]] == 10  # no serial time of sort is known


def test_the_limit_is_never_below_its_floor() -> None:
    tasks = play(make(), lambda task: row(task, ns=1e3))
    limits = {cell: {t.repeat_limit_s for t in tasks if t.cell == cell} for cell in CELLS}
    assert limits[CELLS[1]] == {QUICK.limit_floor_s}
    assert limits[CELLS[4]] == {10}


def test_short_cells_are_repeated_in_odd_blocks() -> None:
    tasks = play(make(), lambda task: row(task, ns=5.1e6))
    assert {task.repeats for task in tasks if task.round == 0} == {1}
    assert {task.repeats for task in tasks if task.round > 0} == {9}


def test_a_cell_that_timed_out_is_not_tried_again() -> None:
    for status in (Status.TIMEOUT, Status.REFUSED, Status.OUT_OF_MEMORY, Status.UNAVAILABLE):
        tasks = play(make(), _failing(CELLS[1], status))
        assert sum(task.cell == CELLS[1] for task in tasks) == 1


def test_a_crash_gets_one_more_try_when_it_is_cheap() -> None:
    for status in (Status.CRASHED, Status.WRONG):
        tasks = play(make(), _failing(CELLS[1], status))
        assert sum(task.cell == CELLS[1] for task in tasks) == 2
        tasks = play(make(), _failing(CELLS[1], status, wall_s=5.0))
        assert sum(task.cell == CELLS[1] for task in tasks) == 1


def _failing(bad: Cell, status: Status, wall_s: float = 0.1) -> Callable[[Task], Row]:
    def answer(task: Task) -> Row:
        if task.cell == bad:
            return row(task, status=status, facts={"wall_s": wall_s})
        return row(task)

    return answer


def test_a_disturbed_sample_is_taken_again_but_not_for_ever() -> None:
    tasks = play(make(), lambda task: row(task, disturbed="load" if task.cell == CELLS[1] else ""))
    assert sum(task.cell == CELLS[1] for task in tasks) == 6 + 3


def test_a_machine_that_is_busy_all_the_time_does_not_double_the_run() -> None:
    cells = [cell(program=f"p{each}") for each in range(100)]
    tasks = play(make(cells), lambda task: row(task, disturbed="load"))
    assert len(tasks) == 100 * 6 + 60


def test_where_all_was_disturbed_there_is_more_if_there_is_time() -> None:
    def answer(task: Task) -> Row:
        return row(task, disturbed="load" if task.cell == CELLS[2] and task.round < 9 else "")

    counts = Counter(task.cell for task in play(make(budget_s=60.0), answer))
    assert counts[CELLS[2]] > 9 + 3
    assert counts[CELLS[1]] == 6


def test_only_uncertain_cells_go_on_after_six_samples() -> None:
    def uncertainty(samples: Sequence[float]) -> float:
        return 0.5 if samples[0] == 77e6 else 0.001

    tasks = play(
        make(uncertainty=uncertainty),
        lambda task: row(task, ns=77e6 if task.cell == CELLS[2] else 40e6),
    )
    counts = Counter(task.cell for task in tasks)
    assert counts[CELLS[2]] == QUICK.max_samples
    assert counts[CELLS[1]] == 6


def test_uncertain_serial_cells_go_first_then_the_most_uncertain() -> None:
    def uncertainty(samples: Sequence[float]) -> float:
        return samples[0] / 1e9

    times = dict(zip(CELLS, (50e6, 90e6, 60e6, 70e6, 80e6), strict=True))
    schedule = make(uncertainty=uncertainty)
    tasks = play(schedule, lambda task: row(task, ns=times[task.cell]))
    late = [times[task.cell] for task in tasks if task.round == 6]
    assert late == [times[SERIAL], *sorted((times[c] for c in CELLS[1:]), reverse=True)]
    assert "5 of 5 cells" in schedule.notes()[-1]


def test_cells_that_leave_a_verdict_open_go_before_others_however_sure_their_median() -> None:
    tasks = play(
        make(
            [SERIAL, *(cell(program="fib", variant=each, threads=2) for each in "abc")],
            uncertainty=lambda samples: 0.0 if samples[0] == 77e6 else 0.5,
            standings=stand({77e6: lambda count: Standing.OPEN if count < 9 else Standing.CLEAR}),
        ),
        lambda task: row(task, ns=77e6 if task.cell.variant == "c" else 40e6),
    )
    rounds = [
        [task.cell.variant for task in tasks if task.round == each]
        for each in range(6, 2 * QUICK.max_samples - 6)
    ]
    # A verdict that was open goes on when it is not: who stops as soon as it is clear errs more.
    more = QUICK.max_samples - 6
    assert rounds[:more] == [["plain", "c"]] * more
    assert rounds[more:] == [["plain", "a", "b"]] * more
    assert max(task.round for task in tasks) == 5 + 2 * more


def test_what_is_settled_waits_until_no_verdict_is_open() -> None:
    cells = [SERIAL, *(cell(program="fib", variant=each, threads=2) for each in "abc")]
    seconds = {"a": 1.0, "b": 0.1, "c": 0.1, "plain": 0.1}

    def answer(task: Task) -> Row:
        ns = {"a": 66e6, "b": 66e6, "c": 77e6}.get(task.cell.variant, 40e6)
        return row(task, ns=ns, facts={"wall_s": seconds[task.cell.variant]})

    def settled(count: int) -> Standing:
        assert count >= 2
        return Standing.SETTLED

    given = {66e6: settled, 77e6: lambda _: Standing.OPEN}
    most = QUICK.max_samples
    for budget_s, samples, doubted in ((7.6, 2, most), (60.0, 6, most), (None, 6, most)):
        schedule = make(cells, budget_s=budget_s, standings=stand(given))
        counts = Counter(task.cell.variant for task in play(schedule, answer))
        assert (counts["a"], counts["b"], counts["c"]) == (samples, samples, doubted)
        told = [note for note in schedule.notes() if "not change a verdict: fib tbb:a" in note]
        assert len(told) == (samples < 6)


def stand(by_time: dict[float, Callable[[int], Standing]]) -> Standings:
    """Standings of cells by their first time, from the number of their samples."""
    return lambda cases, _: [
        by_time.get(samples[0], lambda _: Standing.CLEAR)(len(samples)) for _, samples, _ in cases
    ]


def test_a_verdict_is_open_where_its_interval_lies_on_both_sides_of_a_limit() -> None:
    serial = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0]
    scales = [each / 1.9 for each in serial]
    near = [each / factor for each, factor in zip(serial, (1.5, 1.7) * 3, strict=True)]
    straddles = [each / factor for each, factor in zip(serial, (1.2, 1.6) * 3, strict=True)]
    cases = [(scales, 2), (near, 2), (straddles, 2), (straddles, 1)]
    assert standings([(serial, samples, threads) for samples, threads in cases], 0.0) == [
        Standing.SETTLED,
        Standing.CLEAR,
        Standing.OPEN,
        Standing.CLEAR,  # one thread decides no verdict
    ]


def test_a_verdict_is_open_where_what_the_correction_leaves_makes_it_so() -> None:
    serial = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0]
    case = (serial, [each / 1.5 for each in serial], 2)
    assert standings([case], 0.0) == [Standing.SETTLED]
    assert standings([case], 0.1**2) == [Standing.OPEN]


def test_a_budget_drops_repeats_above_six_before_cells() -> None:
    schedule = make(budget_s=5 * 6 * 0.11, uncertainty=lambda _: 1.0)
    tasks = play(schedule)
    counts = Counter(task.cell for task in tasks)
    assert min(counts.values()) == 6
    assert counts[SERIAL] < 9  # there is no time to take it twice in each round
    assert not schedule.dropped()


def test_a_budget_drops_the_least_telling_cells_and_says_so() -> None:
    cells = [
        SERIAL,
        *(cell(threads=each) for each in (1, 2, 4)),
        cell(threads=4, allocator="jemalloc"),
    ]
    # Fewer threads than the most go first, then the last samples of the other allocator.
    for budget_s, whole in ((2.7, 4), (2.1, 3), (1.7, 2), (1.4, 1)):
        schedule = make(cells, budget_s=budget_s)
        counts = Counter(task.cell for task in play(schedule))
        assert sum(each >= 6 for each in counts.values()) == whole
        assert counts[SERIAL] >= 6
        assert (counts[cells[3]] == 6) is (whole > 1)
        assert (counts[cells[4]] == 6) is (whole > 2)
        assert min(counts[cells[3]], counts[cells[4]]) >= 3
        assert "budget" in schedule.notes()[0]
    assert "fib tbb:futures gcc jemalloc x4" in schedule.notes()[1]


def test_cells_whose_verdict_is_settled_by_a_failure_are_dropped_first() -> None:
    cells = [SERIAL, *(cell(program="fib", variant=v, threads=p) for v in "ab" for p in (1, 2))]

    def answer(task: Task) -> Row:
        failed = task.cell.variant == "b" and task.cell.threads == 2
        return row(task, status=Status.TIMEOUT if failed else Status.OK)

    tasks = play(make(cells, budget_s=6 * 3 * 0.11 + 0.3), answer)
    counts = Counter((task.cell.variant, task.cell.threads) for task in tasks)
    assert counts["plain", 1] >= 6
    assert counts["a", 1] == counts["a", 2] == 6
    assert (counts["b", 1], counts["b", 2]) == (0, 1)


def test_a_time_out_of_a_busy_machine_is_taken_again() -> None:
    cells = [SERIAL, cell(program="fib", threads=2)]
    stolen = iter(("the hypervisor took 45 % of the processors' time", "", ""))

    def answer(task: Task) -> Row:
        if task.cell == SERIAL:
            return row(task)
        disturbed = next(stolen)
        return row(task, status=Status.TIMEOUT, disturbed=disturbed)

    tasks = play(make(cells), answer)
    assert Counter(task.cell for task in tasks) == {SERIAL: 14, cells[1]: 2}


def test_what_ended_once_is_not_stopped_for_a_noisy_moment() -> None:
    cells = [SERIAL, cell(program="fib", threads=2)]
    tasks = play(make(cells), lambda task: row(task, ns=40e6 if task.cell == SERIAL else 600e6))
    limits = [task.repeat_limit_s for task in tasks if task.cell == cells[1]]
    assert limits[0] < 1.7 < min(limits[1:])


def test_a_used_up_budget_ends_the_run_and_names_what_was_not_measured() -> None:
    schedule = make(budget_s=0.25)
    tasks = play(schedule)
    assert len(tasks) == 3
    dropped = schedule.dropped()
    assert len(dropped) == 2
    assert all("budget" in reason for reason in dropped.values())


def test_what_was_given_up_in_a_slow_moment_comes_back() -> None:
    cells = [cell(program=f"p{each}") for each in range(40)]
    taken: Counter[Cell] = Counter()

    def answer(task: Task) -> Row:
        taken[task.cell] += 1
        slow = taken.total() <= 40  # the first round: as if all needed 40 x 6 x 0.5 s = 120 s
        return row(task, facts={"wall_s": 0.5 if slow else 0.1})

    schedule = make(cells, budget_s=60)
    play(schedule, answer)
    assert min(taken.values()) >= QUICK.min_samples
    assert not schedule.dropped()


def test_no_run_with_a_budget_goes_on_much_beyond_it() -> None:
    cells = [cell(program=f"p{each}") for each in range(200)]
    spent = [0.0]

    def answer(task: Task) -> Row:
        spent[0] += 0.1
        return row(task)

    play(make(cells, budget_s=30), answer)
    assert spent[0] <= 30.2


def test_a_resumed_run_does_what_was_left() -> None:
    whole = play(make())
    for cut in (0, 1, 4, 7, 29):
        schedule = make()
        rows = [row(task) for task in whole[:cut]]
        assert schedule.replay(rows) == sum(each.facts["wall_s"] for each in rows)
        rest = play(schedule)
        done = Counter(task.cell for task in whole[:cut] + rest)
        assert 12 <= done.pop(SERIAL) <= 14  # its other processes of the round are not made up for
        assert done == dict.fromkeys(CELLS[1:], 6)
        assert all(a.round <= b.round for a, b in pairwise(rest))


def test_thread_counts_double_up_to_the_processors() -> None:
    assert thread_counts(QUICK, 1) == (1,)
    assert thread_counts(QUICK, 2) == (2,)
    assert thread_counts(QUICK, 12) == (2, 4, 8, 12)
    assert thread_counts(PROFILES["full"], 12) == (1, 2, 4, 8, 12)
    assert thread_counts(PROFILES["smoke"], 12) == (1, 2)

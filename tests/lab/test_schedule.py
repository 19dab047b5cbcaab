"""The order of measuring, its limits and its budget, simulated without a clock."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from lab_support import cell
from threadmark.judge.evidence import FEWEST_ROUNDS, fastest
from threadmark.kinds.tasks.profiles import PROFILES
from threadmark.kinds.tasks.prospects import prospects
from threadmark.measure.known import Prospect, Prospects
from threadmark.measure.observation import observation
from threadmark.measure.schedule import Schedule, Task
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.effort import thread_counts, time_budget_s

QUICK = PROFILES["quick"]
SERIAL = cell(backend="serial", variant="plain")
CELLS = [SERIAL, cell(), cell(threads=2), cell(variant="fork_join"), cell(program="sort")]


def row(task: Task, *, status: Status = Status.OK, ns: float = 40e6, **changes: object) -> Row:
    """The row of a process of `task`. It takes a tenth of a second unless `changes` has another
    time."""
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
    """Run the schedule to its end. Time passes by the rows."""
    elapsed_s, tasks = begin_s, []
    while task := schedule.next(elapsed_s):
        made = answer(task)
        elapsed_s += float(made.facts["wall_s"])
        schedule.record(observation(made))
        tasks.append(task)
        assert len(tasks) < 10000
    return tasks


def test_every_cell_gets_six_samples_and_rounds_alternate() -> None:
    tasks = play(make(CELLS[1:]))
    assert Counter(task.cell for task in tasks) == dict.fromkeys(CELLS[1:], 6)
    assert [task.round for task in tasks] == [r for r in range(6) for _ in CELLS[1:]]


@pytest.mark.parametrize("budget_s", [None, 30.0])
def test_the_cells_that_go_on_are_those_of_the_time_that_is_left(budget_s: float | None) -> None:
    schedule, elapsed_s = make(budget_s=budget_s), 0.0
    while schedule.remaining_s(elapsed_s) > 0:
        assert schedule.going_on(elapsed_s)
        task = schedule.next(elapsed_s)
        # With a budget a cell may get more than the fewest samples, while the budget lasts.
        elapsed_s += 0.1
        if task is None:
            break
        schedule.record(observation(row(task)))
    if budget_s is None:
        assert not schedule.going_on(elapsed_s)
    else:
        assert not schedule.left()
        assert schedule.going_on(elapsed_s)
        assert not schedule.going_on(budget_s)


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
    assert limits[CELLS[4]] == 10  # the serial time of sort is unknown


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
    assert counts[CELLS[2]] >= 9 + FEWEST_ROUNDS
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


def needs(by_time: dict[float, float]) -> Prospects:
    """The rounds that verdicts need, by the time of the cell if serial takes 40 ms."""
    by_speedup = {round(40e6 / ns, 6): rounds for ns, rounds in by_time.items()}

    def found(cases: Sequence[tuple[Sequence[float], int]]) -> list[Prospect]:
        needed = [by_speedup.get(round(speedups[0], 6), 0.0) for speedups, _ in cases]
        return [
            Prospect(rounds, sure=rounds <= len(speedups))
            for rounds, (speedups, _) in zip(needed, cases, strict=True)
        ]

    return found


def test_what_is_compared_is_measured_side_by_side() -> None:
    programs = ("fib", "sort", "uts")
    cells = [
        cell(program=each, backend=backend, variant=variant, threads=threads)
        for each in programs
        for backend, variant, threads in (
            ("serial", "plain", 1), ("tbb", "a", 2), ("tbb", "b", 2), ("tbb", "c", 2)
        )
    ]  # fmt: skip
    # Check every round but the first. Rounds for open verdicts leave out some cells.
    schedule = make(cells, prospects=needs({77e6: 99.0}), uncertainty=lambda _: 1.0)
    tasks = play(schedule, lambda task: row(task, ns=77e6 if task.cell.variant in "ab" else 40e6))
    rounds = max(task.round for task in tasks)
    assert rounds > 10
    for number in range(1, rounds + 1):
        order = [task.cell.program for task in tasks if task.round == number]
        changes = sum(a != b for a, b in pairwise(order))
        assert changes == len(set(order)) - 1
        for program in set(order):
            assert any(t.cell.backend == "serial" for t in tasks if t.round == number
                       and t.cell.program == program)  # fmt: skip


THREE = [SERIAL, *(cell(program="fib", variant=each, threads=2) for each in "abc")]


def test_verdicts_that_are_not_sure_go_on_before_others_get_their_six_samples() -> None:
    schedule = make(THREE, budget_s=14 * 0.3, prospects=needs({66e6: 12.0}))
    tasks = play(schedule, lambda task: row(task, ns=66e6 if task.cell.variant == "c" else 40e6))
    rounds = [
        sorted(task.cell.variant for task in tasks if task.round == each) for each in range(14)
    ]
    assert rounds[:3] == [["a", "b", "c", "plain"]] * 3
    assert rounds[3:12] == [["c", "plain"]] * 9
    assert {"a", "b"} <= set(rounds[12])
    schedule = make(THREE, budget_s=12 * 0.22 + 0.7, prospects=needs({66e6: 12.0}))
    play(schedule, lambda task: row(task, ns=66e6 if task.cell.variant == "c" else 40e6))
    assert "not change a verdict: fib tbb:a" in " ".join(schedule.notes())


def test_without_a_budget_all_have_six_samples_and_the_unsure_as_many_as_they_may() -> None:
    tasks = play(
        make(THREE, prospects=needs({66e6: 99.0})),
        lambda task: row(task, ns=66e6 if task.cell.variant == "c" else 40e6),
    )
    counts = Counter(task.cell.variant for task in tasks)
    assert counts == {"a": 6, "b": 6, "c": QUICK.max_samples, "plain": QUICK.max_samples}


def test_a_speed_up_on_a_limit_does_not_take_the_time_of_those_that_can_become_sure() -> None:
    given = needs({50e6: 1e6, 60e6: 20.0, 70e6: 30.0})
    times = {"a": 50e6, "b": 60e6, "c": 70e6, "plain": 40e6}

    def counts(budget_s: float) -> Counter[str]:
        schedule = make(THREE, budget_s=budget_s, prospects=given)
        tasks = play(schedule, lambda task: row(task, ns=times[task.cell.variant]))
        return Counter(task.cell.variant for task in tasks)

    # Three rounds of all take 1.3 s, the rest of b alone 3.7 s, of b and c with their base 8.0 s.
    some, more, all_sure = counts(6.0), counts(12.0), counts(30.0)
    assert some["b"] == 20 > some["c"] >= some["a"]
    assert (more["b"], more["c"]) == (20, 30)
    assert all_sure["a"] > 30


def test_what_a_verdict_lacks_follows_from_its_distance_to_the_limits() -> None:
    wide = [1.8, 2.0, 1.9, 1.7, 2.1, 1.9]
    tight = [each**0.1 * 1.9**0.9 for each in wide]

    def needed(speedups: Sequence[float], threads: int = 2) -> float:
        return prospects([(speedups, threads)])[0].rounds

    assert needed(tight) == FEWEST_ROUNDS
    near = needed([each * 1.41 / 1.9 for each in tight])  # 1.4 is the limit
    assert near > 6
    # With a spread ten times as large the verdict needs about a hundred times as many rounds.
    assert needed([each * 1.41 / 1.9 for each in wide]) > 30 * near
    for speedup, threads in ((1.09, 2), (0.915, 2), (1.11, 16), (11.3, 16)):
        assert needed([each * speedup / 1.9 for each in tight], threads) > FEWEST_ROUNDS
    assert needed([each * 0.5 / 1.9 for each in tight]) == FEWEST_ROUNDS
    assert needed([each * 1.09 / 1.9 for each in tight], 1) == FEWEST_ROUNDS
    assert needed([1.4] * 6) == math.inf  # the spread is unknown
    assert needed(wide[:1]) == math.inf


def test_a_verdict_is_sure_at_a_higher_level_than_it_is_definite() -> None:
    clear = [1.50, 1.54, 1.46, 1.52, 1.47, 1.5]
    barely = [1.47, 1.56, 1.41, 1.53, 1.42, 1.5]  # 95 %: 1.42 to 1.55; 99 %: below 1.4
    found = prospects([(clear, 2), (barely, 2), ([1.2, 1.6] * 3, 2)])
    assert [each.sure for each in found] == [True, False, False]
    assert [each.rounds <= 6 for each in found] == [True, True, False]


def test_allocators_have_serial_times_of_their_own() -> None:
    cells = [
        cell(program="fib", backend=backend, variant="plain", threads=threads, allocator=name)
        for name in ("glibc", "jemalloc")
        for backend, threads in (("serial", 1), ("tbb", 2))
    ]
    seen: list[float] = []

    def lacking(cases: Sequence[tuple[Sequence[float], int]]) -> list[Prospect]:
        seen.extend(round(speedup, 6) for speedups, _ in cases for speedup in speedups)
        return [Prospect(99.0, sure=False)] * len(cases)

    # With jemalloc everything takes four times as long, so the speed-up is the same.
    times = {("serial", "glibc"): 40e6, ("tbb", "glibc"): 20e6}
    times |= {(backend, "jemalloc"): 4 * ns for (backend, _), ns in times.items()}
    play(
        make(cells, prospects=lacking, budget_s=30.0),
        lambda task: row(task, ns=times[task.cell.backend, task.cell.allocator]),
    )
    assert set(seen) == {2.0}


def test_a_budget_drops_repeats_before_cells() -> None:
    schedule = make(budget_s=5 * 4 * 0.11, uncertainty=lambda _: 1.0)
    counts = Counter(task.cell for task in play(schedule))
    assert 3 <= min(counts.values()) < 6
    assert not schedule.dropped()


def test_a_budget_drops_whole_columns_and_says_so() -> None:
    cells = [
        SERIAL,
        *(cell(program="fib", variant="a", threads=each) for each in (1, 2, 4)),
        *(cell(program="fib", variant="b", threads=each) for each in (2, 4)),
    ]
    # A number of one thread decides no verdict and goes first. Then a column goes with all of its
    # numbers of threads, because it would have no verdict with only some of them.
    for budget_s, with_one, whole_columns in ((5.0, True, 2), (1.75, False, 2), (1.2, False, 1)):
        schedule = make(cells, budget_s=budget_s)
        counts = Counter(task.cell for task in play(schedule))
        enough = [each for each in cells if each.threads > 1 and counts[each] >= FEWEST_ROUNDS]
        columns = Counter(each.variant for each in enough)
        assert list(columns.values()) == [2] * whole_columns
        assert (counts[cells[1]] >= FEWEST_ROUNDS) is with_one
        assert counts[SERIAL] >= FEWEST_ROUNDS
        assert ("budget" in " ".join(schedule.notes())) is not with_one


def test_cells_whose_verdict_is_settled_by_a_failure_are_dropped_first() -> None:
    cells = [SERIAL, *(cell(program="fib", variant=v, threads=p) for v in "ab" for p in (2, 4))]

    def answer(task: Task) -> Row:
        failed = task.cell.variant == "b" and task.cell.threads == 4
        return row(task, status=Status.TIMEOUT if failed else Status.OK)

    tasks = play(make(cells, budget_s=3 * 3 * 0.11 + 0.45), answer)
    counts = Counter((task.cell.variant, task.cell.threads) for task in tasks)
    assert min(counts["plain", 1], counts["a", 2], counts["a", 4]) >= 3
    assert counts["b", 2] <= min(counts["a", 2], counts["a", 4])
    assert counts["b", 4] == 1


def test_a_time_out_of_a_busy_machine_is_taken_again() -> None:
    cells = [SERIAL, cell(program="fib", threads=2)]
    stolen = iter(("the hypervisor took 45 % of the processors' time", "", ""))

    def answer(task: Task) -> Row:
        if task.cell == SERIAL:
            return row(task)
        disturbed = next(stolen)
        return row(task, status=Status.TIMEOUT, disturbed=disturbed)

    tasks = play(make(cells), answer)
    assert sum(task.cell == cells[1] for task in tasks) == 2


def test_what_ended_once_is_not_stopped_for_a_noisy_moment() -> None:
    cells = [SERIAL, cell(program="fib", threads=2)]
    tasks = play(make(cells), lambda task: row(task, ns=40e6 if task.cell == SERIAL else 600e6))
    limits = [task.repeat_limit_s for task in tasks if task.cell == cells[1]]
    assert limits[0] < 1.7 < min(limits[1:])


def test_a_used_up_budget_ends_the_run_and_names_what_was_not_measured() -> None:
    schedule = make(budget_s=0.35)
    tasks = play(schedule)
    measured = {task.cell for task in tasks}
    assert SERIAL in measured
    dropped = schedule.dropped()
    assert dropped.keys() == set(CELLS) - measured
    assert dropped
    assert all("budget" in reason for reason in dropped.values())


def test_what_was_given_up_in_a_slow_moment_comes_back() -> None:
    cells = [cell(program=f"p{each}") for each in range(40)]
    taken: Counter[Cell] = Counter()

    def answer(task: Task) -> Row:
        taken[task.cell] += 1
        slow = taken.total() <= 40  # the first round, as if all needed 40 x 6 x 0.5 s = 120 s
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
        assert schedule.replay(map(observation, rows)) == sum(each.facts["wall_s"] for each in rows)
        rest = play(schedule)
        done = Counter(task.cell for task in whole[:cut] + rest)
        assert done.pop(SERIAL) >= 6
        assert done == dict.fromkeys(CELLS[1:], 6)
        assert all(a.round <= b.round for a, b in pairwise(rest))
        # The lab compares no sample from before the interruption with one from after it.
        assert not {task.round for task in whole[:cut]} & {task.round for task in rest}


def test_a_column_that_comes_back_is_measured_beside_what_it_is_compared_with() -> None:
    cells = [SERIAL, *(cell(program="fib", variant=each, threads=2) for each in "abcdef")]
    taken: Counter[Cell] = Counter()

    def answer(task: Task) -> Row:
        taken[task.cell] += 1
        slow = taken.total() <= len(cells)  # as if the time allowed no second round of all
        return row(task, facts={"wall_s": 2.0 if slow else 0.1})

    tasks = play(make(cells, budget_s=25.0), answer)
    for each in cells[1:]:
        own = {task.round for task in tasks if task.cell == each}
        base = {task.round for task in tasks if task.cell == SERIAL}
        assert len(own & base) >= FEWEST_ROUNDS
        assert own <= base


def test_thread_counts_double_up_to_the_cores() -> None:
    assert thread_counts(QUICK, 1) == (1,)
    assert thread_counts(QUICK, 2) == (2,)
    assert thread_counts(QUICK, 12) == (2, 4, 8, 12)
    assert thread_counts(PROFILES["full"], 12) == (1, 2, 4, 8, 12)
    assert thread_counts(PROFILES["smoke"], 12) == (1, 2)


def test_the_budget_grows_with_the_numbers_of_threads_that_decide_verdicts() -> None:
    assert time_budget_s(QUICK, (1,)) == time_budget_s(QUICK, (1, 2)) == 340
    assert time_budget_s(QUICK, (2, 4)) == 544
    assert time_budget_s(QUICK, (2, 4, 8)) == time_budget_s(QUICK, (2, 4, 8, 16)) == 680
    assert time_budget_s(PROFILES["full"], (1, 2, 4)) is None


def with_columns(programs: int, columns: int) -> list[Cell]:
    """Serial cells and `columns` columns on two threads for each program."""
    return [
        cell(program=f"p{number:02}", backend=backend, variant=f"v{column}", threads=threads)
        for number in range(programs)
        for column, (backend, threads) in enumerate([("serial", 1), *[("tbb", 2)] * columns])
    ]


@pytest.mark.parametrize("share", [0.3, 0.95, 1.2, 2.5])
def test_a_budget_below_three_rounds_of_all_gives_as_many_columns_three_rounds(
    share: float,
) -> None:
    cells = with_columns(10, 10)
    round_s = len(cells) * 0.11
    counts = Counter(task.cell for task in play(make(cells, budget_s=share * round_s)))
    judged = [each for each in cells if each.threads == 2 and counts[each] >= FEWEST_ROUNDS]
    some = [each for each in cells if each.threads == 2 and 0 < counts[each] < FEWEST_ROUNDS]
    # A third of the rounds that fit, less the time of serial cells and the first guesses.
    assert len(judged) >= 0.6 * (100 * share / 3 - 10)
    assert len(some) <= 0.35 * 100


def test_a_base_that_fails_late_ends_neither_in_a_loop_nor_in_useless_rounds() -> None:
    for budget_s in (3.0, 60.0, None):
        cells = with_columns(1, 3)
        taken: Counter[Cell] = Counter()

        def answer(task: Task, taken: Counter[Cell] = taken) -> Row:
            taken[task.cell] += 1
            late = task.cell.backend == "serial" and taken[task.cell] > 3
            return row(task, status=Status.CRASHED if late else Status.OK)

        schedule = make(cells, budget_s=budget_s, prospects=needs({40e6: 99.0}))
        play(schedule, answer)
        assert taken[cells[0]] == 4
        assert max(taken[each] for each in cells[1:]) <= QUICK.min_samples


def test_a_base_that_is_always_disturbed_is_tried_as_long_as_there_is_time() -> None:
    cells = with_columns(1, 2)

    def answer(task: Task) -> Row:
        calm = task.cell.backend != "serial" or task.round >= 15
        return row(task, disturbed="" if calm else "load")

    tasks = play(make(cells, budget_s=60.0), answer)
    assert max(task.round for task in tasks) >= 17
    own = [{task.round for task in tasks if task.cell == each} for each in cells]
    assert len(set.intersection(*own) - set(range(15))) >= FEWEST_ROUNDS


@pytest.mark.parametrize(("budget_s", "helps"), [(1e6, False), (3.0, True), (None, False)])
def test_more_budget_is_advised_where_the_budget_ended_the_run(
    budget_s: float | None, helps: bool
) -> None:
    schedule = make(CELLS[:2], budget_s=budget_s, uncertainty=lambda _: 1.0)
    play(schedule)
    (note,) = schedule.notes()
    assert "a quieter machine" in note
    assert ("--budget" in note) is helps


def test_nothing_is_said_to_be_sure_that_has_no_evidence() -> None:
    cells = with_columns(1, 2)
    schedule = make(cells, budget_s=3.0)
    play(schedule, lambda task: row(task, disturbed="load"))
    assert "would not change a verdict" not in " ".join(schedule.notes())


def test_what_is_not_installed_does_not_change_the_first_round() -> None:
    schedule = make(with_columns(3, 3))
    absent = cell(program="p00", backend="absent", threads=1)
    schedule.replay([observation(row(Task(absent, 0, 1, 1.0), status=Status.UNAVAILABLE))])
    tasks = play(schedule, lambda task: row(task, ns=10e6))
    assert tasks[0].round == 0
    # The schedule knows the problem's serial time before it needs the limit of any cell.
    limits = {task.repeat_limit_s for task in tasks if task.cell.backend != "serial"}
    assert limits == {QUICK.limit_floor_s}

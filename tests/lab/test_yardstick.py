"""Times are corrected for slowed processors, and for nothing else."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, variance

import numpy as np
import pytest
from lab_support import cell
from threadmark import cli, exchange, statistics, yardstick
from threadmark.cell import Cell, Row, Run, Status
from threadmark.judgement import judge
from threadmark.known import Known, all_clear
from threadmark.profile import PROFILES
from threadmark.schedule import Schedule
from threadmark.store import Store
from threadmark.verdict import Kind

QUIET_NS = 11_500.0
POWER = 0.8


def corrected(rows: list[Row]) -> list[Row]:
    return yardstick.corrected(rows, yardstick.scales(rows))


def row(of: Cell, ns: float, factor: float, **changes: object) -> Row:
    """A process whose processor took `factor` times as long as it can; in the warm-up far more."""
    lines = [
        {"repeat": i, "warmup": i == 0, "wall_ns": ns, "yardstick_ns": QUIET_NS * times}
        for i, times in enumerate((9 * factor, factor))
    ]
    values = {"sample_ns": ns, "repeats": tuple(lines), "round": 0, "status": Status.OK}
    return Row(cell=of, **(values | changes))  # type: ignore[arg-type]


def slow_states(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of the processor: two in five samples are slowed, by up to 60 %."""
    return np.where(
        rng.random(count) < 0.4, rng.uniform(1.1, 1.6, count), 1 + rng.random(count) / 99
    )


def samples(
    rng: np.random.Generator, of: Cell, ns: float, count: int = 8, power: float = POWER
) -> list[Row]:
    """Rows of a cell that takes `ns` by itself and follows the yardstick."""
    return [
        row(of, ns * factor**power * float(np.exp(rng.normal(0, 0.01))), factor, round=i)
        for i, factor in enumerate(slow_states(rng, count))
    ]


def run(rng: np.random.Generator, cells: int = 24, **of: object) -> tuple[list[Row], list[float]]:
    """Rows of cells with two threads, and what the cells take by themselves."""
    times = [1e7 * (1 + i / 5) for i in range(cells)]
    return [
        each
        for i, time in enumerate(times)
        for each in samples(rng, cell(**({"program": f"p{i:02}", "threads": 2} | of)), time)
    ], times


def medians(rows: list[Row]) -> list[float]:
    found: dict[Cell, list[float]] = defaultdict(list)
    for each in rows:
        found[each.cell].append(each.sample_ns or 0)
    return [median(times) for times in found.values()]


def spread(rows: list[Row], times: list[float]) -> float:
    """Standard deviation of the medians' errors, but for a common factor."""
    errors = [math.log(x / y) for x, y in zip(medians(rows), times, strict=True)]
    return float(np.std(errors))


def test_times_that_follow_the_yardstick_spread_less_and_are_the_same_on_average() -> None:
    rows, times = run(np.random.default_rng(3))
    now = corrected(rows)
    assert spread(now, times) < spread(rows, times) / 3
    both = [fmean(math.log(each.sample_ns or 0) for each in x) for x in (rows, now)]
    assert both[0] == pytest.approx(both[1], abs=1e-9)


@pytest.mark.parametrize("power", [0.0, -1.0])
def test_times_that_do_not_follow_the_yardstick_stay_as_they_are(power: float) -> None:
    rng = np.random.default_rng(4)
    rows = [r for i in range(24) for r in samples(rng, cell(program=f"p{i}"), 1e7, power=power)]
    assert medians(corrected(rows)) == pytest.approx(medians(rows), rel=0.03)


def test_how_far_times_follow_is_told_by_cells_with_as_many_threads() -> None:
    rng = np.random.default_rng(5)
    rows = [
        each
        for threads, power in ((1, 0.9), (2, 0.3))
        for i in range(24)
        for each in samples(rng, cell(program=f"p{i}", threads=threads), 1e7, power=power)
    ]
    found = {scale.threads: scale.exponent for scale in yardstick.scales(rows)}
    assert found == {1: pytest.approx(0.9, abs=0.04), 2: pytest.approx(0.3, abs=0.04)}


def test_times_are_corrected_by_no_more_than_the_yardstick_says() -> None:
    rng = np.random.default_rng(15)
    rows = [r for i in range(24) for r in samples(rng, cell(program=f"p{i}"), 1e7, power=1.6)]
    assert [scale.exponent for scale in yardstick.scales(rows)] == [1.0]


def test_ten_cells_tell_what_is_usual() -> None:
    rows, _ = run(np.random.default_rng(16), cells=10)
    assert len(yardstick.scales(rows)) == 1
    assert yardstick.scales([each for each in rows if each.cell.program != "p00"]) == []


def test_a_program_with_two_ways_of_going_keeps_both() -> None:
    rng = np.random.default_rng(5)
    rows, _ = run(rng)
    of = cell(program="two ways", threads=2)
    rows += [row(of, (7e6, 14e6)[i % 2] * f**POWER, f) for i, f in enumerate(slow_states(rng, 12))]
    times = [each.sample_ns or 0 for each in corrected(rows) if each.cell == of]
    assert times[::2] == pytest.approx([median(times[::2])] * 6, rel=0.05)
    assert times[1::2] == pytest.approx([2 * median(times[::2])] * 6, rel=0.05)


@pytest.mark.parametrize("own", [{"threads": 4}, {"platform": "clang"}, {"backend": "openmp"}])
def test_what_a_process_takes_by_nature_changes_no_time(own: dict[str, object]) -> None:
    """A clock that falls with more threads, another compiler, a backend's idle threads."""
    rows, _ = run(np.random.default_rng(6))
    slower = [
        row(cell(**({"program": f"p{i}", "threads": 2} | own)), 1e7 + j, 1.3)
        for i in range(20)
        for j in range(6)
    ]
    now = corrected(rows + slower)
    assert [each.sample_ns for each in now[len(rows) :]] == pytest.approx(
        [each.sample_ns for each in slower]
    )
    assert medians(now[: len(rows)]) == pytest.approx(medians(corrected(rows)))


def test_what_has_no_yardstick_or_too_few_beside_it_is_as_it_was() -> None:
    rng = np.random.default_rng(7)
    rows, _ = run(rng)
    without = [
        row(cell(program="old"), 1e7, 1.5, repeats=({"repeat": 1, "warmup": False},)),
        row(cell(program="published"), 1e7, 1.5, repeats=()),
        row(cell(program="catalogue", backend="threads"), 1e7, 1.5),
        row(cell(program="failed"), 1e7, 1.5, sample_ns=None, status=Status.TIMEOUT),
        *run(rng, cells=9, backend="openmp")[0],
    ]
    assert corrected(rows + without)[len(rows) :] == without
    assert corrected(without) == without
    assert corrected([]) == []
    few = [each for each in rows if each.round < 2]  # 24 cells, one sample more each
    assert corrected(few) == few


def test_disturbed_rows_do_not_tell_what_is_usual() -> None:
    rng = np.random.default_rng(13)
    rows, _ = run(rng)
    disturbed = [row(each.cell, 5e7, 1.9, disturbed="busy", round=9) for each in rows[::3]]
    assert yardstick.scales(rows + disturbed) == yardstick.scales(rows)


def test_the_error_of_what_is_usual_is_that_of_rounds() -> None:
    """All cells of a round are slowed alike: four rounds are four samples, not forty-eight."""
    slow = [1.0, 1.4, 1.0, 1.1]
    rows = [
        row(cell(program=f"p{i}"), 1e7 * factor**0.5, factor, round=number)
        for number, factor in enumerate(slow)
        for i in range(12)
    ]
    (scale,) = yardstick.scales(rows)
    logs = [math.log(factor) for factor in slow]
    assert scale.exponent == pytest.approx(0.5)
    assert scale.usual_ns == pytest.approx(QUIET_NS * math.exp(fmean(logs)))
    assert scale.error == pytest.approx(0.5**2 * variance(logs) / 4)
    assert yardstick.shared([scale]) == 2 * scale.error
    assert yardstick.shared([]) == 0


@pytest.mark.parametrize("wild", [5e-324, 1e18])
def test_a_yardstick_that_means_nothing_changes_nothing(wild: float) -> None:
    rows, _ = run(np.random.default_rng(14))
    odd = row(rows[0].cell, 1e7, wild / QUIET_NS)
    assert yardstick.scales([*rows, odd]) == yardstick.scales(rows)
    assert corrected([*rows, odd])[-1] == odd


def both_ways(rng: np.random.Generator, cells: int, speedup: float, count: int = 6) -> list[Row]:
    """Serial cells, and those of two threads that gain `speedup`."""
    return [
        each
        for i in range(cells)
        for of, ns in (
            (cell(program=f"p{i:02}", backend="serial", variant="plain"), 2e7),
            (cell(program=f"p{i:02}", threads=2), 2e7 / speedup),
        )
        for each in samples(rng, of, ns, count)
    ]


def test_a_verdict_rests_on_corrected_times() -> None:
    rows = both_ways(np.random.default_rng(8), 14, 1.6)
    said = [j.verdict.kind for j in judge(rows) if j.cell.backend == "tbb"]
    assert said == [Kind.SCALES] * 14
    raw = [Row(x.cell, x.round, x.status, sample_ns=x.sample_ns, repeats=()) for x in rows]
    said = [j.verdict.kind for j in judge(raw) if j.cell.backend == "tbb"]
    assert said.count(Kind.SCALES) < 7


def slow_spells(rng: np.random.Generator, programs: int, rounds: int) -> list[Row]:
    """Serial and parallel cells, round by round, beside a neighbour who comes for some ten
    processes at a time. Times with two threads follow the yardstick less; one in twenty of them is
    disturbed, and its yardstick with it."""
    rows = []
    slow = 1.0
    for number in range(rounds):
        for i in rng.permutation(programs):
            for of, ns, power in (
                (cell(program=f"p{i:02}", backend="serial", variant="plain"), 2e7, 0.9),
                (cell(program=f"p{i:02}", threads=2), 2e7 / 1.5, 0.4),
            ):
                if rng.random() < 0.1:
                    slow = 1.0 if rng.random() < 0.6 else rng.uniform(1.1, 1.6)
                disturbed = of.threads > 1 and rng.random() < 0.05
                time = ns * slow**power * float(np.exp(rng.normal(0, 0.02)))
                changes = {"round": number, "disturbed": "busy" if disturbed else ""}
                rows.append(row(of, time, slow * (1.3 if disturbed else 1), **changes))
    return rows


SPELLS = 0.4 * fmean(math.log(x) for x in np.linspace(1.1, 1.6, 1000))  # mean of log(slow)


@pytest.mark.parametrize(
    ("rows", "speedup", "programs"),
    [
        (lambda rng: both_ways(rng, 10, 1.5), 1.5, 10),  # the fewest that tell what is usual
        (lambda rng: both_ways(rng, 28, 1.5), 1.5, 28),
        (lambda rng: slow_spells(rng, 28, 8), 1.5 * math.exp(0.5 * SPELLS), 28),
    ],
)
def test_intervals_of_corrected_times_cover_as_often_as_they_say(
    rows: Callable[[np.random.Generator], list[Row]], speedup: float, programs: int
) -> None:
    covered = of = 0
    estimates = []
    for seed in range(900 // programs):
        for judged in judge(rows(np.random.default_rng(seed))):
            if judged.cell.backend == "tbb":
                assert judged.verdict.speedup is not None
                covered += not judged.verdict.speedup.excludes(speedup)
                of += 1
                estimates.append(math.log(judged.verdict.speedup.estimate / speedup))
    assert covered / of >= 0.92
    assert fmean(estimates) == pytest.approx(0, abs=0.01)


def test_the_schedule_sees_corrected_times() -> None:
    rng = np.random.default_rng(9)
    rows = both_ways(rng, 14, 1.5)
    seen: list[list[float]] = []
    shared: list[float] = []
    schedule = Schedule(
        {each.cell for each in rows},
        PROFILES["quick"],
        seed=1,
        budget_s=None,
        uncertainty=lambda times: seen.append(list(times)) or 0.0,  # type: ignore[func-returns-value]
        standings=lambda cases, of: shared.append(of) or all_clear(cases, of),  # type: ignore[func-returns-value]
    )
    schedule.replay(rows)
    schedule.next(0)
    raw, now = defaultdict(list), defaultdict(list)
    for each, other in zip(rows, corrected(rows), strict=True):
        raw[each.cell].append(each.sample_ns)
        now[each.cell].append(other.sample_ns)
    assert set(shared) == {yardstick.shared(yardstick.scales(rows))} != {0.0}
    assert seen
    assert all(times in now.values() for times in seen)
    assert not any(times in raw.values() for times in seen)


def test_what_a_schedule_says_at_the_end_of_its_time_is_of_corrected_times() -> None:
    rows = both_ways(np.random.default_rng(9), 14, 1.5)
    schedule = Schedule(
        {each.cell for each in rows},
        PROFILES["quick"],
        seed=1,
        budget_s=10,
        uncertainty=lambda times: statistics.median_interval(times).half_width,
    )
    schedule.replay(rows)
    assert schedule.next(11) is None
    known = Known({each.cell for each in rows})
    for each in corrected(rows):
        known[each.cell].samples_ns.append(each.sample_ns or 0)
    widths = [statistics.median_interval(state.samples_ns).half_width for state in known.values()]
    loose = sum(width > PROFILES["quick"].target for width in widths)
    assert any(f"{loose} of 28 cells" in sentence for sentence in schedule.notes())


def test_a_verdict_does_not_depend_on_which_programs_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        for seed in (10, 11):
            number = store.start_run("quick", seed, {}, {})
            store.append_all(number, both_ways(np.random.default_rng(seed), 14, 1.45))
            store.finish(number)
    found = []
    for asked in ([], *(["--programs", f"p{i:02}"] for i in range(14))):
        words = ["compare", "1", "2", "--json", "--store", str(tmp_path / "s.db")]
        assert cli.main([*words, *asked]) == 0
        found.append(json.loads(capsys.readouterr().out)["verdicts"])
    whole, *alone = found
    assert 0 < len(whole["differ"]) < whole["of"] == 28
    assert whole["differ"] == [each for one in alone for each in one["differ"]]
    assert whole["of"] == sum(one["of"] for one in alone)


def test_what_is_shown_can_be_computed_from_what_is_exported() -> None:
    rows = both_ways(np.random.default_rng(12), 14, 1.5)
    of = Run(1, "", "", "quick", 1, {}, {})
    document = json.loads(exchange.to_json(of, rows, []))
    scales = {(x["platform"], x["backend"], x["threads"]): x for x in document["scales"]}
    times = defaultdict(list)
    for each in csv.DictReader(io.StringIO(exchange.to_csv(of, rows))):
        scale = scales[each["platform"], each["backend"], int(each["threads"])]
        factor = (scale["usual_ns"] / float(each["yardstick_ns"])) ** scale["exponent"]
        times[each["program"], each["backend"]].append(float(each["sample_ns"]) * factor)
    for said in document["verdicts"]:
        (time,) = said["times_ns"].values()
        own = times[said["program"], said["backend"]]
        assert time["estimate"] == pytest.approx(median(own))


def test_a_run_says_how_much_was_corrected() -> None:
    rows, _ = run(np.random.default_rng(9))
    (sentence,) = yardstick.note(rows)
    assert "of the samples by more than 10 %" in sentence
    assert "to the power of 0.8" in sentence or "to the power of 0.79" in sentence
    assert sentence.endswith(" with 2 threads).")
    mostly = [  # 1.28 is usual
        row(cell(program=f"p{i}"), 1e7 * factor, factor)
        for i in range(12)
        for factor in (1.0, 1.5, 1.0, 1.5, 1.5)
    ]
    mostly = [replace(each, round=i % 5) for i, each in enumerate(mostly)]
    assert "100 % of the samples" in yardstick.note(mostly)[0]  # shorter ones as well
    quiet = [row(each.cell, each.sample_ns or 0, 1.0) for each in rows]
    assert yardstick.note(quiet) == yardstick.note([]) == []

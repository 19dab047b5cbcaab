"""Times are corrected for slowed processors, and for nothing else."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest
from lab_support import cell
from threadmark import cli, exchange, statistics, yardstick
from threadmark.cell import Cell, Row, Run, Status
from threadmark.judgement import judge
from threadmark.known import Known
from threadmark.profile import PROFILES
from threadmark.schedule import Schedule
from threadmark.store import Store
from threadmark.verdict import Kind

QUIET_NS = 11_500.0
POWER = 0.8


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
    corrected = yardstick.corrected(rows)
    assert spread(corrected, times) < spread(rows, times) / 3
    both = [fmean(math.log(each.sample_ns or 0) for each in x) for x in (rows, corrected)]
    assert both[0] == pytest.approx(both[1], abs=1e-9)


@pytest.mark.parametrize("power", [0.0, -1.0])
def test_times_that_do_not_follow_the_yardstick_stay_as_they_are(power: float) -> None:
    rng = np.random.default_rng(4)
    rows = [r for i in range(24) for r in samples(rng, cell(program=f"p{i}"), 1e7, power=power)]
    assert medians(yardstick.corrected(rows)) == pytest.approx(medians(rows), rel=0.03)


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


def test_a_program_with_two_ways_of_going_keeps_both() -> None:
    rng = np.random.default_rng(5)
    rows, _ = run(rng)
    of = cell(program="two ways", threads=2)
    rows += [row(of, (7e6, 14e6)[i % 2] * f**POWER, f) for i, f in enumerate(slow_states(rng, 12))]
    times = [each.sample_ns or 0 for each in yardstick.corrected(rows) if each.cell == of]
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
    corrected = yardstick.corrected(rows + slower)
    assert [each.sample_ns for each in corrected[len(rows) :]] == pytest.approx(
        [each.sample_ns for each in slower]
    )
    assert medians(corrected[: len(rows)]) == pytest.approx(medians(yardstick.corrected(rows)))


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
    assert yardstick.corrected(rows + without)[len(rows) :] == without
    assert yardstick.corrected(without) == without
    assert yardstick.corrected([]) == []
    few = [each for each in rows if each.round < 2]  # 24 cells, one sample more each
    assert yardstick.corrected(few) == few


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


@pytest.mark.parametrize("cells", [10, 28])
def test_intervals_of_corrected_times_cover_as_often_as_they_say(cells: int) -> None:
    """Also with the fewest cells that tell what is usual."""
    covered = of = 0
    for seed in range(600 // cells):
        rows = both_ways(np.random.default_rng(seed), cells, 1.5)
        for judged in judge(rows):
            if judged.cell.backend == "tbb":
                assert judged.verdict.speedup is not None
                covered += not judged.verdict.speedup.excludes(1.5)
                of += 1
    assert covered / of >= 0.92


def test_the_schedule_sees_corrected_times() -> None:
    rng = np.random.default_rng(9)
    rows = both_ways(rng, 14, 1.5)
    seen: list[list[float]] = []
    schedule = Schedule(
        {each.cell for each in rows},
        PROFILES["quick"],
        seed=1,
        budget_s=None,
        uncertainty=lambda times: seen.append(list(times)) or 0.0,  # type: ignore[func-returns-value]
    )
    schedule.replay(rows)
    schedule.next(0)
    raw, now = defaultdict(list), defaultdict(list)
    for each, other in zip(rows, yardstick.corrected(rows), strict=True):
        raw[each.cell].append(each.sample_ns)
        now[each.cell].append(other.sample_ns)
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
    for each in yardstick.corrected(rows):
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
    for asked in ([], *(["--program", f"p{i:02}"] for i in range(14))):
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
    quiet = [row(each.cell, each.sample_ns or 0, 1.0) for each in rows]
    assert yardstick.note(quiet) == yardstick.note([]) == []

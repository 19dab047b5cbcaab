"""Times are corrected for slowed processors, and for nothing else."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

import numpy as np
import pytest
from lab_support import cell
from threadmark import statistics, yardstick
from threadmark.cell import Cell, Row, Status
from threadmark.judgement import judge
from threadmark.verdict import Kind

QUIET_NS = 11_500.0


def row(of: Cell, ns: float, factor: float, **changes: object) -> Row:
    """A process whose processors took `factor` times as long as they can."""
    lines = [
        {"repeat": i, "warmup": i == 0, "wall_ns": ns, "yardstick_ns": QUIET_NS * factor}
        for i in range(2)
    ]
    values = {"sample_ns": ns, "repeats": tuple(lines), "round": 0, "status": Status.OK}
    return Row(cell=of, **(values | changes))  # type: ignore[arg-type]


def slow_states(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of the processors: two in five samples are slowed, by up to 60 %."""
    return np.where(
        rng.random(count) < 0.4, rng.uniform(1.1, 1.6, count), 1 + rng.random(count) / 99
    )


def run(rng: np.random.Generator, power: float, samples: int = 8) -> tuple[list[Row], list[float]]:
    """Rows of 24 cells that follow the yardstick, and what the cells take by themselves."""
    rows, times = [], []
    for i in range(24):
        times.append(1e7 * (1 + i / 5))
        for factor in slow_states(rng, samples):
            noise = float(np.exp(rng.normal(0, 0.02)))
            of = cell(program=f"p{i:02}", threads=2)
            rows.append(row(of, times[-1] * factor**power * noise, float(factor)))
    return rows, times


def medians(rows: list[Row]) -> list[float]:
    found: dict[str, list[float]] = defaultdict(list)
    for each in rows:
        found[each.cell.program].append(each.sample_ns or 0)
    return [median(found[name]) for name in sorted(found)]


@pytest.mark.parametrize("power", [0.3, 0.6, 1.0])
def test_times_become_those_of_processors_that_nobody_slowed(power: float) -> None:
    rows, times = run(np.random.default_rng(3), power)
    assert yardstick.exponent(rows, yardstick.slowed(rows)) == pytest.approx(power, abs=0.07)
    raw = [abs(x / y - 1) for x, y in zip(medians(rows), times, strict=True)]
    now = [abs(x / y - 1) for x, y in zip(medians(yardstick.corrected(rows)), times, strict=True)]
    assert max(now) < 0.04
    assert sum(now) < sum(raw) / 2


@pytest.mark.parametrize("power", [0.0, -1.0])
def test_times_that_do_not_follow_the_yardstick_stay_as_they_are(power: float) -> None:
    rows, _ = run(np.random.default_rng(4), power)
    kept = yardstick.corrected(rows)
    assert medians(kept) == pytest.approx(medians(rows), rel=0.03)


def test_a_program_with_two_ways_of_going_keeps_both() -> None:
    rng = np.random.default_rng(5)
    rows, _ = run(rng, 0.6)
    of = cell(program="two ways", threads=2)
    rows += [row(of, (7e6, 14e6)[i % 2] * f**0.6, f) for i, f in enumerate(slow_states(rng, 12))]
    times = [each.sample_ns or 0 for each in yardstick.corrected(rows) if each.cell == of]
    assert times[::2] == pytest.approx([7e6] * 6, rel=0.05)
    assert times[1::2] == pytest.approx([14e6] * 6, rel=0.05)


def test_what_more_threads_or_another_compiler_take_by_nature_is_no_disturbance() -> None:
    rows, _ = run(np.random.default_rng(6), 0.6)
    many = cell(program="p00", threads=4)
    other = cell(program="p00", threads=2, platform="clang")
    rows += [row(of, 1e7, 1.3) for of in (many, other) for _ in range(6)]
    assert [x.sample_ns for x in yardstick.corrected(rows) if x.cell in (many, other)] == [1e7] * 12


def test_what_has_no_yardstick_is_as_it_was() -> None:
    rows, _ = run(np.random.default_rng(7), 0.6)
    without = [
        row(cell(program="old"), 1e7, 1.5, repeats=({"repeat": 1, "warmup": False},)),
        row(cell(program="published"), 1e7, 1.5, repeats=()),
        row(cell(program="catalogue", backend="threads"), 1e7, 1.5),
        row(cell(program="failed"), 1e7, 1.5, sample_ns=None, status=Status.TIMEOUT),
    ]
    assert yardstick.corrected(rows + without)[-4:] == without
    assert yardstick.corrected([]) == []
    assert yardstick.corrected(rows[:20]) == rows[:20]  # too few to tell how far times follow


def test_a_verdict_is_that_of_undisturbed_processors() -> None:
    rng = np.random.default_rng(8)
    rows = []
    for i in range(12):
        serial = cell(program=f"p{i:02}", backend="serial", variant="plain", threads=1)
        both = cell(program=f"p{i:02}", threads=2)
        for _ in range(6):
            slow = float(rng.uniform(1.3, 1.5))  # whenever two threads run, but for a moment
            rows += [
                row(serial, 2e7 * float(np.exp(rng.normal(0, 0.01))), 1.0),
                row(both, 1.15e7 * slow**0.9, slow),
            ]
        rows.append(row(both, 1.15e7, 1.0))
    kinds = {j.verdict.kind for j in judge(rows) if j.cell.backend == "tbb"}
    assert kinds == {Kind.SCALES}
    raw = [Row(x.cell, x.round, x.status, sample_ns=x.sample_ns, repeats=()) for x in rows]
    assert Kind.SCALES not in {j.verdict.kind for j in judge(raw) if j.cell.backend == "tbb"}


def test_intervals_of_corrected_times_cover_as_often_as_they_say() -> None:
    covered = of = 0
    for seed in range(20):
        rows, times = run(np.random.default_rng(seed), 0.6, samples=6)
        samples: dict[str, list[float]] = defaultdict(list)
        for each in yardstick.corrected(rows):
            samples[each.cell.program].append(each.sample_ns or 0)
        names = sorted(samples)
        spread = statistics.common_spread(samples.values())
        for name, time in zip(names[1:], times[1:], strict=True):
            ratio = statistics.ratio_of_medians(samples[names[0]], samples[name], spread=spread)
            covered += not ratio.excludes(times[0] / time)
            of += 1
    assert covered / of >= 0.93


def test_a_run_says_how_much_was_slowed_and_corrected() -> None:
    rows, _ = run(np.random.default_rng(9), 0.6)
    (sentence,) = yardstick.note(rows)
    assert "in 4" in sentence or "in 3" in sentence  # two samples in five
    assert "to the power of 0.6" in sentence or "to the power of 0.5" in sentence
    quiet = [row(each.cell, each.sample_ns or 0, 1.0) for each in rows]
    assert yardstick.note(quiet) == yardstick.note([]) == []

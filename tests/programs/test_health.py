"""health: published outcomes, other sizes against a simulation by arrays, false files."""

from __future__ import annotations

import numpy
import pytest

MASK, PRIME = 123459876, 2147483647
HOME, WAITING, ASSESS, INSIDE = range(4)

PUBLISHED = {
    "test": "7280 343 728 5531 7160 80 26 14 5.259341",
    "small": "131200 6175 13120 96718 128997 1406 525 272 5.167470",
}


def draw(seed):
    """The new seeds and the numbers drawn, for an array of seeds."""
    x = (seed ^ MASK).astype(numpy.int32).astype(numpy.int64)
    k = numpy.sign(x) * (numpy.abs(x) // 127773)
    x = (16807 * (x - k * 127773) - 2836 * k).astype(numpy.int32).astype(numpy.int64) ^ MASK
    x = numpy.where(x < 0, x + PRIME, x)
    drawn = numpy.float32(1 / PRIME) * x.astype(numpy.float32)
    return (x * PRIME) & 0xFFFFFFFF, drawn


def simulate(levels, cities, steps, ratio=10, problem_seed=23):  # noqa: PLR0912, PLR0915
    """All patients in arrays. The stamps of entry give the order of a list."""
    level_of, patients_of = {}, []

    def create(village, level):
        level_of[village] = level
        patients_of.extend([village] * (ratio << level))
        for i in range(cities, 0, -1) if level > 1 else ():
            create(village * cities + i, level - 1)

    create(0, levels)
    village = numpy.array(patients_of)
    n = len(village)
    seed = numpy.zeros(n, dtype=numpy.int64)
    first = numpy.flatnonzero(numpy.diff(village, prepend=-1))
    seed[first] = (village[first] * (127773 + problem_seed)) & 0xFFFFFFFF
    for place in range(1, ratio << levels):
        rest = first[first + place < n] + place
        rest = rest[village[rest] == village[rest - place]]
        seed[rest] = draw(seed[rest - 1])[0]
    level = numpy.array([level_of[v] for v in patients_of])
    state, left, days, visits = (numpy.zeros(n, dtype=numpy.int64) for _ in range(4))
    stamp = numpy.arange(n)
    free = {v: 1 << rank for v, rank in level_of.items()}
    referred: dict[int, list[int]] = {v: [] for v in level_of}
    next_stamp = n

    def enter(i, new_state, new_left=0):
        nonlocal next_stamp
        state[i], left[i], stamp[i] = new_state, new_left, next_stamp
        days[i] += new_left
        next_stamp += 1

    def hospital(i):
        visits[i] += 1
        if free[village[i]]:
            free[village[i]] -= 1
            enter(i, ASSESS, 2)
        else:
            enter(i, WAITING)

    def members(rank, which):
        found = numpy.flatnonzero((state == which) & (level == rank))
        return found[numpy.argsort(stamp[found])]

    def draw_one(i, probability):
        new, drawn = draw(seed[i : i + 1])
        seed[i] = new[0]
        return drawn[0] < numpy.float32(probability)

    def assessed(i):
        here = int(village[i])
        if not draw_one(i, 0.1):
            free[here] += 1
            enter(i, HOME)
        elif draw_one(i, 0.15) and here:
            free[here] += 1
            village[i] = (here - 1) // cities
            level[i] += 1
            state[i] = -1
            referred[int(village[i])].append(i)
        else:
            enter(i, INSIDE, 12)

    for _ in range(steps):
        for rank in range(1, levels + 1):
            for i in members(rank, INSIDE):
                left[i] -= 1
                if not left[i]:
                    free[village[i]] += 1
                    enter(i, HOME)
            for i in members(rank, ASSESS):
                left[i] -= 1
                if not left[i]:
                    assessed(i)
            for i in members(rank, WAITING):
                if free[village[i]]:
                    free[village[i]] -= 1
                    enter(i, ASSESS, 2)
                else:
                    days[i] += 1
            for patients in [p for v, p in referred.items() if p and level_of[v] == rank]:
                for i in sorted(patients):
                    hospital(i)
                patients.clear()
            healthy = numpy.flatnonzero((state == HOME) & (level == rank))
            seed[healthy], drawn = draw(seed[healthy])
            ill = healthy[drawn < numpy.float32(0.002)]
            for i in ill[numpy.argsort(stamp[ill])]:
                hospital(i)
    counts = [
        n,
        len(level_of),
        sum(1 << rank for rank in level_of.values()),
        visits.sum(),
        *((state == which).sum() for which in range(4)),
    ]
    return " ".join(map(str, counts)) + f" {days.sum() / n:.6f}"


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_gives_the_published_outcome(name, run, data):
    result = run("health", "serial", "--arg", f"input={data(f'inncabs/input/health/{name}.input')}")
    assert result.status == 0
    assert result.last["answer"] == PUBLISHED[name]


@pytest.mark.parametrize(
    "levels, cities, steps", [(4, 18, 120), (3, 18, 120), (2, 40, 200), (1, 1, 300)]
)
def test_an_outcome_agrees_with_a_simulation_by_arrays(levels, cities, steps, run):
    result = run(
        "health",
        "serial",
        "--arg",
        f"levels={levels}",
        "--arg",
        f"cities={cities}",
        "--arg",
        f"steps={steps}",
    )
    assert result.status == 0, result.last
    assert result.last["answer"] == simulate(levels, cities, steps)


@pytest.mark.parametrize("seed", ["2", "18446744073709551615"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("serial", "--variant", "locked"),
        ("serial", "--variant", "fork_join"),
        ("std_async", "--variant", "async"),
    ],
)
def test_all_ways_of_launching_agree_with_the_reference(seed, arguments, run):
    result = run("health", *arguments, "--seed", seed, "--threads", "2", "--arg", "steps=20")
    assert result.status == 0
    assert result.last["tasks"] == 42 * 20


def test_a_false_expectation_in_a_file_is_noticed(run, tmp_path):
    path = tmp_path / "input"
    path.write_text("1 1 1 1 2 12 23 0 0 0 2 1 2 0 1 0 0 0 0")
    result = run("health", "serial", "--arg", f"input={path}")
    assert result.status == 3
    assert "expected 2 1 2 0 1 0 0 0" in result.last["reason"]


FIRST = "3 18 10 365 2 12 23 0.002 0.1 0.15 "


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("", "the file ends where the number of levels was expected"),
        ("0", "from 1 to 10"),
        ("10 1000 1000 1 1 1 1 0 0 0 1 1 1 1 1 1 1 1 1", "lower levels, cities or ratio"),
        ("3 18 10 365 2 12 23 1.5", "the probability to fall ill must be a number"),
        ("3 18 10 365 2 12 23 nan", "the probability to fall ill must be a number"),
        ("3 18 10 365 2 12 23 0x1p-9", "the probability to fall ill must be a number"),
        (FIRST, "an expected count was expected"),
        (FIRST + "1 1 1 1 1 1 1 1 x", "the expected average stay"),
        (FIRST + "1 1 1 1 1 1 1 1 1 1", "end of the file"),
    ],
)
def test_a_broken_file_is_refused_with_a_sentence(text, complaint, refused):
    assert complaint in refused("health", text)


def test_a_country_that_is_too_large_is_refused(run):
    result = run("health", "serial", "--arg", "levels=10", "--arg", "cities=1000")
    assert result.status == 2
    assert "lower levels, cities or ratio" in result.stderr

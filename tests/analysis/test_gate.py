"""gate(): on simulated equals it rarely fails, for any number of pairs, and it fails if A is slower
or did not end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from threadmark.judge import comparison
from threadmark.judge.gate import Gate, gate
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError

FAILURES = [Status.TIMEOUT, Status.CRASHED, Status.WRONG, Status.REFUSED, Status.OUT_OF_MEMORY]


def made(variant: str, logs: np.ndarray) -> list[Row]:
    """Rows of one program for each line of `logs`, a round for each column."""
    cell = Cell("p", "quick", "tbb", variant, "gcc", "glibc", 2)
    return [
        Row(replace(cell, program=f"p{number}"), at, Status.OK, sample_ns=1e6 * np.exp(log))
        for number, line in enumerate(logs)
        for at, log in enumerate(line)
    ]


def closed(a: list[Row], b: list[Row], share: float = 0.0) -> Gate:
    """The gate of two variants of one executable, so that layout has no part in it."""
    return gate(comparison.compare_sides([*a, *b], "tbb:a", "tbb:b"), share)


@pytest.mark.parametrize(("pairs", "rounds"), [(1, 6), (10, 3), (40, 6)])
def test_equals_fail_as_rarely_however_many_pairs_there_are(pairs: int, rounds: int) -> None:
    rng = np.random.default_rng(pairs)
    failed = 0
    for _ in range(200):
        a, b = rng.normal(0, 0.03, (2, pairs, rounds))
        failed += closed(made("a", a), made("b", b)).closed
    assert failed <= 10  # 2.5 % of 200 are 5; more than 10 have a probability of 1 %


@pytest.mark.parametrize("pairs", [1, 10, 40])
def test_one_pair_that_is_slower_by_a_fifth_fails_among_many(pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    found = 0
    for _ in range(50):
        a, b = rng.normal(0, 0.03, (2, pairs, 6))
        a[0] += np.log(1.2)
        slower = closed(made("a", a), made("b", b), 0.05).slower
        found += "p0" in {pair.a.program for pair in slower}
    assert found >= 40


@pytest.mark.parametrize("status", FAILURES)
def test_a_cell_that_fails_in_a_and_has_a_time_in_b_fails(status: Status) -> None:
    a, b = made("a", np.zeros((2, 6))), made("b", np.zeros((2, 6)))
    failing = [
        replace(row, status=status, sample_ns=None) if row.cell.program == "p1" else row
        for row in a
    ]
    found = closed(failing, b)
    assert found.closed
    assert [each.cell.program for each in found.failed] == ["p1"]
    assert (found.slower, found.unanswered) == ((), 0)
    assert found.words[1] == "1 cell of A failed where B has a time (p1)."
    assert closed([row for row in failing if row.cell.program == "p1"], b).closed
    repaired = closed(b_as_a(b), [replace(r, cell=replace(r.cell, variant="b")) for r in failing])
    assert not repaired.closed
    assert repaired.unanswered == 1


def b_as_a(rows: list[Row]) -> list[Row]:
    return [replace(row, cell=replace(row.cell, variant="a")) for row in rows]


@pytest.mark.parametrize("change", [{"disturbed": "busy"}, {"status": Status.DROPPED}])
def test_what_was_not_measured_undisturbed_is_counted_as_unanswered(
    change: dict[str, object],
) -> None:
    if "status" in change:
        change = {**change, "sample_ns": None}
    a = [
        replace(row, **change) if row.cell.program == "p1" else row  # type: ignore[arg-type]
        for row in made("a", np.zeros((3, 6)))
        if row.cell.program != "p2" or row.round < 2
    ]
    found = closed(a, made("b", np.zeros((3, 6))))
    assert not found.closed
    assert found.unanswered == 2
    assert found.words[2] == "2 pairs have no answer."


def test_a_comparison_that_can_answer_nothing_is_refused() -> None:
    with pytest.raises(LabError, match=r"No pair has enough rounds.*measure both"):
        closed(made("a", np.zeros((1, 2))), made("b", np.zeros((1, 2))))


def test_sides_without_common_cells_are_told_what_they_lack() -> None:
    a = made("a", np.zeros((1, 6)))
    alone = [replace(row, cell=replace(row.cell, variant="b", threads=1)) for row in a]
    with pytest.raises(LabError, match="Nothing could be compared") as refused:
        closed(a, alone)
    assert "tbb:b has no cell with 2 threads." in str(refused.value)
    assert "tbb:a has no cell with 1 thread." in str(refused.value)
    other = [replace(row, cell=replace(row.cell, program="q", variant="b")) for row in a]
    outcome = comparison.compare_sides([*a, *other], "tbb:a", "tbb:b")
    assert [each.why for each in outcome.skipped] == [
        "tbb:b has no cell with the program p0",
        "tbb:a has no cell with the program q",
    ]

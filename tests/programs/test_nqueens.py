"""nqueens against the published counts, its tasks against the levels of the search."""

from __future__ import annotations

import pytest

SOLUTIONS = {1: 1, 2: 0, 3: 0, 4: 2, 5: 10, 6: 4, 7: 40, 8: 92, 9: 352, 10: 724, 11: 2680}
# Valid partial placements of n queens, level by level.
LEVELS_13 = (
    13,
    132,
    1030,
    6404,
    31100,
    117694,
    335010,
    707698,
    1086568,
    1151778,
    813448,
    350302,
    73712,
)


def placements(n: int) -> int:
    """Counts partial placements from their definition."""
    level: list[tuple[int, ...]] = [()]
    total = 0
    for column in range(n):
        level = [
            (*rows, row)
            for rows in level
            for row in range(n)
            if all(row != r and abs(row - r) != column - i for i, r in enumerate(rows))
        ]
        total += len(level)
    return total


@pytest.mark.parametrize("variant", ["plain", "fork_join"])
@pytest.mark.parametrize("n", SOLUTIONS)
def test_all_placements_are_found(run, n, variant):
    result = run("nqueens", "serial", "--variant", variant, "--arg", f"n={n}")
    assert result.status == 0
    assert result.last["answer"] == str(SOLUTIONS[n])


@pytest.mark.parametrize("n", range(1, 9))
def test_every_valid_partial_placement_is_a_task(run, n):
    assert run("nqueens", "serial", "--arg", f"n={n}").last["tasks"] == placements(n)


def test_the_paper_s_size_gives_the_published_answer_and_tasks(run):
    last = run("nqueens", "serial", "--size", "full").last
    assert (last["answer"], last["tasks"]) == ("73712", sum(LEVELS_13))


@pytest.mark.parametrize("n", ["0", "22", "-1", "8.5", ""])
def test_a_board_that_cannot_be_is_refused(run, n):
    result = run("nqueens", "serial", "--arg", f"n={n}")
    assert result.status == 2
    assert "from 1 to 21" in result.stderr

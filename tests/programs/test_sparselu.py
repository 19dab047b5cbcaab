"""sparselu: the tasks of the whole factorisation, and shapes of every kind."""

from __future__ import annotations

import pytest


def count_tasks(side: int) -> int:
    """Tasks of a factorisation of the published pattern, from the pattern alone."""
    present = {
        (i, j)
        for i in range(side)
        for j in range(side)
        if abs(i - j) <= 1 or not ((i < j and i % 3) or (i > j and j % 3) or i % 2 or j % 2)
    }
    tasks = 0
    for k in range(side):
        rows = [i for i in range(k + 1, side) if (i, k) in present]
        columns = [j for j in range(k + 1, side) if (k, j) in present]
        present |= {(i, j) for i in rows for j in columns}
        tasks += len(rows) + len(columns) + len(rows) * len(columns)
    return tasks


def test_the_pattern_of_the_paper_has_its_number_of_tasks():
    assert count_tasks(50) == 11_675


@pytest.mark.parametrize(
    ("blocks", "block"), [(1, 1), (1, 50), (2, 1), (9, 17), (20, 16), (50, 5), (100, 2)]
)
@pytest.mark.parametrize("variant", ["plain", "fork_join"])
def test_any_shape_is_factorised_in_the_tasks_of_its_pattern(blocks, block, variant, run):
    result = run(
        "sparselu",
        "serial",
        "--variant",
        variant,
        "--arg",
        f"blocks={blocks}",
        "--arg",
        f"block={block}",
    )
    assert result.status == 0
    assert result.last["tasks"] == count_tasks(blocks)


def test_a_matrix_without_factors_is_refused(run):
    # Rows of blocks whose side is a multiple of 32 repeat with the period of the generator.
    for variant in ("plain", "fork_join"):
        refused = run("sparselu", "serial", "--variant", variant, "--arg", "block=64")
        assert refused.status == 2
        assert "block=64 with this seed has a pivot of zero" in refused.stderr
        assert not refused.repeats


def test_blocks_made_in_tasks_are_freed_before_the_next_repeat(run):
    result = run("sparselu", "serial", "--arg", "block=100", "--repeats", "8")
    sizes = [repeat["max_rss_bytes"] for repeat in result.repeats]
    assert sizes[-1] <= 1.1 * sizes[1]

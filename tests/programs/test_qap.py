"""qap: published counts and optima, small instances against all permutations, false files."""

from __future__ import annotations

import itertools

import pytest

# Sequential counts of the published suite: tasks, tasks whose place was free, optimum.
PUBLISHED = {
    "chr10a": (227_810, 77_030, 9636),
    "chr12a": (3_187_932, None, 9552),
    "chr12b": (2_889_228, None, 9742),
    "chr12c": (4_166_148, 1_295_495, 11156),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_gives_the_published_counts_and_optimum(name, run, data):
    result = run("qap", "serial", "--arg", f"input={data(f'inncabs/input/qap/{name}.dat')}")
    tasks, nodes, optimum = PUBLISHED[name]
    assert result.status == 0
    assert (result.last["tasks"], result.last["answer"]) == (tasks, str(optimum))
    assert nodes in (None, result.last["nodes"])


@pytest.mark.parametrize(
    "instance, optimum, tasks", [(1, 9552, 3_187_932), (2, 9742, 2_889_228), (3, 11156, 4_166_148)]
)
def test_the_built_in_instances_are_the_published_ones(instance, optimum, tasks, run):
    result = run("qap", "serial", "--arg", f"instance={instance}", "--arg", "n=12")
    assert result.status == 0
    assert (result.last["answer"], result.last["tasks"]) == (str(optimum), tasks)


def test_fork_join_states_the_free_places_that_it_forks(run):
    futures, fork_join = (run("qap", "serial", "--variant", v).last for v in ("plain", "fork_join"))
    assert fork_join["tasks"] == fork_join["nodes"] == futures["nodes"] < futures["tasks"]


def test_a_wrong_optimum_in_a_file_is_blamed_on_the_file(run, data):
    result = run("qap", "serial", "--arg", f"input={data('inncabs/input/qap/chr08a.dat')}")
    assert result.status == 3
    assert result.last["answer"] == "7638"
    assert "input file states the optimum 9552" in result.last["reason"]
    assert "which is optimal" in result.last["reason"]


def qaplib(n, flow, distance, optimum):
    rows = [" ".join(map(str, row)) for row in (*flow, *distance)]
    return "\n".join([str(n), *rows, str(optimum)]) + "\n"


def dense(n):
    """Asymmetric matrices with full diagonals, and the least cost over all permutations."""
    flow = [[(7 * i + 3 * j + i * j) % 11 for j in range(n)] for i in range(n)]
    distance = [[(5 * i + 2 * j + 3 * i * i * j) % 13 for j in range(n)] for i in range(n)]
    optimum = min(
        sum(flow[i][j] * distance[p[i]][p[j]] for i in range(n) for j in range(n))
        for p in itertools.permutations(range(n))
    )
    return flow, distance, optimum


@pytest.mark.parametrize("n", [1, 2, 5, 7])
@pytest.mark.parametrize(
    "arguments",
    [("serial",), ("serial", "--variant", "fork_join"), ("std_async", "--variant", "deferred")],
)
def test_a_dense_asymmetric_instance_agrees_with_all_permutations(n, arguments, run, tmp_path):
    flow, distance, optimum = dense(n)
    path = tmp_path / "dense.dat"
    path.write_text(qaplib(n, flow, distance, optimum))
    result = run("qap", *arguments, "--arg", f"input={path}")
    assert result.status == 0, result
    assert result.last["answer"] == str(optimum)


def test_an_optimum_stated_too_low_is_not_believed(run, tmp_path):
    flow, distance, optimum = dense(5)
    path = tmp_path / "low.dat"
    path.write_text(qaplib(5, flow, distance, optimum - 1))
    result = run("qap", "serial", "--arg", f"input={path}")
    assert result.status == 3
    assert f"states the optimum {optimum - 1}" in result.last["reason"]


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("", "the file ends where the size n was expected"),
        ("32", "from 1 to 31, not '32'"),
        ("-1", "from 1 to 31"),
        ("99999999999999999999", "from 1 to 31"),
        ("2 0 1 1", "the file ends where an entry of a matrix"),
        ("2 0 1\n1 -3", "line 2: an entry of a matrix"),
        ("2 0 1 1 0 0 x 1 0 4", "not 'x'"),
        ("2 0 1 1 0 0 2 2 0", "the optimum was expected"),
        ("2 0 1 1 0 0 2 2 0 4 5", "end of the file"),
        (b"\x00\xff\n", "not '??'"),
    ],
)
def test_a_broken_file_is_refused_with_a_sentence(text, complaint, refused):
    assert complaint in refused("qap", text)

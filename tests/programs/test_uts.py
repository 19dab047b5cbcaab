"""uts against Python's own SHA-1, the published trees, and files that lie or are broken."""

from __future__ import annotations

import hashlib

import pytest

Tree = tuple[int, int, int, int]


def walk(
    root_children: int, probability: float, children: int, root_seed: int, granularity: int = 1
) -> Tree:
    """Size, depth, leaves and the xor of the last hashes, from the definition of the tree."""
    root = hashlib.sha1(bytes(16) + root_seed.to_bytes(4, "big")).digest()
    size = depth = leaves = 0
    mixed = int.from_bytes(root[16:], "big")
    to_do = [(root, 0)]
    while to_do:
        state, level = to_do.pop()
        size += 1
        depth = max(depth, level)
        inner = (int.from_bytes(state[16:], "big") & 0x7FFFFFFF) / 2**31 < probability
        count = root_children if level == 0 else children if inner else 0
        leaves += count == 0
        for number in range(count):
            child = last = hashlib.sha1(state + number.to_bytes(4, "big")).digest()
            for _ in range(granularity - 1):
                last = hashlib.sha1(last + number.to_bytes(4, "big")).digest()
            mixed ^= int.from_bytes(last[16:], "big")
            to_do.append((child, level + 1))
    return size, depth, leaves, mixed


def text(tree: Tree) -> str:
    return "size {}, depth {}, leaves {}, hash {}".format(*tree)


@pytest.mark.parametrize("variant", ["plain", "fork_join"])
@pytest.mark.parametrize(
    ("size", "probability", "roots"), [("smoke", 0.3, 200), ("quick", 0.33, 1000)]
)
def test_the_trees_of_our_sizes_are_those_that_python_finds(run, size, probability, roots, variant):
    tree = walk(roots, probability, 3, 8)
    last = run("uts", "serial", "--size", size, "--variant", variant).last
    assert last["answer"] == text(tree)
    assert last["tasks"] == tree[0] - 1


@pytest.mark.parametrize(
    ("root_children", "ppb", "children", "root_seed", "granularity"),
    [
        (0, 500_000_000, 3, 8, 1),
        (1, 0, 3, 8, 1),
        (7, 1_000_000_000, 0, 3, 1),
        (9, 900_000_000, 1, 0, 1),
        (50, 124_875_000, 8, 42, 3),
        (20, 9_000_000, 100, 2**31 - 1, 2),
    ],
)
def test_any_other_tree_is_the_one_that_python_finds(
    run, root_children, ppb, children, root_seed, granularity
):
    arguments = {
        "root_children": root_children,
        "probability_ppb": ppb,
        "children": children,
        "root_seed": root_seed,
        "granularity": granularity,
    }
    options = [word for name, value in arguments.items() for word in ("--arg", f"{name}={value}")]
    result = run("uts", "serial", *options)
    assert result.status == 0
    assert result.last["answer"] == text(
        walk(root_children, ppb / 1e9, children, root_seed, granularity)
    )


def test_a_seed_shifts_the_seed_of_the_root(run):
    shifted = run("uts", "serial", "--seed", "5").last["answer"]
    assert shifted == text(walk(200, 0.3, 3, 12))


def test_the_published_test_tree_comes_out(run, data):
    path = data("inncabs/input/uts/test.input")
    last = run("uts", "serial", "--arg", f"input={path}").last
    assert last["ok"]
    assert last["answer"].startswith("size 4112897, depth 1572, leaves 3599034,")


@pytest.mark.parametrize("name", ["large", "huge"])
def test_a_published_tree_that_no_stack_holds_is_refused_at_once(run, data, name):
    path = data(f"inncabs/input/uts/{name}.input")
    result = run("uts", "serial", "--arg", f"input={path}")
    assert result.status == 2
    assert "more than 20000 levels" in result.stderr


@pytest.mark.parametrize("children", [1, 2, 8])
def test_a_tree_without_end_is_refused(run, children):
    result = run(
        "uts", "serial", "--arg", "probability_ppb=1000000000", "--arg", f"children={children}"
    )
    assert result.status == 2
    assert "more than 20000 levels" in result.stderr


def test_a_file_may_leave_open_what_comes_out(run, tmp_path):
    path = tmp_path / "small"
    path.write_text("200 .3 3 8 1 2076 1 1 \r\n# any words\n")
    assert run("uts", "serial", "--arg", f"input={path}").last["answer"] == text(
        walk(200, 0.3, 3, 8)
    )


@pytest.mark.parametrize("outcome", ["2077 24 1450", "2076 25 1450", "2076 24 1449"])
def test_a_file_that_states_another_tree_is_refused(run, tmp_path, outcome):
    path = tmp_path / "liar"
    path.write_text(f"200 .3 3 8 1 {outcome}\n")
    result = run("uts", "serial", "--arg", f"input={path}")
    assert result.status == 2
    assert result.repeats == []
    assert "size 2076, depth 24, leaves 1450" in result.stderr


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "file ends where the root's number of children"),
        ("\n200 .3 3 8 1 2076 24 1450\n", "file ends"),
        ("200 .3 3 8 1 2076 24", "file ends where the number of leaves"),
        ("200 .3 3 8 1 2076 24 1450 7", "end of the file"),
        ("200 1.5 3 8 1 1 1 1", "the probability"),
        ("200 nan 3 8 1 1 1 1", "the probability"),
        ("200 -0.1 3 8 1 1 1 1", "the probability"),
        ("-1 .3 3 8 1 1 1 1", "children"),
        ("99999999999999999999 .3 3 8 1 1 1 1", "children"),
        ("200 .3 101 8 1 1 1 1", "number of children"),
        ("200 .3 3 -8 1 1 1 1", "seed"),
        ("200 .3 3 8 0 1 1 1", "granularity"),
        ("200 .3 3 8 1 0 1 1", "the size"),
        ("200 .3 3 8 1 1 30000 1", "more than 20000 levels"),
        (b"\xff\x00\x01 .3 3 8 1 1 1 1", "children"),
    ],
)
def test_a_malformed_file_is_refused(refused, content, complaint):
    assert complaint in refused("uts", content)

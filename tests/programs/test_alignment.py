"""alignment: the published sums, small alignments worked out by hand, files that are refused."""

from __future__ import annotations

import pytest

PUBLISHED = {
    "prot.20.aa": ("sum 848, weighted 94676, 0 paths not the best", 190),
    "prot.100.aa": ("sum 19297, weighted 48928672, 5 paths not the best", 4950),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_gives_the_published_sums(name, run, data):
    result = run("alignment", "serial", "--arg", f"input={data(f'inncabs/input/alignment/{name}')}")
    assert result.status == 0
    assert (result.last["answer"], result.last["tasks"]) == PUBLISHED[name]


def test_the_exact_rule_finds_the_best_path_where_the_published_one_does_not(run):
    words = ("alignment", "serial", "--size", "quick", "--arg", "sequences=16")
    published = run(*words)
    exact = run(*words, "--arg", "exact=1")
    assert (published.status, exact.status) == (0, 0)
    assert published.last["answer"].endswith(", 1 paths not the best")
    assert exact.last["answer"].endswith(", 0 paths not the best")


@pytest.mark.parametrize(
    ("first", "second", "percent"),
    [
        ("WWWWWWWW", "WWWWWWWW", 100),
        ("AWWWWWWA", "CWWWWWWC", 75),  # the ends do not match and are left out
        ("WWWWXWWW", "WWWWXWWW", 100),  # X scores 0, but is the same residue
        ("WWWW-WWW", "WWWW-WWW", 100),  # a gap is no residue, neither here nor in the length
        ("WWWWWWWWCCCCCCCC", "WWWWWWWWEECCCCCCCC", 100),  # 8 * 1150 - 2114 beats 6 * 1150 - 600
        ("WWW", "XXXXX", 0),  # nothing to gain
        ("wwWW", "W W", 100),  # only capital letters count
    ],
)
@pytest.mark.parametrize("variant", ["plain", "fork_join"])
def test_a_small_pair_has_the_identity_worked_out_by_hand(
    first, second, percent, variant, run, tmp_path
):
    path = tmp_path / "pair.aa"
    path.write_text(f"Number of sequences is 2\n\n>one\n{first}\n>two with words\r\n{second}\r\n")
    result = run("alignment", "serial", "--variant", variant, "--arg", f"input={path}")
    assert result.status == 0
    assert result.last["answer"].startswith(f"sum {percent}, weighted {2 * percent},")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "line 1: must say"),
        ("Number of sequences is\n", "line 1: must say"),
        ("Number of sequences is 1\n>a\nW\n", "line 1: must say"),
        ("Number of sequences is -2\n", "line 1: must say"),
        ("Number of sequences is 99999999999999999999\n", "line 1: must say"),
        ("Number of sequences is 2\nWWW\n", "line 2: has residues before"),
        ("Number of sequences is 2\n>a\n>b\nW\n", "line 3: sequence 1"),
        ("Number of sequences is 2\n>a\nW\n>b\n123\n", "line 5: sequence 2"),
        ("Number of sequences is 3\n>a\nW\n>b\nW\n", "after 2 of 3 sequences"),
        ("Number of sequences is 2\n>a\nW\n>b\nW\n>c\nW\n", "line 6: starts one sequence more"),
        ("Number of sequences is 2\n>a\nW\0W\n>b\nW\n", "line 3: holds a byte"),
        ("Number of sequences is 2\n>a\n" + "W" * 100_001 + "\n>b\nW\n", "longer than 100000"),
    ],
)
def test_a_false_file_is_refused_with_the_line(text, sentence, refused):
    assert sentence in refused("alignment", text)

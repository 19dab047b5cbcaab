"""floorplan: published counts and areas, optima against a search on rectangles, false files."""

from __future__ import annotations

import pytest

PUBLISHED = {"input.5": (2_517, 216), "input.15": (19_046_108, 713), "input.20": (None, 896)}

# Shapes as rows x columns, L the left and A the upper neighbour; as in inncabs' input.20.
LIST = """3x10 6x5 L0 A-; 2x12 3x8 4x6 L- A1; 5x12 6x10 L2 A1; 3x8 4x6 8x3 L- A3;
4x10 5x8 8x5 10x4 L- A2; 3x3 L- A5; 2x16 4x8 8x4 L6 A5; 2x6 3x4 4x3 L- A4; 3x3 L8 A4;
5x6 6x5 L9 A4"""


def cells():
    for entry in LIST.split(";"):
        *shapes, left, above = entry.split()
        neighbours = [None if word[1:] == "-" else int(word[1:]) for word in (left, above)]
        yield [tuple(map(int, shape.split("x"))) for shape in shapes], *neighbours


def spots(rows, columns, left, above):
    """Positions of a shape at its neighbours, which are (top, bottom, left, right) or None."""
    if left and above:
        top, column = above[1] + 1, left[3] + 1
        if (
            top <= left[1]
            and top + rows >= left[0]
            and column <= above[3]
            and column + columns >= above[2]
        ):
            yield top, column
    elif left:
        for top in range(left[1], max(left[0] - rows + 1, 0) - 1, -1):
            yield top, left[3] + 1
    else:
        for column in range(above[3], max(above[2] - columns + 1, 0) - 1, -1):
            yield above[1] + 1, column


def smallest_area(problem):
    """The optimum, by another order of shapes and places than the program's, without a board."""
    placed = [(0, 0, -1, -1)]
    best = 64 * 64 + 1

    def place(height, width):
        nonlocal best
        if len(placed) > len(problem):
            best = height * width
            return
        shapes, left, above = problem[len(placed) - 1]
        at = [None if index is None else placed[index] for index in (left, above)]
        for rows, columns in reversed(shapes):
            for top, column in spots(rows, columns, *at):
                box = max(height, top + rows), max(width, column + columns)
                if max(box) > 64 or box[0] * box[1] >= best:
                    continue
                bottom, right = top + rows - 1, column + columns - 1
                if any(
                    top <= other[1]
                    and other[0] <= bottom
                    and column <= other[3]
                    and other[2] <= right
                    for other in placed[1:]
                ):
                    continue
                placed.append((top, bottom, column, right))
                place(*box)
                placed.pop()

    place(0, 0)
    return best


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_gives_the_published_counts_and_area(name, run, data):
    result = run("floorplan", "serial", "--arg", f"input={data(f'inncabs/input/floorplan/{name}')}")
    nodes, area = PUBLISHED[name]
    assert result.status == 0
    assert result.last["answer"] == str(area)
    assert nodes in (None, result.last["nodes"])


def test_the_built_in_list_is_the_published_one(run):
    result = run("floorplan", "serial", "--size", "full")
    assert result.status == 0
    assert (result.last["nodes"], result.last["answer"]) == (19_046_108, "713")


@pytest.mark.parametrize("n", range(1, 11))
def test_the_built_in_optima_agree_with_a_search_on_rectangles(n, run):
    result = run("floorplan", "serial", "--arg", f"cells={n}")
    assert result.status == 0
    assert result.last["answer"] == str(smallest_area(list(cells())[:n]))


@pytest.mark.parametrize(
    "arguments",
    [
        ("serial", "--variant", "fork_join"),
        ("std_async", "--variant", "async"),
        ("std_async", "--variant", "fork_join"),
    ],
)
def test_all_ways_of_launching_find_the_same_area(arguments, run):
    result = run("floorplan", *arguments, "--threads", "2")
    assert result.status == 0
    assert result.last["answer"] == "216"


def test_fork_join_states_only_the_candidates_that_fit(run):
    futures, fork_join = (
        run("floorplan", "serial", "--variant", v).last for v in ("plain", "fork_join")
    )
    assert futures["tasks"] == futures["nodes"] == fork_join["nodes"]
    assert 0 < fork_join["tasks"] < fork_join["nodes"]


def floorplan_file(cell, optimum):
    return f"2\n1 3 10 0 -1 2\n{cell}\n{optimum}\n"


@pytest.mark.parametrize("stated, blames_file", [(60, None), (59, False), (61, True)])
def test_a_wrong_area_in_a_file_is_noticed(stated, blames_file, run, tmp_path):
    path = tmp_path / "input"
    path.write_text(floorplan_file("1 3 10 -1 1 0", stated))
    result = run("floorplan", "serial", "--arg", f"input={path}")
    assert result.status == (0 if blames_file is None else 3)
    if blames_file is not None:
        assert ("correct the file" in result.last["reason"]) == blames_file


def test_cells_that_cannot_be_placed_have_no_layout(run, tmp_path):
    path = tmp_path / "input"
    path.write_text(floorplan_file("1 62 10 -1 1 0", 1000))
    result = run("floorplan", "serial", "--arg", f"input={path}")
    assert result.status == 3
    assert result.last["reason"] == "no layout was found"


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("", "the file ends where the number of cells was expected"),
        ("32", "from 1 to 31, not '32'"),
        ("1 99999999", "the number of a cell's shapes"),
        ("1 1 65 1", "a shape's number of rows"),
        ("1 1 3 3 1 -1 0 9", "left neighbour"),
        ("1 1 3 3 -1 -1 0 9", "every cell needs a left or an upper neighbour"),
        ("2 1 3 3 0 -1 3", "the number of the next cell"),
        ("1 1 3 3 0 -1 2", "the number after the last cell"),
        ("1 1 3 3 0 -1 0", "the smallest area was expected"),
        ("1 1 3 3 0 -1 0 9 9", "end of the file"),
    ],
)
def test_a_broken_file_is_refused_with_a_sentence(text, complaint, refused):
    assert complaint in refused("floorplan", text)


@pytest.mark.parametrize("value", ["0", "21", "-5", "x", "99999999999999999999"])
def test_a_number_of_cells_beyond_the_list_is_refused(value, run):
    result = run("floorplan", "serial", "--arg", f"cells={value}")
    assert result.status == 2
    assert result.stderr.count("\n") == 1

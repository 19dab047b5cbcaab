"""The contents of the files of tmk-students, with every way of writing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import records
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Students = Callable[..., subprocess.CompletedProcess[str]]


def generated(students: Students, folder: Path, *words: object) -> dict[str, bytes]:
    folder.mkdir(exist_ok=True)
    done = students("generate", *words, "--out", folder)
    assert (done.returncode, done.stderr) == (0, ""), done
    found = records.contents(folder)
    assert set(found) == set(records.FILES)
    return found


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    count=st.integers(1, 3000),
    exercises=st.integers(1, 40),
    block=st.integers(1, 700),
    seed=st.integers(0, 2**64 - 1),
    threads=st.integers(1, 4),
)
def test_each_file_holds_each_student_once_and_keeps_the_order_of_blocks(
    *,
    students: Students,
    tmp_path: Path,
    count: int,
    exercises: int,
    block: int,
    seed: int,
    threads: int,
) -> None:
    plan = ("-s", count, "-e", exercises, "-b", block, "--seed", seed)
    generated(students, tmp_path / "out", *plan, "--threads", threads)
    found = records.read(tmp_path / "out", exercises)
    size = max(block, 5)
    first, *others = found.numbers.values()
    for numbers in (first, *others):
        assert sorted(numbers) == list(range(1, count + 1))
    for start in range(0, count, size):
        students_of_block = set(first[start : start + size])
        for numbers in others:
            assert set(numbers[start : start + size]) == students_of_block


@pytest.mark.parametrize("writer", records.WRITERS)
def test_every_writer_writes_the_same_bytes_under_a_seed(
    students: Students, tmp_path: Path, writer: str
) -> None:
    plan = ("-s", 2345, "-e", 10, "-b", 50, "--seed", 5)
    right = generated(students, tmp_path / "right", *plan, "--threads", 1)
    assert generated(students, tmp_path / "other", *plan, "--writer", writer) == right


def test_every_number_of_threads_writes_the_same_bytes_under_a_seed(
    students: Students, tmp_path: Path
) -> None:
    plan = ("-s", 60_000, "-e", 10, "-b", 500, "--seed", 6)
    right = generated(students, tmp_path / "1", *plan, "--threads", 1)
    for threads in (2, 3, 8, 256):
        assert generated(students, tmp_path / "n", *plan, "--threads", threads) == right


def test_the_limit_writes_the_same_bytes_from_memory(students: Students, tmp_path: Path) -> None:
    plan = ("-s", 30_000, "-e", 7, "-b", 300, "--seed", 8)
    right = generated(students, tmp_path / "right", *plan)
    folder = tmp_path / "limit"
    folder.mkdir()
    for threads in (1, 2, 9):
        done = students("limit", *plan, "--threads", threads, "--out", folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(r"Writing took \d+\.\d+ ms\n", done.stdout)
        assert records.contents(folder) == right


def test_two_runs_without_a_seed_write_different_files(students: Students, tmp_path: Path) -> None:
    first = generated(students, tmp_path / "a", "-s", 1000)
    second = generated(students, tmp_path / "b", "-s", 1000)
    assert all(first[name] != second[name] for name in records.FILES)


def test_the_four_files_of_a_block_have_different_orders(
    students: Students, tmp_path: Path
) -> None:
    generated(students, tmp_path / "out", "-s", 100, "-b", 100)
    orders = records.read(tmp_path / "out", 6).numbers.values()
    assert len({tuple(order) for order in orders}) == len(records.FILES)


def test_numbers_of_more_than_five_digits_are_not_padded(
    students: Students, tmp_path: Path
) -> None:
    generated(students, tmp_path / "out", "-s", 123_456, "-e", 1)
    found = records.read(tmp_path / "out", 1)
    assert sorted(found.numbers["exam-info.txt"]) == list(range(1, 123_457))


def test_files_are_written_in_place_of_earlier_ones(students: Students, tmp_path: Path) -> None:
    generated(students, tmp_path / "out", "-s", 5000)
    generated(students, tmp_path / "out", "-s", 10)
    assert len(records.read(tmp_path / "out", 6).numbers["exam-info.txt"]) == 10


def test_all_names_occur_with_the_umlaut_and_the_blank(students: Students, tmp_path: Path) -> None:
    generated(students, tmp_path / "out", "-s", 5000)
    rows = records.read(tmp_path / "out", 6).fields["basic-student-info.txt"]
    names = {row[0] for row in rows}
    assert len(names) == 110
    assert "Ali Baba Päivi" in names


def test_fsync_writes_the_same_files(students: Students, tmp_path: Path) -> None:
    right = generated(students, tmp_path / "a", "-s", 100, "--seed", 1)
    assert generated(students, tmp_path / "b", "-s", 100, "--seed", 1, "--fsync") == right

"""`tmk-students bench` hands over to the lab of the checkout of its build."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import records

Students = Callable[..., subprocess.CompletedProcess[str]]


def test_the_writers_are_listed_with_those_that_do_the_same_on_one_thread(
    students: Students,
) -> None:
    lines = [line.split("\t") for line in students("writers").stdout.splitlines()]
    assert [line[0] for line in lines] == list(records.WRITERS)
    threads = {name: int(count) for name, count, *_ in lines}
    assert all(threads[line[2]] <= 1 for line in lines)
    assert {line[3] for line in lines} == {"flushes", "buffers"}


def test_all_writers_are_compared_and_the_table_is_kept(students: Students, tmp_path: Path) -> None:
    done = students("bench", "--runs", 1, "--sizes", 40, "--no-record", "--store", "s.db")
    assert done.returncode == 0, done.stderr
    assert "40 students" in done.stdout
    with (tmp_path / "students.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["variant"] for row in rows} == {*records.WRITERS, "limit"}
    assert {row["status"] for row in rows} == {"ok"}
    assert not list(tmp_path.glob(".students-*"))


def test_a_status_that_there_is_not_is_refused_before_anything_is_measured(
    students: Students, tmp_path: Path
) -> None:
    done = students("bench", "--runs", 1, "--sizes", 40, "--fail-on", "x", "--store", "s.db")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no status 'x'" in done.stderr
    assert not (tmp_path / "s.db").exists()


def test_a_writer_with_threads_gets_a_page_of_its_threads_over_time(
    students: Students, tmp_path: Path
) -> None:
    line = ["--runs", 1, "--sizes", 2000, "--writers", "take_turns", "--store", "s.db"]
    done = students("bench", *line)
    assert done.returncode == 0, done.stderr
    if "was not recorded" in done.stdout or "recorder cannot be built" in done.stdout:
        pytest.skip("the recorder is not to be had here")
    page = (tmp_path / "students-threads-take_turns.html").read_text(encoding="utf-8")
    assert "tmk-students generate --writer take_turns" in page
    assert "take_turns" in (tmp_path / "students.html").read_text(encoding="utf-8")


def test_what_the_lab_refuses_is_its_sentence_and_status(students: Students) -> None:
    done = students("bench", "--runs", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "threadmark: --runs goes from 1 to 1000; change it.\n"
    assert "--budget" in students("bench", "--help").stdout

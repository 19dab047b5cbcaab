"""The options of tmk-students: those of the original, the new ones, and the refused ones."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import records

Students = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]


def test_the_combined_form_of_the_original_is_understood(
    students: Students, tmp_path: Path
) -> None:
    done = students("generate", "-zs", "50", "-e", "10", "-b", "500")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"Generation took \d+\.\d+ ms\n", done.stdout)
    assert len(records.read(tmp_path, 10).numbers["exam-info.txt"]) == 50


@pytest.mark.parametrize(
    "words",
    [
        ("-s", 70, "-e", 3, "-b", 10),
        ("--students", 70, "--exercises", 3, "--bufsize", 10),
        ("--students=70", "--exercises=3", "--bufsize=10"),
        ("-zvs70", "-e3", "-b10"),
        ("-s", 70, "-e", 3, "-b", 10, "--serialized"),
    ],
)
def test_short_and_long_options_mean_the_same(
    students: Students, tmp_path: Path, words: tuple[object, ...]
) -> None:
    assert students("generate", "-s", 70, "-e", 3, "-b", 10, "--seed", 3).returncode == 0
    right = records.contents(tmp_path)
    done = students("generate", *words, "--seed", 3)
    assert (done.returncode, done.stderr) == (0, "")
    assert records.contents(tmp_path) == right


def test_six_exercises_and_blocks_of_a_hundred_are_the_default(
    students: Students, tmp_path: Path
) -> None:
    students("generate", "-s", 250, "--seed", 3)
    right = records.contents(tmp_path)
    students("generate", "-s", 250, "--seed", 3, "-e", 6, "-b", 100)
    assert records.contents(tmp_path) == right


def test_a_buffer_of_less_than_five_becomes_five(students: Students, tmp_path: Path) -> None:
    students("generate", "-s", 250, "--seed", 3, "-b", 1)
    right = records.contents(tmp_path)
    students("generate", "-s", 250, "--seed", 3, "-b", 5)
    assert records.contents(tmp_path) == right


def test_help_ends_with_success_and_writes_nothing(students: Students, tmp_path: Path) -> None:
    for words in (("-h",), ("--help",), ("generate", "-h"), ("generate", "-s", 5, "--help")):
        done = students(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert "generate" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_help_names_every_writer(students: Students) -> None:
    text = students("generate", "--help").stdout
    for writer in records.WRITERS:
        assert f"{writer}:" in text


def test_verbose_says_what_is_done_so_that_it_can_be_repeated(
    students: Students, tmp_path: Path
) -> None:
    done = students("generate", "-v", "-s", 300, "--threads", 2)
    said = re.match(
        r"300 students, 6 exercises, blocks of 100, writer fast, threads 2, seed (\d+)\n",
        done.stdout,
    )
    assert said
    right = records.contents(tmp_path)
    for name, content in right.items():
        assert f"{name}: {len(content)} bytes\n" in done.stdout
    memory = re.search(r"\nmemory: (\d+\.\d) MiB at most\n", done.stdout)
    assert memory
    assert 1 < float(memory[1]) < 64  # two chunks, and the libraries
    students("generate", "-s", 300, "--seed", said[1])
    assert records.contents(tmp_path) == right


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "must be a command, generate, limit, merge, node, pipeline, bench or writers;"),
        (("generation",), "limit, merge, node, pipeline, bench or writers, not 'generation'"),
        (("generate",), "--students is required"),
        (("generate", "-s"), "--students"),
        (("generate", "-s", "many"), "whole number from 1 to 1000000000, not 'many'"),
        (("generate", "-s", "0"), "not '0'"),
        (("generate", "-s", "-5"), "not '-5'"),
        (("generate", "-s", "5x"), "not '5x'"),
        (("generate", "-s", ""), "not ''"),
        (("generate", "-s", "1000000001"), "not '1000000001'"),
        (("generate", "-s", "18446744073709551617"), "not '18446744073709551617'"),
        (("generate", "-s", "9", "-e", "0"), "whole number from 1 to 10000, not '0'"),
        (("generate", "-s", "9", "-b", "0"), "whole number from 1 to 1000000, not '0'"),
        (("generate", "-s", "9", "-b", "1000001"), "not '1000001'"),
        (("generate", "-s", "9", "--seed", "-1"), "--seed must be"),
        (("generate", "-s", "9", "--threads", "0"), "--threads must be"),
        (("generate", "-s", "9", "--threads", "257"), "from 1 to 256"),
        (("generate", "-s", "9", "--writer", "slow"), "as_published, buffered, fast, persistent"),
        (("generate", "-s", "9", "-z", "--threads", "2"), "choose --writer fast"),
        (("generate", "-s", "9", "-z", "--writer", "fast"), "excludes"),
        (("generate", "-s", "9", "--unknown"), "--unknown"),
        (("generate", "-s", "9", "more"), "more"),
        (("limit", "-s", "1000000000"), "choose fewer --students"),
    ],
)
def test_what_cannot_be_understood_is_refused_in_one_sentence(
    refused: Refused, words: tuple[str, ...], said: str
) -> None:
    assert said in refused(2, *words)


@pytest.mark.parametrize("writer", ["fast", "persistent", "sequential"])
def test_blocks_that_need_too_much_memory_are_refused_with_one_that_does_not(
    students: Students, refused: Refused, writer: str
) -> None:
    words = ("generate", "-s", 2_000_000, "-e", 10_000, "--writer", writer)
    found = re.search(
        r"of which 1024 MiB may be used; choose --bufsize (\d+) or less",
        refused(2, *words, "-b", 1_000_000),
    )
    assert found
    enough = int(found[1])
    sentence = refused(1, *words, "-b", enough, "--out", "nowhere")
    assert "nowhere does not exist" in sentence
    assert "choose --bufsize" in refused(2, *words, "-b", enough + enough // 50)

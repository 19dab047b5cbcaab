"""tmk-students merge: the join of any files, in any memory and with any number of threads."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import joined
import pytest
import records
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Students = Callable[..., subprocess.CompletedProcess[str]]

POINTS = st.integers(0, 1000).map(str)
NAMES = st.text(
    st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30
)
ANY = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def merged(students: Students, folder: Path, *words: object) -> joined.Joined:
    """The files that merge writes; its status must tell whether there is a list."""
    target = folder / "summary.txt"
    done = students("merge", "--in", folder, "-o", target, *words)
    listed = Path(f"{target}.incomplete")
    said = "students are not in all four files" in done.stderr
    assert (done.returncode, said) == ((3, True) if listed.exists() else (0, False)), done
    assert not [path for path in folder.iterdir() if ".partial-" in path.name]
    return joined.Joined(target.read_bytes(), listed.read_bytes() if said else None)


@ANY
@given(
    count=st.integers(1, 3000),
    exercises=st.integers(1, 40),
    seed=st.integers(0, 2**64 - 1),
    threads=st.integers(1, 4),
    memory=st.sampled_from(["16M", "20M", "1G"]),
)
def test_the_merge_of_generated_files_is_their_join(
    *,
    students: Students,
    tmp_path: Path,
    count: int,
    exercises: int,
    seed: int,
    threads: int,
    memory: str,
) -> None:
    words = ("-s", count, "-e", exercises, "--seed", seed, "--out", tmp_path)
    assert students("generate", *words).returncode == 0
    right = joined.join(joined.read(tmp_path, exercises))
    assert merged(students, tmp_path, "--threads", threads, "--memory", memory) == right


@ANY
@given(
    numbers=st.sets(
        st.integers(1, 40) | st.integers(16_380, 16_390) | st.integers(1, 10**9), max_size=60
    ),
    exercises=st.integers(1, 9),
    maximum=st.integers(1, 1000),
    threads=st.integers(1, 3),
    data=st.data(),
)
def test_the_merge_of_any_files_lists_who_is_not_in_all(
    *,
    students: Students,
    tmp_path: Path,
    numbers: set[int],
    exercises: int,
    maximum: int,
    threads: int,
    data: st.DataObject,
) -> None:
    fields = {
        "basic-student-info.txt": st.tuples(NAMES, NAMES),
        "exam-info.txt": st.tuples(POINTS),
        "exercise-info.txt": st.tuples(*[POINTS] * exercises),
        "project-info.txt": st.tuples(POINTS),
    }
    rows = {
        name: {
            number: data.draw(each)
            for number in data.draw(st.permutations(sorted(numbers)))
            if data.draw(st.integers(0, 9)) > 0
        }
        for name, each in fields.items()
    }
    joined.write(tmp_path / "in", rows)
    words = ("--points", maximum, "--threads", threads)
    assert merged(students, tmp_path / "in", *words) == joined.join(rows, maximum)


def test_a_small_memory_is_kept_and_gives_the_same_with_any_number_of_threads(
    students: Students, tmp_path: Path
) -> None:
    # The compact records of these students take about 25 MB.
    students("generate", "-s", 500_000, "-e", 2, "--seed", 3, "--out", tmp_path)
    right = merged(students, tmp_path, "--threads", 1)
    assert right.result.count(b"\n") == 500_001
    target = tmp_path / "other.txt"
    for mebibytes, threads in ((16, 1), (16, 2), (16, 200), (24, 3), (64, 9)):
        words = ("--memory", f"{mebibytes}M", "--threads", threads, "-v")
        said = students("merge", "--in", tmp_path, "-o", target, *words).stdout
        found = re.search(
            r"^500000 students, 0 incomplete, .* temporary file (\d+) bytes, memory (\d+) KiB\n",
            said,
        )
        assert found, said
        assert (int(found[1]) > 0) == (mebibytes < 64), said
        assert 1000 < int(found[2]) <= mebibytes * 1024, said
        assert target.read_bytes() == right.result


def test_few_students_far_apart_with_long_names_stay_within_the_memory(
    students: Students, tmp_path: Path
) -> None:
    numbers = [1 + 9973 * i for i in range(100_000)]
    rows: joined.Rows = {
        "basic-student-info.txt": {each: ("n" * 230 + str(each), "TOL") for each in numbers},
        "exam-info.txt": dict.fromkeys(numbers, ("4",)),
        "exercise-info.txt": dict.fromkeys(numbers, ("1", "2")),
        "project-info.txt": dict.fromkeys(numbers, ("3",)),
    }
    joined.write(tmp_path, rows)
    done = students("merge", "-v", "--memory", "16M", "--threads", 2)
    assert done.returncode == 0, done
    assert (tmp_path / "summary.txt").read_bytes() == joined.join(rows).result
    peak = re.search(r"memory (\d+) KiB", done.stdout)
    assert peak
    assert int(peak[1]) <= 16 * 1024


def test_points_above_the_maximum_count_and_are_said(students: Students, tmp_path: Path) -> None:
    rows = {
        "basic-student-info.txt": {100_001: ("Laine Aino", "TOL"), 100_002: ("Berg Onni", "SO")},
        "exam-info.txt": {100_001: ("22",), 100_002: ("5",)},
        "exercise-info.txt": {100_001: ("5", "6"), 100_002: ("0", "5")},
        "project-info.txt": {100_001: ("12",), 100_002: ("5",)},
    }
    joined.write(tmp_path, rows)
    done = students("merge")
    assert (done.returncode, (tmp_path / "summary.txt").read_bytes()) == (
        0,
        b"summarydata\n100001\tLaine Aino\tTOL\t22\t11\t12\t5\n100002\tBerg Onni\tSO\t5\t5\t5\t4\n",
    )
    assert done.stderr == (
        "tmk-students: 3 lines have points above 5, which count in full; "
        "choose the maximum with --points.\n"
    )
    done = students("merge", "--points", 22)
    assert done.stderr == ""
    assert (tmp_path / "summary.txt").read_bytes() == joined.join(rows, 22).result


def test_files_without_students_give_a_result_without_students(
    students: Students, tmp_path: Path
) -> None:
    joined.write(tmp_path, {key: {} for key in records.FILES})
    assert merged(students, tmp_path) == joined.Joined(b"summarydata\n", None)


def test_a_list_of_an_earlier_run_is_removed_when_nobody_is_missing(
    students: Students, tmp_path: Path
) -> None:
    students("generate", "-s", 20, "--out", tmp_path)
    exams = tmp_path / "exam-info.txt"
    whole = exams.read_bytes()
    line = whole.splitlines(keepends=True)[7]
    exams.write_bytes(whole.replace(line, b""))
    number = line.split(b"\t")[0]
    found = merged(students, tmp_path)
    assert found.incomplete == b"incompletedata\n" + number + b"\texam-info.txt\n"
    assert found.result.count(b"\n") == 20
    exams.write_bytes(whole)
    assert merged(students, tmp_path).result.count(b"\n") == 21
    assert not (tmp_path / "summary.txt.incomplete").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--memory", "15M"), "--memory must be at least 16M, not '15M': the program and its"),
        (("--memory", "much"), "--memory must be a size such as 64M or 2G, not 'much'"),
        (("--memory", "-1"), "not '-1'"),
        (("--memory", ""), "not ''"),
        (("--memory", "M"), "not 'M'"),
        (("--memory", "99999999999T"), "not '99999999999T'"),
        (("--points", "0"), "--points must be a whole number from 1 to 1000, not '0'"),
        (("--points", "1001"), "not '1001'"),
        (("--threads", "0"), "--threads must be"),
        (("more",), "more"),
        (("-o", "exam-info.txt"), "is one of the four files; choose another file with -o."),
        (("-o", "./a/../exam-info.txt"), "is one of the four files"),
    ],
)
def test_what_merge_cannot_grant_is_refused_in_one_sentence(
    refused: Callable[..., str], students: Students, tmp_path: Path, words: object, said: str
) -> None:
    (tmp_path / "a").mkdir()
    students("generate", "-s", 20)
    assert isinstance(words, tuple)
    assert said in refused(2, "merge", *words)

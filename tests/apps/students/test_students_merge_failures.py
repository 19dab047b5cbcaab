"""tmk-students merge meets bad files, a full disk or a signal: it prints one sentence and leaves no
file."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import mounting
import pytest
import records

Students = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]

EXAMS = "exam-info.txt"


@pytest.fixture
def generated(students: Students, tmp_path: Path) -> Path:
    """The four files of 50 students, and the result of an earlier run."""
    folder = tmp_path / "in"
    folder.mkdir()
    assert students("generate", "-s", 50, "-e", 4, "--seed", 2, "--out", folder).returncode == 0
    (tmp_path / "summary.txt").write_text("earlier\n")
    (tmp_path / "summary.txt.incomplete").write_text("earlier\n")
    return folder


def change(path: Path, line: int, what: Callable[[bytes], bytes]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = what(lines[line - 1])
    path.write_bytes(b"".join(lines))


def with_points(points: bytes) -> Callable[[bytes], bytes]:
    return lambda line: line[: line.rindex(b"\t") + 1] + points + b"\n"


def test_a_result_without_a_name_is_refused(refused: Refused, generated: Path) -> None:
    assert "-o needs the name of a file." in refused(2, "merge", "--in", generated, "-o", "")


@pytest.mark.parametrize(
    ("name", "line", "what", "said"),
    [
        (EXAMS, 7, with_points(b"1001"), "the points are '1001', not a whole number from 0 to"),
        (EXAMS, 7, with_points(b"x"), "the points are 'x', not"),
        (EXAMS, 7, with_points(b"-1"), "the points are '-1', not"),
        (EXAMS, 51, lambda line: line.removesuffix(b"\n"), "its line feed is missing, so the"),
        (EXAMS, 51, lambda line: line[:3], "its line feed is missing, so the file is not whole"),
        (EXAMS, 9, lambda line: line.replace(b"\n", b"\r\n"), "it ends with CR LF; convert"),
        (EXAMS, 1, lambda line: line.replace(b"\n", b"\r\n"), "it ends with CR LF; convert"),
        (EXAMS, 1, lambda _: b"studentdata\n", "the content type is 'studentdata', not 'examdat"),
        (EXAMS, 1, lambda _: b"PK\x03\x04\n", "the content type is 'PK??', not 'examdata'; put"),
        (EXAMS, 1, lambda line: b"\xef\xbb\xbf" + line, "it begins with a byte order mark; save"),
        (EXAMS, 1, lambda line: line.decode().encode("utf-16"), "it is UTF-16, not UTF-8; conv"),
        (EXAMS, 3, lambda line: b"00000" + line[5:], "the student number is '00000', not a who"),
        (EXAMS, 3, lambda line: b"1000000001" + line[5:], "the student number is '1000000001', n"),
        (EXAMS, 3, lambda _: b"\n", "it is empty; remove it."),
        (EXAMS, 3, lambda line: line[:5] + b"\n", "it has 1 field between tabs, not 2"),
        ("exercise-info.txt", 50, lambda line: line[:-3] + b"\n", "it has points of 3 exercises, "),
        ("exercise-info.txt", 2, with_points(b"1\t1"), "it has points of 4 exercises, and line 2"),
        ("basic-student-info.txt", 4, lambda line: line[:6] + b"J\xe4rvi\tSO\n", "is not valid"),
        ("project-info.txt", 20, lambda line: line + line, "is already in line 20; remove one"),
    ],
)
def test_a_bad_line_is_named_and_the_earlier_result_stays(
    *,
    refused: Refused,
    generated: Path,
    name: str,
    line: int,
    what: Callable[[bytes], bytes],
    said: str,
) -> None:
    change(generated / name, line, what)
    before = records.contents(generated)
    number = 21 if "already" in said else 3 if "line 2" in said else line
    for threads in (1, 3):
        sentence = refused(1, "merge", "--in", generated, "--threads", threads)
        assert sentence.startswith(f"tmk-students: {generated / name}, line {number}: "), sentence
        assert said in sentence
    assert (generated.parent / "summary.txt").read_text() == "earlier\n"
    assert (generated.parent / "summary.txt.incomplete").read_text() == "earlier\n"
    assert records.contents(generated) == before


@pytest.mark.parametrize("name", list(records.FILES))
def test_a_missing_an_empty_or_a_foreign_file_is_named(
    refused: Refused, generated: Path, name: str
) -> None:
    path = generated / name
    path.write_bytes(b"")
    sentence = refused(1, "merge", "--in", generated)
    assert f"{path} is empty, and its first line must be '{records.FILES[name]}'; " in sentence
    path.unlink()
    sentence = refused(1, "merge", "--in", generated)
    assert f"{path} does not exist; choose the folder of the four files with --in." in sentence
    path.mkdir()
    assert f"{path} is not a regular file; " in refused(1, "merge", "--in", generated)
    path.rmdir()
    os.mkfifo(path)
    assert f"{path} is not a regular file; " in refused(1, "merge", "--in", generated)
    path.unlink()
    path.write_bytes(b"\x7fELF" + bytes(300_000))
    sentence = refused(1, "merge", "--in", generated)
    assert f"{path}, line 1: the content type is '?ELF???" in sentence


def test_the_lowest_double_student_is_named_for_every_number_of_threads(
    students: Students, refused: Refused, tmp_path: Path
) -> None:
    students("generate", "-s", 200_000, "-e", 1, "--out", tmp_path)
    for name, number in ((EXAMS, b"199999"), ("project-info.txt", b"31000"), (EXAMS, b"31000")):
        with (tmp_path / name).open("ab") as file:
            file.write(number + b"\t1\n")
    for threads in (1, 2, 5):
        sentence = refused(1, "merge", "--threads", threads)
        assert re.search(
            r"exam-info.txt, line 200003: the student 31000 is already in line", sentence
        )


@pytest.mark.parametrize("target", ["there", "/dev/null", "missing/summary.txt", "/proc/summary"])
def test_a_result_that_cannot_be_written_is_refused(
    refused: Refused, generated: Path, target: str
) -> None:
    (generated.parent / "there").mkdir()
    assert "choose another file with -o" in refused(1, "merge", "--in", generated, "-o", target)


def test_an_earlier_list_that_cannot_be_removed_leaves_the_earlier_result(
    executable: Path, generated: Path
) -> None:
    folder = generated.parent
    (folder / "other").touch()
    script = (
        f"mount --bind {folder}/other {folder}/summary.txt.incomplete || exit {mounting.REFUSED}\n"
        f"cd {folder} && {executable} merge --in in\n"
    )
    done = mounting.run(script)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done
    assert "summary.txt.incomplete of an earlier run cannot be removed (" in done.stderr
    assert {each.name for each in folder.iterdir()} == {
        *("in", "other", "summary.txt", "summary.txt.incomplete")
    }
    assert (folder / "summary.txt").read_text() == "earlier\n"
    assert (folder / "summary.txt.incomplete").read_text() == "earlier\n"


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("1G", "summary.txt cannot be written (File too large); raise the limit of file sizes"),
        ("16M", "A temporary file in "),
    ],
)
def test_files_that_may_not_grow_leave_nothing(
    students: Students, refused: Refused, generated: Path, memory: str, said: str
) -> None:
    students("generate", "-s", 300_000, "-e", 1, "--out", generated)
    words = ("merge", "--in", generated, "--memory", memory)
    assert said in refused(1, *words, preexec_fn=small_files)
    assert (generated.parent / "summary.txt").read_text() == "earlier\n"


@pytest.mark.parametrize(("memory", "said"), [("1G", "summary.txt"), ("16M", "A temporary file")])
def test_a_full_disk_is_said_and_leaves_nothing(
    students: Students,
    refused_by_a_full_disk: Callable[..., str],
    tmp_path: Path,
    memory: str,
    said: str,
) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    target.mkdir()
    students("generate", "-s", 300_000, "-e", 1, "--out", source)
    words = ("merge", "--in", source, "-o", target / "summary.txt", "--memory", memory)
    sentence = refused_by_a_full_disk(target, *words)
    assert said in sentence
    assert "(No space left on device); free some space or choose" in sentence


def test_a_full_standard_output_is_a_failure_and_the_result_is_there(
    students: Students, generated: Path
) -> None:
    with Path("/dev/full").open("w") as full:
        done = students(
            *("merge", "--in", generated),
            capture_output=False,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert "Standard output cannot be written (No space left on device)" in done.stderr
    assert (generated.parent / "summary.txt").read_text().startswith("summarydata\n")


def stopped_early(
    executable: Path, folder: Path, stderr: int, least_bytes: int = 0
) -> subprocess.Popen[bytes]:
    """A merge that is stopped when it has made its files and written `least_bytes`, or soon
    after."""
    out = folder / "out"
    process = subprocess.Popen(
        [executable, "merge", "--in", folder, "-o", out / "summary.txt"],
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    end = time.monotonic() + 60
    sizes: list[int] = []
    while process.poll() is None and not (sizes and sum(sizes) >= least_bytes):
        with contextlib.suppress(FileNotFoundError):  # merge renames the file at this moment
            sizes = [each.stat().st_size for each in os.scandir(out)]
        assert time.monotonic() < end
    process.send_signal(signal.SIGSTOP)
    return process


# 0: merge reads the files; 100: it writes the result.
@pytest.mark.parametrize("least_bytes", [0, 100])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_part_of_the_result(
    *,
    students: Students,
    executable: Path,
    tmp_path: Path,
    number: signal.Signals,
    least_bytes: int,
) -> None:
    students("generate", "-s", 300_000, "-e", 1, "--out", tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    for _ in range(10):  # on a machine with other work the signal may come too late
        process = stopped_early(executable, tmp_path, subprocess.DEVNULL, least_bytes)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        if process.wait(30) == -number:
            assert list(out.iterdir()) == []
            return
        assert process.returncode == 0
        (out / "summary.txt").unlink()
    pytest.fail("no signal came in time")


def said_on_a_terminal(executable: Path, folder: Path) -> str:
    """The text that merge prints on a terminal after a long stop, or nothing if the stop came too
    late."""
    ours, theirs = pty.openpty()
    process = stopped_early(executable, folder, theirs)
    os.close(theirs)
    time.sleep(0.25)
    process.send_signal(signal.SIGCONT)
    text = ""
    while select.select([ours], [], [], 20)[0]:
        try:
            text += os.read(ours, 4096).decode()
        except OSError:  # the process has ended
            break
    os.close(ours)
    assert process.wait(30) == 0
    return text


def test_a_terminal_sees_how_far_the_merge_is(
    students: Students, executable: Path, tmp_path: Path
) -> None:
    students("generate", "-s", 300_000, "-e", 1, "--out", tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    for _ in range(10):  # on a machine with other work the stop may come too late
        text = said_on_a_terminal(executable, tmp_path)
        if text:
            break
        (out / "summary.txt").unlink()
    assert re.search(r"\d+ of \d+ MB \(\d+ %\), \d+ MB/s, \d+ s left", text), text

"""tmk-students generate meets a full disk, a refused folder or a signal: it prints one sentence and
leaves no part of a file."""

from __future__ import annotations

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

import pytest
import records

Students = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]

# It runs longer than any test waits.
ENDLESS = ("generate", "-s", "1000000000")


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))


@pytest.mark.parametrize("command", [*records.WRITERS, "limit"])
def test_files_that_may_not_grow_leave_nothing_and_keep_the_earlier_ones(
    students: Students, refused: Refused, tmp_path: Path, command: str
) -> None:
    assert students("generate", "-s", 50).returncode == 0
    before = records.contents(tmp_path)
    words = ("limit",) if command == "limit" else ("generate", "--writer", command)
    sentence = refused(1, *words, "-s", 50_000, preexec_fn=small_files)
    assert "(File too large); raise the limit of file sizes" in sentence
    assert records.contents(tmp_path) == before


@pytest.mark.parametrize("command", [*records.WRITERS, "limit"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    refused_by_a_full_disk: Callable[..., str], tmp_path: Path, command: str
) -> None:
    words = ["limit"] if command == "limit" else ["generate", "--writer", command]
    said = refused_by_a_full_disk(tmp_path, *words, "-s", 50_000, "--out", tmp_path)
    assert "No space left on device); free some space" in said


def test_a_folder_that_is_not_there_is_refused(refused: Refused) -> None:
    sentence = refused(1, "generate", "-s", 5, "--out", "a/b")
    assert "The folder a/b does not exist; create it or choose another --out." in sentence


def test_a_file_in_the_place_of_the_folder_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "file/below"):
        assert "choose another" in refused(1, "generate", "-s", 5, "--out", name)


def test_a_folder_in_the_place_of_a_file_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "exam-info.txt").mkdir()
    assert "exam-info.txt is a folder; remove it" in refused(1, "generate", "-s", 5)


def test_a_pipe_in_the_place_of_a_file_is_refused(refused: Refused, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "exam-info.txt")
    assert "exam-info.txt is not a regular file; choose" in refused(1, "generate", "-s", 5)
    assert (tmp_path / "exam-info.txt").is_fifo()


def test_a_folder_without_permission_is_refused(refused: Refused, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    nobody = {"user": 65534} if os.geteuid() == 0 else {}  # root may write everywhere
    for each in (tmp_path, *tmp_path.parents[:2]):
        if nobody:
            each.chmod(0o755)
    sentence = refused(1, "generate", "-s", 5, "--out", folder, **nobody)
    assert "(Permission denied); give write permission or choose another folder" in sentence


def test_a_file_system_that_cannot_be_written_is_refused(refused: Refused) -> None:
    assert "choose another folder with --out" in refused(1, "generate", "-s", 5, "--out", "/proc")


def test_a_full_standard_output_is_a_failure(students: Students) -> None:
    with Path("/dev/full").open("w") as full:
        done = students(
            "generate", "-s", 5, capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert "Standard output cannot be written (No space left on device)" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("writer", records.WRITERS)
def test_a_signal_leaves_no_part_of_a_file(
    executable: Path, tmp_path: Path, writer: str, number: signal.Signals
) -> None:
    line = [executable, *ENDLESS, "-b", "1000", "--writer", writer]
    process = subprocess.Popen(
        line,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The process that runs the tests may ignore Ctrl-C or hang-ups, and a child inherits that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    wait_until(lambda: sum(path.stat().st_size for path in tmp_path.iterdir()) > 100_000)
    assert not set(records.FILES) & {path.name for path in tmp_path.iterdir()}
    process.send_signal(number)
    assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == -number
    assert list(tmp_path.iterdir()) == []


def test_an_ignored_hang_up_ends_nothing(executable: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [executable, *ENDLESS, "-z"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # noqa: PLW1509
    )
    try:
        wait_until(lambda: bool(list(tmp_path.iterdir())))
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(30)


def test_two_runs_in_one_folder_do_not_disturb_one_another(
    executable: Path, tmp_path: Path
) -> None:
    line = [executable, "generate", "-s", "50000", "--threads", "1", "--seed"]
    running = [
        subprocess.Popen([*line, str(seed)], cwd=tmp_path, stdout=subprocess.DEVNULL)
        for seed in range(6)
    ]
    assert [each.wait(60) for each in running] == [0] * 6
    for name in records.FILES:
        text = (tmp_path / name).read_text("utf-8")
        assert text.count("\n") == 50_001
    assert len(list(tmp_path.iterdir())) == len(records.FILES)


def test_a_terminal_sees_how_far_it_is(executable: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [executable, *ENDLESS, "-z"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    text = ""
    end = time.monotonic() + 60
    while text.count("left") < 2 and time.monotonic() < end:
        if select.select([ours], [], [], 1)[0]:
            text += os.read(ours, 4096).decode()
    process.terminate()
    process.wait(30)
    os.close(ours)
    assert re.search(r"\d+ of 1000000000 students \(\d+ %\), \d+ students/s, \d+ s left", text), (
        text
    )


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)

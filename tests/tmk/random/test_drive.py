"""The driver's reports on random programs that fail, each in its own way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import drive
import pytest

RIGHT = "echo right: answer 5eed expected 5eed size 4"


def programs(folder: Path, tmk: str, std: str = RIGHT) -> Path:
    for name, body in (("std", std), ("tmk", tmk)):
        program = folder / f"random_programs.{name}"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    return folder


def give_up_after(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "LIMIT_S", seconds)
    monkeypatch.setattr(drive, "LOOK_S", 0.1)


def ends(pid: str) -> bool:
    """Whether a killed process ends; its end may take a while."""
    status = Path(f"/proc/{pid}/stat")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if ") Z " in status.read_text():
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo wrong: a task ran twice; exit 3", "status 3: wrong: a task ran twice"),
        ("kill -SEGV $$", "SIGSEGV: no output"),
        (f"{RIGHT}; exit 66", "status 66: right"),
        ("exit 0", "status 0: no output"),
        ("echo right: answer 1234 expected 1234 size 4", "answer 1234, with std 5eed"),
    ],
)
def test_a_failed_program_is_named_with_its_command(tmp_path: Path, body: str, said: str) -> None:
    folder = programs(tmp_path, body)
    (found,) = drive.failures(folder, 17, (8,))
    assert found.startswith(
        f"seed 17: TMK_NUM_THREADS=8 {folder / 'random_programs.tmk'} --seed 17\n  {said}"
    )


def test_a_program_that_hangs_is_ended_with_what_it_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_up_after(0.3, monkeypatch)
    forked = tmp_path / "forked"
    folder = programs(tmp_path, f"sleep 100 & echo $! > {forked}; wait")
    # Until the program has forked, it counts as waiting for a processor.
    monkeypatch.setattr(
        drive, "runnable_threads", lambda _: {} if forked.exists() else {"thread": "5"}
    )
    began = time.monotonic()
    (found,) = drive.failures(folder, 17, (1,))
    assert "not at its end after" in found
    assert time.monotonic() - began < 90
    assert ends(forked.read_text().strip())


def test_time_in_which_a_runnable_thread_gets_no_processor_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_up_after(0.3, monkeypatch)
    folder = programs(tmp_path, f"sleep 1; {RIGHT}", std=RIGHT)
    monkeypatch.setattr(drive, "runnable_threads", lambda group: {"thread": "5"})
    assert drive.failures(folder, 17, (1,)) == []


def test_time_in_which_the_driver_gets_no_processor_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_up_after(0.5, monkeypatch)
    until_looked = f"until [ -e {tmp_path}/looked ]; do sleep 0.02; done"
    folder = programs(tmp_path, f"{until_looked}; {RIGHT}; touch {tmp_path}/ended", std=RIGHT)
    first = iter([True])

    def look(_group: int) -> dict[str, str]:
        if next(first, False):
            time.sleep(0.6)
            return {}
        (tmp_path / "looked").touch()
        deadline = time.monotonic() + 30
        while not (tmp_path / "ended").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return {}

    monkeypatch.setattr(drive, "runnable_threads", look)
    assert drive.failures(folder, 17, (1,)) == []


def test_threads_that_run_or_sleep_are_not_taken_for_starved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_up_after(1.0, monkeypatch)
    folder = programs(tmp_path, "sleep 100 & while :; do :; done")
    began = time.monotonic()
    (found,) = drive.failures(folder, 17, (1,))
    assert "not at its end after" in found
    assert time.monotonic() - began < 90


def test_the_runnable_threads_of_what_a_program_forked_are_seen() -> None:
    command = ["sh", "-c", "sh -c 'while :; do :; done' & wait"]
    with subprocess.Popen(command, start_new_session=True) as program:
        try:
            deadline = time.monotonic() + 30
            while True:
                found = [Path(each).name for each in drive.runnable_threads(program.pid)]
                if found and str(program.pid) not in found:
                    break
                assert time.monotonic() < deadline
        finally:
            drive.end(program.pid)


def test_an_interrupted_driver_ends_its_programs_and_begins_no_more(tmp_path: Path) -> None:
    folder = programs(tmp_path, f"echo $$ >> {tmp_path}/begun; exec sleep 100")
    command = [sys.executable, drive.__file__, str(folder), "--first", "1", "--jobs", "2"]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    begun = tmp_path / "begun"
    deadline = time.monotonic() + 30
    while not begun.exists() or len(begun.read_text().split()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    driver.send_signal(signal.SIGINT)
    output, _ = driver.communicate(timeout=60)
    assert (driver.returncode, output.splitlines()[-1]) == (130, "random programs: interrupted")
    for pid in begun.read_text().split():
        assert ends(pid)


def test_a_program_may_take_twenty_times_as_long_as_with_std(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive, "LIMIT_S", 0.1)
    folder = programs(tmp_path, f"sleep 1; {RIGHT}", std=f"sleep 0.3; {RIGHT}")
    assert drive.failures(folder, 17, (1, 2)) == []


def test_a_program_that_fails_with_std_is_named_too(tmp_path: Path) -> None:
    folder = programs(tmp_path, RIGHT, std="exit 3")
    (found,) = drive.failures(folder, 17, (1, 2))
    assert found.startswith(f"seed 17: {folder / 'random_programs.std'} --seed 17")


def test_each_number_of_threads_is_tried(tmp_path: Path) -> None:
    folder = programs(tmp_path, f"echo $TMK_NUM_THREADS >> {tmp_path}/threads; {RIGHT}")
    assert drive.failures(folder, 17, drive.THREADS) == []
    assert (tmp_path / "threads").read_text().split() == ["1", "2", "8"]

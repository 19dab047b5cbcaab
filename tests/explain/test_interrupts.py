"""Ctrl-C, a closed terminal and a broken store while the recorder runs a program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from threadmark.kinds.explain import invocation
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT

PATIENCE_S = 60
# Goes on after an interrupt until there is a file "end". The file "begun" tells that it runs.
STUBBORN = (
    "import os, signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); open('begun', 'w')\n"
    "while not os.path.exists('end'): time.sleep(0.01)"
)
Starts = Callable[..., subprocess.Popen[str]]


def _unignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup, under which the tests may run, ignores it


@pytest.fixture
def starts(tmp_path: Path) -> Iterator[Starts]:
    """Start `explain` of a Python program, as a foreground group of its own."""
    started = []

    def start(program: str, *options: str) -> subprocess.Popen[str]:
        line = [sys.executable, "-P", "-m", "threadmark", "explain", *options, "--", sys.executable]
        process = subprocess.Popen(
            [*line, "-c", program], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, process_group=0, preexec_fn=_unignored,  # noqa: PLW1509
            env={**os.environ, "PYTHONPATH": str(ROOT / "lab")},
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    (tmp_path / "end").touch()
    for each in started:
        each.communicate(timeout=PATIENCE_S)


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_second_interrupt_says_how_a_program_that_goes_on_is_ended(
    starts: Starts, tmp_path: Path
) -> None:
    explain = starts(STUBBORN, "--store", "s.db")
    until((tmp_path / "begun").exists)
    for _ in range(2):
        os.killpg(explain.pid, signal.SIGINT)
        time.sleep(1)  # two interrupts within a quarter of a second count as one
    (tmp_path / "end").touch()
    out, err = explain.communicate(timeout=PATIENCE_S)
    assert explain.returncode == 0, err
    assert err.count("the program goes on after Ctrl-C; `kill ") == 1
    assert "thread" in out


def test_a_closed_terminal_leaves_no_record_and_no_process(starts: Starts, tmp_path: Path) -> None:
    explain = starts("open('begun', 'w'); import time; time.sleep(600)", "--store", "s.db")
    until((tmp_path / "begun").exists)
    os.killpg(explain.pid, signal.SIGHUP)
    _, err = explain.communicate(timeout=PATIENCE_S)
    assert explain.returncode == 143
    assert "was terminated" in err
    assert not list(tmp_path.glob(".explain-*"))
    with pytest.raises(ProcessLookupError):
        os.killpg(explain.pid, 0)


@pytest.mark.parametrize("options", [(), ("--threads", "1,2", "--threads-env", "N")])
@pytest.mark.parametrize("store", ["/dev/full", "no.db"])
def test_a_store_that_cannot_be_used_is_said_before_the_program_runs(
    store: str, options: tuple[str, ...], starts: Starts, tmp_path: Path
) -> None:
    (tmp_path / "no.db").write_text("this is no store")
    explain = starts("open('begun', 'w')", "--store", store, *options)
    _, err = explain.communicate(timeout=PATIENCE_S)
    assert explain.returncode == 2
    assert err.count("\n") == 1
    assert store in err
    assert not (tmp_path / "begun").exists()


def test_a_folder_that_became_unwritable_does_not_hide_what_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    with (
        pytest.raises(LabError, match="Nothing was recorded"),
        invocation.temporary(tmp_path / "s.db"),
    ):
        raise LabError("Nothing was recorded.")

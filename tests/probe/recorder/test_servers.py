"""Servers: the recording begins when they are ready, goes on under a load, and ends when they
end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from recorder_support import Recorder, sentence

SERVER = "trap 'exit 3' TERM; trap 'exit 4' INT; sleep 0.3; : > up; while :; do sleep 0.02; done"


def test_a_server_is_recorded_while_its_load_runs(recorder: Recorder, tmp_path: Path) -> None:
    load = "test -e up && echo under load; sleep 0.5; : > loaded"
    options = ("--ready", "test -e up", "--load", load)
    done = recorder.run("sh", "-c", SERVER, options=options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "under load\n")
    assert (tmp_path / "loaded").exists()
    head = recorder.read().head
    assert head["complete"]
    assert 0.4e9 < head["ended_ns"] - head["began_ns"] < 3e9
    assert not any("--load" in each or "--ready" in each for each in head["limits"])


@pytest.mark.parametrize(("name", "status"), [("INT", 4), ("SIGTERM", 3), ("2", 4)])
def test_the_signal_can_be_chosen(
    recorder: Recorder, tmp_path: Path, name: str, status: int
) -> None:
    options = ("--duration", "0.6", "--stop", name)
    done = recorder.run("sh", "-c", SERVER, options=options, cwd=tmp_path)
    assert done.returncode == status
    assert recorder.read().head["complete"]


def test_a_load_that_fails_is_said(recorder: Recorder, tmp_path: Path) -> None:
    done = recorder.run("sh", "-c", SERVER, options=("--load", "exit 7"), cwd=tmp_path)
    assert done.returncode in {-signal.SIGTERM, 3}
    assert recorder.read().says("The command of --load ended with status 7.")


def test_a_load_ends_with_the_program(recorder: Recorder, tmp_path: Path) -> None:
    load = "sleep 1234.5 & echo $! > own; wait"
    began = time.monotonic()
    recorder.run("sleep", "0.4", options=("--load", load), cwd=tmp_path)
    assert time.monotonic() - began < 60
    assert recorder.read().says("The program ended before the command of --load did.")
    pid = int((tmp_path / "own").read_text())
    assert (
        not Path(f"/proc/{pid}/cmdline").exists()
        or b"1234.5" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    )


def test_an_interrupt_ends_the_wait_for_a_server(recorder: Recorder, tmp_path: Path) -> None:
    ready = "test -e up && : > tried; false"
    words = recorder.words("sh", "-c", SERVER, options=("--ready", ready))
    with subprocess.Popen(words, cwd=tmp_path) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "tried").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 4
    record = recorder.read()
    assert record.head["complete"]
    assert record.says("The command of --ready did not succeed in time.")


def test_a_process_that_ran_before_is_left_alone(recorder: Recorder, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as running:
        words = ("-o", recorder.file, "--pid", str(running.pid), "--load", "sleep 0.4")
        assert recorder.call(*words).returncode == 0
        assert running.poll() is None
        head = recorder.read().head
        assert 0.3e9 < head["ended_ns"] - head["began_ns"] < 5e9
        assert recorder.call(*words, "--stop", "INT").returncode == 125
        running.kill()


@pytest.mark.parametrize(
    "words",
    [
        ["--stop", "TERM", "--", "true"],
        ["--stop", "NONE", "--load", "true", "--", "true"],
        ["--set", "A", "--", "true"],
        ["--set", "=b", "--", "true"],
        ["--set", "A=b", "--pid", "1"],
    ],
)
def test_options_that_lack_what_they_need_are_refused(recorder: Recorder, words: list[str]) -> None:
    done = recorder.call(*words)
    assert (done.returncode, sentence(done.stderr)) == (125, True)


def test_a_variable_that_is_set_reaches_the_program_alone(
    recorder: Recorder, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    program = f"echo program $A-$B-$LD_PRELOAD >> {seen}; exec sleep 60"
    options = ("--set", "A=new=1", "--set", "LD_PRELOAD=libm.so.6")
    options += ("--ready", f"echo ready $A-$B >> {seen}", "--load", f"echo load $A-$B >> {seen}")
    environment = {**os.environ, "A": "old", "B": "both"}
    recorder.run("sh", "-c", program, options=options, env=environment)
    said = sorted(set(seen.read_text(encoding="utf-8").splitlines()))
    assert [said[0], said[2]] == ["load old-both", "ready old-both"]
    assert said[1] == "program new=1-both-libm.so.6"  # the agent removes its own name

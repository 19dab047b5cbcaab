"""The start of the command line, before it knows any command."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lab_support import LAB, lab_environment
from threadmark import __main__ as start
from threadmark.model.places import ROOT


def launched(
    folder: Path, given: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    """Run the launcher with these variables, beside PATH, HOME and their like."""
    return subprocess.run(
        [ROOT / "threadmark", *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**{name: os.environ[name] for name in ("HOME", "PATH")}, **given},
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"LANG": "C", "PYTHONPATH": "/mine", "PYTHONUTF8": "0"},
        {"root": "/mine", "python": "mine", "found": "mine"},
        {"LC_CTYPE": "C"},
        {"LC_CTYPE": "C.UTF-8", "LC_NUMERIC": "C", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_a_program_has_the_locale_and_the_settings_of_python_that_the_user_has(
    tmp_path: Path, given: Mapping[str, str]
) -> None:
    options = ("--store", "s.db", "--no-explain", "--min-speedup", "0.001@2")
    done = launched(tmp_path, given, "gate", *options, "--", "sh", "-c", "env > seen{threads}")
    assert done.returncode in (0, 3), done.stderr
    lines = (tmp_path / "seen2").read_text(encoding="utf-8").splitlines()
    own = [each for each in lines if each.startswith(("LANG", "LC_", "PYTHON", *given))]
    assert sorted(own) == sorted(f"{name}={value}" for name, value in given.items())


# The redirections with which the shell starts a command, and the status that the command then has.
STREAMS = [
    ("> /dev/full", 2),
    ("2> /dev/full > /dev/null", 2),
    ("> /dev/full 2>&1", 2),
    (">&-", 0),
    ("2>&-", 0),
    ("<&- >&- 2>&-", 0),
    ("| true", 141),
    ("2>&1 > /dev/null | true", 141),
]


@pytest.mark.parametrize(("streams", "status"), STREAMS)
def test_an_answer_that_cannot_be_written_is_no_answer_no(
    tmp_path: Path, streams: str, status: int
) -> None:
    options = ("--store", "s.db", "--no-explain", "--min-speedup", "0.001@2")
    words = ("gate", *options, "--budget", "20s", "--", "sh", "-c", "sleep 0.0{threads}")
    # The gate can decide, even if this machine does other work.
    calm = (
        "import sys; from threadmark.machine import load; load.disturbance = lambda *_: ''; "
        "from threadmark.__main__ import run; sys.exit(run())"
    )
    # The reader of a pipe is gone when the lab writes to it.
    line = f'set -o pipefail; ( sleep 0.5; "$@" ) {streams}'
    done = subprocess.run(
        ["bash", "-c", line, "bash", sys.executable, "-P", "-c", calm, *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=lab_environment(),
    )
    assert done.returncode == status, done.stderr
    said = [each for each in done.stderr.splitlines() if not each.startswith("round ")]
    assert len(said) <= 1
    if streams == "> /dev/full":
        assert done.stderr.splitlines()[-1] == (
            "threadmark: Standard output cannot be written (No space left on device); send it "
            "elsewhere."
        )


def test_a_long_answer_that_cannot_be_written_is_one_sentence() -> None:
    with Path("/dev/full").open("w", encoding="ascii") as full:
        done = subprocess.run(
            [*LAB, "completion", "bash"],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=lab_environment(),
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_the_locale_c_is_no_fix_where_the_environment_names_none(tmp_path: Path) -> None:
    done = launched(tmp_path, {}, "try", "--store", "s.db", "--only", "c-locale", "--", "true")
    assert done.returncode == 2
    assert "c-locale: the environment names the locale C already" in done.stderr


def test_an_interrupt_while_modules_are_loaded_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    known = builtins.__import__

    def interrupted(name: str, *rest: Any, **more: Any) -> Any:
        if name == "threadmark.cli":
            raise KeyboardInterrupt
        return known(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert start.run() == 130
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "threadmark: interrupted before the command began.\n")

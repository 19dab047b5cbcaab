"""The commands on the pages of the applications do what the pages promise."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from threadmark.model.places import ROOT

Executable = Callable[[str], Path]
SMALL = {"50000": "300", "110000": "3000", "100": "3"}  # numbers of the pages: of a test
LIMIT_S = 300


def commands(page: str, beginning: str) -> list[list[str]]:
    """The commands of a page that begin with `beginning`, as words without the program's name."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    lines = [line for line in blocks.splitlines() if line.startswith(beginning)]
    return [
        [SMALL.get(word, word) for word in shlex.split(line, comments=True)[1:]] for line in lines
    ]


def run(program: Path, words: list[str], folder: Path) -> None:
    done = subprocess.run(
        [program, *words], cwd=folder, check=False, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{words}: {done.stderr}"


def test_the_commands_of_tmk_sat_run_one_after_the_other(
    executable_of: Executable, tmp_path: Path
) -> None:
    program = executable_of("sat")
    run(program, ["generate", "-o", "FILE", "--entities", "3000"], tmp_path)
    shown = commands("apps/sat/README.md", "build/apps/bin/tmk-sat ")
    assert len(shown) >= 8
    for words in shown:
        if words[0] == "generate":
            words[words.index("FILE")] = "ANOTHER"  # the program replaces no existing file
        run(program, words, tmp_path)


def test_the_commands_of_tmk_students_run_one_after_the_other(
    executable_of: Executable, tmp_path: Path
) -> None:
    program = executable_of("students")
    (tmp_path / "DIR").mkdir()
    shown = commands("apps/students/README.md", "build/apps/bin/tmk-students ")
    assert len(shown) >= 5
    for words in shown:
        if words[0] != "bench":  # tests/apps/students/test_students_bench.py tests that command
            run(program, words, tmp_path)


def test_the_commands_of_the_nodes_work_together(executable_of: Executable, tmp_path: Path) -> None:
    program = executable_of("students")
    told = subprocess.run([program, "pipeline"], check=False, capture_output=True, text=True)
    if "without nodes" in told.stderr:
        pytest.skip("ZeroMQ or LMDB is missing; run ./threadmark setup --apps")
    shown = commands("apps/students/nodes/README.md", "./tmk-students ")
    alone = [words for words in shown if words[0] != "node"]
    assert [words[0] for words in alone] == ["generate", "pipeline"]
    for words in alone:
        run(program, words, tmp_path)
    nodes = [words for words in shown if words[0] == "node"]
    assert len(nodes) == 4
    ports: dict[str, str] = {}
    for words in nodes:
        for at, word in enumerate(words):
            if word.startswith("127.0.0.1:"):
                words[at] = ports.setdefault(word, f"127.0.0.1:{free_port()}")
    together = [
        subprocess.Popen([program, *words], cwd=tmp_path, stdout=subprocess.DEVNULL)
        for words in nodes
    ]
    try:
        assert [each.wait(LIMIT_S) for each in together] == [0, 0, 0, 0]
    finally:
        for each in together:
            each.kill()
            each.wait()
    assert (tmp_path / "summary.txt").stat().st_size > 0


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number

"""docs/tutorial.md: its programs compile, its commands are valid, and explain gives the answers on
the page."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import cyclopts
import pytest
from threadmark import cli
from threadmark.kinds.explain import probe
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT

PAGE = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
LINES = [
    shlex.split(line) for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
]  # fmt: skip
COMPILED = [line for line in LINES if line[0] == "g++"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs, compiled by the commands on the page."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is missing")
    folder = tmp_path_factory.mktemp("tutorial")
    for line in COMPILED:
        words = [str(ROOT / word) if word.startswith("examples/") else word for word in line]
        subprocess.run([*words, "-Wall", "-Wextra", "-Werror"], check=True, cwd=folder)
    return folder


def test_the_functions_on_the_page_are_those_of_the_programs() -> None:
    sources = [(ROOT / word).read_text() for line in COMPILED for word in line if "/" in word]
    blocks = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == len(sources) == 2
    assert all(block in source for block, source in zip(blocks, sources, strict=True))


def test_both_programs_write_the_same(programs: Path) -> None:
    said = {
        subprocess.run([programs / name, threads], check=True, capture_output=True).stdout
        for name in ("invoices", "invoices_fixed")
        for threads in ("1", "2")
    }
    assert len(said) == 1


@pytest.mark.parametrize("words", [w for w in LINES if w[0] == "./threadmark"], ids=" ".join)
def test_a_command_of_the_page_is_understood(words: list[str]) -> None:
    app = cyclopts.App()
    importlib.import_module(cli.command_names()[words[1]]).command(app)
    function, _, _ = app.parse_args(words[1:], exit_on_error=False, print_error=False)
    assert callable(function)


def test_explain_names_the_locale_as_the_page_does(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        probe.recorder(build=False)
    except LabError as problem:
        pytest.skip(str(problem))
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("threads must run at the same time")
    monkeypatch.chdir(programs)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert cli.main(["explain", "--store", "s.db", "--json", "--", "./invoices", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    on_page = PAGE[PAGE.index("## Explain") : PAGE.index("## Try")]
    names = {cause["name"] for cause in found["causes"] if "locale" in cause["name"]}
    both_ran = found["processors"][2]  # the share of the run
    if not names and both_ran < 0.5:
        pytest.skip(f"the threads ran at the same time for {both_ran:.0%} of the run only")
    assert names, found
    assert any(name in on_page for name in names)

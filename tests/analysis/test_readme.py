"""The README's commands: the cheap ones run on a made-up run, the others are parsed.

If the results that INNCABS published are not here, a made-up file of their format replaces them.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
from pathlib import Path

import cyclopts
import pytest
import synthetic
from test_table2 import BLOCK
from threadmark.cli import command_names
from threadmark.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("THREADMARK_DATA", ROOT.parent / "shared/data"))
PUBLISHED = DATA / "inncabs/results_2014-09.csv"
# These commands build or measure.
LONG = {"run", "catalogue", "explain", "try", "gate", "test", "check", "doctor", "setup", "docs"}
OF_PROGRAMS = {"explain", "try", "gate"}  # the words that follow are the program's


def commands() -> list[list[str]]:
    """The words of every line of the README's shell blocks, without ./threadmark."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    assert all(line[0] == "./threadmark" for line in lines if line)
    return [line[1:] for line in lines if line]


def test_the_readme_names_every_command() -> None:
    # `students` belongs to an application, whose README names it.
    assert {line[0] for line in commands()} == set(command_names()) - {"setup", "students"}


@pytest.mark.parametrize("words", [c for c in commands() if c[0] in LONG], ids=" ".join)
def test_a_long_command_of_the_readme_is_understood(words: list[str]) -> None:
    app = cyclopts.App()
    module = importlib.import_module(command_names()[words[0]])
    module.command(app)
    function, _, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    assert callable(function)
    if words[0] in OF_PROGRAMS:
        return
    with pytest.raises(cyclopts.CycloptsError):
        app.parse_args([*words, "--no-such-option"], exit_on_error=False, print_error=False)


@pytest.mark.parametrize("source", ["made up", "published"])
def test_the_short_commands_of_the_readme_run_in_its_order(tmp_path: Path, source: str) -> None:
    published = PUBLISHED
    if source == "made up":
        published = tmp_path / PUBLISHED.name
        published.write_text(BLOCK, encoding="utf-8")
    elif not published.exists():
        pytest.skip("the published results are not here; set THREADMARK_DATA")
    store = tmp_path / "store.db"
    with Store.open(store, create=True) as opened:
        synthetic.fill(opened)
    for words in (c for c in commands() if c[0] not in LONG):
        files = [str(published) if word == PUBLISHED.name else word for word in words]
        options = [] if words[0] == "completion" else ["--store", str(store)]
        done = subprocess.run(
            [ROOT / "threadmark", *files, *options],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
        assert done.stdout

"""The user can resume a run on the machine where it began; only an interrupted run says how."""

from __future__ import annotations

import copy
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import fakes
import pytest
from rich.console import Console
from threadmark import cli
from threadmark.kinds.session import Session
from threadmark.kinds.tasks.kind import KIND
from threadmark.machine import host
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError
from threadmark.model.request import Request
from threadmark.options import Measuring
from threadmark.store.store import Store

FACTS = host.facts()


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session whose store has an unfinished run of that session."""
    fakes.write(tmp_path, "fib.serial")
    asked = Request(executables=str(tmp_path), size="smoke", profile="smoke", threads=(1,))
    options = Measuring(store=tmp_path / "s.db", json=True, report=False, install=False)
    found = Session(KIND, asked, options, Console(stderr=True))
    found.run()
    with Store.open(tmp_path / "s.db", create=True) as store, store._writing() as db:
        db.execute("UPDATE run SET finished_at = ''")
    return found


@pytest.mark.parametrize(
    ("fact", "value", "words"),
    [
        ("kernel", "Linux 99", "the kernel was Linux"),
        ("processor", "Another", "the processor was"),
        ("order", [*FACTS["order"], 4095], "the processors in the order of use were"),
        ("governor", "another", "the frequency governor was"),
        ("memory_bytes", 1, "the memory in bytes was"),
        ("memory_bytes", int(FACTS["memory_bytes"] * 1.02), "the memory in bytes was"),
        ("system", "Another", "the system was"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_run_is_not_continued_on_a_machine_that_changed(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    fact: str,
    value: object,
    words: str,
    dry_run: bool,
) -> None:
    changed = copy.deepcopy(FACTS) | {fact: value}
    monkeypatch.setattr(host, "facts", lambda: changed)
    session.options = replace(session.options, dry_run=dry_run)
    with pytest.raises(LabError) as refused:
        session.resume(given=False)
    sentence = str(refused.value)
    assert words.replace("were", "was") in sentence
    assert f"is {value}" in sentence
    assert sentence.endswith("start a new run without --resume.")
    assert sentence.count(" was ") == 1


@pytest.mark.parametrize("share", [0.995, 1.005])  # a virtual machine's memory may change
def test_a_run_is_continued_when_nothing_changed_that_figures_depend_on(
    session: Session, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    other: dict[str, Any] = {"load": 99.0, "commit": "another", "python": "4", "pid_max": "1"}
    other["memory_bytes"] = int(FACTS["memory_bytes"] * share)
    monkeypatch.setattr(host, "facts", lambda: copy.deepcopy(FACTS) | other)
    session.resume(given=False)
    with Store.open(session.options.store, create=False) as store:
        assert store.run(1).finished_at


def test_the_progress_of_a_resumed_run_counts_what_failed_before(tmp_path: Path) -> None:
    fakes.write(tmp_path, "fib.serial")
    fakes.write(tmp_path, "fib.tbb", "start(); sys.exit(1)")
    asked = Request(executables=str(tmp_path), size="smoke", profile="smoke", threads=(1, 2))
    options = Measuring(store=tmp_path / "s.db", json=True, report=False, install=False)
    said = io.StringIO()
    session = Session(KIND, asked, options, Console(file=said))
    session.run()
    said.truncate(0)
    with Store.open(tmp_path / "s.db", create=True) as store:
        absent = Cell("qap", "smoke", "tbb", "futures", "fake", "glibc", 2)
        store.append(1, Row(absent, 0, Status.UNAVAILABLE, "it is not here"))
        with store._writing() as db:
            db.execute("UPDATE run SET finished_at = ''")
            db.execute("DELETE FROM row WHERE backend = 'serial'")
    session.resume(given=False)
    line = said.getvalue().replace("\0", "").splitlines()[0]
    assert re.fullmatch(r"\d+/\d+  .* left  2 crashed  fib serial:plain x1 fake", line)


def test_the_facts_of_a_machine_are_the_same_a_moment_later() -> None:
    assert host.changes(json.loads(json.dumps(FACTS)), host.facts()) == []


def test_a_fact_that_a_stored_run_does_not_have_is_named() -> None:
    without = {name: value for name, value in FACTS.items() if name != "kernel"}
    assert host.changes(without, FACTS) == [f"the kernel was None, is {FACTS['kernel']}"]


@pytest.mark.parametrize(
    ("words", "begun", "told"),
    [
        (["run"], False, "`./threadmark run` was interrupted."),
        (
            ["run"],
            True,
            "`./threadmark run` was interrupted; `./threadmark run --resume` goes on with an "
            "unfinished run.",
        ),
        (
            ["catalogue", "--seed", "2", "--store", "a b.db"],
            True,
            "`./threadmark catalogue` was interrupted; `./threadmark catalogue --resume --store "
            "'a b.db'` goes on with an unfinished run.",
        ),
        (["run", "--dry-run"], True, "`./threadmark run` was interrupted."),
        (["doctor"], True, "`./threadmark doctor` was interrupted."),
        (["check", "--all"], True, "`./threadmark check` was interrupted."),
        ([], True, "`./threadmark` was interrupted."),
    ],
)
def test_an_interrupt_names_the_command_and_how_a_run_goes_on(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    begun: bool,
    told: str,
) -> None:
    def interrupt(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "begun", begun)

    monkeypatch.setattr(cli, "_dispatch", interrupt)
    assert cli.main(words) == cli.INTERRUPTED
    assert capsys.readouterr().err == f"threadmark: {told}\n"

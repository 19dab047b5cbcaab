"""A kind of run is one folder: every command that takes a run works with two made-up kinds."""

from __future__ import annotations

import json
from pathlib import Path

import fakes
import pytest
from threadmark import cli, kinds
from threadmark.kinds import registry
from threadmark.kinds.session import Session
from threadmark.model.cell import Run, Stored
from threadmark.model.errors import LabError

HERE = Path(__file__).resolve().parent / "kinds"


@pytest.fixture(autouse=True)
def more_kinds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Add the kinds beside this file to those of the lab."""
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(HERE)])
    monkeypatch.chdir(tmp_path)


def say(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    """The output of a command line."""
    assert cli.main([*words, "--store", "s.db"]) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def test_a_kind_without_cells_works_with_every_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    say(capsys, "letters", "banana")
    say(capsys, "letters", "<b>ban")
    assert say(capsys, "show", "1") == "a 3\nn 2\nb 1\n"
    assert json.loads(say(capsys, "show", "1", "--json"))["letters"] == {"b": 1, "a": 3, "n": 2}
    assert json.loads(say(capsys, "export", "2"))["schema"] == "threadmark/letters/1"
    assert say(capsys, "compare", "1", "2") == "a -2\nb +1\nn -1\n"
    assert json.loads(say(capsys, "compare", "1", "2", "--json"))["difference"]["a"] == -2
    say(capsys, "report", "2")
    assert "&lt;b&gt;ban" in (tmp_path / "report-s-2.html").read_text()
    say(capsys, "report", "2")  # a new report replaces one of the same title


def test_what_a_kind_does_not_have_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, "letters", "a")
    say(capsys, "letters", "b")
    for words, sentence in (
        (("export", "1", "--format", "csv"), "Run 1 is of letters, which has the format json; for"),
        (("export", "1", "--format", "cvs"), "There is no format 'cvs'"),
        (("report", "1", "--output", "a.svg"), "A run of letters has no picture"),
        (("compare", "tbb", "tmk"), "A run of letters has no sides"),
        (("compare", "1", "2", "--fail-above", "5"), "as a whole; leave out --fail-above."),
        (("compare", "1", "2", "--programs", "fib"), "leave out --programs."),
        (("compare", "1", "2", "--every-thread-count"), "leave out --every-thread-count."),
        (("compare", "1", "2", "--run", "1"), "leave out --run"),
        (("export", "--output", "a.csv"), "The newest run, 2, is of letters, which has the format"),
        (("export", "1", "--output", "a.txt"), "add --format json."),
    ):
        assert sentence in say(capsys, *words, status=2)


def test_only_kinds_of_cells_take_the_options_of_compare() -> None:
    taking = {each.command for each in registry.every() if each.compares_cells}
    assert taking == {"run", "catalogue", "students", "lengths"}


def test_a_kind_of_cells_is_measured_and_resumed_like_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for program in ("fib", "sort"):
        fakes.write(tmp_path / "programs", f"{program}.serial")
    how = ("--executables", "programs", "--no-report")
    assert "2 cells" in say(capsys, "lengths", "--dry-run", *how)
    printed = say(capsys, "lengths", *how)
    assert sorted(line.split()[0] for line in printed.splitlines()) == ["fib", "sort"]
    assert say(capsys, "show") == printed
    found = json.loads(say(capsys, "export", "--format", "summary"))
    assert found["command"].startswith("./threadmark lengths --")
    assert {each["program"] for each in found["verdicts"]} == {"fib", "sort"}
    assert len(say(capsys, "export").splitlines()) >= 1 + 4  # the lab repeats a disturbed process
    say(capsys, "lengths", *how)
    assert "definite and equal" in say(capsys, "compare", "1", "2", "--every-thread-count")
    assert "no unfinished run of ./threadmark lengths" in say(
        capsys, "lengths", "--resume", status=2
    )


def test_runs_of_two_kinds_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, "letters", "a")
    fakes.write(Path("programs"), "fib.serial")
    say(capsys, "lengths", "--executables", "programs", "--no-report")
    said = say(capsys, "compare", "1", "2", status=2)
    assert "run 1 of letters, run 2 of lengths" in said


def test_an_interrupted_command_of_a_new_kind_says_how_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_dispatch", interrupt)
    monkeypatch.setattr(Session, "begun", True)
    assert cli.main(["lengths"]) == cli.INTERRUPTED
    assert "`./threadmark lengths --resume`" in capsys.readouterr().err
    assert cli.main(["letters", "a"]) == cli.INTERRUPTED
    assert capsys.readouterr().err == "threadmark: `./threadmark letters` was interrupted.\n"


def test_what_an_interrupt_says_needs_no_module_that_it_left_half_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def half_loaded(*_: object) -> object:
        raise ImportError("cannot load module more than once per process")

    monkeypatch.setattr(registry, "every", half_loaded)
    assert [registry.is_resumable(each) for each in ("lengths", "letters")] == [True, False]


@pytest.mark.parametrize("command", sorted(registry.commands()))
def test_a_command_is_said_to_go_on_if_it_has_the_option(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert registry.is_resumable(command) == ("--resume" in say(capsys, command, "--help"))


def test_a_run_of_a_kind_that_is_not_there_says_so() -> None:
    run = Run(7, "", "", "of tomorrow", 0, {}, {})
    with pytest.raises(LabError, match=r"profile 'of tomorrow'.*git pull"):
        registry.kind_of(Stored(run, [], []))

"""Rules for all commands: names of options, completion, exit statuses of runs."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fakes
import pytest
from threadmark import cli
from threadmark.options import listed

Lab = Callable[..., subprocess.CompletedProcess[str]]
SMOKE = ("run", "--executables", "programs", "--store", "s.db", "--no-report", "--profile", "smoke")
WRONG = "start(); repeats(ok=False); end('wrong', 'no', 3)"
# Options that share a name with others and have a type of their own for a reason.
APART = {
    # A bool for commands that measure, because they explain only on request; gate explains
    # failures.
    ("--explain", "gate"),
    ("--threads", "students"),  # of one writer, so one number
    ("--profile", "catalogue"),  # has no problems of a paper
    ("--only", "try"),  # commas alone, because the next words belong to a program
}


def options() -> Iterator[tuple[str, str, Any]]:
    """The command, name and type of each option of each command."""
    app = cli.application(cli.command_names().values())
    for name in cli.command_names():
        for each in app[name].assemble_argument_collection():
            for option in each.names:
                if option.startswith("--"):
                    yield name, option, each.hint


def test_an_option_is_of_the_same_type_in_every_command() -> None:
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for command, option, hint in options():
        if (option, command) not in APART:
            plain = re.sub(r"<class '(.*)'>|typing.Optional\[(.*)\]", r"\1\2", str(hint))
            plain = plain.replace(" | None", "")
            found[option][plain].append(command)
    assert len(found) > 50
    assert {name: dict(types) for name, types in found.items() if len(types) > 1} == {}


@pytest.mark.parametrize("words", [("a", "b"), ("a,b",), ("a,", "b, a")])
def test_names_are_separated_by_spaces_or_commas(words: tuple[str, ...]) -> None:
    assert listed(words) == ("a", "b")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("threadmark ru", "run"),
        ("threadmark run --fail", "--fail-on"),
        ("threadmark list plat", "platforms"),
    ],
)
def test_bash_completes_commands_options_and_choices(line: str, expected: str, lab: Lab) -> None:
    script = lab("completion", "bash").stdout
    words = line.split()
    ask = (
        f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; "
        f"COMP_POINT={len(line)}; _threadmark; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-c", ask], check=True, capture_output=True, text=True)
    assert expected in done.stdout.split()


def test_bash_completes_files_where_the_script_knows_no_word(lab: Lab) -> None:
    ask = f"{lab('completion', 'bash').stdout}\ncomplete -p threadmark"
    done = subprocess.run(["bash", "-c", ask], check=True, capture_output=True, text=True)
    assert "-o default" in done.stdout


def test_each_shell_gets_a_script(lab: Lab) -> None:
    for shell in ("zsh", "fish"):
        assert "catalogue" in lab("completion", shell).stdout
    assert lab("completion", "csh").returncode == 2


@pytest.mark.parametrize(
    ("fail_on", "status", "said"),
    [
        ((), 1, "1 wrong"),
        (("--fail-on", "none"), 0, "1 wrong"),
        (("--fail-on", "crashed", "timeout"), 0, "1 wrong"),
        (("--fail-on", "refused,wrong"), 1, "1 wrong, 1 refused"),
        (("--fail-on", "refused"), 1, "1 wrong, 1 refused"),
    ],
)
def test_a_run_with_failed_cells_says_so_in_its_last_line_and_fails_as_asked(
    lab: Lab, tmp_path: Path, fail_on: tuple[str, ...], status: int, said: str
) -> None:
    fakes.write(tmp_path / "programs", "fib.serial")
    fakes.write(tmp_path / "programs", "fib.tbb", WRONG)
    fakes.write(tmp_path / "programs", "fib.openmp", "start(); end('refused', 'no', 4)")
    done = lab(*SMOKE, "--threads", "1", *fail_on)
    assert done.returncode == status, done.stderr
    assert done.stderr.splitlines()[-1].startswith("Run 1 has cells that failed: " + said)
    assert f"the exit status is {status}." in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", "1", "2", "--fail-above", "-5%"], "--fail-above takes no negative value"),
        (["run", "--budget", "-10s"], "--budget takes no negative value, so not -10s; see"),
        (["run", "--budget"], "requires an argument"),
        (["run", "--programs", ""], "--programs has an empty value; give one or leave"),
        (["run", "--programs=", "--dry-run"], "--programs has an empty value; give one or leave"),
        (["export", "--output", "", "--force"], "--output has an empty value; give one or leave"),
        (
            ["explain", "--store", "none.db", "--", "./no-such-program", "--x", ""],
            "no-such-program",
        ),
    ],
)
def test_a_value_that_is_empty_or_negative_is_said(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(words) == 2
    assert said in capsys.readouterr().err


def test_a_run_without_failed_cells_says_nothing_of_them(lab: Lab, tmp_path: Path) -> None:
    fakes.write(tmp_path / "programs", "fib.serial")
    done = lab(*SMOKE, "--threads", "1", "--fail-on", "unavailable")
    assert (done.returncode, "failed" in done.stderr) == (0, False)


def test_an_unknown_status_is_refused_before_anything_is_measured(lab: Lab, tmp_path: Path) -> None:
    fakes.write(tmp_path / "programs", "fib.serial")
    done = lab(*SMOKE, "--fail-on", "rong")
    assert done.returncode == 2
    assert "did you mean 'wrong'" in done.stderr
    assert not (tmp_path / "s.db").exists()


def test_every_command_has_help_that_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    for name in cli.command_names():
        assert cli.main([name, "--help"]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 5, name


def test_a_resumed_run_may_fail_on_something_else(lab: Lab, tmp_path: Path) -> None:
    done = lab("run", "--resume", "--fail-on", "none", "--store", "s.db")
    assert "no unfinished run" in done.stderr or "There is no" in done.stderr

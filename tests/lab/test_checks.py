"""The rows that a check counts, the missing parts, and the judgement of the machine."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fakes
import pytest
from threadmark import cli
from threadmark.kinds.tasks import kind
from threadmark.machine import examination, load
from threadmark.measure import noise
from threadmark.measure.schedule import Task
from threadmark.model.cell import Row, Status
from threadmark.model.places import ROOT
from threadmark.setup import checks, discovery, packages
from threadmark.setup.counting import Count, count

Lab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("lines", "status", "counted"),
    [
        (["...", "3 passed in 1.20s"], 0, Count(3)),
        (["2 failed, 3 passed, 1 skipped, 1 warning in 0.1s"], 1, Count(3, 2, 1)),
        (["1 passed, 2 errors in 0.1s"], 1, Count(1, 2)),
        (["1 passed, 1 xfailed, 2 xpassed in 0.1s"], 0, Count(4)),
        (["3 passed in 1.20s", ""], 1, Count(3, 1)),
        (["100% tests passed, 0 tests failed out of 42", "Total Test time"], 0, Count(42)),
        (["1/2 a ***Skipped", "50% tests passed, 1 tests failed out of 3"], 8, Count(1, 1, 1)),
        (["All checks passed!"], 0, Count(1)),
        (["no tests ran in 0.01s"], 5, Count(0, 1)),
        ([], 2, Count(0, 1)),
    ],
)
def test_counts_come_from_the_tools_own_summary(
    lines: list[str], status: int, counted: Count
) -> None:
    assert count(lines, status) == counted


def test_every_check_has_a_name_of_its_own() -> None:
    names = [each.name for each in checks.checks()]
    assert len(set(names)) == len(names)
    assert {"python", "tidy", "asan", "tsan", "asan-all", "tsan-all"} <= set(names)


def test_an_unknown_check_is_one_sentence(lab: Lab) -> None:
    done = lab("check", "--only", "tidi")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "did you mean 'tidy'?" in done.stderr


def test_a_need_is_present_when_all_its_files_are(tmp_path: Path) -> None:
    assert packages.Need("shell", ("sh", "usr/bin/*env"), (), "").present()
    assert not packages.Need("no", ("sh", "usr/bin/no-such-file"), (), "").present()
    assert not packages.Need("no", ("no-such-command",), (), "").present()


def test_without_googletest_the_tests_in_cpp_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    without = packages.Need("GoogleTest", ("usr/src/no-such-file",), (), "")
    monkeypatch.setattr(packages, "NEEDS", (without,))
    presets = {each.name for each in checks.checks() if each.preset}
    assert {"asan", "tsan"} < presets
    for each in checks.checks():
        lacks = each.lacks()
        assert ("GoogleTest is missing" in lacks) == (each.name in presets)


def test_each_complaint_has_a_remedy_and_no_full_stop() -> None:
    for each in examination.instant():
        assert each.remedy
        assert not each.what.endswith(".")
        assert not each.remedy.endswith(".")


def test_doctor_takes_a_disturbed_process_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fakes.write(tmp_path, "fib.serial")
    found = discovery.find(["fake"], tmp_path)
    monkeypatch.setattr(discovery, "find", lambda _: found)
    count = itertools.count()

    def run(task: Task) -> Row:
        """Replaces a process; every second one is disturbed and too long."""
        number = next(count)
        if number % 2:
            return Row(task.cell, 0, Status.OK, sample_ns=1e7 + number, disturbed="")
        return Row(task.cell, 0, Status.OK, sample_ns=1e12, disturbed="load")

    monkeypatch.setattr(kind, "runner", lambda *_: run)
    cli.main(["doctor", "--pairs", "20", "--json"])
    said = json.loads(capsys.readouterr().out)["noise"]
    assert said["smallest"] < 0.01
    assert next(count) == 2 * (1 + 20 * 2 * noise.ROUNDS)


@pytest.mark.parametrize("users", [[], [examination.Complaint("Process 7 uses 90 %", "end it")]])
def test_doctor_does_not_send_to_itself_for_processes_that_it_cannot_name(
    monkeypatch: pytest.MonkeyPatch, users: list[examination.Complaint]
) -> None:
    monkeypatch.setattr(examination, "_users", lambda: users)
    monkeypatch.setattr(load, "between", lambda *_: load.Load(1e9, 0.0, 1))
    first, *others = examination.thorough()
    assert "Other processes" in first.what
    assert "doctor" not in first.remedy
    assert ("not visible from here" in first.remedy) is not bool(users)
    assert others[: len(users)] == users
    assert "./threadmark doctor" in examination.instant()[0].remedy


def test_a_busy_machine_is_noticed() -> None:
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        assert any("Other processes" in each.what for each in examination.instant())
    finally:
        for each in burners:
            each.kill()
            each.wait()


def test_the_launcher_does_not_take_a_half_made_environment_for_whole(tmp_path: Path) -> None:
    from threadmark.setup.python_environment import ready

    (tmp_path / "requirements.lock").write_text("a==1\n")
    assert not ready(tmp_path)
    (tmp_path / ".venv").mkdir()
    assert not ready(tmp_path)
    (tmp_path / ".venv/requirements.lock").write_text("a==0\n")
    assert not ready(tmp_path)
    (tmp_path / ".venv/requirements.lock").write_text("a==1\n")
    assert not ready(tmp_path)
    (tmp_path / ".venv/bin").mkdir()
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    assert ready(tmp_path)


def test_an_environment_whose_python_went_away_is_made_again(tmp_path: Path) -> None:
    from threadmark.setup.python_environment import ready

    for name in ("requirements.lock", ".venv/requirements.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a==1\n")
    (tmp_path / ".venv/bin").mkdir()
    (tmp_path / ".venv/bin/python").symlink_to(tmp_path / "python-before-the-upgrade")
    assert not ready(tmp_path)


def test_the_launcher_names_the_remedy_when_there_is_no_python(tmp_path: Path) -> None:
    for name in ("threadmark", "requirements.lock"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for name in ("dirname", "readlink", "cmp"):
        found = subprocess.run(["which", name], check=True, capture_output=True, text=True)
        (tmp_path / name).symlink_to(found.stdout.strip())
    done = subprocess.run(
        ["/bin/sh", str(tmp_path / "threadmark"), "list"],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stderr == ("threadmark: Python 3.11 or newer is needed: apt-get install python3\n")


@pytest.mark.parametrize("place", ["a:b", "a;b"])
def test_the_launcher_refuses_a_path_that_lists_of_paths_cannot_hold(
    tmp_path: Path, place: str
) -> None:
    folder = tmp_path / place
    folder.mkdir()
    (folder / "threadmark").write_bytes((ROOT / "threadmark").read_bytes())
    done = subprocess.run(
        ["/bin/sh", str(folder / "threadmark"), "list"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"threadmark: {folder} has a colon or semicolon")
    assert len(done.stderr.splitlines()) == 1
    assert [each.name for each in folder.iterdir()] == ["threadmark"]


def test_the_launcher_starts_the_lab_below_a_path_with_a_space(tmp_path: Path) -> None:
    folder = tmp_path / "a pläce"
    folder.mkdir()
    (folder / "threadmark").write_bytes((ROOT / "threadmark").read_bytes())
    (folder / "threadmark").chmod(0o755)
    (folder / "lab").symlink_to(ROOT / "lab")
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "requirements.lock").symlink_to(Path(sys.prefix) / "requirements.lock")
    done = subprocess.run(
        [folder / "threadmark", "no-such-command"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "There is no command 'no-such-command'" in done.stderr


def test_every_command_is_one_file_and_explains_itself(lab: Lab) -> None:
    done = lab("--help")
    names = {each.stem.rstrip("_") for each in (ROOT / "lab/threadmark/commands").glob("[a-z]*.py")}
    assert all(f" {name} " in done.stdout for name in names)

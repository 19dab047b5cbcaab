"""setup removes no package, remembers only the hopeless ones, and survives an interruption.

apt-get is a fake in PATH: a shell script of one test, which notes its arguments.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fakes
import pytest
from lab_support import lab_environment
from rich.console import Console
from threadmark import cli
from threadmark.setup import (
    apt,
    build,
    checks,
    discovery,
    lock,
    packages,
    platforms,
    preparation,
    private,
)
from threadmark.setup.discovery import find
from threadmark.setup.packages import Need

FakeApt = Callable[[str], Path]
NO_FILE = ("usr/no-such-file",)
CONFLICT = """
echo 'The following packages will be REMOVED:'
echo '  liba-dev libb-dev*'
echo '  libc-dev libd-dev libe-dev'
echo 'E: Packages need to be removed but remove is disabled.'
exit 100
"""
OFFLINE = 'echo "E: Failed to fetch some index files"; exit 100'
UNKNOWN_X = 'case "$*" in *" x"*) echo "E: Unable to locate package x"; exit 100;; esac'


@pytest.fixture
def fake_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    """Set the body of apt-get; returns the file with one line for each call."""
    calls = tmp_path / "calls"
    calls.touch()
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(apt, "privilege", list)
    monkeypatch.setattr(apt, "LOCK_POLL_S", 0)
    monkeypatch.setattr(packages, "DEPS", tmp_path / "deps")
    monkeypatch.setattr(packages, "LOG", tmp_path / "setup.log")
    monkeypatch.setattr(packages, "NEEDS", (Need("X", NO_FILE, ("x",), "backend x"),))
    monkeypatch.setattr(lock, "BUILD", tmp_path / "build")

    def write(body: str) -> Path:
        script = tmp_path / "apt-get"
        script.write_text(f'#!/bin/sh\necho "$*" >> {calls}\n{body}\n', encoding="utf-8")
        script.chmod(0o755)
        return calls

    return write


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in which everything is built and no check is wanted; returns a folder."""
    monkeypatch.setenv("COLUMNS", "200")
    fakes.write(tmp_path, "fib.serial")
    fakes.calibrate(tmp_path)
    found = find(["fake"], tmp_path)
    monkeypatch.setattr(build, "build_platforms", lambda *_, **__: {})
    monkeypatch.setattr(discovery, "find", lambda _: found)
    monkeypatch.setattr(discovery, "absences", lambda _: [])
    monkeypatch.setattr(private, "bring", lambda *_: {})
    monkeypatch.setattr(platforms, "platforms", list)
    monkeypatch.setattr(checks, "checks", list)
    return tmp_path


def _bring(*, again: bool = False, report: packages.Report = lambda _: None) -> list[str]:
    return [each.name for each in packages.bring(tests=True, again=again, report=report)]


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        ([], "Installing by apt-get as root: x."),
        (["env"], "Installing by apt-get by sudo: x."),
        (None, "Unpacking into {deps}: x."),
    ],
)
def test_what_is_installed_and_how_is_said_before_it_is_installed(
    fake_apt: FakeApt,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prefix: list[str] | None,
    said: str,
) -> None:
    calls = fake_apt("exit 100")
    monkeypatch.setattr(apt, "privilege", lambda: prefix)
    need = Need("X", NO_FILE, ("x",), "backend x", unpack=prefix is None)
    monkeypatch.setattr(packages, "NEEDS", (need,))
    seen: list[tuple[str, str]] = []
    _bring(report=lambda text: seen.append((text, calls.read_text())))
    assert seen == [(said.format(deps=tmp_path / "deps"), "")]
    assert calls.read_text()


def test_the_first_line_of_a_run_says_what_is_installed(
    fake_apt: FakeApt, built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = fake_apt("exit 100")
    assert cli.main(["run", "--dry-run", "--store", str(built / "s.db")]) == 0
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == "Installing by apt-get as root: x."
    assert second.startswith("X is missing; it is needed for backend x and comes with: ")
    assert "install" in calls.read_text()


@pytest.mark.parametrize("command", ["run", "catalogue", "test", "check", "setup"])
def test_no_install_installs_nothing_and_names_the_command_for_what_is_missing(
    fake_apt: FakeApt, built: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    calls = fake_apt("")
    store = ["--dry-run", "--store", str(built / "s.db")]
    words = [command, "--no-install", *(store if command in ("run", "catalogue") else ())]
    assert cli.main(words) == 0
    out, err = capsys.readouterr()
    assert "X" in out + err
    assert "apt-get install -y --no-install-recommends x" in " ".join((out + err).split())
    assert "Installing" not in out + err
    assert calls.read_text() == ""


def test_nothing_is_said_of_installing_when_nothing_is_missing(
    fake_apt: FakeApt,
    built: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake_apt("")
    monkeypatch.setattr(packages, "NEEDS", ())
    assert cli.main(["run", "--dry-run", "--store", str(built / "s.db")]) == 0
    assert capsys.readouterr().err == ""


def test_no_install_does_not_make_the_python_environment(tmp_path: Path) -> None:
    words = [
        "-P",
        "-m",
        "threadmark.setup.python_environment",
        str(tmp_path),
        "run",
        "--no-install",
    ]
    done = subprocess.run(
        [sys.executable, *words], check=False, capture_output=True, text=True, env=lab_environment()
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "./threadmark setup installs them" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_installed_at_the_price_of_a_package_of_the_user(fake_apt: FakeApt) -> None:
    calls = fake_apt(CONFLICT)
    assert _bring() == ["X"]
    installs = [line for line in calls.read_text().splitlines() if "install" in line]
    assert installs
    assert all("--no-remove" in line for line in installs)
    told = preparation.absence(packages.NEEDS[0])
    assert "would remove liba-dev, libb-dev, libc-dev and 2 more for it" in told


def test_a_lock_of_dpkg_is_waited_for(fake_apt: FakeApt, tmp_path: Path) -> None:
    calls = fake_apt("")
    assert apt.install(["x"], [], tmp_path / "log").done
    assert "-oDPkg::Lock::Timeout=300" in calls.read_text()


def test_a_lock_that_apt_does_not_wait_for_is_tried_again(
    fake_apt: FakeApt, tmp_path: Path
) -> None:
    calls = fake_apt("")
    fake_apt(f'[ $(wc -l < {calls}) -gt 2 ] || {{ echo "E: Could not get lock a"; exit 100; }}')
    assert apt.update([], tmp_path / "log")
    assert len(calls.read_text().splitlines()) == 3


def test_a_failure_of_the_network_is_not_remembered(fake_apt: FakeApt) -> None:
    calls = fake_apt(OFFLINE)
    assert _bring() == ["X"]
    assert packages.refusals() == {}
    before = calls.read_text()
    assert _bring() == ["X"]
    assert calls.read_text() == 2 * before


def test_lists_that_did_not_all_come_prove_nothing(fake_apt: FakeApt) -> None:
    fake_apt('[ "$1" = install ] && echo "E: Unable to locate package x"; exit 100')
    assert _bring() == ["X"]
    assert packages.refusals() == {}


def test_a_package_that_does_not_exist_is_asked_for_once(fake_apt: FakeApt) -> None:
    calls = fake_apt(UNKNOWN_X)
    assert _bring() == ["X"]
    assert packages.refusals() == {"X": "apt-get knows no package x here"}
    before = calls.read_text()
    assert _bring() == ["X"]
    assert calls.read_text() == before
    assert _bring(again=True) == ["X"]
    assert calls.read_text() == 2 * before


def test_one_unknown_package_does_not_cost_the_others(
    fake_apt: FakeApt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "SYSTEM", tmp_path)
    needs = (packages.NEEDS[0], Need("Y", ("usr/y",), ("y",), "backend y"))
    monkeypatch.setattr(packages, "NEEDS", needs)
    fake_apt(f"{UNKNOWN_X}\ncase $1 in install) mkdir -p {tmp_path}/usr/y;; esac")
    assert _bring() == ["X"]
    assert (tmp_path / "usr/y").exists()


def test_without_privilege_setup_brings_what_can_be_unpacked(
    fake_apt: FakeApt, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_apt("")
    need = Need("headers", NO_FILE, ("x",), "everything", unpack=True)
    assert "apt-get install" in preparation.absence(need)
    monkeypatch.setattr(apt, "privilege", lambda: None)
    assert preparation.absence(need).endswith("comes with: ./threadmark setup")
    assert "apt-get install" in preparation.absence(replace(need, unpack=False))


@pytest.mark.parametrize(("version", "enough"), [("1.74.0", False), ("1.81.0", True)])
def test_the_older_boost_of_the_distribution_is_not_taken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, enough: bool
) -> None:
    monkeypatch.setattr(packages, "SYSTEM", tmp_path)
    library = tmp_path / "usr/lib/x86_64-linux-gnu"
    (library / f"cmake/boost_fiber-{version}").mkdir(parents=True)
    (library / "libboost_fiber.so").touch()
    need = next(each for each in packages.NEEDS if each.name == "Boost.Fiber")
    assert need.present() is enough


def test_an_interrupt_lets_apt_get_finish(fake_apt: FakeApt, tmp_path: Path) -> None:
    waits, told = tmp_path / "waits", tmp_path / "told"
    until_told = f"until [ -e {told} ] || [ $((n += 1)) -gt 1000 ]; do sleep 0.05; done"
    fake_apt(f"{until_told}; touch {tmp_path}/finished")
    code = f"""
import pathlib, subprocess, sys
from threadmark.setup import apt

class Told(subprocess.Popen):
    def wait(self, *words):
        pathlib.Path({str(waits)!r}).touch()
        return super().wait(*words)

subprocess.Popen = Told
apt.update([], pathlib.Path(sys.argv[1]))
"""
    lab = subprocess.Popen(
        [sys.executable, "-P", "-c", code, str(tmp_path / "log")],
        env=lab_environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not waits.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(lab.pid, signal.SIGINT)  # a terminal also signals the whole group
    assert lab.stderr is not None
    assert "as soon as apt-get has finished" in lab.stderr.readline()
    assert not (tmp_path / "finished").exists()
    told.touch()
    _, errors = lab.communicate(timeout=60)
    assert (tmp_path / "finished").exists()
    assert "KeyboardInterrupt" in errors


def test_a_second_lab_waits_for_the_first_to_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "BUILD", tmp_path)
    code = (
        "from pathlib import Path; from threadmark.setup import lock\n"
        f"lock.BUILD = Path({str(tmp_path)!r})\n"
        "with lock.exclusive(): (lock.BUILD / 'entered').touch()"
    )
    with lock.exclusive():
        second = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            env=lab_environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert second.stderr is not None
        assert "waits for another lab" in second.stderr.readline()
        assert not (tmp_path / "entered").exists()
    assert second.wait(60) == 0
    assert (tmp_path / "entered").exists()


def test_a_log_gets_a_line_of_a_long_build_now_and_then() -> None:
    now = [0.0]
    written = io.StringIO()
    log = preparation._Log(Console(file=written), lambda: now[0])
    for second in range(40):
        now[0] = float(second)
        log(f"gcc: built {second} of 40")
    lines = ["Building gcc: built 15 of 40", "Building gcc: built 30 of 40"]
    assert written.getvalue().splitlines() == lines

"""Builds during measurements and other builds: neither may spoil the other."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import fakes
import pytest
from threadmark import cli
from threadmark.kinds.explain import probe
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT
from threadmark.setup import build, lock
from threadmark.setup.discovery import find
from threadmark.store.store import Store

Lab = Callable[..., subprocess.CompletedProcess[str]]


def test_a_build_during_a_run_ends_the_run_and_keeps_its_rows(lab: Lab, tmp_path: Path) -> None:
    fakes.write(tmp_path / "programs", "fib.serial")
    # A linker also replaces the old file by a new one.
    again = "new = __file__ + '~'; open(new, 'w').write(open(__file__).read()); os.chmod(new, 493)"
    fakes.write(
        tmp_path / "programs", "fib.tbb", f"{again}; os.rename(new, __file__)\n{fakes.GOOD}"
    )
    done = lab(
        *("run", "--executables", "programs", "--store", "s.db", "--no-report", "--threads", "1"),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "fib.tbb was rebuilt while it is measured" in done.stderr
    assert "Traceback" not in done.stderr
    with Store.open(tmp_path / "s.db", create=False) as store:
        run = store.run("last")
        assert not run.finished_at
        assert [row.cell.backend for row in store.rows(run.id)].count("tbb") == 1


def test_an_executable_knows_that_its_file_is_another_one(tmp_path: Path) -> None:
    path = fakes.write(tmp_path, "fib.tbb")
    (found,) = find(["fake"], tmp_path)
    assert not found.changed()
    (cached,) = find(["fake"], tmp_path)
    assert cached == found
    os.utime(path)
    assert found.changed()
    path.unlink()
    assert found.changed()


def test_a_build_waits_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock, "BUILD", tmp_path)
    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(build, "_run", lambda *_: True)
    other = threading.Thread(
        target=build.build, args=["none"], kwargs={"tests": False, "report": lambda _: None}
    )
    with lock.exclusive():
        other.start()
        said, deadline = "", time.monotonic() + 60
        while "waits for another lab" not in said:
            assert time.monotonic() < deadline, said
            time.sleep(0.01)
            said += capsys.readouterr().err
        time.sleep(0.3)  # time in which a process that only prints the message would build
        assert not (tmp_path / "none.log").exists()
    other.join(60)
    assert (tmp_path / "none.log").exists()


def test_setup_builds_the_applications_beside_the_platforms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock, "BUILD", tmp_path)
    monkeypatch.setattr(build, "BUILD", tmp_path)
    lines: list[list[str]] = []

    def run(line: list[str], *_: object) -> bool:
        lines.append(line)
        return len(lines) < 3 or "cleandead" in line

    monkeypatch.setattr(build, "_run", run)
    assert cli.main(["setup", "--no-install", "--apps"]) == 0
    configured, built, _ = lines
    assert configured[:5] == ["cmake", "-S", str(ROOT / "apps"), "-B", str(tmp_path / "apps")]
    assert "-DCMAKE_BUILD_TYPE=Release" in configured
    assert built[1:3] == ["-C", str(tmp_path / "apps")]
    capsys.readouterr()
    assert cli.main(["setup", "--no-install", "--apps"]) == 1
    assert "The applications are left out: the build of apps failed" in capsys.readouterr().err


def test_setup_builds_no_application_unless_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_run", lambda line, *_: pytest.fail(str(line)))
    assert cli.main(["setup", "--no-install"]) == 0


def test_it_configures_without_the_tests_as_a_first_run_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BUILD", tmp_path / "first")
    line = build._configure("gcc-libstdc++", tests=False)
    done = subprocess.run([*line, "-B", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    programs = (tmp_path / "build.ninja").read_text("utf-8")
    assert "build bin/fib.serial:" in programs
    assert "build bin/bars.latency" not in programs  # the lab takes each file in bin for a program
    assert "gtest" not in programs
    assert "tmk-students" not in programs
    assert "students_writers" not in programs
    # ninja builds a program whose library takes a minute only on request.
    assert "build sat_mapping: phony" in programs
    usual = programs.split("build bench/all: phony")[1].split("\n\n")[0]
    assert "bin/fib.serial" in usual
    assert "sat" not in usual
    assert "apps/sat" not in programs.split("build all: phony")[1].split("\n\n")[0]


def test_a_program_about_an_application_comes_with_the_applications(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BUILD", tmp_path / "later")
    before = build._configuration("gcc-libstdc++", tests=False)
    (tmp_path / "later/apps").mkdir(parents=True)
    (tmp_path / "later/apps/configured").touch()
    assert build._configuration("gcc-libstdc++", tests=False) != before  # the lab configures again
    line = build._configure("gcc-libstdc++", tests=False)
    subprocess.run([*line, "-B", str(tmp_path / "out")], capture_output=True, check=True)
    programs = (tmp_path / "out/build.ninja").read_text("utf-8")
    program = programs.split("build bin/students_write.threads:")[1].split("\n\n")[0]
    assert "writers/as_published.cpp.o" in program
    everything = programs.split("build all: phony")[1].split("\n\n")[0]
    assert "tmk-students" not in everything
    # The programs go away with the applications.
    (tmp_path / "later/apps/configured").unlink()
    line = build._configure("gcc-libstdc++", tests=False)
    subprocess.run([*line, "-B", str(tmp_path / "out")], capture_output=True, check=True)
    assert "students_writers" not in (tmp_path / "out/build.ninja").read_text("utf-8")


@pytest.mark.parametrize(
    ("project", "made"),
    [
        (build.APPS, ["bin/tmk-students"]),
        (build.PROBE, ["threadmark-record", "libthreadmark-agent.so"]),
    ],
)
def test_a_project_configures_alone(
    project: str, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BUILD", tmp_path)
    line = build._configure(project, tests=False)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ninja = (tmp_path / project / "build.ninja").read_text("utf-8")
    assert all(f"build {each}:" in ninja for each in made)
    # find_package leaves such a variable. The recorder needs no package.
    cache = (tmp_path / project / "CMakeCache.txt").read_text("utf-8").splitlines()
    packages = [each for each in cache if re.match(r"(?!threadmark_)\w+_DIR:PATH=", each)]
    assert bool(packages) == (project == build.APPS)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "CMake Error at x.txt:4 (f):\n\n  No compiler\n  was found.\n\n-- So.\n",
            "No compiler was found;",
        ),
        ("[1/2] Building\na.cpp:1:2: error: no such type\n", "a.cpp:1:2: error: no such type"),
        ("Killed\n", "it gave no reason"),
    ],
)
def test_a_failed_build_says_the_reason_of_the_tool(
    said: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(lock, "BUILD", tmp_path)
    tool = tmp_path / "cmake"
    tool.write_text(f"#!/bin/sh\nprintf '%s' '{said}'\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    failure = build.build(build.PROBE, tests=False, report=lambda _: None)
    assert failure.startswith(f"the build of probe failed: {reason}")


def test_a_recorder_older_than_its_sources_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tmp_path / "probe"
    built.mkdir()
    for name in (probe.RECORDER, probe.AGENT):
        (built / name).touch()
        os.utime(built / name, (1, 1))
    monkeypatch.setattr(probe, "BUILD", tmp_path)
    builds: list[str] = []

    def again(project: str, **_: object) -> str:
        builds.append(project)
        os.utime(built / probe.AGENT)  # as after a change to the agent only
        return ""

    monkeypatch.setattr(probe, "build_project", again)
    assert probe.recorder(build=False) == built / probe.RECORDER
    assert builds == []
    assert probe.recorder() == built / probe.RECORDER
    assert builds == ["probe"]
    assert probe.recorder() == built / probe.RECORDER
    assert builds == ["probe"]
    monkeypatch.setattr(probe, "build_project", lambda *_, **__: "the compiler is missing")
    os.utime(built / probe.AGENT, (1, 1))
    with pytest.raises(LabError, match="the compiler is missing"):
        probe.recorder()

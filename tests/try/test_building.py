"""Builds with more flags: the flags reach the compiler, and the user's folder stays unchanged."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import steady
from threadmark import cli
from threadmark.fixes.fix import NO_FLAGS, Flags, Setting
from threadmark.kinds.trials import building
from threadmark.kinds.trials.building import Builder, BuildError
from threadmark.model.errors import LabError

steady_budget = steady.budget  # a fixture
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

SOURCE = """
#include <stdio.h>
#ifdef __cplusplus
#define LANGUAGE "C++"
#else
#define LANGUAGE "C"
#endif
#ifndef MARK
#define MARK "plain"
#endif
#ifndef CXX_MARK
#define CXX_MARK "none"
#endif
int main(void) { puts(LANGUAGE " " MARK " " CXX_MARK); return 0; }
"""
MAKEFILE = (
    "CFLAGS = -O0\nprog: prog.o\n\tcc -o $@ prog.o\nprog.o: prog.c\n\tcc $(CFLAGS) -c prog.c\n"
)
CMAKE = "cmake_minimum_required(VERSION 3.20)\nproject(p C)\nadd_executable(prog prog.c)\n"
FLAGS = Flags(every=('-DMARK="more words"',), cxx=('-DCXX_MARK="only"',))

Build = Callable[..., AbstractContextManager[Builder]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sources, in which the test runs."""
    place = tmp_path / "a project"
    place.mkdir()
    (place / "prog.c").write_text(SOURCE, encoding="ascii")
    (place / "Makefile").write_text(MAKEFILE, encoding="ascii")
    monkeypatch.chdir(place)
    return place


def said(program: Path) -> str:
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_flags_reach_a_compiler_that_a_makefile_names_and_the_folder_stays(folder: Path) -> None:
    subprocess.run(["make"], check=True, capture_output=True)
    before = building._state(folder)
    with Builder.of("make", "./prog") as builder:
        plain, more = builder.build(NO_FLAGS), builder.build(FLAGS)
        assert (said(plain), said(more)) == ("C plain none", "C more words none")
        assert builder.build(FLAGS) == more
        assert len(str(plain)) == len(str(more))
        assert builder.line(FLAGS) == (
            "add '-DMARK=\"more words\"' to the flags of the compiler and of the linker and "
            "'-DCXX_MARK=\"only\"' to the flags of the compiler for C++"
        )
    assert not more.exists()
    assert building._state(folder) == before


def test_flags_for_cxx_reach_sources_in_cxx_alone(folder: Path) -> None:
    shutil.copy("prog.c", "other.cpp")
    with Builder.of("cc prog.c -o prog && ./prog > said && c++ other.cpp -o prog", "prog") as it:
        more = it.build(FLAGS)
        assert (more.parent / "said").read_text(encoding="ascii") == "C more words none\n"
        assert said(more) == "C++ more words only"


def test_flags_and_the_file_are_put_where_the_command_says(folder: Path) -> None:
    elsewhere = folder.parent / "else"
    elsewhere.mkdir()
    program = str(elsewhere / "prog")
    with Builder.of("cc {flags} prog.c -o {out}", program) as builder:
        assert said(builder.build(FLAGS)) == "C more words only"
        line = builder.line(FLAGS)
    assert not any(elsewhere.iterdir())
    subprocess.run(line, shell=True, check=True)
    assert said(elsewhere / "prog") == "C more words only"
    with pytest.raises(LabError, match=r"write {out} where --build takes the file"):
        Builder.of("cc {flags} prog.c", program).__enter__()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_a_folder_that_cmake_configured_is_configured_anew_in_the_copy(folder: Path) -> None:
    (folder / "CMakeLists.txt").write_text(CMAKE, encoding="ascii")
    for line in (["-S", ".", "-B", "out", "-DCMAKE_BUILD_TYPE=Debug"], ["--build", "out"]):
        subprocess.run(["cmake", *line], check=True, capture_output=True)
    before = building._state(folder)
    with Builder.of("cmake --build out", "out/prog") as builder:
        assert said(builder.build(FLAGS)) == "C more words none"
        cache = next(builder.build(FLAGS).parents[1].glob("out/CMakeCache.txt"))
        assert "CMAKE_BUILD_TYPE:STRING=Debug" in cache.read_text(encoding="utf-8")
    assert building._state(folder) == before


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cc {flags} -c prog.c && cc prog.o -o prog && exit 3", "the build fails: it gave no reas"),
        ("cc {flags} prog.c -o prog -Werror -DMARK=", "the build fails: <command"),
        ("cc {flags} prog.c -o other", "--build wrote no program to prog of the folder"),
        ("cp /bin/true prog", "--build called no compiler that is found by PATH, CC or CXX"),
    ],
)
def test_a_build_that_fails_has_a_reason(command: str, reason: str) -> None:
    with Builder.of(command, "prog") as builder, pytest.raises(BuildError) as why:
        builder.build(FLAGS)
    assert reason in str(why.value)
    assert "\n" not in str(why.value)


def test_flags_that_change_nothing_are_no_build() -> None:
    with Builder.of("cc prog.c -o prog", "prog") as builder:
        builder.build(NO_FLAGS)
        with pytest.raises(BuildError, match="they give the same program"):
            builder.build(Flags(every=("-DUNUSED",)))


@pytest.mark.parametrize("guarded", [True, False])
def test_a_build_that_writes_into_the_folder_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    (folder / "build.sh").write_text(
        f"cc prog.c -o prog && echo x > '{folder}/written'", encoding="utf-8"
    )
    with Builder.of("sh build.sh", "prog") as builder:
        if guarded and not builder._guard:
            pytest.skip("this kernel makes no name spaces here")
        if guarded:
            with pytest.raises(BuildError, match="Read-only file system"):
                builder.build(NO_FLAGS)
            assert not (folder / "written").exists()
        else:
            monkeypatch.setattr(Builder, "_guard", [])
            with pytest.raises(LabError, match=r"ran in a copy but wrote .*written"):
                builder.build(NO_FLAGS)
    with pytest.raises(LabError, match="write paths relative to it"):
        Builder.of(f"make -C '{folder}'", "prog").__enter__()


# The program is slow without optimisation; a flag of another fix does not compile.
SLOW = """
#include <unistd.h>
int main(void) {
#ifndef __OPTIMIZE__
  usleep(100000);
#endif
  return 0;
}
"""


@pytest.mark.usefixtures("steady_budget")
def test_a_fix_by_flags_is_tried_and_one_whose_build_fails_costs_that_fix_only(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "prog.c").write_text(SLOW, encoding="ascii")
    command = 'set -- {flags}; case $1 in -flto) echo "error: no plugin"; exit 1; esac; '
    command += "cc $@ prog.c -o prog"
    options = ["--build", command, "--only", "optimised,link-time,tmk,batch", "--budget", "5s"]
    line = ["try", "--store", "../s.db", *options, "--json", "--", "./prog"]
    assert cli.main(line) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["gains"][0] == "optimised"
    assert found["left_out"]["link-time"] == "the build fails: error: no plugin"
    assert found["left_out"]["tmk"] == "the program does not use std::async or std::future"
    keep = next(each["keep"] for each in found["fixes"] if each["name"] == "optimised")
    assert keep["build"] == command.replace("{flags}", "-O3 -march=native")
    assert (keep["command"], keep["environment"]) == ("", {})
    assert not (folder / "prog").exists()
    assert cli.main(["show", "--store", "../s.db"]) == 0
    assert "set -- -O3 -march=native;" in capfd.readouterr().out
    assert cli.main(["try", "--build", "false", "--", "./prog"]) == 2
    assert "The build fails: it gave no reason; correct --build" in capfd.readouterr().err


def test_two_builds_together_are_one_build_with_the_flags_of_both() -> None:
    first = Setting(flags=Flags(("-a",)), program="/one")
    second = Setting(flags=Flags((), ("-b",)), program="/two", prefix=("nice",))
    both = first | second
    assert both.flags == Flags(("-a",), ("-b",))
    assert both.words(("./prog", "2")) == ("nice", "/two", "2")
    assert Setting().words(("./prog", "2")) == ("./prog", "2")

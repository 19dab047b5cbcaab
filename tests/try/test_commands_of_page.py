"""The commands in blocks of docs/try.md run unchanged, except for a small budget."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from threadmark.model.places import ROOT

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
    pytest.mark.xdist_group("commands of the page"),  # a command needs another's baseline
]

# Two threads of a few milliseconds, so any budget has rounds.
SOURCE = """
#include <cstdlib>
#include <thread>
#include <vector>
int main(int count, char** words) {
  const int threads = count > 1 ? std::atoi(words[1]) : 2;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([=] { for (long n = 0; n < 20'000'000 / threads; ++n) asm volatile(""); });
  for (std::thread& each : all) each.join();
}
"""
CMAKE = (
    "cmake_minimum_required(VERSION 3.20)\nproject(p CXX)\nfind_package(Threads REQUIRED)\n"
    "add_executable(prog prog.cpp)\ntarget_link_libraries(prog Threads::Threads)\n"
)
# Replacements for the command, for a server, for its readiness check, and for its load.
SCRIPTS = {
    "threadmark": f'exec {shlex.quote(sys.executable)} -P -m threadmark "$@"',
    "server": "trap 'exit 0' TERM; while :; do sleep 0.05; done",
    "curl": "exit 0",
    "wrk": "echo 'Requests/sec: 100'",
}


def commands() -> list[str]:
    """The commands in the blocks of the page, each on one line."""
    page = (ROOT / "docs/try.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    return [line for line in blocks.replace("\\\n", " ").splitlines() if line]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program, its build files, and a server."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "prog.cpp").write_text(SOURCE, encoding="ascii")
    (folder / "CMakeLists.txt").write_text(CMAKE, encoding="ascii")
    (folder / "Makefile").write_text(
        "prog: prog.cpp\n\tg++ -O2 $(CXXFLAGS) prog.cpp -o prog -pthread\n", encoding="ascii"
    )
    for name, script in SCRIPTS.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
        path.chmod(0o755)
    subprocess.run(["make"], cwd=folder, check=True, capture_output=True)
    if shutil.which("cmake"):
        for line in (["-B", "build"], ["--build", "build"]):
            subprocess.run(["cmake", *line], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_page_runs(line: str, project: Path) -> None:
    if "cmake" in line and not shutil.which("cmake"):
        pytest.skip("needs CMake")
    beginning = re.match(r"\./threadmark (try|gate) ", line)
    assert beginning
    more = "--budget 3s --store s.db "
    if beginning[1] == "try" and "--build" not in line:
        more += "--only batch "
    done = subprocess.run(
        ["sh", "-c", beginning[0] + more + line.removeprefix(beginning[0])],
        cwd=project, check=False, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT / "lab"), "PATH": f".:{os.environ['PATH']}"},
    )  # fmt: skip
    said = done.stdout + done.stderr
    if beginning[1] == "gate":  # the decision depends on this machine
        if "--no-worse-than" in line and not (project / "scaling.json").exists():
            pytest.skip("the machine was too busy for a baseline")
        assert done.returncode in (0, 1, 3), said
        if "--write-baseline" in line:
            assert (project / "scaling.json").exists() == (done.returncode == 0)
    elif done.returncode == 2:  # on a busy machine builds and runs may use up the budget
        assert "budget" in said, said
    else:
        assert done.returncode == 0, said
        assert "as it is" in said

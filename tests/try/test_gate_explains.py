"""A failing gate explains the program, and each of its reports names the cause."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from threadmark import cli
from threadmark.machine import load

# Two threads that hold one lock for most of their work.
PROGRAM = """
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>
static std::mutex table_mutex;
static long table = 0;
[[gnu::noinline]] static void update(long by) {
  const std::lock_guard<std::mutex> held(table_mutex);
  for (int i = 0; i < 20'000; ++i) table = (table ^ (table >> 7)) * 31 + by;
}
int main(int, char** words) {
  const int count = std::atoi(words[1]);
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back([=] { for (int k = 0; k < 2'000 / count; ++k) update(k); });
  for (auto& each : all) each.join();
}
"""
CAUSE = "waits for a lock: table_mutex (prog.cpp:6)"


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_a_gate_that_fails_names_the_cause_in_each_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load, "disturbance", lambda *_: "")
    Path("prog.cpp").write_text(PROGRAM, encoding="ascii")
    line = ["g++", "-std=c++20", "-O2", "-g", "-pthread", "prog.cpp", "-o", "prog"]
    subprocess.run(line, check=True)
    files = ("--junit", "j.xml", "--summary", "sum.md", "--annotations", "github")
    demands = ("--min-efficiency", "0.7@2", "--budget", "20s", "--store", "s.db")
    assert cli.main(["gate", *demands, *files, "--", "./prog", "{threads}"]) == 1
    said = " ".join(capfd.readouterr().out.split())
    assert "What explain says (./threadmark show 2 --store s.db)" in said
    assert "Run 1; page: ./threadmark report 1 --store s.db" in said
    assert CAUSE in said
    (annotation,) = (each for each in said.split("::") if each.startswith("efficiency"))
    assert CAUSE in annotation
    (failure,) = ElementTree.parse("j.xml").getroot().iter("failure")
    assert CAUSE in str(failure.text)
    assert CAUSE in Path("sum.md").read_text(encoding="utf-8")

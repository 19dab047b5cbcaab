"""Each part of a program with two phases, or two kinds of threads, has a cause of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from threadmark import cli

SOURCE = """
#include <pthread.h>
#include <time.h>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
using Clock = std::chrono::steady_clock;
std::mutex tally_mutex;
static void wait_for_ms(int ms) {
  const timespec time{0, ms * 1000000};
  nanosleep(&time, nullptr);
}
[[gnu::noinline]] void tally() {  // its lock is contended also where others have the processors
  const std::lock_guard<std::mutex> lock(tally_mutex);
  wait_for_ms(1);
}
[[gnu::noinline]] void take_a_rest() {
  wait_for_ms(2);
  asm volatile("");  // else the call is a jump, and this function is not in the stack
}
static void until(Clock::time_point end, void (*step)()) {
  while (Clock::now() < end) step();
}
int main(int count, char**) {
  const auto middle = Clock::now() + std::chrono::milliseconds(400);
  const auto end = middle + std::chrono::milliseconds(400);
  const bool phases = count == 1;
  std::vector<std::thread> all;
  const auto run = [&](const char* name, auto first, auto second) {
    for (int i = 0; i < 2; ++i) {
      all.emplace_back([=] {
        pthread_setname_np(pthread_self(), (name + std::to_string(i)).c_str());
        until(middle, first);
        until(end, second);
      });
    }
  };
  if (phases) run("worker ", tally, take_a_rest);
  if (!phases) run("teller ", tally, tally);
  if (!phases) run("poller ", take_a_rest, take_a_rest);
  for (auto& each : all) each.join();
}
"""
LOCK, REST = ("mutex", "tally_mutex"), ("sleep", "take_a_rest")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("g++"):
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("part")
    (folder / "a.cpp").write_text(SOURCE, encoding="ascii")
    line = ["g++", "-std=c++17", "-O2", "-pthread", "a.cpp", "-o", "prog"]
    subprocess.run(line, cwd=folder, check=True)
    return folder / "prog"


class Runs:
    """Runs of explain in one folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def say(self, *words: str, status: int = 0) -> str:
        assert cli.main(["explain", "--store", "s.db", *words]) == status
        captured = self._capsys.readouterr()
        return captured.err if status else captured.out

    def found(self, *words: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.say("--json", *words))
        assert answer["accounted"] > 0.9
        return answer


@pytest.fixture
def runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runs:
    monkeypatch.chdir(tmp_path)
    return Runs(capsys)


def causes(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["category"], each["name"]) for each in found["causes"]]


def test_each_phase_of_a_program_names_its_own_cause(program: Path, runs: Runs) -> None:
    whole = runs.found("--", str(program))
    assert LOCK in causes(whole)
    # If other programs have the processors, holders also sleep while nobody waits for their lock.
    sleeps = next(each for each in whole["causes"] if each["category"] == "sleep")
    assert "take_a_rest" in {frame for each in sleeps["waiters"] for frame in each["frames"]}
    record = "explain-s-1.tmr"
    early = runs.found(record, "--to", "0.39")
    late = runs.found(record, "--from", "0.42", "--to", "0.79")
    assert (causes(early)[0], causes(late)[0]) == (LOCK, REST)
    assert REST not in causes(early)
    assert LOCK not in causes(late)
    assert "tally" in early["causes"][0]["holders"][0]["frames"]
    assert late["wall_s"] == pytest.approx(0.37)
    assert late["states"]["waiting"] < 0.02 < early["states"]["waiting"]
    assert runs.say(record, "--to", "0.39").startswith("prog, to 0.39 s: 3 threads, 0.39 s, ")


def test_each_kind_of_threads_names_its_own_cause(program: Path, runs: Runs) -> None:
    # explain answers for a part, and still keeps the whole live recording.
    tellers = runs.found("--thread", "teller*", "--", str(program), "2")
    record = "explain-s-1.tmr"
    pollers = runs.found(record, "--thread", "poller*")
    assert (causes(tellers)[0], causes(pollers)[0]) == (LOCK, REST)
    assert (tellers["threads"], pollers["threads"]) == (2, 2)
    assert LOCK not in causes(pollers)
    assert runs.found(record)["threads"] == 5
    sentence = runs.say("--thread", "writer", "--", str(program), "2", status=2)
    assert "the names are poller 0, poller 1, prog, teller 0, teller 1;" in sentence
    assert "; run 4 is of the whole record, explain-s-4.tmr." in sentence
    assert len(sentence.splitlines()) == 1
    assert Path("explain-s-4.tmr").exists()

"""Root gets the waker of each thread from the kernel, and so the holder of a lock that no agent or
sample shows."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from threadmark import cli
from threadmark.kinds.explain.probe import recorder

# A static program with a lock of its own. The thread that keeps the lock never sleeps for it, so
# only its wakes show that it takes the lock too.
SOURCE = """
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <thread>
std::atomic<int> word{0};
long sum = 0;
bool lasts() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::steady_clock::now() - begin < std::chrono::seconds(2);
}
[[gnu::noinline]] void unlock() {
  word = 0;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
[[gnu::noinline]] void lock() {
  while (word.exchange(2) != 0)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
}
[[gnu::noinline]] long calculate(long x) {
  for (int k = 0; k < 5000; ++k) x = (x ^ (x >> 7)) * 31 + k;
  return x;
}
[[gnu::noinline]] void keep() {
  while (word.exchange(2) != 0) {}
  sum = calculate(sum);
  unlock();
}
[[gnu::noinline]] void use() {
  lock();
  ++sum;
  unlock();
}
static void keeps() { for (long x = 0; lasts(); x = calculate(x)) keep(); }
static void uses() { while (lasts()) use(); }
int main() { std::thread one(keeps), other(uses); one.join(); other.join(); }
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_the_waker_holds_the_lock_of_a_static_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.cpp").write_text(SOURCE, encoding="ascii")
    line = ["g++", "-std=c++17", "-O2", "-static", "-pthread", "a.cpp", "-o", "prog"]
    subprocess.run(line, cwd=tmp_path, check=True)
    record = [str(recorder()), "-o", "a.tmr", "--", "./prog"]
    subprocess.run(record, cwd=tmp_path, check=True, timeout=100)
    said = subprocess.run(
        [str(recorder()), "--print", "a.tmr"], cwd=tmp_path, check=True, capture_output=True
    ).stdout
    if not json.loads(said.splitlines()[0])["tier"]["tracepoints"]:
        pytest.skip("Only an administrator may read tracepoints.")
    assert cli.main(["explain", "--json", "--store", str(tmp_path / "s.db"),
                     str(tmp_path / "a.tmr")]) == 0  # fmt: skip
    causes = json.loads(capsys.readouterr().out)["causes"]
    (lock,) = [each for each in causes if (each["category"], each["name"]) == ("mutex", "word")]
    assert lock["holders"][0]["frames"][-2:] == ["keep", "keeps"]
    assert lock["waiters"][0]["frames"][-2:] == ["use", "uses"]

"""An ordinary user gets the cause and its name although the kernel refuses perf events, or samples
of itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from threadmark import cli
from threadmark.kinds.explain.probe import AGENT, recorder

needs_user = pytest.mark.skipif(
    not shutil.which("g++") or (os.getuid() == 0 and not shutil.which("setpriv")),
    reason="no g++ or no setpriv",
)
REFUSE = Path(__file__).parents[1] / "probe/recorder/targets/refuse.cpp"
SOURCE = """
#include <atomic>
#include <mutex>
#include <thread>
struct Spin {
  std::atomic<bool> taken{false};
  void lock() { while (taken.exchange(true)) while (taken) __builtin_ia32_pause(); }
  void unlock() { taken = false; }
};
LOCK tally_mutex;
long sum = 0;
[[gnu::noinline]] void tally(int i) {
  const std::lock_guard<LOCK> lock(tally_mutex);
  for (int k = 0; k < 100000; ++k) sum = (sum ^ (sum >> 7)) * 31 + i;
}
static void work() {
  for (int i = 0; i < 3000; ++i) {
    tally(i);
    for (volatile int k = 0; k < 20000; ++k) {}  // the other thread takes the lock meanwhile
  }
}
int main() { std::thread one(work), other(work); one.join(); other.join(); }
"""

FAULTS = """
#include <sys/mman.h>
#include <thread>
[[gnu::noinline]] long fill() {
  constexpr long bytes = 1 << 22;
  long sum = 0;
  char* place = static_cast<char*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(place, bytes, MADV_NOHUGEPAGE);
  for (long i = 0; i < bytes; i += 4096) sum += place[i] = 1;
  munmap(place, bytes);
  return sum;
}
static void work() { for (int i = 0; i < 500; ++i) fill(); }
int main() { std::thread one(work), other(work); one.join(); other.join(); }
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder in which every user may write."""
    folder = Path(tempfile.mkdtemp(prefix="threadmark-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def _record(folder: Path, program: str, before: list[str]) -> None:
    """Writes a.tmr in `folder`, as an ordinary user by a line that begins with `before`."""
    (folder / "a.cpp").write_text(program, encoding="ascii")
    for source, made in ((folder / "a.cpp", "prog"), (REFUSE, "refuse")):
        line = ["g++", "-std=c++17", "-O2", "-pthread", str(source), "-o", str(folder / made)]
        subprocess.run(line, check=True)
    for name in (recorder().name, AGENT):
        shutil.copy(recorder().with_name(name), folder)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    line = [*before, f"./{recorder().name}", "-o", "a.tmr", "--", "./prog"]
    line = [*user, *line] if os.getuid() == 0 else line
    subprocess.run(line, cwd=folder, check=True, timeout=100)


def _explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    store, record = str(folder / "s.db"), str(folder / "a.tmr")
    assert cli.main(["explain", "--json", "--store", store, record]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@needs_user
@pytest.mark.parametrize(("lock", "category"), [("std::mutex", "mutex"), ("Spin", "spin")])
def test_the_lock_and_its_holder_are_named_without_perf(
    open_folder: Path, capsys: pytest.CaptureFixture[str], lock: str, category: str
) -> None:
    _record(open_folder, SOURCE.replace("LOCK", lock), ["./refuse", "perf_event_open"])
    found = _explained(open_folder, capsys)
    first = found["causes"][0]
    assert (first["category"], first["certain"]) == (category, True)
    assert "tally" in first["name"]
    assert first["holders"][0]["frames"][:2] == ["tally", "work"]
    assert found["accounted"] > 0.95
    assert any("sampled with ptrace" in each for each in found["limits"])


@needs_user
@pytest.mark.parametrize("before", [[], ["./refuse", "perf_event_open"]], ids=["perf", "ptrace"])
def test_page_faults_are_found_without_samples_of_the_kernel(
    open_folder: Path, capsys: pytest.CaptureFixture[str], before: list[str]
) -> None:
    _record(open_folder, FAULTS, before)
    found = _explained(open_folder, capsys)
    first = found["causes"][0]
    assert (first["category"], first["name"]) == ("kernel_memory", "fill")
    assert first["share"] > 0.2
    assert any("but page faults" in each for each in found["limits"])

"""The kernel refuses perf events to an ordinary user, who still gets the cause and its name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from threadmark import cli
from threadmark.kinds.explain.probe import AGENT, recorder

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
static void work() { for (int i = 0; i < 3000; ++i) tally(i); }
int main() { std::thread one(work), other(work); one.join(); other.join(); }
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder in which every user may write."""
    folder = Path(tempfile.mkdtemp(prefix="threadmark-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
@pytest.mark.skipif(os.getuid() == 0 and not shutil.which("setpriv"), reason="no setpriv")
@pytest.mark.parametrize(("lock", "category"), [("std::mutex", "mutex"), ("Spin", "spin")])
def test_the_lock_and_its_holder_are_named_without_perf(
    open_folder: Path, capsys: pytest.CaptureFixture[str], lock: str, category: str
) -> None:
    (open_folder / "a.cpp").write_text(SOURCE, encoding="ascii")
    compiler = ["g++", "-std=c++17", "-O2", "-pthread", f"-DLOCK={lock}"]
    for source, made in ((open_folder / "a.cpp", "prog"), (REFUSE, "refuse")):
        subprocess.run([*compiler, str(source), "-o", str(open_folder / made)], check=True)
    for name in (recorder().name, AGENT):
        shutil.copy(recorder().with_name(name), open_folder)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    line = ["./refuse", "perf_event_open", f"./{recorder().name}", "-o", "a.tmr", "--", "./prog"]
    line = [*user, *line] if os.getuid() == 0 else line
    subprocess.run(line, cwd=open_folder, check=True, timeout=100)
    assert cli.main(["explain", "--json", "--store", str(open_folder / "s.db"),
                     str(open_folder / "a.tmr")]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    first = found["causes"][0]
    assert (first["category"], first["certain"]) == (category, True)
    assert "tally" in first["name"]
    assert first["holders"][0]["frames"][:2] == ["tally", "work"]
    assert found["accounted"] > 0.95
    assert any("sampled with ptrace" in each for each in found["limits"])

"""The system refuses a program that makes tens of thousands of threads; machine and lab stay
usable."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from lab_support import Attempt
from threadmark.machine import cgroups, host, owner
from threadmark.machine.limits import Limits, default_limits
from threadmark.measure.cage import Cage
from threadmark.model.cell import Status

# Makes 30,000 threads that wait, and ends by the contract when the system refuses one.
THREADS = r"""
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *wait_for_ever(void *nothing) { pause(); return nothing; }
int main(void) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  for (int made = 0; made < 30000; ++made) {
    pthread_t thread;
    int error = pthread_create(&thread, &small, wait_for_ever, NULL);
    if (error) {
      printf("{\"event\":\"end\",\"status\":\"refused\",\"reason\":\"%d made\"}\n", made);
      return error == EAGAIN ? 4 : 6;
    }
  }
  printf("{\"event\":\"end\",\"status\":\"ok\",\"reason\":\"\"}\n");
  return 0;
}
"""

# Makes 3,000 threads one after the other, never more than two at a time.
IN_TURN = (
    THREADS.replace("pause()", "(void)0")
    .replace("30000", "3000")
    .replace("    if (error) {", "    if (!error) pthread_join(thread, NULL);\n    if (error) {")
)


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    return tmp_path / "threads"


def _compile(source: str, path: Path) -> None:
    path.with_suffix(".c").write_text(source)
    line = ["cc", "-O1", "-pthread", "-o", str(path), str(path.with_suffix(".c"))]
    subprocess.run(line, check=True)


def _exec(path: Path) -> str:
    return f"start(); repeats(); os.execv({str(path)!r}, ['threads'])"


def test_thirty_thousand_threads_are_refused_at_the_cap(attempt: Attempt, compiled: Path) -> None:
    _compile(THREADS, compiled)
    row = attempt(_exec(compiled), limit_s=60)
    assert row.status is Status.REFUSED
    assert f"the cap is {default_limits().threads}" in row.reason
    made = int(row.reason.rpartition(": ")[2].split()[0])
    assert default_limits().threads * 0.9 < made <= default_limits().threads


def test_the_cap_counts_threads_that_live(attempt: Attempt, compiled: Path) -> None:
    _compile(IN_TURN, compiled)
    row = attempt(_exec(compiled), threads_cap=100, limit_s=60)
    assert row.status is Status.OK, row.reason


def test_the_thread_limit_is_half_of_what_the_system_has() -> None:
    found = default_limits()
    assert found.threads <= int(Path("/proc/sys/kernel/pid_max").read_text()) // 2
    assert str(found.threads * 2)[:3] in found.thread_source
    assert 0 < found.memory_bytes < host.facts()["memory_bytes"]


def test_groups_of_a_dead_lab_are_removed_by_the_next() -> None:
    limits = Limits(1 << 30, 100, "a test")
    ended = replace(owner.this(), pid=999999, started="1")
    group = cgroups.make("pids", ended.label(), 100)
    if group is None:
        pytest.skip("control groups cannot be written here")
    assert group.folder.exists()
    with Cage(limits) as cage:
        assert not group.folder.exists()
        assert cage.pids is not None
        own = cage.pids.folder
    assert not own.exists()


def test_groups_of_a_living_lab_are_left_alone() -> None:
    group = cgroups.make("pids", owner.this().label(), 100)
    if group is None:
        pytest.skip("control groups cannot be written here")
    cgroups.sweep(group.folder.parent)
    assert group.folder.exists()
    group.remove()
    assert not group.folder.exists()


def test_sockets_are_filled_first_and_cores_before_hyper_threads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Two sockets of two cores with two hardware threads each, numbered like on many machines.
    layout = {
        0: (0, 0),
        1: (1, 0),
        2: (0, 1),
        3: (1, 1),
        4: (0, 0),
        5: (1, 0),
        6: (0, 1),
        7: (1, 1),
    }
    for number, (package, core) in layout.items():
        folder = tmp_path / f"cpu{number}/topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(str(package))
        (folder / "core_id").write_text(str(core))
        (folder / "thread_siblings_list").write_text(f"{number % 4},{number % 4 + 4}")
    monkeypatch.setattr(host, "_CPU", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(layout))
    order = host.processors()
    assert [each.number for each in order] == [0, 2, 1, 3, 4, 6, 5, 7]
    assert host.cpus_for(3, order) == (0, 1, 2)
    assert host.cpus_for(99, order) == tuple(range(8))

    def used(threads: int) -> list[tuple[int, ...]]:
        turns = [host.turned(threads, order, turn) for turn in range(4)]
        return [host.cpus_for(threads, each) for each in turns]

    # Package 0 has the cores of the processors 0, 4 and 2, 6. Each turn begins with another core.
    # No thread gets the second half of a core before all cores have a thread.
    assert used(1) == [(0,), (2,), (0,), (2,)]
    assert used(2) == [(0, 2)] * 4
    assert used(3) == [(0, 1, 2), (1, 2, 3), (0, 1, 3), (0, 2, 3)]
    assert used(4) == [(0, 1, 2, 3)] * 4
    assert used(5) == [(0, 1, 2, 3, 4)] * 4


@pytest.mark.parametrize("core_id", ["0", "-1"])
def test_cores_are_counted_by_their_threads_because_core_id_may_repeat(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, core_id: str
) -> None:
    # Two dies of one core with two hardware threads each; a kernel may give the core_id -1.
    for number in range(4):
        folder = tmp_path / f"cpu{number}/topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text("0")
        (folder / "core_id").write_text(core_id)
        (folder / "thread_siblings_list").write_text(f"{number % 2},{number % 2 + 2}")
    monkeypatch.setattr(host, "_CPU", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3})
    order = host.processors()
    assert [host.cores(order[:count]) for count in (1, 2, 3, 4)] == [1, 2, 2, 2]


def test_a_list_of_processors_is_read_as_the_kernel_writes_it() -> None:
    assert host.expand("0-2,8") == [0, 1, 2, 8]
    assert host.expand("") == []
    assert host.expand("5") == [5]


def test_the_facts_of_a_machine_are_json() -> None:
    found = host.facts()  # one call, because the load changes
    assert json.loads(json.dumps(found)) == found

"""A lab leaves alone the groups and runs of other labs that may still measure, wherever they
are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from lab_support import alive, lab_environment
from threadmark.machine import cgroups, owner, processes
from threadmark.machine.owner import Fate
from threadmark.machine.processes import start_time
from threadmark.model.errors import LabError
from threadmark.store.store import Store

HERE = owner.this()
ENDED = replace(HERE, pid=999999, started="1")
# The process number of this lab in another namespace: here it lives, there it tells nothing.
HIDDEN = replace(HERE, namespace="pid:[1]", started="1")
REBOOTED = replace(HERE, boot="another")
ELSEWHERE = replace(HERE, boot="another", host="another")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that only this test may kill."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.db", create=True) as opened:
        yield opened


@pytest.mark.parametrize(
    ("other", "fate"),
    [
        (replace(ENDED, namespace=""), Fate.ENDED),  # a lab that knew no namespaces
        (HERE, Fate.ENDED),  # this very process, which does not wait for itself
        (ENDED, Fate.ENDED),
        (HIDDEN, Fate.HIDDEN),
        (replace(HIDDEN, host="another"), Fate.HIDDEN),  # containers have host names of their own
        (replace(HIDDEN, pid=0, started=""), Fate.ENDED),  # the lab ended in an orderly way
        (REBOOTED, Fate.ENDED),
        (ELSEWHERE, Fate.ELSEWHERE),
        (replace(ELSEWHERE, pid=0, started=""), Fate.ELSEWHERE),
    ],
)
def test_what_can_be_known_of_another_lab(other: owner.Owner, fate: Fate) -> None:
    assert owner.fate(other, lambda: False) is fate


def test_a_lab_that_cannot_be_seen_has_ended_where_no_lab_measures() -> None:
    assert owner.fate(HIDDEN, lambda: True) is Fate.ENDED
    assert owner.fate(ELSEWHERE, lambda: True) is Fate.ELSEWHERE


def test_a_lab_that_runs_is_told_from_one_with_its_number(
    sleeper: subprocess.Popen[bytes],
) -> None:
    lives = replace(HERE, pid=sleeper.pid, started=start_time(sleeper.pid))
    for each in (lives, replace(lives, namespace="")):
        assert owner.fate(each, lambda: True) is Fate.LIVES
        assert owner.fate(replace(each, started="1"), lambda: False) is Fate.ENDED
    assert not owner.is_left_over(lives.label())


def test_hosts_without_a_boot_id_are_told_apart_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_boot", lambda: "")
    another = replace(HERE, boot="", host="another")
    assert owner.fate(another, lambda: False) is Fate.ELSEWHERE
    assert owner.fate(replace(ENDED, boot=""), lambda: False) is Fate.ENDED


def test_only_groups_of_labs_that_are_seen_to_have_ended_are_removed(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    lives = replace(HERE, pid=sleeper.pid, started=start_time(sleeper.pid))
    kept = [each.label() for each in (HERE, lives, HIDDEN, REBOOTED)]
    kept.append("of-somebody-else")
    for label in (*kept, ENDED.label()):
        (tmp_path / f"threadmark-{label}").mkdir()
    cgroups.sweep(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {f"threadmark-{each}" for each in kept}


def test_a_process_of_another_namespace_in_a_group_does_not_end_the_lab(tmp_path: Path) -> None:
    # The kernel writes 0 for such a process, and a signal to 0 goes to the sender's whole group.
    (tmp_path / "cgroup.procs").write_text("0\n0\n")
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            cgroups.kill_members(tmp_path)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_members_of_a_group_are_killed(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    procs = tmp_path / "cgroup.procs"
    procs.write_text(f"0\n{sleeper.pid}\n")
    child = os.fork()
    if child == 0:
        try:
            cgroups.kill_members(tmp_path)
            os._exit(0)
        finally:
            os._exit(1)
    assert sleeper.wait(60) == -signal.SIGKILL
    procs.write_text("")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_process_that_is_no_longer_in_the_group_is_not_killed(
    tmp_path: Path, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A member ends after its number is read, and a new process gets the number.
    procs = tmp_path / "cgroup.procs"
    procs.write_text(f"{sleeper.pid}\n")
    real = os.pidfd_open

    def too_late(pid: int) -> int:
        procs.write_text("")
        return real(pid)

    monkeypatch.setattr(os, "pidfd_open", too_late)
    cgroups.kill_members(tmp_path)
    assert procs.read_text() == ""
    assert alive(sleeper.pid)


def test_a_process_that_no_longer_carries_the_mark_is_not_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A marked process ends after its number is read, and a new process gets the number.
    line = ["sh", "-c", f"read go; exec env -u {processes.MARK} sleep 60"]
    environment = {**os.environ, processes.MARK: "of-this-test"}
    with subprocess.Popen(line, stdin=subprocess.PIPE, env=environment) as changed:
        real = os.pidfd_open

        def too_late(pid: int) -> int:
            if pid == changed.pid and changed.stdin and not changed.stdin.closed:
                changed.stdin.close()
                command = Path(f"/proc/{pid}/cmdline")
                while not command.read_bytes().startswith(b"sleep"):
                    time.sleep(0.001)
            return real(pid)

        monkeypatch.setattr(os, "pidfd_open", too_late)
        try:
            processes.kill_marked("of-this-test")
            assert alive(changed.pid)
        finally:
            changed.kill()


def test_groups_are_found_below_a_path_with_a_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = tmp_path / "a pläce\\x"
    (mount / "own").mkdir(parents=True)
    (mount / "own/pids.max").write_text("123\n")
    escaped = str(mount).replace("\\", "\\134").replace(" ", "\\040")
    (tmp_path / "mounts").write_text(f"cgroup {escaped} cgroup rw,pids 0 0\n")
    (tmp_path / "cgroup").write_text("8:pids:/own\n")
    monkeypatch.setattr(cgroups, "_PROC", tmp_path)
    assert cgroups.enclosing_limit("pids.max", "pids.max", "pids") == 123


def give(store: Store, run: int, lab: dict[str, object]) -> None:
    """Make `lab` the owner of the run."""
    with store._writing() as db:
        db.execute("UPDATE run SET owner = ? WHERE id = ?", (json.dumps(lab), run))


@pytest.fixture
def other_lab(store: Store) -> Iterator[subprocess.Popen[str]]:
    """Another lab that measures into the store, until the test kills it."""
    code = f"""
import time
from pathlib import Path
from threadmark.store.store import Store
with Store.open(Path({str(store.path)!r}), create=False) as store:
    print(store.start_run("quick", 1, {{}}, {{}}), flush=True)
    time.sleep(60)
"""
    line = [sys.executable, "-c", code]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=lab_environment()) as lab:
        assert lab.stdout is not None
        assert lab.stdout.readline()
        yield lab
        lab.kill()


Own = Callable[[owner.Owner], int]


@pytest.fixture
def run_of(store: Store) -> Own:
    """run_of(lab) makes an unfinished run of that lab."""

    def make(lab: owner.Owner) -> int:
        run = store.start_run("quick", 1, {}, {})
        give(store, run, asdict(lab))
        return run

    return make


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (HIDDEN, "in another container of this machine"),
        (ELSEWHERE, "another host (another); resume it there"),
    ],
)
def test_a_run_that_another_lab_may_measure_is_not_taken_over(
    store: Store,
    run_of: Own,
    other_lab: subprocess.Popen[str],
    other: owner.Owner,
    words: str,
) -> None:
    run = run_of(other)
    with pytest.raises(LabError) as refused:
        store.take_over(run)
    assert words in str(refused.value)
    assert str(refused.value).endswith("or start another run without --resume.")
    assert store.unfinished(("quick",)) == run  # so that --resume prints the sentence
    ended = run_of(ENDED)
    run_of(other)
    assert store.unfinished(("quick",)) == ended
    assert store.measuring() == [other_lab.pid]


def test_a_run_of_a_killed_container_is_taken_over_when_no_lab_measures_any_more(
    store: Store, run_of: Own, other_lab: subprocess.Popen[str]
) -> None:
    run_of(ENDED)
    run = run_of(HIDDEN)
    with Store.open(store.path, create=False) as reader:
        assert reader.unfinished(("quick",)) != run
        other_lab.kill()
        other_lab.wait()
        reader.runs()  # a process that only reads is no obstacle
        assert store.unfinished(("quick",)) == run
        store.take_over(run)
    assert store.measuring() == []


def test_a_lab_of_a_real_pid_namespace_keeps_its_groups_and_its_run(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from threadmark.machine import owner
from threadmark.store.store import Store
with Store.open(Path({str(tmp_path / "s.db")!r}), create=True) as store:
    store.start_run("quick", 1, {{}}, {{}})
    print(owner.this().label(), flush=True)
    time.sleep(60)
"""
    line = [
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        sys.executable,
        "-c",
        code,
    ]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=lab_environment()
    ) as lab:
        assert lab.stdout is not None
        label = lab.stdout.readline().strip()
        try:
            if not label:
                assert lab.stderr is not None
                said = lab.stderr.read()
                assert said.startswith("unshare:"), said
                pytest.skip(f"a pid namespace cannot be made here: {said.strip()}")
            assert label.split("-")[1] == "1"  # a process that also lives outside the namespace
            assert not owner.is_left_over(label)
            refused = pytest.raises(LabError, match="in another container")
            with Store.open(tmp_path / "s.db", create=False) as store, refused:
                store.take_over(1)
            lab.kill()
            lab.wait()
            with Store.open(tmp_path / "s.db", create=False) as store:
                deadline = time.monotonic() + 60  # the kernel ends the namespace a little later
                while store.unfinished(("quick",)) and not store._presence.alone():
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
                store.take_over(1)
        finally:
            lab.kill()


def test_a_run_is_taken_over_after_a_reboot(store: Store, run_of: Own) -> None:
    store.take_over(run_of(REBOOTED))


def test_a_lab_that_ends_in_an_orderly_way_gives_its_runs_up_for_all_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt), Store.open(tmp_path / "s.db", create=True) as store:
        run = store.start_run("quick", 1, {}, {})
        raise KeyboardInterrupt
    monkeypatch.setattr(owner, "_namespace", lambda: "pid:[1]")
    with Store.open(tmp_path / "s.db", create=True) as store:
        store.take_over(run)


def test_a_store_of_a_lab_that_knew_no_namespaces_can_be_read(store: Store) -> None:
    run = store.start_run("quick", 1, {}, {})
    give(store, run, {k: v for k, v in asdict(ENDED).items() if k != "namespace"})
    assert store.unfinished(("quick",)) == run
    store.take_over(run)


def test_a_start_that_was_rolled_back_gives_no_run_of_another_lab_up(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    lives = replace(HERE, pid=sleeper.pid, started=start_time(sleeper.pid))
    with Store.open(tmp_path / "s.db", create=True) as store:
        with pytest.raises(KeyboardInterrupt), store.at_once():
            run = store.start_run("quick", 1, {}, {})
            raise KeyboardInterrupt
        with Store.open(tmp_path / "s.db", create=True) as other:
            assert other.start_run("quick", 1, {}, {}) == run
            give(other, run, asdict(lives))
    with Store.open(tmp_path / "s.db", create=True) as store:
        assert store.measuring() == [sleeper.pid]

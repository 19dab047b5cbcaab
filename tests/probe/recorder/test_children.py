"""The recorder and processes that the target starts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from recorder_support import Line, Record, Recorder

Compile = Callable[..., Path]
FOLLOW = ("--follow",)


def processes(record: Record) -> dict[int, list[Line]]:
    """The threads of each process, by its number; 0 is the first process."""
    found: dict[int, list[Line]] = {}
    for thread in record.all("thread"):
        found.setdefault(thread.get("process", 0), []).append(thread)
    return found


def children(pid: int) -> list[int]:
    """The processes that the first thread of process `number` has made."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def names(record: Record, stack: int, target: Path) -> list[str]:
    """The target's functions in a stack."""
    symbols = subprocess.run(
        ["nm", "-C", "--defined-only", target], capture_output=True, text=True, check=True
    )
    table = sorted(
        (int(line.split()[0], 16), line.split(maxsplit=2)[2])
        for line in symbols.stdout.splitlines()
        if line.split()[1] in "tTW"
    )
    modules = {m["id"] for m in record.all("module") if m["path"] == str(target)}
    frames = next(s["frames"] for s in record.all("stack") if s["id"] == stack)
    return [
        max((each for each in table if each[0] < address), default=(0, "?"))[1].split("(")[0]
        for module, address in frames
        if module in modules
    ]


def test_children_are_recorded_with_the_lock_that_they_share(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("children.cpp")
    done = recorder.run(target, "locks", "2", options=(*FOLLOW, "--agent", agent))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    record = recorder.read()
    found = processes(record)
    assert len(found) == 3
    ticked = {t[0] for tick in record.all("tick") for t in tick["threads"]}
    for process, threads in found.items():
        assert process in (0, threads[0]["tid"])
        assert threads[0]["tid"] in ticked
        assert process == 0 or threads[0]["run_ns"] > 0.1e9
        assert process == 0 or threads[0]["maker"] == record.head["pid"]
    (lock,) = [each for each in record.all("object") if each["what"] == "mutex"]
    assert lock["shared"]
    assert "process" not in lock
    assert lock["waits"] > 0
    assert "main" in names(record, lock["made_at"], target)
    pairs = [pair for pair in record.all("pair") if pair["object"] == lock["id"]]
    assert len(pairs) > 1
    for pair in pairs:
        assert names(record, pair["waiter"], target)[0] == "use_lock"
    assert sum(hold["hold_ns"] for hold in record.all("hold")) > 0.1e9
    # The part of a module that a child has from its parent is no second module.
    assert len([m for m in record.all("module") if m["path"] == str(target)]) == 1
    (first,) = [t for t in found[0] if t["tid"] == record.head["pid"]]
    assert first["totals"]["join"]["ns"] > 0.1e9


@pytest.mark.parametrize("perf", [True, False])
def test_static_children_are_recorded_from_outside(
    recorder: Recorder, compiled: Compile, agent: str, perf: bool
) -> None:
    target = compiled("children.cpp", "-static")
    words = recorder.words(
        "sh", "-c", f"{target} locks 2; true", options=(*FOLLOW, "--agent", agent)
    )
    if not perf:
        words = [str(compiled("refuse.cpp")), "perf_event_open", *words]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    record = recorder.read()
    assert record.says("The agent was not loaded by")
    ran = [t for t in record.all("thread") if t.get("process") and t["run_ns"] > 0.1e9]
    assert len(ran) == 2
    glances = [t for tick in record.all("tick") for t in tick["threads"]]
    for thread in ran:
        assert sum(t[7] for t in glances if t[0] == thread["tid"]) > 0.7 * thread["run_ns"]
    # The parent of the two waits for a child, by the number of its system call.
    (parent,) = {thread["maker"] for thread in ran} - {0} or {ran[0]["process"]}
    if record.head["tier"]["perf"]:
        assert any(t[0] == parent and t[1] == "join" for t in glances)
        samples = [s for s in record.all("sample") if s["tid"] in {t["tid"] for t in ran}]
        assert any("compute" in names(record, s["stack"], target) for s in samples)
    locks = [o for o in record.all("object") if o["what"] == "futex" and o["waits"]]
    assert len([o for o in locks if o["shared"]]) == 1


def test_programs_that_are_started_are_recorded(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("threads.cpp")
    command = f"{target} 2 200 1000; sh -c '{target} 2 200 1000; true'"
    done = recorder.run("sh", "-c", command, options=(*FOLLOW, "--agent", agent))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\ndone\n", "")
    record = recorder.read()
    assert not record.says("were not recorded")
    found = processes(record)
    pids = [pid for pid, threads in found.items() if len({t["tid"] for t in threads}) == 3]
    assert len(pids) == 2
    assert {t["name"] for pid in pids for t in found[pid]} == {target.name[:15]}
    modules = {m["id"]: m for m in record.all("module")}
    for pid in pids:
        locks = [
            o for o in record.all("object") if o["what"] == "mutex" and o.get("process") == pid
        ]
        lock = max(locks, key=lambda o: o["wait_ns"])
        module = modules[lock["module"]]
        assert (module["path"], module["process"]) == (str(target), pid)
        waiters = [p["waiter"] for p in record.all("pair") if p["object"] == lock["id"]]
        stacks = {s["id"]: s["frames"] for s in record.all("stack")}
        assert all(modules[stacks[w][0][0]]["process"] == pid for w in waiters)
        assert all("hold" in names(record, w, target)[0] for w in waiters)


@pytest.mark.parametrize("perf", [True, False])
def test_a_forked_process_that_becomes_another_program_has_two_images(
    recorder: Recorder, compiled: Compile, agent: str, perf: bool
) -> None:
    target = compiled("threads.cpp")
    command = f"for i in 1 2 3 4; do (read x < /etc/passwd; exec {target} 2 100 1000); done"
    words = recorder.words("bash", "-c", command, options=(*FOLLOW, "--agent", agent))
    if not perf:
        words = [str(compiled("refuse.cpp")), "perf_event_open", *words]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n" * 4, "")
    record = recorder.read()
    modules = {m["id"]: m for m in record.all("module")}
    stacks = {s["id"]: s["frames"] for s in record.all("stack")}
    pids = {pid for pid, threads in processes(record).items() if len(threads) > 2}
    assert len(pids) == 4
    locks = {o["id"]: o for o in record.all("object") if o["what"] == "mutex"}
    assert {lock["process"] for lock in locks.values()} == pids
    for pair in record.all("pair"):
        if pair["object"] in locks:
            module = modules[stacks[pair["waiter"]][0][0]]
            assert module["path"] == str(target)
            assert module["process"] == locks[pair["object"]]["process"]


def test_the_environment_and_descriptors_of_children_are_those_without_the_recorder(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    state = compiled("state.cpp")
    static = compiled("state.cpp", "-static")
    command = f"/usr/bin/env; {state}; {static}"
    environment = {**os.environ, "LD_PRELOAD": "libm.so.6", "EMPTY": ""}
    bare = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, env=environment, check=False
    )
    done = recorder.run("sh", "-c", command, options=(*FOLLOW, "--agent", agent), env=environment)
    assert (done.stdout, done.stderr) == (bare.stdout, bare.stderr)
    assert recorder.read().head["tier"]["agent"]


def test_a_set_uid_child_runs_as_it_does_alone(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    state = shutil.copy(compiled("state.cpp"), recorder.folder / "state")
    Path(state).chmod(0o6755)
    bare = subprocess.run(["sh", "-c", f"{state}; true"], capture_output=True, check=True)
    done = recorder.run("sh", "-c", f"{state}; true", options=(*FOLLOW, "--agent", agent))
    assert (done.stdout.encode(), done.stderr.encode()) == (bare.stdout, bare.stderr)


def test_processes_that_die_leave_their_places_to_others(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    # More children than the agent's memory has places for threads.
    done = recorder.run(
        compiled("children.cpp"), "dies", "17000", options=(*FOLLOW, "--agent", agent), timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    record = recorder.read()
    assert record.head["lost"]["threads"] == 0
    assert not record.says("More than")
    assert len(record.all("thread")) > 16900


def test_a_child_that_crashes_takes_nothing_else_along(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("children.cpp")
    done = recorder.run(target, "crashes", options=(*FOLLOW, "--agent", agent))
    assert (done.returncode, done.stdout) == (0, "done\n")
    record = recorder.read()
    assert record.head["complete"]
    (other,) = [t for t in record.all("thread") if t["name"] == "computes"]
    assert other["run_ns"] > 0.02e9


def test_no_more_than_sixty_four_processes_are_followed_at_once(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    done = recorder.run(
        compiled("children.cpp"), "sleeps", "80", options=(*FOLLOW, "--agent", agent)
    )
    assert done.returncode == 0
    record = recorder.read()
    assert record.says("More than 64 processes ran at one time")
    most = max(len(tick["threads"]) for tick in record.all("tick"))
    assert 60 <= most <= 64


def test_children_that_outlive_the_first_process_are_left_alone(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    began = time.monotonic()
    words = ("outlives", "1", "60")
    process = subprocess.Popen(
        recorder.words(compiled("children.cpp"), *words, options=(*FOLLOW, "--agent", agent))
    )
    assert process.wait(60) == 0
    record = recorder.read()
    assert record.says("Processes that still ran when the first one had ended")
    assert record.head["complete"]
    assert time.monotonic() - began < 50
    (child,) = set(processes(record)) - {0}
    assert Path(f"/proc/{child}").exists()
    os.kill(child, signal.SIGKILL)


def test_children_of_a_process_that_runs_are_recorded(
    recorder: Recorder, compiled: Compile
) -> None:
    target = compiled("children.cpp")
    with subprocess.Popen([target, "late"], stdout=subprocess.DEVNULL) as running:
        done = recorder.call("-o", recorder.file, "--follow", "--pid", str(running.pid))
        assert running.wait() == 0
    assert (done.returncode, done.stderr) == (0, "")
    record = recorder.read()
    (child,) = [t for t in record.all("thread") if t["name"] == "late"]
    assert child["process"] == child["tid"]
    assert child["run_ns"] > 0.02e9


def test_ctrl_c_ends_the_children_too(recorder: Recorder, compiled: Compile, agent: str) -> None:
    process = subprocess.Popen(
        recorder.words(
            compiled("children.cpp"), "sleeps", "2", "60", options=(*FOLLOW, "--agent", agent)
        ),
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not any(len(children(target)) == 2 for target in children(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(50) == -signal.SIGINT
    assert recorder.read().head["complete"]

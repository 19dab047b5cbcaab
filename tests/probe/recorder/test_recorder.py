"""The recorder from outside: the things that it passes on and leaves alone, and its record."""

from __future__ import annotations

import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorder_support import Recorder, functions, sentence

Compile = Callable[..., Path]


def wait_for(line: bytes, stream: int) -> bytes:
    """Read until a line appears."""
    got = b""
    while line not in got:
        part = os.read(stream, 4096)
        assert part, got
        got += part
    return got


@pytest.mark.parametrize("status", [0, 1, 77, 255])
def test_the_exit_status_is_the_targets(recorder: Recorder, status: int) -> None:
    done = recorder.run("sh", "-c", f"exit {status}")
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    head = recorder.read().head
    assert (head["exit_status"], head["signal"], head["complete"]) == (status, 0, True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_death_by_signal_is_passed_on(recorder: Recorder, number: signal.Signals) -> None:
    done = recorder.run("sh", "-c", f"kill -{number.value} $$")
    assert (done.returncode, done.stderr) == (-number, "")
    head = recorder.read().head
    assert (head["signal"], head["complete"]) == (number.value, True)


def test_standard_streams_are_the_targets(recorder: Recorder) -> None:
    done = recorder.run("sh", "-c", "cat; echo error >&2", input="text\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "text\n", "error\n")


def ignoring() -> None:
    for number in (signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGINT})
    os.nice(3)
    os.close(0)


@pytest.mark.parametrize("prepare", [None, ignoring])
@pytest.mark.parametrize("with_agent", [False, True])
def test_nothing_of_the_targets_state_differs(
    recorder: Recorder, compiled: Compile, prepare: Callable[[], None] | None, with_agent: bool
) -> None:
    state = compiled("state.cpp")
    options: tuple[str, ...] = ()
    if with_agent:
        options = ("--agent", str(compiled("fake_agent.cpp", "-shared", "-fPIC")))
    environment = {**os.environ, "LD_PRELOAD": "libm.so.6", "EMPTY": ""}
    how = {"env": environment, "preexec_fn": prepare, "restore_signals": False}
    bare = subprocess.run([state], capture_output=True, text=True, check=True, **how)  # type: ignore[call-overload]
    done = recorder.run(state, options=options, **how)
    assert done.stderr == ""
    assert done.stdout == bare.stdout
    assert recorder.read().head["tier"]["agent"] == with_agent


@pytest.mark.parametrize("own", [(), ("",), ("libm.so.6",), ("/", "libm.so.6:"), ("::", "")])
def test_the_programs_own_preloads_are_those_that_it_was_given(
    recorder: Recorder, agent: str, own: tuple[str, ...]
) -> None:
    given = ["A=1", *(f"LD_PRELOAD={each}" for each in own), "PATH=/usr/bin:/bin"]
    code = (
        "import ctypes; import sys\n"
        "words = [each.encode() for each in sys.argv[1:]]\n"
        "at = words.index(b'--')\n"
        "def array(of): return (ctypes.c_char_p * (len(of) + 1))(*of, None)\n"
        "ctypes.CDLL(None).execve(words[at + 1], array(words[at + 1 :]), array(words[:at]))"
    )
    command = ["/bin/cat", "/proc/self/environ"]
    bare, with_agent = (
        subprocess.run(
            [sys.executable, "-c", code, *given, "--", *line], check=False, capture_output=True
        )
        for line in (command, recorder.words(*command, options=("--agent", agent)))
    )
    assert with_agent.stdout == bare.stdout == b"".join(each.encode() + b"\0" for each in given)
    assert recorder.read().head["tier"]["agent"]


def test_processes_that_were_not_recorded_are_named(recorder: Recorder, compiled: Compile) -> None:
    command = f"{compiled('threads.cpp')} 1 1 200000; true"
    assert recorder.run("sh", "-c", command).returncode == 0
    assert recorder.read().says("Processes that the program started, most of all threads.cpp, used")
    assert recorder.read().says("record them with --follow")
    recorder.run("sh", "-c", command, options=("--follow",))
    assert not recorder.read().says("Processes")
    recorder.run(compiled("threads.cpp"), "1", "1", "200000")
    assert not recorder.read().says("Processes")


def test_nothing_is_left_behind_but_the_record(recorder: Recorder, compiled: Compile) -> None:
    before = set(Path("/dev/shm").iterdir()) if Path("/dev/shm").is_dir() else set()
    recorder.run(compiled("threads.cpp"), "2", "10", "100", cwd=recorder.folder)
    assert [path.name for path in recorder.folder.iterdir()] == ["record"]
    assert not before or set(Path("/dev/shm").iterdir()) <= before


def test_the_record_says_what_contention_costs_on_the_machine(
    recorder: Recorder, compiled: Compile
) -> None:
    threads = compiled("threads.cpp")

    def costs(*command: str | Path, **how: Any) -> dict[str, Any] | None:
        recorder.run(*command, "10", "100", **how)
        found: dict[str, Any] | None = recorder.read().head["machine"].get("contention")
        return found

    assert costs(threads, "0") is None  # a single thread contends with none
    one = {min(os.sched_getaffinity(0))}
    assert costs(threads, "2", preexec_fn=lambda: os.sched_setaffinity(0, one)) is None
    found = next(filter(None, (costs(threads, "2") for _ in range(5))), None)
    if found is None:
        pytest.skip("the processors were never free at once")
    assert found.pop("threads") == min(16, len(os.sched_getaffinity(0)))
    assert set(found) == {"add", "exchange", "write", "beside"}
    for alone, together in found.values():
        assert 0 < alone < 1e6
        assert together > 0.8 * alone
    assert found["add"][1] > found["add"][0]


def test_a_contended_lock_is_seen_from_outside(recorder: Recorder, compiled: Compile) -> None:
    target = compiled("threads.cpp")
    assert recorder.run(target, "3", "300", "1000").stdout == "done\n"
    record = recorder.read()
    assert record.says("its library was not found")
    assert record.head["machine"]["glibc"] == os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    module = next(m for m in record.all("module") if m["path"] == str(target))
    notes = subprocess.run(["readelf", "-n", target], capture_output=True, text=True, check=True)
    assert f"Build ID: {module['build_id']}\n" in notes.stdout
    symbols = subprocess.run(["nm", target], capture_output=True, text=True, check=True).stdout
    address = next(int(s.split()[0], 16) for s in symbols.splitlines() if "shared_lock" in s)
    (lock,) = [
        o for o in record.all("object") if (o["module"], o["offset"]) == (module["id"], address)
    ]
    assert lock["waits"] > 0
    tids = {thread["tid"] for thread in record.all("thread")}
    assert len(tids) == 4
    waits = [t for tick in record.all("tick") for t in tick["threads"] if t[2] == lock["id"]]
    assert {wait[1] for wait in waits} == {"futex"}
    assert {wait[4] for wait in waits} & tids, "no holder was seen"
    stacks = {stack["id"]: stack["frames"] for stack in record.all("stack")}
    hold = next(int(s.split()[0], 16) for s in symbols.splitlines() if "4hold" in s)
    assert any(
        m == module["id"] and hold < a < hold + 200 for wait in waits for m, a in stacks[wait[3]]
    ), "no waiter's stack leads through the function that locks"
    ran = sum(thread["run_ns"] for thread in record.all("thread"))
    ticked = sum(t[7] for tick in record.all("tick") for t in tick["threads"])
    assert ticked > 0.9 * ran > 0.5e9


def test_running_code_is_sampled_or_the_record_says_why(
    recorder: Recorder, compiled: Compile
) -> None:
    target = compiled("threads.cpp")
    recorder.run(target, "1", "1", "500000")
    record = recorder.read()
    if not record.head["tier"]["perf"]:
        assert record.says("Running code was not sampled")
        return
    assert len(record.all("sample")) > 20
    stacks = {stack["id"]: stack["frames"] for stack in record.all("stack")}
    depths = [len(stacks[sample["stack"]]) for sample in record.all("sample")]
    assert sum(depth >= 4 for depth in depths) > 0.8 * len(depths)
    for sample in record.all("sample"):
        assert sample["registers"]["sp"] > 0
        assert sample["tid"] in {thread["tid"] for thread in record.all("thread")}


def test_the_agents_tables_are_in_the_record(recorder: Recorder, compiled: Compile) -> None:
    agent = compiled("fake_agent.cpp", "-shared", "-fPIC")
    done = recorder.run("sleep", "0.3", options=("--agent", str(agent)))
    assert (done.returncode, done.stderr) == (0, "")
    record = recorder.read()
    head = record.head
    assert head["tier"]["agent"]
    assert head["agent_ns"] == 12
    assert head["lost"]["pairs"] == 6
    assert not record.says("agent")
    (stack,) = [
        s
        for s in record.all("stack")
        if len(s["frames"]) == 2 and not s["exact"] and s["frames"][0][0] != 0
    ]
    paths = {module["id"]: module["path"] for module in record.all("module")}
    assert [Path(paths[m]).name.split(".")[0] for m, _ in stack["frames"]] == [
        Path(agent).name.split(".")[0],
        "libc",
    ]
    (item,) = [o for o in record.all("object") if not o["sampled"]]
    assert (item["id"], item["what"], item["address"]) == (3, "mutex", 0x1234560)
    assert (item["waits"], item["wait_ns"], item["type"]) == (17, 1700, "recursive")
    assert record.all("pair") == [
        {
            "kind": "pair",
            "object": 3,
            "activity": "mutex",
            "waiter": stack["id"],
            "holder": stack["id"],
            "waits": 17,
            "wait_ns": 1700,
        }
    ]
    (hold,) = record.all("hold")
    assert (hold["object"], hold["stack"], hold["blamed_ns"]) == (3, stack["id"], 500)
    threads = {thread["tid"]: thread for thread in record.all("thread")}
    assert threads[head["pid"]]["totals"] == {"mutex": {"ns": 1700, "times": 17}}
    gone = threads[4242424]
    assert (gone["name"], gone["maker"], gone["run_ns"]) == ("fleeting", head["pid"], 55)
    assert gone["made_at"] == stack["id"]
    waits = [t for tick in record.all("tick") for t in tick["threads"] if t[1] == "mutex"]
    assert waits
    assert all(wait[2:5] == [3, stack["id"], 77] for wait in waits)


def test_waits_that_the_agent_saw_are_in_the_record(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("threads.cpp")
    done = recorder.run(target, "3", "200", "1000", options=("--agent", agent))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    record = recorder.read()
    assert record.head["tier"]["agent"]
    module = next(m["id"] for m in record.all("module") if m["path"] == str(target))
    lock = max(record.all("object"), key=lambda o: o["wait_ns"] * (o["what"] == "mutex"))
    assert (lock["what"], lock["module"]) == ("mutex", module)
    pairs = [pair for pair in record.all("pair") if pair["object"] == lock["id"]]
    assert sum(pair["waits"] for pair in pairs) == lock["waits"] > 5
    stacks = {stack["id"]: stack["frames"] for stack in record.all("stack")}
    assert all(stacks[pair["waiter"]][0][0] == module for pair in pairs)
    waited = sum(t["totals"].get("mutex", {"ns": 0})["ns"] for t in record.all("thread"))
    assert abs(waited - lock["wait_ns"]) < 0.02 * waited
    ticks = [t for tick in record.all("tick") for t in tick["threads"] if t[1] == "mutex"]
    assert {tick[2] for tick in ticks} == {lock["id"]}
    at_lock = [o for o in record.all("object") if o["address"] == lock["address"]]
    assert at_lock == [lock], "what was seen from outside is the agent's object"
    assert {tick[4] for tick in ticks} & {thread["tid"] for thread in record.all("thread")}


def test_files_are_named(recorder: Recorder, compiled: Compile, agent: str) -> None:
    output = recorder.folder / "output"
    done = recorder.run(compiled("writes.cpp"), output, "5000", options=("--agent", agent))
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = [f for f in recorder.read().all("file") if f["path"] == str(output)]
    assert (file["writes"], file["bytes"]) == (5000, 15000)


def test_an_agent_in_a_folder_with_a_space_is_loaded(recorder: Recorder, compiled: Compile) -> None:
    folder = recorder.folder / "a folder: with"
    folder.mkdir()
    agent = shutil.copy(compiled("fake_agent.cpp", "-shared", "-fPIC"), folder / "agent.so")
    done = recorder.run("true", options=("--agent", str(agent)))
    assert (done.returncode, done.stderr) == (0, "")
    assert recorder.read().head["tier"]["agent"]


def test_a_static_program_is_recorded_from_outside(recorder: Recorder, compiled: Compile) -> None:
    agent = compiled("fake_agent.cpp", "-shared", "-fPIC")
    target = compiled("threads.cpp", "-static")
    done = recorder.run(target, "3", "100", "1000", options=("--agent", str(agent)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    record = recorder.read()
    assert record.says("statically linked")
    assert not record.head["tier"]["agent"]
    assert any(obj["module"] == 1 for obj in record.all("object"))
    main, *workers = sorted(each["tid"] for each in record.all("thread"))
    ticks = [t for each in record.all("tick") for t in each["threads"] if t[5:7] == ["S", 202]]
    joins = Counter(awaited for tid, _, _, _, awaited, *_ in ticks if tid == main)
    assert joins[0] < 0.2 * joins.total(), "the word of a join is the thread's id until it ends"
    assert joins.keys() - {0} <= set(workers)


@pytest.mark.parametrize("how", ["-static", "-static-pie"])
def test_stacks_of_a_static_program_reach_their_callers(
    recorder: Recorder, compiled: Compile, how: str
) -> None:
    # Linkers write no index of the unwind tables of a static program.
    target = compiled("threads.cpp", how, "-Wl,--no-eh-frame-hdr")
    recorder.run(target, "2", "100", "1000")
    record = recorder.read()
    depths = Counter(len(stack["frames"]) for stack in record.all("stack"))
    assert sum(n for depth, n in depths.items() if depth >= 3) > 0.5 * sum(depths.values())
    tick = [t for each in record.all("tick") for t in each["threads"] if t[5] == "S" and t[3]]
    assert any("hold" in functions(record, target, each[3]) for each in tick)


def test_ctrl_c_reaches_the_target_and_keeps_the_record(
    recorder: Recorder, compiled: Compile
) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        words = recorder.words(compiled("plug.cpp"))
        os.execv(words[0], words)
    wait_for(b"ready", terminal)
    time.sleep(0.1)
    os.write(terminal, b"\x03")
    assert wait_for(b"interrupted\r\n", terminal).count(b"interrupted") == 1
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 8
    head = recorder.read().head
    assert (head["exit_status"], head["complete"]) == (8, True)


def test_ctrl_z_stops_both_and_fg_lets_both_go_on(recorder: Recorder, compiled: Compile) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        words = recorder.words(compiled("plug.cpp"))
        command = " ".join(f"'{word}'" for word in words)
        os.execvp("bash", ["bash", "--norc", "-i", "-c", f"set -m; {command}; echo stopped; fg"])
    wait_for(b"ready", terminal)
    time.sleep(0.1)
    os.write(terminal, b"\x1a")
    wait_for(b"stopped\r\n", terminal)
    deadline = time.monotonic() + 60
    while os.tcgetpgrp(terminal) == pid:  # the shell has not moved the job to the foreground yet
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.write(terminal, b"\x03")
    wait_for(b"interrupted", terminal)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 8


def test_a_target_that_stops_itself_gives_the_shell_its_prompt(recorder: Recorder) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        words = recorder.words("sh", "-c", r"kill -TSTP \$\$; echo resumed; exit 6")
        command = " ".join(f'"{word}"' for word in words)
        os.execvp("bash", ["bash", "--norc", "-i", "-c", f"set -m; {command}; echo stopped; fg"])
    output = wait_for(b"resumed\r\n", terminal)
    assert b"stopped\r\n" in output[: output.index(b"resumed\r\n")]
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 6
    assert recorder.read().head["complete"]


@pytest.mark.parametrize("call", ["perf_event_open", "ptrace", "process_vm_readv", "memfd_create"])
def test_what_the_kernel_refuses_is_said(
    recorder: Recorder, compiled: Compile, agent: str, call: str
) -> None:
    words = recorder.words(compiled("threads.cpp"), "2", "100", "1000")
    if call == "memfd_create":
        words[1:1] = ["--agent", agent]
    refuse = str(compiled("refuse.cpp"))
    words = [refuse, call, *words]
    if call == "ptrace":
        words = [refuse, "perf_event_open", *words]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    record = recorder.read()
    assert record.head["complete"]
    said = {
        "perf_event_open": "Running code was sampled with ptrace",
        "ptrace": "Running code was not sampled",
        "process_vm_readv": "memory could not be read",
        "memfd_create": "no memory to share",
    }
    assert record.says(said[call])
    assert record.head["tier"]["perf"] == (call not in ("perf_event_open", "ptrace"))
    assert (record.head["tier"]["sample_ns"] > 0) == (call != "ptrace")
    assert any(o["what"] == "futex" for o in record.all("object"))
    assert all(m["build_id"] for m in record.all("module") if m["path"].startswith("/usr/lib"))
    samples = {stack["id"]: stack["frames"] for stack in record.all("stack")}
    assert call == "ptrace" or any(
        len(samples[sample["stack"]]) > 3 for sample in record.all("sample")
    )


@pytest.mark.parametrize(("word", "least", "most"), [("copy", 0.4, 1.0), ("compute", 0.0, 0.2)])
def test_time_in_the_kernel_is_counted_where_samples_hide_it(
    recorder: Recorder, compiled: Compile, word: str, least: float, most: float
) -> None:
    words = [str(compiled("refuse.cpp")), "perf_event_open"]
    words += recorder.words(compiled("doing.cpp"), word)
    subprocess.run(words, check=True, capture_output=True)
    record = recorder.read()
    ran = sum(thread["run_ns"] for thread in record.all("thread"))
    counted = record.head["tier"]["kernel_ns"]
    assert counted > 0
    assert least <= counted / ran <= most


def test_a_thread_that_stops_late_is_sampled(recorder: Recorder, compiled: Compile) -> None:
    words = [str(compiled("refuse.cpp")), "perf_event_open"]
    words += recorder.words(compiled("doing.cpp"), *["compute"] * 4)  # all on one processor
    subprocess.run(words, check=True, capture_output=True)
    record = recorder.read()
    ran = sum(each["run_ns"] for each in record.all("thread"))
    assert len(record.all("sample")) * record.head["tier"]["sample_ns"] > 0.6 * ran


@pytest.mark.parametrize("duration", ["0.1", "0.2", "0.3"])
def test_a_thread_that_stops_late_outlives_the_recording(
    recorder: Recorder, compiled: Compile, duration: str
) -> None:
    words = [str(compiled("refuse.cpp")), "perf_event_open"]
    options = ("--duration", duration)
    words += recorder.words(compiled("doing.cpp"), *["compute"] * 8, options=options)
    done = subprocess.run(words, check=True, capture_output=True, timeout=60)
    assert done.stdout.count(b"compute") == 8


def test_a_stop_for_a_sample_interrupts_no_call(recorder: Recorder, compiled: Compile) -> None:
    words = [str(compiled("refuse.cpp")), "perf_event_open"]
    words += recorder.words(compiled("brief_waits.cpp"))
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted 0\n", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_for_the_recorder_ends_the_target_too(
    recorder: Recorder, compiled: Compile, number: signal.Signals
) -> None:
    with subprocess.Popen(recorder.words(compiled("plug.cpp")), stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        wait_for(b"ready", running.stdout.fileno())
        running.send_signal(number)
        assert running.wait(60) == (7 if number == signal.SIGTERM else 8)
    assert recorder.read().head["complete"]


def test_a_killed_recorder_leaves_a_readable_record(recorder: Recorder, compiled: Compile) -> None:
    words = recorder.words(compiled("plug.cpp"))
    with subprocess.Popen(words, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        wait_for(b"ready", running.stdout.fileno())
        time.sleep(1.3)
        target = int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text())
        running.kill()
        running.wait()
        assert Path(f"/proc/{target}").exists()
        os.kill(target, signal.SIGKILL)
    record = recorder.read()
    assert not record.head["complete"]
    assert record.says("did not come to its end")
    assert len(record.all("tick")) > 50
    assert record.all("module")


def test_a_truncated_record_gives_what_is_whole(recorder: Recorder, compiled: Compile) -> None:
    recorder.run(compiled("threads.cpp"), "2", "20", "1000")
    whole = recorder.file.read_bytes()
    cut = recorder.folder / "cut"
    start = 16 + int.from_bytes(whole[8:12], "little")
    for size in {*range(start, len(whole), max(1, len(whole) // 40)), len(whole) - 1}:
        cut.write_bytes(whole[:size])
        record = recorder.read(cut)
        assert not record.head["complete"]
        assert record.says("not whole") or record.says("did not come to its end")


def test_a_damaged_part_is_left_out(recorder: Recorder, compiled: Compile) -> None:
    recorder.run(compiled("threads.cpp"), "2", "20", "1000")
    damaged = bytearray(recorder.file.read_bytes())
    start = 16 + int.from_bytes(damaged[8:12], "little")
    damaged[start + 20] ^= 0x40
    recorder.file.write_bytes(damaged)
    record = recorder.read()
    assert record.says("damaged")
    assert not record.head["complete"]
    assert record.all("tick")


def test_two_hundred_threads_are_all_seen(recorder: Recorder, compiled: Compile) -> None:
    done = recorder.run(compiled("threads.cpp"), "200", "3", "1000")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    record = recorder.read()
    assert len(record.all("thread")) == 201
    assert record.says("Threads were looked at every")


@pytest.mark.parametrize("with_agent", [False, True])
def test_threads_that_end_at_once_are_counted(
    recorder: Recorder, compiled: Compile, agent: str, with_agent: bool
) -> None:
    options = ("--agent", agent) if with_agent else ()
    done = recorder.run(compiled("short_threads.cpp"), "1000", options=options)
    assert (done.returncode, done.stderr) == (0, "")
    record = recorder.read()
    if record.head["tier"]["perf"] or with_agent:
        assert len(record.all("thread")) == 1001
        assert all(t["ended_ns"] >= t["began_ns"] for t in record.all("thread")[1:])


def test_the_agent_knows_when_threads_ended_that_only_ticks_see(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    refuse = str(compiled("refuse.cpp"))
    words = [refuse, "perf_event_open", refuse, "ptrace"]
    words += recorder.words(compiled("short_waiters.cpp"), options=("--agent", agent))
    subprocess.run(words, check=True)
    record = recorder.read()
    waiters = record.all("thread")[1:]
    assert len(waiters) == 40
    ticks = {each["at_ns"] for each in record.all("tick")}
    assert len(ticks) > 40
    assert not ticks & {each["ended_ns"] for each in waiters}


def test_the_duration_ends_the_recording_and_not_the_target(recorder: Recorder) -> None:
    done = recorder.run("sh", "-c", "sleep 1; echo end", options=("--duration", "0.3"))
    assert (done.returncode, done.stdout) == (0, "end\n")
    record = recorder.read()
    assert record.head["complete"]
    lasted = record.head["ended_ns"] - record.head["began_ns"]
    assert 0.25e9 < lasted < 0.8e9


def test_the_delay_leaves_the_beginning_out(recorder: Recorder, compiled: Compile) -> None:
    done = recorder.run(compiled("threads.cpp"), "2", "400", "1000", options=("--delay", "0.3"))
    assert done.returncode == 0
    record = recorder.read()
    assert record.head["complete"]
    assert record.head["ended_ns"] > record.head["began_ns"]
    assert len(record.all("thread")) == 3
    assert any(obj["what"] == "futex" for obj in record.all("object"))


@pytest.mark.parametrize("with_agent", [True, False])
def test_what_was_before_a_late_recording_is_not_counted(
    recorder: Recorder, compiled: Compile, agent: str, with_agent: bool
) -> None:
    agents = ("--agent", agent) if with_agent else ()
    recorder.run(compiled("long_before.cpp"), options=("--delay", "1.5", *agents))
    record = recorder.read()
    assert (record.head["tier"]["late"], record.head["tier"]["attached"]) == (True, False)
    wall = record.head["ended_ns"] - record.head["began_ns"]
    assert 0.2e9 < wall < 1.2e9
    threads = record.all("thread")
    assert len(threads) == 4
    for thread in threads:
        assert thread["began_ns"] >= record.head["began_ns"]
        life = (thread["ended_ns"] or record.head["ended_ns"]) - thread["began_ns"]
        assert thread["run_ns"] + thread["ready_ns"] <= 1.05 * life + 5e6
        assert sum(total["ns"] for total in thread["totals"].values()) <= 1.05 * life + 5e6
    assert sum(thread["run_ns"] for thread in threads) > 0.3 * wall
    if with_agent:
        waits = {each["what"]: each for each in record.all("object") if each["waits"]}
        assert 0.3 * wall < waits["mutex"]["wait_ns"] < 2.1 * wall
        assert waits["condition"]["wait_ns"] < 1.05 * wall
        assert all(each["wait_ns"] < 1.05 * wall * 2 for each in record.all("pair"))
        assert sum(each["hold_ns"] for each in record.all("hold")) < 1.1 * wall


def test_a_target_that_ends_before_the_delay_leaves_a_record(recorder: Recorder) -> None:
    assert recorder.run("sh", "-c", "exit 9", options=("--delay", "30")).returncode == 9
    record = recorder.read()
    assert (record.head["exit_status"], record.head["complete"]) == (9, True)
    assert record.says("The program ended before the recording was to begin.")


def test_a_running_process_can_be_recorded(recorder: Recorder, compiled: Compile) -> None:
    target = compiled("threads.cpp")
    with subprocess.Popen([target, "3", "100000", "500"]) as running:
        time.sleep(0.3)
        words = ("-o", recorder.file, "--pid", str(running.pid), "--duration", "0.5")
        done = recorder.call(*words)
        assert running.poll() is None
        running.kill()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    record = recorder.read()
    assert record.head["tier"]["attached"]
    assert record.head["tier"]["late"]
    assert record.head["command"] == [str(target), "3", "100000", "500"]
    assert record.head["complete"]
    assert len(record.all("thread")) == 4
    assert any(obj["module"] != 0 for obj in record.all("object"))
    life = record.head["ended_ns"] - record.head["began_ns"]
    assert all(each["run_ns"] + each["ready_ns"] < 1.05 * life for each in record.all("thread"))
    if record.head["tier"]["perf"]:
        assert record.all("sample")


def test_a_recording_by_id_ends_with_its_process(recorder: Recorder) -> None:
    with subprocess.Popen(["sleep", "0.5"]) as running:
        done = recorder.call("-o", recorder.file, "--pid", str(running.pid))
        assert running.wait() == 0
    assert (done.returncode, done.stderr) == (0, "")
    assert recorder.read().head["complete"]


@pytest.mark.parametrize("with_agent", [False, True])
def test_a_first_thread_that_ends_early_ends_nothing(
    recorder: Recorder, compiled: Compile, agent: str, with_agent: bool
) -> None:
    options = ("--agent", agent) if with_agent else ()
    done = recorder.run(compiled("first_ends.cpp"), options=options)
    assert (done.returncode, done.stdout) == (5, "last\n")
    record = recorder.read()
    assert record.head["exit_status"] == 5
    (first,) = [each for each in record.all("thread") if each["tid"] == record.head["pid"]]
    assert 0 < first["ended_ns"] - first["began_ns"] < 0.3e9
    after = [tick for tick in record.all("tick") if tick["at_ns"] > first["ended_ns"]]
    assert all(t[0] != first["tid"] for tick in after for t in tick["threads"])
    assert sum(any(t[1] == "sleep" for t in tick["threads"]) for tick in after) > 10


def test_threads_that_ended_before_the_recording_began_are_not_at_work_in_it(
    recorder: Recorder, compiled: Compile
) -> None:
    target = compiled("short_threads.cpp")
    recorder.run(target, "100000", options=("--delay", "0.3", "--duration", "0.2"))
    record = recorder.read()
    if not record.head["tier"]["perf"]:
        pytest.skip("no messages of the kernel tell of threads here")
    began = record.head["began_ns"]
    there = [
        t for t in record.all("thread") if t["began_ns"] <= began < (t["ended_ns"] or began + 1)
    ]
    assert len(there) <= 2


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--"],
        ["--nonsense", "--", "true"],
        ["--duration", "--", "true"],
        ["--duration", "x", "--", "true"],
        ["--duration", "-1", "--", "true"],
        ["--delay"],
        ["-o", "", "--", "true"],
        ["--agent", "/nonexistent/agent.so", "--", "true"],
        ["--pid", "0"],
        ["--pid", "abc"],
        ["--pid", "2147483647"],
        ["--pid", "1", "--", "true"],
        ["--print", "/nonexistent"],
        ["--print", "/"],
        ["--print", "/dev/null"],
        ["--print", "/etc/passwd"],
        ["-o", "/nonexistent/record", "--", "true"],
        ["-o", "/", "--", "true"],
    ],
)
def test_a_mistake_is_one_sentence(recorder: Recorder, words: list[str]) -> None:
    done = recorder.call(*words, cwd=recorder.folder)
    assert done.returncode == 125
    assert done.stdout == ""
    assert sentence(done.stderr), done.stderr
    assert list(recorder.folder.iterdir()) == []


@pytest.mark.parametrize(("name", "status"), [("nonexistent-program", 127), ("/etc/passwd", 126)])
def test_a_program_that_cannot_start_is_one_sentence(
    recorder: Recorder, name: str, status: int
) -> None:
    done = recorder.run(name)
    assert (done.returncode, done.stdout) == (status, "")
    assert sentence(done.stderr), done.stderr
    assert not recorder.file.exists()


def test_without_space_the_target_runs_on_to_its_end(recorder: Recorder) -> None:
    done = recorder.call("-o", "/dev/full", "--", "sh", "-c", "sleep 0.2; echo end")
    assert (done.returncode, done.stdout) == (125, "end\n")
    assert sentence(done.stderr), done.stderr


def test_a_full_file_stays_readable(recorder: Recorder, compiled: Compile) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = recorder.run(compiled("threads.cpp"), "2", "50", "1000", preexec_fn=small_files)
    assert (done.returncode, done.stdout) == (125, "done\n")
    assert sentence(done.stderr), done.stderr
    assert not recorder.read().head["complete"]


def test_paths_and_words_of_any_bytes_become_valid_text(
    recorder: Recorder, compiled: Compile
) -> None:
    strange = recorder.folder / os.fsdecode(b'x\xff"\\\n\x01\xe2\x82.out')
    shutil.copy(compiled("threads.cpp"), strange)
    done = recorder.run(strange, "1", "20", "10000")
    assert done.stderr == ""
    record = recorder.read()
    assert record.head["command"][0].endswith('x\ufffd"\\\n\x01\ufffd\ufffd.out')
    assert any(m["path"].endswith("\ufffd\ufffd.out") for m in record.all("module"))


def test_a_record_of_two_threads_is_small(recorder: Recorder, compiled: Compile) -> None:
    recorder.run(compiled("threads.cpp"), "2", "1500", "1000")
    head = recorder.read().head
    minutes = (head["ended_ns"] - head["began_ns"]) / 60e9
    assert recorder.file.stat().st_size / minutes < 20e6

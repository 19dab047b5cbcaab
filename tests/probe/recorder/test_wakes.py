"""Wakes: the thread that made another ready, if the recorder may read the kernel's tracepoints."""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from recorder_support import ROOT, Line, Record, Recorder, functions, read, record, said

Compile = Callable[..., Path]
WAKES = 15  # the kind of chunk


@pytest.fixture
def target(compiled: Compile, recorder: Recorder) -> Path:
    """The target. Skips the test if the recorder sees no wakes."""
    made = compiled("doing.cpp")
    found = record(recorder, made, "none")
    if not found.head["tier"]["tracepoints"]:
        pytest.skip("Only an administrator may read tracepoints.")
    return made


def wakes_of(found: Record, waker: str, woken: str) -> list[Line]:
    pair = (said(found, waker)["tid"], said(found, woken)["tid"])
    return [each for each in found.all("wake") if (each["tid"], each["woken"]) == pair]


def test_who_lets_a_lock_go_that_the_agent_does_not_see_wakes_who_waits_for_it(
    recorder: Recorder, target: Path, agent: str
) -> None:
    found = record(recorder, target, "keep_stream", "use_stream", agent=agent)
    wakes = wakes_of(found, "keep_stream", "use_stream")
    assert len(wakes) > 5
    assert all(functions(found, target, w["stack"])[:1] == ["keep_stream"] for w in wakes)
    objects = {each["id"]: each["what"] for each in found.all("object")}
    words = Counter(wake["object"] for wake in wakes)
    assert objects[words.most_common(1)[0][0]] == "futex"
    assert max(words.values()) == len(wakes), "all of them are for one lock"


def test_a_wake_for_what_is_no_futex_has_no_object(recorder: Recorder, target: Path) -> None:
    found = record(recorder, target, "take_bytes", "send_bytes")
    wakes = wakes_of(found, "send_bytes", "take_bytes")
    assert len(wakes) > 5
    assert all(wake["object"] == 0 and wake["weight"] >= 251 for wake in wakes)
    assert functions(found, target, wakes[0]["stack"])[:1] == ["send_bytes"]


def test_timers_and_foreign_processes_are_no_wakers(recorder: Recorder, target: Path) -> None:
    found = record(recorder, target, *["wait_in_poll"] * 4, "keep_stream", "compute", "compute")
    tids = {each["tid"] for each in found.all("thread")}
    wakes = found.all("wake")
    assert {w["tid"] for w in wakes} | {w["woken"] for w in wakes} <= tids
    assert not [w for w in wakes if w["tid"] == said(found, "compute")["tid"]]


def test_a_record_without_wakes_is_read_as_before(recorder: Recorder, target: Path) -> None:
    found = record(recorder, target, "keep_stream", "use_stream")
    whole, kept, at = recorder.file.read_bytes(), b"", 0
    while at < len(whole):
        _, kind, length, _ = struct.unpack_from("4I", whole, at)
        kept += b"" if kind == WAKES else whole[at : at + 16 + length]
        at += 16 + length
    assert len(kept) < len(whole)
    recorder.file.write_bytes(kept)
    before = recorder.read()
    assert not before.head["tier"]["tracepoints"]
    assert before.head["limits"] == found.head["limits"]
    assert before.all("sample") == found.all("sample")
    assert not before.all("wake")


def apart(recorder: Recorder, options: str, script: str, *words: str | Path) -> Record:
    """The record that the recorder makes in other namespaces, after `script` ran there."""
    line = ["unshare", *options.split(), "sh", "-c", f'{script} && exec "$@"', "sh"]
    done = subprocess.run(
        [*line, *recorder.words(*words)], check=False, capture_output=True, text=True
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("Only an administrator can make these namespaces.")
    assert (done.returncode, done.stderr) == (0, "")
    return read(recorder, done.stdout)


def test_without_tracefs_one_sentence_says_so(recorder: Recorder, target: Path) -> None:
    script = "for i in 1 2 3; do umount -q -a -t tracefs,debugfs || true; done"
    found = apart(recorder, "-m", script, target, "keep_stream", "use_stream")
    assert not found.head["tier"]["tracepoints"]
    (sentence,) = [each for each in found.head["limits"] if "agent" not in each]
    assert "woke" in sentence
    assert "tracefs" in sentence
    assert found.head["tier"]["switches"]


def test_tracefs_may_be_mounted_elsewhere(recorder: Recorder, target: Path, tmp_path: Path) -> None:
    script = "for i in 1 2 3; do umount -q -a -t tracefs,debugfs || true; done"
    script += f" && mount -t tracefs nodev {tmp_path}"
    elsewhere = Recorder(recorder.executable, tmp_path.parent)
    found = apart(elsewhere, "-m", script, target, "none")
    assert found.head["tier"]["tracepoints"]


def test_threads_have_their_own_numbers_in_a_namespace_of_processes(
    recorder: Recorder, target: Path
) -> None:
    found = apart(recorder, "-p -f -m --mount-proc", "true", target, "keep_stream", "use_stream")
    tids = {each["tid"] for each in found.all("thread")}
    assert max(tids) < 100, "a namespace of its own"
    # The recorder does not know threads there that never wake another.
    assert {wake["woken"] for wake in found.all("wake")} <= tids


FORMAT = """\
name: sched_waking
ID: 375
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;

print fmt: "comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio
"""
MOUNTS = """\
proc /proc proc rw 0 0
debugfs /sys/kernel/debug debugfs rw 0 0
nodev /srv/tracing tracefs rw 0 0
"""


@pytest.mark.parametrize(
    ("mounts", "text", "said_of_it"),
    [
        (MOUNTS, FORMAT,
         ["/srv/tracing", "/sys/kernel/debug/tracing", "375 flags 2 waker 4 woken 24"]),
        ("proc /proc proc rw 0 0\n", FORMAT.replace("375", "9"), ["9 flags 2 waker 4 woken 24"]),
        ("", FORMAT.replace("pid_t pid;", "pid_t tid;"), ["unknown"]),
        ("", FORMAT.replace("offset:24;\tsize:4", "offset:24;\tsize:8"), ["unknown"]),
        ("", FORMAT.replace("ID: 375", "ID:"), ["unknown"]),
        ("", FORMAT[:100], ["unknown"]),
        ("tracefs\n\n", "", ["unknown"]),
        ("", "", ["unknown"]),
    ],
)  # fmt: skip
def test_the_tracepoint_is_understood_by_its_text(
    compiled: Compile, mounts: str, text: str, said_of_it: list[str]
) -> None:
    reader = compiled("tracepoint.cpp", str(ROOT / "probe/recorder/tracepoints.cpp"))
    done = subprocess.run(
        [reader], input=f"{mounts}\n{text}", capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == said_of_it

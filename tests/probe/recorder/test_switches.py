"""Samples of switches and of the kernel: the reasons for which threads leave their processors."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from recorder_support import ROOT, Recorder, functions, read, record, said, samples_of

Compile = Callable[..., Path]


@pytest.fixture
def target(compiled: Compile, recorder: Recorder) -> Path:
    """The target. Skips the test if the kernel lets no recorder sample it."""
    made = compiled("doing.cpp")
    found = record(recorder, made, "none")
    assert found.head["tier"]["switches"] == found.head["tier"]["perf_kernel"]
    if not found.head["tier"]["kernel_names"]:
        pytest.skip("This kernel shows its call chains to administrators only.")
    return made


def test_waits_inside_the_library_are_sampled_where_they_begin(
    recorder: Recorder, target: Path, agent: str
) -> None:
    found = record(recorder, target, "keep_stream", "use_stream", agent=agent)
    waits = [s for s in samples_of(found, "use_stream", True) if not s["preempted"]]
    assert len(waits) > 20
    right = [
        wait
        for wait in waits
        if (wait["kernel"], wait["entry"]) == (True, "call")
        and wait["sleeps_in"].startswith("futex_")
        and functions(found, target, wait["stack"])[:1] == ["use_stream"]
    ]
    assert len(right) > 0.9 * len(waits)  # page faults and the map's lock are other reasons
    totals = next(t for t in found.all("thread") if t["tid"] == waits[0]["tid"])["totals"]
    assert not {"mutex", "futex"} & set(totals), "the agent sees these waits too"


def test_switches_of_children_are_sampled_too(recorder: Recorder, target: Path, agent: str) -> None:
    command = f"{target} keep_stream use_stream; true"
    done = recorder.run("sh", "-c", command, options=("--follow", "--agent", agent))
    found = read(recorder, done.stdout)
    waits = [s for s in samples_of(found, "use_stream", True) if not s["preempted"]]
    assert len(waits) > 20


def test_the_weights_of_switches_are_their_number(recorder: Recorder, target: Path) -> None:
    found = record(recorder, target, "keep_stream", "use_stream", "give_way")
    weights, numbers = [], []
    for word in ("keep_stream", "use_stream", "give_way"):
        weights.append(sum(sample["weight"] for sample in samples_of(found, word, True)))
        numbers.append(said(found, word)["switches"])
        assert weights[-1] > 0.4 * numbers[-1] - 100, word
    # Samples miss the remainder below 17 of each count, and switches for which the buffer had no
    # room. The kernel lets threads take over each other's counts.
    assert 0.6 * sum(numbers) - 100 < sum(weights) < 1.02 * sum(numbers) + 60


def test_a_ready_thread_that_is_switched_away_is_preempted(
    recorder: Recorder, target: Path
) -> None:
    found = record(recorder, target, "compute", "give_way", "give_way")
    for word, entry in (("compute", "interrupt"), ("give_way", "call")):
        samples = samples_of(found, word, True)
        right = [s for s in samples if s["preempted"] and s["entry"] == entry]
        assert len(right) > 0.8 * len(samples) > 0, word
        assert all(s["sleeps_in"] == "" for s in right)


def test_page_faults_are_told_from_calls(recorder: Recorder, target: Path) -> None:
    found = record(recorder, target, "touch", "copy")
    for word, entry in (("touch", "fault"), ("copy", "call")):
        entries = [s["entry"] for s in samples_of(found, word, False) if s["kernel"]]
        assert entries.count(entry) > 0.6 * len(entries) > 10, word
    assert all("entry" not in s for s in found.all("sample") if not s["kernel"])


def test_a_kernel_that_hides_its_names_is_no_obstacle(
    recorder: Recorder, target: Path, tmp_path: Path
) -> None:
    hidden = tmp_path / "kallsyms"
    hidden.write_text("0000000000000000 T entry_SYSCALL_64\n0000000000000000 T schedule\n")
    words = recorder.words(target, "keep_stream", "use_stream", "give_way", "give_way")
    command = f'mount --bind {hidden} /proc/kallsyms && exec "$@"'
    apart = ["unshare", "-m", "sh", "-c", command, "sh", *words]
    done = subprocess.run(apart, check=False, capture_output=True, text=True)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("Only an administrator can hide the names.")
    assert (done.returncode, done.stderr) == (0, "")
    found = read(recorder, done.stdout)
    assert found.head["tier"]["switches"]
    assert not found.head["tier"]["kernel_names"]
    assert {s["sleeps_in"] for s in found.all("sample") if "switch" in s} == {""}
    sleeps = [s for s in samples_of(found, "use_stream", True) if not s["preempted"]]
    assert len(sleeps) > 10
    gives_way = samples_of(found, "give_way", True)
    assert sum(s["preempted"] for s in gives_way) > 0.8 * len(gives_way) > 10
    calls = [s for s in (*sleeps, *gives_way) if s["entry"] == "call"]
    assert len(calls) > 0.5 * len([*sleeps, *gives_way]) or os.uname().machine != "x86_64"


@pytest.mark.parametrize("words", [("keep_stream", "use_stream"), ("give_way", "give_way")])
def test_a_record_of_threads_that_switch_often_is_small(
    recorder: Recorder, compiled: Compile, words: tuple[str, ...]
) -> None:
    head = record(recorder, compiled("doing.cpp"), *words).head
    minutes = (head["ended_ns"] - head["began_ns"]) / 60e9
    assert recorder.file.stat().st_size / minutes < 20e6


X86 = """\
ffffffff81000080 T entry_SYSCALL_64
ffffffff810000ba T entry_SYSCALL_64_after_hwframe
ffffffff81000c60 T asm_exc_page_fault
ffffffff81000d00 T asm_exc_divide_error
ffffffff81000e30 T asm_sysvec_reschedule_ipi
ffffffff81200000 d not_a_function
ffffffff81300000 t futex_wait_queue.constprop.0
ffffffff81400000 T exit_to_user_mode_loop
ffffffff81500000 t rwsem_down_read_slowpath
ffffffff81600000 T handle_mm_fault
ffffffff82000000 T schedule
ffffffff82001000 T schedule_preempt_disabled
ffffffff82002000 T __cond_resched
ffffffff82003000 t __schedule
ffffffffc0000000 t waits_in_module\t[module]
ffffffffc0001000 t after
"""
CALL = "ffffffff81000130"
FAULT = "ffffffff81000c82"
ARM = """\
ffff800080010000 T el0t_64_sync
ffff800080020000 t el0t_64_sync_handler
ffff800080030000 t el0_svc
ffff800080040000 t el0_da
ffff800080050000 T el0t_64_irq
ffff800080060000 T schedule
ffff800080070000 t futex_wait_queue
"""


@pytest.mark.parametrize(
    ("names", "chain", "place"),
    [
        (X86, f"switch ffffffff82000023 ffffffff81300010 {CALL}", "call - futex_wait_queue"),
        (X86, f"switch ffffffff82003010 ffffffff82000023 ffffffff81400051 {CALL}",
         "call preempted "),
        (X86, f"switch ffffffff82002035 ffffffff81600010 {CALL}", "call preempted "),
        (X86, f"switch ffffffff82000023 ffffffff82001010 ffffffff81500090 {FAULT}",
         "fault - rwsem_down_read_slowpath"),
        (X86, f"switch ffffffff82000023 ffffffff81400051 {FAULT}", "fault preempted "),
        (X86, "switch ffffffff82000023 ffffffff81400051 ffffffff81000e46",
         "interrupt preempted "),
        (X86, f"switch ffffffff82000023 ffffffffc0000010 {CALL}", "call - waits_in_module"),
        (X86, f"ffffffff81600010 {FAULT} ffffffff81600020 {CALL}", "call - "),
        (X86, f"ffffffff81600010 {FAULT}", "fault - "),
        (X86, "ffffffff81600010 ffffffff81000d10", "interrupt - "),
        (X86, "ffffffff81600010", "unknown - "),
        (X86, "1000", "unknown - "),
        (X86, "", "unknown - "),
        (X86, "switch", "unknown - "),
        (ARM, "switch ffff800080060010 ffff800080070010 ffff800080030010 ffff800080020010 "
         "ffff800080010010", "call - futex_wait_queue"),
        (ARM, "ffff800080040010 ffff800080020010 ffff800080010010", "fault - "),
        (ARM, "switch ffff800080060010 ffff800080030010 ffff800080020010 ffff800080010010",
         "call preempted "),
        (ARM, "ffff800080060010 ffff800080050010", "interrupt - "),
        ("0000000000000000 T schedule\n", "switch ffffffff82000023", "unknown - "),
    ],
)  # fmt: skip
def test_call_chains_of_the_kernel_are_understood(
    compiled: Compile, names: str, chain: str, place: str
) -> None:
    reader = compiled("kernel_places.cpp", str(ROOT / "probe/recorder/kernel.cpp"))
    done = subprocess.run(
        [reader], input=f"{names}\n{chain}\n", capture_output=True, text=True, check=True
    )
    known = "hidden" if names.startswith("0000000000000000") else "known"
    assert done.stdout == f"{known}\n{place}\n"


def test_sampling_pauses_while_threads_leave_their_processors_too_often(
    recorder: Recorder, target: Path, agent: str
) -> None:
    command = f"{target} give_way give_way; {target} compute"
    done = recorder.run("sh", "-c", command, options=("--follow", "--agent", agent))
    found = read(recorder, done.stdout)
    assert found.says("Running threads were sampled in")
    period = found.head["tier"]["sample_ns"]
    wall = found.head["ended_ns"] - found.head["began_ns"]
    assert 1.2 * 1_997_000 < period < 4 * 1_997_000  # the recorder left out one of the two seconds
    begin = found.head["began_ns"] + wall // 2
    late = [s for s in found.all("sample") if not s.get("sleeps_in") and s["at_ns"] > begin]
    assert len(late) > 0.3 * (wall / 2) / 1_997_000  # sampling went on when the threads were calm


def test_sampling_pauses_while_threads_are_made_too_often(
    recorder: Recorder, compiled: Compile, target: Path, agent: str
) -> None:
    del target  # the fixture skips if there are no samples
    storm = compiled("storm.cpp")
    found = read(recorder, recorder.run(str(storm), options=("--agent", agent)).stdout)
    threads = [t for t in found.all("thread") if t["ended_ns"] != 0]
    wall = found.head["ended_ns"] - found.head["began_ns"]
    if len(threads) / wall < 4000 / 1e9:
        pytest.skip("others have the processors: threads are not made often enough")
    # The threads also leave their processors often, and then the recorder says only that.
    assert found.says("Running threads were sampled in")
    assert len(threads) > 4000  # the agent tells of the threads without perf events

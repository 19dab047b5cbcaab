"""Pipes and eventfds between threads: a thread that waits at one end waits for the work at the
other end."""

from __future__ import annotations

import pytest
from made import MAIN, TICK, Doing, Made, waits, works
from threadmark.kinds.explain.analysis.recording import Part

READER, STAGE, SINK = 101, 102, 103
FULL, EMPTY = 7, 8  # descriptors of the pipe's writer, and of its reader
PIPE = "pipe:[77]"
EVENT = "anon_inode:[eventfd]"


def calls(thing: int, stack: str, call: int) -> Doing:
    return "io", thing, stack, 0, "S", call


def descriptor(made: Made, thing: int, path: str, writes: int) -> Made:
    made.thing(thing, "file", address=thing)
    fields = {"tid": 0, "object": thing, "descriptor": thing, "path": path, "calls": 100}
    return made.line(kind="file", **fields, writes=writes, bytes=100, ns=TICK)


def piped(stage: Doing, *, path: str = PIPE, process: int = MAIN) -> Made:
    """A slow stage, and a thread that waits for the output of that stage."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", STAGE))
    made.thread(STAGE, [stage, works()], "main first", process=process)
    made.thread(SINK, [works(), *[calls(EMPTY, "read@libc sink", 0)] * 9], "main", process=MAIN)
    made.sample(STAGE, "score stage", 60).sample(SINK, "sink", 5)
    descriptor(made, FULL, path, 90)
    descriptor(made, EMPTY, path, 0)
    made.pair(FULL, "io", "write@libc stage", "", TICK)
    return made.pair(EMPTY, "io", "read@libc sink", "", 90 * TICK)


def test_who_reads_an_empty_pipe_waits_for_the_stage_that_fills_it() -> None:
    first = piped(works()).first()
    assert (first["category"], first["certain"]) == ("serial_dependency", True)
    assert first["holders"][0]["frames"][-1] == "stage"
    assert any(party["frames"][-1] == "sink" for party in first["waiters"])


def test_a_stage_that_waits_itself_passes_its_own_wait_on() -> None:
    first = piped(waits("sleep", 0, "nanosleep@libc stage")).first()
    assert first["category"] == "sleep"


@pytest.mark.parametrize(("in_kernel", "computes"), [(20, True), (80, False)])
def test_a_stage_that_computes_and_was_seen_in_its_call_hands_its_result_on(
    in_kernel: int, computes: bool
) -> None:
    made = piped(("io", FULL, "write@libc stage", 0, "R", 1))
    made.look(STAGE, "write@libc stage", in_kernel, kernel=True, entry="call")
    causes = made.answer()["causes"]
    assert causes[0]["category"] == "serial_dependency"
    assert ("io" in {each["category"] for each in causes}) is not computes


@pytest.mark.parametrize("path", ["/tmp/log", "socket:[77]"])
def test_a_file_or_socket_is_input_or_output_although_another_thread_works(path: str) -> None:
    assert piped(works(), path=path).first()["category"] == "io"


def test_a_process_at_the_other_end_is_input_or_output() -> None:
    assert piped(works(), process=STAGE).first()["category"] == "io"


def test_who_waits_for_an_eventfd_waits_for_another_thread_that_uses_it() -> None:
    client = calls(EMPTY, "read@libc ask client", 0)
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", READER))
    made.thread(READER, [client] * 9 + [works()], "main").thread(STAGE, works(), "other")
    made.sample(STAGE, "price loop", 60).sample(READER, "ask client", 5)
    descriptor(made, EMPTY, EVENT, 50)
    made.pair(EMPTY, "io", "read@libc ask client", "", 90 * TICK)
    made.pair(EMPTY, "io", "write@libc price loop", "", TICK)
    first = made.first()
    assert first["category"] == "serial_dependency"
    assert first["holders"][0]["frames"] == ["price", "loop"]


def test_a_wait_at_a_pipe_costs_nothing_while_all_processors_work() -> None:
    made = piped(works())
    made.thread(READER, works(), "main")
    assert "io" not in {each["category"] for each in made.answer()["causes"]}


def test_who_uses_the_other_end_may_be_unknown() -> None:
    made = piped(works())
    made.lines = [each for each in made.lines if each["kind"] != "pair"]
    made.pair(FULL, "io", "write@libc", "", TICK).pair(EMPTY, "io", "read@libc sink", "", 90 * TICK)
    first = made.first()
    assert (first["category"], first["certain"]) == ("io", False)
    assert "other end" in first["words"]


@pytest.mark.parametrize(
    ("bytes_each", "both", "category"),
    [(1, True, "semaphore"), (8, True, "serial_dependency"), (1, False, "serial_dependency")],
)
def test_threads_that_give_back_the_bytes_that_they_read_use_a_pipe_as_a_semaphore(
    bytes_each: int, both: bool, category: str
) -> None:
    takes = calls(EMPTY, "read@libc build run worker", 0)
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", READER))
    made.thread(READER, [*[takes] * 5, *[works()] * 5], "main")
    made.thread(STAGE, [*[works()] * 5, *([takes] if both else [works()]) * 5], "main")
    for tid in (READER, STAGE):
        made.sample(tid, "compile build run worker", 50)
    descriptor(made, FULL, PIPE, 100 // bytes_each)
    descriptor(made, EMPTY, PIPE, 0)
    made.pair(FULL, "io", "write@libc build run worker", "", TICK)
    made.pair(EMPTY, "io", "read@libc build run worker", "", 50 * TICK)
    first = made.first()
    assert first["category"] == category
    assert first["holders"][0]["frames"][-3:] == ["build", "run", "worker"]


def polled(*, reads: bool = True, path: str = PIPE) -> Made:
    """A slow stage, and a thread that polls before it reads. `reads`: the record shows which
    thread reads from the pipe. `path`: a further descriptor of the program."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", STAGE))
    made.thread(STAGE, works(), "main first")
    made.thread(SINK, [works(), *[waits("poll", 0, "poll@libc sink")] * 9], "main")
    made.sample(STAGE, "score stage", 60).sample(SINK, "sink", 5)
    descriptor(made, FULL, PIPE, 90)
    descriptor(made, EMPTY, PIPE, 0)
    descriptor(made, 9, path, 0)
    made.pair(FULL, "io", "write@libc stage", "", TICK)
    made.pair(0, "poll", "poll@libc sink", "", 90 * TICK)
    return made.pair(EMPTY, "io", "read@libc sink", "", TICK) if reads else made


@pytest.mark.parametrize("reads", [True, False])
def test_a_thread_that_polls_a_pipe_waits_for_the_stage_that_fills_it(reads: bool) -> None:
    first = polled(reads=reads).first()
    assert (first["category"], first["certain"]) == ("serial_dependency", True)
    assert first["holders"][0]["frames"][-1] == "stage"


@pytest.mark.parametrize("path", ["socket:[77]", "/dev/pts/1", "anon_inode:[timerfd]"])
def test_a_thread_that_polls_may_wait_for_something_outside_of_the_program(path: str) -> None:
    assert polled(path=path).first()["category"] == "io"


@pytest.mark.parametrize("part", [Part(from_s=0.04), Part((str(STAGE), str(SINK)))])
def test_a_part_of_a_record_has_both_ends_of_a_pipe(part: Part) -> None:
    assert piped(works()).first(part)["category"] == "serial_dependency"


@pytest.mark.parametrize(("state", "certain"), [("S", True), ("R", False)])
def test_a_file_that_is_read_is_named_and_not_one_that_is_written_meanwhile(
    state: str, certain: bool
) -> None:
    """Reading that only computes in the kernel may scale."""
    fetch = "io", EMPTY, "read@libc fetch worker", 0, state, 0
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", READER))
    for tid in (READER, STAGE):
        made.thread(tid, [*[fetch] * 4, works()], "main")
    descriptor(made, EMPTY, "/data/in", 0)
    descriptor(made, FULL, "/tmp/log", 5000)
    first = made.first()
    assert (first["category"], first["name"], first["certain"]) == ("io", "fetch", certain)
    assert "/data/in" in first["words"]
    assert "/tmp/log" not in first["words"]

"""Every ending of a program gives one status and a sentence, and leaves nothing running."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import GOOD
from lab_support import Attempt, alive
from threadmark.kinds.tasks.kind import KIND
from threadmark.measure import process
from threadmark.model.cell import Row, Status
from threadmark.present import files
from threadmark.store.store import Store

SCRIBBLE = "import random; sys.stdout.buffer.write(random.Random(1).randbytes(100000));"
EAGAIN = "Resource temporarily unavailable"
PAUSE = "time.sleep(0.1)"


def test_a_program_that_answers_is_ok(attempt: Attempt) -> None:
    row = attempt(GOOD)
    assert (row.status, row.reason, row.sample_ns) == (Status.OK, "", 20e6)
    assert len(row.repeats) == 2
    assert row.command[0] == "taskset"
    assert row.facts["thread_cap"] > 0


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("os.abort()", Status.CRASHED, "SIGABRT"),
        ("start(); os.kill(os.getpid(), signal.SIGSEGV)", Status.CRASHED, "SIGSEGV"),
        ("start(); repeats(); os.kill(os.getpid(), 9)", Status.CRASHED, "SIGKILL"),
        ("start(); repeats()", Status.CRASHED, "without its last line"),
        ("start(); repeats(); end(code=1)", Status.CRASHED, "exit code 1"),
        ("start(); end('crashed', 'an exception left', 6)", Status.CRASHED, "an exception left"),
        (SCRIBBLE + GOOD, Status.CRASHED, "not agreed"),
        ("print('[' * 100000); " + GOOD, Status.CRASHED, "not agreed"),
        ("print('{\"a\": NaN}'); " + GOOD, Status.CRASHED, "not agreed"),
        ("start(); repeats(); say(event='end', status='ok'); say(x=1)", Status.CRASHED, "after"),
        ("start(threads=7); repeats(); end()", Status.CRASHED, "ran with threads 7"),
        ("start(cpus=99); repeats(); end()", Status.CRASHED, "ran with cpus 99"),
        ("start(program='other'); repeats(); end()", Status.CRASHED, "ran with program"),
        ("start(); repeats(); end('wrong', 'x')", Status.CRASHED, "said 'wrong' but"),
        ("start(); end()", Status.CRASHED, "made 0 repeats instead of 1"),
        ("start(); repeats(wall_ns=-1); end()", Status.CRASHED, "no positive number"),
        ("start(); repeats(wall_ns=True); end()", Status.CRASHED, "no positive number"),
        ("start(); repeats(wall_ns='1'); end()", Status.CRASHED, "no positive number"),
        ("start(); repeats(wall_ns=10**400); end()", Status.CRASHED, "no positive number"),
        ("start(); repeats(wall_ns=0); end()", Status.CRASHED, "no positive number"),
        ("start(); repeats(ok=False); end('wrong', 'sum is 3', 3)", Status.WRONG, "sum is 3"),
        ("start(); repeats(ok=False); end()", Status.WRONG, "answered 42"),
        ("start(); end('refused', 'no thread', 4)", Status.REFUSED, "no thread"),
        (f"start(); tell('what(): {EAGAIN}'); os.abort()", Status.REFUSED, "SIGABRT"),
        ("start(); end('out_of_memory', 'bad', 5)", Status.OUT_OF_MEMORY, "bad"),
        ("tell('std::bad_alloc'); os.abort()", Status.OUT_OF_MEMORY, "allocation"),
        (
            "tell('libgomp: Out of memory allocating 231 bytes'); sys.exit(1)",
            Status.OUT_OF_MEMORY,
            "allocation",
        ),
        ("tell('n is too large'); sys.exit(2)", Status.UNAVAILABLE, "n is too large"),
    ],
)
def test_each_end_has_its_status(attempt: Attempt, body: str, status: Status, words: str) -> None:
    row = attempt(body)
    assert row.status is status
    assert words in row.reason
    assert "\n" not in row.reason
    assert row.sample_ns is None


@pytest.mark.parametrize("name", ["tasks", "nodes", "cpu_ns", "run_delay_ns", "max_rss_bytes"])
@pytest.mark.parametrize("value", ["'many'", "-5", "[1]", "True", "None", "1e400", "10**400"])
def test_a_figure_that_is_none_costs_its_row_and_not_the_run(
    attempt: Attempt, tmp_path: Path, name: str, value: str
) -> None:
    text = "1e400" if value == "1e400" else f"' + json.dumps({value}) + '"
    line = '{"event":"repeat","repeat":1,"warmup":false,"wall_ns":100000000,"ok":true'
    row = attempt(f"start(); print('{line},\"{name}\":{text}}}'); end()")
    assert (row.status, row.sample_ns) == (Status.CRASHED, None)
    assert row.reason == f"gave a {name} that is no number from 0 to 10^18"
    _shows_and_exports(row, tmp_path)


def _shows_and_exports(row: Row, folder: Path) -> None:
    """The row can be stored, judged and written, whatever the program printed."""
    with Store.open(folder / "s.db", create=True) as store:
        run = store.start_run("quick", 1, {}, {})
        store.append(run, row)
        stored = store.load(run)
        for form in KIND.formats:
            text = KIND.export(stored, KIND.judge(stored), form)
            files.write_atomically(folder / "out", text, "--output")


def test_half_a_surrogate_pair_in_an_answer_can_be_written(
    attempt: Attempt, tmp_path: Path
) -> None:
    line = (
        '{"event":"repeat","repeat":%d,"warmup":%s,"wall_ns":1,"cpu_ns":1,"ok":true,"answer":"%s"}'
    )
    lines = [line % (0, "true", "x"), line % (1, "false", r"\ud800")]
    row = attempt(f"start(backend_version='\\udfff'); print({chr(10).join(lines)!r}); end()")
    assert (row.status, row.repeats[1]["answer"]) == (Status.OK, "?")
    _shows_and_exports(row, tmp_path)


def test_a_library_that_the_loader_leaves_out_makes_no_figure(attempt: Attempt) -> None:
    told = "ERROR: ld.so: object 'liba.so' from LD_PRELOAD cannot be preloaded (none): ignored."
    row = attempt(f'tell("{told}"); {GOOD}')
    assert (row.status, row.sample_ns) == (Status.UNAVAILABLE, None)
    assert told in row.reason
    told = "fib.tbb: error while loading shared libraries: libtbb.so.12: cannot open"
    row = attempt(f"tell('{told}'); sys.exit(127)")
    assert row.status is Status.UNAVAILABLE
    assert told in row.reason


def test_a_refusal_quotes_the_cap(attempt: Attempt) -> None:
    row = attempt("start(); end('refused', 'no thread', 4)", threads_cap=500)
    assert "the cap is 500 (a test)" in row.reason
    assert row.facts["thread_cap"] == 500


Said = Callable[..., str]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Said:
    """The code that a program runs after its last output. The limits of the lab begin there.

    So a program may take its time to start. The caller can replace the limits of the lab; `seen`
    then gets those of the lab.
    """
    path = tmp_path / "said"

    def mark(seen: list[process.TimeLimits] | None = None, **limits: float) -> str:
        real = process._watch

        def after_it_is_said(pid: int, *rest: Any) -> process.Killed:
            deadline = time.monotonic() + 30
            while not path.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            *others, found = rest
            if seen is not None:
                seen.append(found)
            return real(pid, *others, replace(found, **limits))

        monkeypatch.setattr(process, "_watch", after_it_is_said)
        return f"open({str(path)!r}, 'w').close()"

    return mark


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The code with which at(SECONDS) in a program sets the clock of the lab that watches it."""
    path = tmp_path / "clock"
    path.write_text("0")
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: float(path.read_text())))
    return f"""
def at(seconds):
    with open("{path}.new", "w") as file: file.write(str(seconds))
    os.replace("{path}.new", {str(path)!r})
"""


def test_a_program_that_hangs_ends_at_its_limit(attempt: Attempt, said: Said) -> None:
    begin = time.monotonic()
    row = attempt(f"start(); {said()}; time.sleep(60)", limit_s=0.3)
    assert time.monotonic() - begin < 50
    assert row.status is Status.TIMEOUT
    assert row.reason == (
        "a repeat, with its input and its check, did not end within the limit of 0.3 s"
    )


@pytest.mark.parametrize(
    ("body", "awaited"),
    [("", "the start of the program did"), ("start(); repeats(); ", "the end of the program did")],
)
def test_a_timeout_says_what_did_not_end(
    attempt: Attempt, said: Said, body: str, awaited: str
) -> None:
    row = attempt(f"{body}{said()}; time.sleep(60)", limit_s=0.5)
    assert row.status is Status.TIMEOUT
    assert row.reason.startswith(awaited)


def test_start_repeats_and_end_have_the_limit_each(attempt: Attempt, clock: str) -> None:
    body = f"{clock}at(20); start(); at(40); repeats(); at(60); end()"
    assert attempt(body, limit_s=30).status is Status.OK


def test_a_program_that_ended_while_the_lab_stood_still_is_no_timeout(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = process._watch

    def after_a_pause(pid: int, *rest: Any) -> process.Killed:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        *others, _ = rest
        return real(pid, *others, process.TimeLimits(-1, -1))

    monkeypatch.setattr(process, "_watch", after_a_pause)
    row = attempt(GOOD)
    assert (row.status, row.reason) == (Status.OK, "")


def test_what_was_printed_before_a_hang_is_kept(attempt: Attempt, said: Said) -> None:
    row = attempt(f"start(); repeats(); {said()}; time.sleep(60)", limit_s=0.5)
    assert row.status is Status.TIMEOUT
    assert len(row.repeats) == 2


def test_repeats_that_are_each_within_the_limit_may_take_longer(
    attempt: Attempt, clock: str
) -> None:
    body = f"{clock}start(); at(35); repeats(); at(70); end()"
    assert attempt(body, limit_s=60).status is Status.OK


def test_the_limit_holds_for_each_repeat(attempt: Attempt, said: Said) -> None:
    slow = f"start(); {said(whole_s=300)}; time.sleep(60); repeats(); end()"
    row = attempt(slow, limit_s=0.6)
    assert (row.status, row.repeats) == (Status.TIMEOUT, ())
    assert row.facts["wall_s"] < 50


def test_a_program_that_goes_on_printing_ends_at_the_limit_of_all_its_parts(
    attempt: Attempt, said: Said
) -> None:
    seen: list[process.TimeLimits] = []
    body = f"start(); {said(seen, silent_s=30)}\nwhile True: tell('x'); say(event='x'); {PAUSE}"
    row = attempt(body, limit_s=0.5)
    assert row.status is Status.TIMEOUT
    assert [each.whole_s for each in seen] == [2.0]  # start, warm-up, repeat and end: 0.5 s each
    assert 2.0 <= row.facts["wall_s"] < 50


def test_a_program_that_ignores_every_signal_ends_too(attempt: Attempt, said: Said) -> None:
    ignore = "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 17, 19)]"
    row = attempt(f"{ignore}; {said()}; time.sleep(60)", limit_s=0.3)
    assert row.status is Status.TIMEOUT


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("text", ["'x' * 65536", "'x\\n' * 32768"])
def test_endless_output_is_bounded(attempt: Attempt, stream: str, text: str) -> None:
    row = attempt(f"\nwhile True: sys.{stream}.write({text})")
    assert row.status is Status.CRASHED
    assert "more than 8 MiB" in row.reason


def test_a_program_that_eats_memory_is_out_of_memory(attempt: Attempt) -> None:
    eat = "start()\nkeep = []\nwhile True: keep.append(bytearray(b'x' * (8 << 20)))"
    row = attempt(eat, memory_bytes=200 << 20)
    assert row.status is Status.OUT_OF_MEMORY
    assert "200 MiB" in row.reason


def test_address_space_that_is_not_touched_is_free(attempt: Attempt) -> None:
    row = attempt(f"import mmap; keep = mmap.mmap(-1, 4 << 30); {GOOD}", memory_bytes=200 << 20)
    assert row.status is Status.OK


GRANDCHILD = """
child = os.fork()
if child == 0:
    {leave}
    open({path!r}, "w").write(str(os.getpid()))
    time.sleep(60)
while not os.path.exists({path!r}): time.sleep(0.001)
start(); repeats(); end()
"""


@pytest.mark.parametrize("leave", ["pass", "os.setsid()", "os.fork() and os._exit(0); os.setsid()"])
def test_grandchildren_do_not_outlive_the_cell(
    attempt: Attempt, tmp_path: Path, leave: str
) -> None:
    path = tmp_path / "pid"
    begin = time.monotonic()
    row = attempt(GRANDCHILD.format(path=str(path), leave=leave))
    assert row.status is Status.OK
    assert time.monotonic() - begin < 50
    assert not alive(int(path.read_text()))


def test_a_program_sees_little_of_the_users_settings(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    row = attempt(f"assert 'OMP_NUM_THREADS' not in os.environ; {GOOD}")
    assert row.status is Status.OK


def test_a_program_is_bound_to_as_many_processors_as_it_has_threads(attempt: Attempt) -> None:
    row = attempt(GOOD, threads=1)
    assert len(row.facts["cpus"]) == 1
    row = attempt(GOOD, threads=4096)
    assert len(row.facts["cpus"]) == len(os.sched_getaffinity(0))

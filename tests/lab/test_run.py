"""`threadmark run` from outside: its measurements, rows, output and endings."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import fakes
import pytest
from lab_support import LAB, alive, lab_environment
from threadmark.model.cell import Status
from threadmark.model.places import ROOT
from threadmark.store.store import Store

Lab = Callable[..., subprocess.CompletedProcess[str]]
RUN = ("run", "--executables", "programs", "--store", "s.db", "--no-report")
SMOKE = (*RUN, "--profile", "smoke")
QUICK = (*RUN, "--threads", "1")
# The limit of the other backends is 20 times the serial time, so it is a minute here.
GOOD = "start(); repeats(3_000_000_000); end()"
SLOW = "start(); time.sleep(30)"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Two programs on two backends that all work."""
    for program in ("fib", "sort"):
        for backend in ("serial", "tbb"):
            fakes.write(tmp_path / "programs", f"{program}.{backend}", GOOD)
    return tmp_path / "programs"


def test_a_run_measures_shows_and_reports(lab: Lab, programs: Path, tmp_path: Path) -> None:
    done = lab(*(word for word in SMOKE if word != "--no-report"))
    assert done.returncode == 0, done.stderr
    assert "fib" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "Report:" in done.stderr
    assert (tmp_path / "report-s-1.html").stat().st_size > 1000
    with Store.open(tmp_path / "s.db", create=False) as store:
        run = store.run("last")
        assert run.finished_at
        assert {row.status for row in store.rows(run.id)} == {Status.OK}
        assert len(store.descriptions(run.id)) == 4
        assert run.machine["processors"] >= 1


def test_a_run_says_how_many_samples_ran_on_slow_processors_and_changes_no_time(
    lab: Lab, tmp_path: Path
) -> None:
    # One process in four runs on a processor that is slower by 1.4, and its yardstick shows that.
    slowed = """
marks = open("count", "a+"); marks.write("x"); marks.flush()
slow = 1.4 if marks.tell() % 4 == 0 else 1.0
start(); repeats(int(2e7 * slow), slow); end()
"""
    fakes.write(tmp_path / "programs", "p.serial", slowed)
    fakes.write(tmp_path / "programs", "p.tbb", slowed)
    # If others disturb most samples, the usual time among the rest may be the slower one.
    calm = (
        "import sys; from threadmark.machine import load; load.disturbance = lambda *_: ''; "
        "from threadmark.__main__ import run; sys.exit(run())"
    )
    line = [sys.executable, "-P", "-c", calm, *QUICK]
    subprocess.run(line, cwd=tmp_path, env=lab_environment(), check=True, timeout=300)
    document = json.loads(lab("show", "--store", "s.db", "--json").stdout)
    notes = " ".join(document["run"]["notes"])
    rows = [row for row in document["rows"] if row["sample_ns"]]
    slow = sum(row["sample_ns"] > 2.5e7 and not row["disturbed"] for row in rows)
    told = f"{100 * slow / len(rows):.1f} % more ran on a processor that was slower than usual"
    assert told in notes
    assert {row["sample_ns"] for row in rows} == {2e7, 2.8e7}
    judged = next(each for each in document["verdicts"] if each["backend"] == "tbb")
    if judged["steady_speedup"]:  # on a busy machine no round may be left
        assert judged["steady_speedup"]["estimate"] == pytest.approx(1.0)


def test_json_on_stdout_is_all_there_is_on_stdout(lab: Lab, programs: Path) -> None:
    done = lab(*SMOKE, "--json")
    document = json.loads(done.stdout)
    assert {row["status"] for row in document["rows"]} == {"ok"}


def test_every_status_reaches_the_store(lab: Lab, programs: Path, tmp_path: Path) -> None:
    bodies = {
        "wrong": "start(); repeats(ok=False); end('wrong', 'no', 3)",
        "crashed": "os.abort()",
        "refused": "start(); end('refused', 'no', 4)",
        "out_of_memory": "start(); end('out_of_memory', 'no', 5)",
        "unavailable": "tell('no'); sys.exit(2)",
    }
    for status, body in bodies.items():
        fakes.write(programs, f"fib.{status}", body)
    absent = [{"backend": "openmp", "available": False, "reason": "OpenMP is missing; install it"}]
    (programs / "fake/backends.json").write_text(json.dumps(absent))
    done = lab(*SMOKE, "--threads", "1")
    assert done.returncode == 1, done.stderr
    with Store.open(tmp_path / "s.db", create=False) as store:
        for status in bodies:
            rows = store.rows(1, backend=status)
            assert {row.status.value for row in rows} == {status}
            assert all(row.reason for row in rows)
        assert store.rows(1, backend="openmp")[0].reason == "OpenMP is missing; install it"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("start(); repeats(ok=False); end('wrong', 'no', 3)", 1),
        ("os.abort()", 1),
        ("start(); end('refused', 'no', 4)", 0),
        ("start(); end('out_of_memory', 'no', 5)", 0),
        ("tell('no'); sys.exit(2)", 0),
        (fakes.GOOD, 0),
    ],
)
def test_a_run_fails_when_an_answer_is_wrong_or_a_process_crashed(
    lab: Lab, programs: Path, body: str, status: int
) -> None:
    fakes.write(programs, "fib.tbb", body)
    done = lab(*SMOKE, "--threads", "1")
    assert done.returncode == status, done.stderr
    assert ("such as fib tbb:futures" in done.stderr) == bool(status)


def test_the_version_is_that_of_the_project_with_the_commit(lab: Lab) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    done = lab("--version")
    assert done.returncode == 0, done.stderr
    pattern = rf"threadmark {re.escape(project['version'])}( \([0-9a-f]{{12}}\+?\))?\n"
    assert re.fullmatch(pattern, done.stdout)


def test_every_json_document_names_its_schema(lab: Lab, programs: Path) -> None:
    store = ("--store", "s.db")
    said = {
        "plan": lab(*SMOKE, "--dry-run", "--json"),
        "run": lab(*SMOKE, "--json"),
        "runs": lab("list", "runs", "--json", *store),
        "report": lab("report", "--json", *store),
    }
    for kind, done in said.items():
        assert json.loads(done.stdout)["schema"] == f"threadmark/{kind}/1"
    for words in (("show", "--json"), ("export", "--format", "json")):
        assert json.loads(lab(*words, *store).stdout) == json.loads(said["run"].stdout)


def test_inputs_and_order_have_seeds_of_their_own(lab: Lab, programs: Path, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        for order in ("1", "2", "3"):
            lab(*SMOKE, "--threads", "1", "--seed", seed, "--order-seed", order)
    with Store.open(tmp_path / "s.db", create=False) as store:
        found = {}
        for run in store.runs():
            rows = store.rows(run.id)
            inputs = {row.command[row.command.index("--seed") + 1] for row in rows}
            assert inputs == {str(run.request["seed"])}
            seeds = run.request["seed"], run.request["order_seed"]
            found[seeds] = tuple(dict.fromkeys(row.cell for row in rows))
    assert all(found[1, order] == found[2, order] for order in (1, 2, 3))
    assert len(set(found.values())) > 1


def test_each_run_draws_an_order_of_its_own_and_shows_it(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        lab(*SMOKE, "--threads", "1")
    with Store.open(tmp_path / "s.db", create=False) as store:
        first, second = (run.request["order_seed"] for run in store.runs())
    assert first != second
    assert f"--order-seed {second}" in lab("show", "--store", "s.db").stdout
    listed = json.loads(lab("list", "runs", "--json", "--store", "s.db").stdout)["runs"]
    assert [run["order_seed"] for run in listed] == [first, second]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "--programs", "nqueenz"), "no program 'nqueenz'; did you mean 'nqueens'?"),
        (("run", "--programs", "getenv"), "no program 'getenv'; there is alignment, fft, fib,"),
        (("run", "--backends", "tbc"), "no backend 'tbc'; did you mean 'tbb'?"),
        (("catalogue", "--programs", "nqueens"), "no program 'nqueens'; "),
        (("catalogue", "--programs", "getenw"), "no program 'getenw'; did you mean 'getenv'?"),
    ],
)
def test_a_wrong_name_is_said_before_anything_is_built(
    lab: Lab, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    done = lab(*words, "--no-install", env={"PATH": str(tmp_path)})  # without tools to build
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_dry_run_lists_cells_and_time_and_measures_nothing(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    done = lab(*SMOKE, "--dry-run")
    assert "fib smoke tbb:futures fake glibc x1" in done.stdout
    assert "cells, about" in done.stdout.splitlines()[-1]
    assert not (tmp_path / "s.db").exists()
    cells = json.loads(lab(*SMOKE, "--dry-run", "--json").stdout)["cells"]
    assert all(each["threads"] == 1 for each in cells if each["backend"] == "serial")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--programs", "fob"), "no program 'fob'; did you mean 'fib'?"),
        (("--backends", "tbc"), "no backend 'tbc'; did you mean 'tbb'?"),
        (("--variants", "future"), "no variant 'future'; did you mean 'futures'?"),
        (("--platforms", "gcc"), "no platform 'gcc'; there is fake"),
        (("--allocators", "jemallok"), "no allocator 'jemallok'; did you mean 'jemalloc'?"),
        (("--profile", "quik"), "--profile"),
        (("--size", "big"), "--size"),
        (("--threads", "0"), "from 1 to 4096"),
        (("--threads", "1,x"), "no list of thread counts"),
        (("--threads", "5-2"), "from 1 to 4096"),
        (("--seed", "-1"), "--seed"),
        (("--order-seed", "-1"), "--order-seed"),
        (("--budget", "0"), "--budget"),
        (("--budget", "nan"), "--budget"),
        (("--arg", "n=46"), "not an integer from 0 to 45"),
        (("--arg", "n=x"), "not an integer from 0 to 45"),
        (("--arg", "m=1"), "no argument 'm', it has n"),
        (("--arg", "n"), "write --arg name=value"),
        (("--programs", "fib", "--arg", "sort.n=1"), "not chosen"),
        (("--arg", "fibb.n=1"), "no program 'fibb'; did you mean 'fib'?"),
        (("--nonsense",), "--nonsense"),
        (("stray",), "stray"),
        (("--resume",), "no unfinished run"),
    ],
)
def test_bad_requests_are_one_sentence_and_exit_2(
    lab: Lab, programs: Path, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    Store.open(tmp_path / "s.db", create=True).__exit__(None, None, None)
    done = lab(*SMOKE, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_folder_without_executables_is_said(lab: Lab) -> None:
    done = lab("run", "--executables", "nowhere", "--store", "s.db")
    assert done.returncode == 2
    assert "name another folder" in done.stderr


def test_an_argument_makes_a_cell_that_names_all_parameters(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    lab(*SMOKE, "--arg", "fib.n=7", "--threads", "1")
    with Store.open(tmp_path / "s.db", create=False) as store:
        row = store.rows(1, program="fib", backend="tbb")[0]
        assert (row.cell.size, row.cell.arguments) == ("custom", (("n", "7"),))
        assert row.command[-2:] == ("--arg", "n=7")
        assert store.rows(1, program="sort")[0].cell.size == "smoke"


def test_a_killed_lab_loses_one_cell_leaves_nothing_and_resumes(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    path, go, marks = tmp_path / "pid", tmp_path / "go", tmp_path / "marks"
    # The second process waits until the test kills it; a serial process may take long.
    body = f"""
marks = open({str(marks)!r}, "a+"); marks.write("x"); marks.flush()
if marks.tell() == 2:
    open({str(path)!r}, "w").write(str(os.getpid()))
    while not os.path.exists({str(go)!r}): time.sleep(0.01)
{GOOD}
"""
    fakes.write(programs, "sort.serial", body)
    killed = _start(tmp_path, *QUICK)
    _until(lambda: path.exists() and path.read_text() != "")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    _until(lambda: not alive(int(path.read_text())))
    with Store.open(tmp_path / "s.db", create=False) as store:
        before = store.rows(1)
        assert not store.run(1).finished_at
    go.touch()
    for option in ("--seed", "--order-seed"):
        refused = lab(*QUICK, option, "1000005", "--resume")
        assert refused.returncode == 2
        assert "has other options" in refused.stderr
    done = lab(*QUICK, "--resume")  # --resume needs no order, because the store has the drawn one
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "s.db", create=False) as store:
        assert store.run(1).finished_at
        assert len(store.runs()) == 1
        rows = store.rows(1)
        assert rows[: len(before)] == before
        for program in ("fib", "sort"):
            rows = store.rows(1, program=program, backend="tbb")
            assert len({each.round for each in rows}) >= 6


def test_what_is_left_of_a_run_is_listed_and_not_measured(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    first = str(tmp_path / "first")
    for program in ("fib", "sort"):
        for backend in ("serial", "tbb"):
            # The first process ends, and all others wait until the test kills them.
            hold = f"if os.path.exists({first!r}): time.sleep(60)\nopen({first!r}, 'w').close()"
            fakes.write(programs, f"{program}.{backend}", f"\n{hold}\n{GOOD}")
    killed = _start(tmp_path, *SMOKE, "--threads", "1")
    _until(lambda: len(_rows(tmp_path) or ()) >= 1)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    with Store.open(tmp_path / "s.db", create=False) as store:
        before = store.rows(1)
    calm = {(row.cell.program, row.cell.backend) for row in before if not row.disturbed}
    done = lab("run", "--store", "s.db", "--resume", "--dry-run", "--no-report")
    assert done.returncode == 0, done.stderr
    *cells, summary = done.stdout.splitlines()
    every = {(program, backend) for program in ("fib", "sort") for backend in ("serial", "tbb")}
    found = [re.match(r"(\w+) smoke (\w+):\w+ fake glibc x1$", each) for each in cells]
    assert sorted(each.groups() if each else () for each in found) == sorted(every - calm)
    assert summary.startswith(f"{len(cells)} cells, about")
    assert (_rows(tmp_path), (tmp_path / "report-s-1.html").exists()) == (before, False)
    (said,) = json.loads(lab("list", "runs", "--store", "s.db", "--json").stdout)["runs"]
    assert said["finished"] == ""
    assert " unfinished " in lab("list", "runs", "--store", "s.db").stdout


@pytest.mark.parametrize("at", ["add_note", "add_description", "append_all"])
def test_a_lab_killed_while_it_begins_leaves_no_run_without_its_beginning(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    from threadmark.kinds.session import Session, perform
    from threadmark.kinds.tasks.kind import KIND
    from threadmark.model.request import Request
    from threadmark.options import Measuring

    store_path = tmp_path / "s.db"
    options = Measuring(
        executables=programs, store=store_path, json=True, report=False, install=False
    )
    monkeypatch.setattr(Session, "_complaints", lambda *_: ["A note."])
    monkeypatch.setattr(Store, at, lambda *_: os._exit(9))
    child = os.fork()
    if child == 0:
        perform(KIND, options, Request(size="smoke", profile="smoke"))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with Store.open(tmp_path / "s.db", create=False) as store:
        assert store.runs() == []


def test_a_killed_lab_takes_grandchildren_with_it(programs: Path, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    escape = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({str(path)!r}, 'w').write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
time.sleep(60)
"""
    fakes.write(programs, "fib.serial", escape)
    killed = _start(tmp_path, *QUICK)
    _until(lambda: path.exists() and path.read_text() != "")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    _until(lambda: not alive(int(path.read_text())))


def test_changed_executables_cannot_be_resumed(lab: Lab, programs: Path, tmp_path: Path) -> None:
    fakes.write(programs, "fib.serial", SLOW)
    killed = _start(tmp_path, *QUICK)
    _until(lambda: _rows(tmp_path) is not None)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    fakes.write(programs, "fib.serial")
    done = lab("run", "--store", "s.db", "--resume")
    assert done.returncode == 2
    assert "fake/fib.serial" in done.stderr


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_an_interrupted_lab_leaves_no_process(
    programs: Path, tmp_path: Path, number: int, status: int, word: str
) -> None:
    path = tmp_path / "pid"
    stubborn = f"""
[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]
if os.fork() == 0: time.sleep(60)
open({str(path)!r}, 'w').write(str(os.getpid()))
time.sleep(60)
"""
    fakes.write(programs, "fib.serial", stubborn)
    fakes.write(programs, "sort.serial", stubborn)
    running = _start(tmp_path, *QUICK)
    _until(lambda: path.exists() and path.read_text() != "")
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == status
    assert errors.splitlines()[-1].startswith(f"threadmark: `./threadmark run` was {word}; ")
    assert "`./threadmark run --resume --store s.db` goes on" in errors
    assert "Traceback" not in errors
    assert not alive(int(path.read_text()))
    assert str(running.pid) not in _groups()


def test_two_labs_share_a_store_and_the_second_says_so(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    path = tmp_path / "go"
    wait = f"while not os.path.exists({str(path)!r}): time.sleep(0.01)"
    fakes.write(programs, "sort.serial", f"\n{wait}\nstart(); repeats(); end()")
    # The limit of a serial program is a minute in this profile.
    first = _start(tmp_path, *QUICK, "--programs", "sort")
    _until(lambda: _rows(tmp_path) is not None)
    refused = lab("run", "--store", "s.db", "--resume")
    assert f"being measured by process {first.pid}" in refused.stderr
    listed = lab("run", "--store", "s.db", "--resume", "--dry-run")
    assert (listed.returncode, listed.stderr) == (2, refused.stderr)
    second = lab(*SMOKE, "--programs", "fib")
    assert second.returncode == 0, second.stderr
    assert f"Another lab is measuring at the same time (process {first.pid})" in second.stderr
    path.write_text("")
    assert first.wait(300) == 0
    with Store.open(tmp_path / "s.db", create=False) as store:
        assert [bool(run.finished_at) for run in store.runs()] == [True, True]
        assert any("Another lab" in note for note in store.run(2).notes)


def test_a_newer_store_ends_the_run_before_it_measures(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    import sqlite3

    Store.open(tmp_path / "s.db", create=True).__exit__(None, None, None)
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute("PRAGMA user_version = 99")
    done = lab(*SMOKE)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "newer Threadmark" in done.stderr


@pytest.mark.parametrize("locale", ["C", "de_DE.ISO-8859-1"])
def test_any_locale_will_do(lab: Lab, programs: Path, locale: str) -> None:
    plain = {"LC_ALL": locale, "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = lab(*SMOKE, env=plain)
    assert done.returncode == 0, done.stderr


def test_a_terminal_of_80_columns_is_enough(programs: Path, tmp_path: Path) -> None:
    status, text = _in_terminal(tmp_path, 80, *SMOKE)
    assert status == 0
    plain = _plain(text)
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 80
    assert "fib" in plain


def test_ctrl_c_in_a_terminal_ends_with_130(programs: Path, tmp_path: Path) -> None:
    fakes.write(programs, "fib.serial", SLOW)
    fakes.write(programs, "sort.serial", SLOW)
    status, text = _in_terminal(tmp_path, 80, *QUICK, interrupt_at="left")
    assert status == 130, text
    assert "`./threadmark run` was interrupted" in " ".join(text.split())
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is visible again


def test_the_lab_makes_20_cells_per_second_and_waits_for_nothing_but_the_program(
    programs: Path, tmp_path: Path
) -> None:
    from threadmark.kinds.tasks.kind import runner
    from threadmark.kinds.tasks.selection import select
    from threadmark.machine.limits import default_limits
    from threadmark.measure.cage import Cage
    from threadmark.measure.schedule import Task
    from threadmark.model.executable import stamp_of
    from threadmark.model.request import Request
    from threadmark.setup.discovery import find

    script = programs / "fake/bin/fib.tbb"
    words = ["--run", "--threads", "1", "--variant", "futures", "--size", "quick", "--repeats", "1"]
    said = subprocess.run([script, *words], check=True, capture_output=True, text=True)
    cells = select(Request(programs=("fib",)), find(["fake"], programs), ()).cells
    [cell] = [each for each in cells if each.backend == "tbb"]
    start = said.stdout.replace(f'"cpus": {len(os.sched_getaffinity(0))}', '"cpus": 1')
    told = tmp_path / "delay"
    delay = f"read -r _ delay _ < /proc/$$/schedstat; echo $delay > {told}"
    script.write_text(
        f"#!/bin/sh\nwhile read -r line; do echo \"$line\"; done <<'E'\n{start}E\n{delay}"
    )
    cells = {cell: replace(cells[cell], stamp=stamp_of(script))}
    own_s, waited_s = [], []  # without the time that other programs took
    with (
        Cage(default_limits()) as cage,
        Store.open(tmp_path / "s.db", create=True) as store,
    ):
        run = store.start_run("quick", 1, {}, {})
        run_once = runner(Request(), cells, cage)
        for _ in range(15):
            time.sleep(0.1)  # the kernel waits less right after it has waited
            begin, computed, delayed = time.monotonic(), _computed_s(), _delayed_s()
            row = run_once(Task(cell, 0, 1, 10))
            store.append(run, row)
            wall_s = time.monotonic() - begin
            own_s.append(wall_s - (_delayed_s() - delayed) - int(told.read_text()) / 1e9)
            waited_s.append(own_s[-1] - (_computed_s() - computed))
            assert row.status is Status.OK, row.reason
    assert min(own_s) < 1 / 20
    assert median(waited_s) < 0.007  # a third of a grace period of the kernel


def _computed_s() -> float:
    """The processor time of this process and its children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _delayed_s() -> float:
    """The time for which this thread was ready without a processor."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def _start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*LAB, *words],
        cwd=folder,
        env=lab_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _until(condition: Callable[[], bool], limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def _rows(folder: Path) -> list[object] | None:
    """The rows of run 1; None before it began."""
    if not (folder / "s.db").exists():
        return None
    from threadmark.model.errors import LabError

    try:
        with Store.open(folder / "s.db", create=False) as store:
            return list(store.rows(1)) if store.runs() else None
    except LabError:
        return None


def _groups() -> str:
    names = Path("/sys/fs/cgroup").glob("**/threadmark-*")
    return " ".join(each.name for each in names)


def _in_terminal(
    folder: Path, columns: int, *words: str, interrupt_at: str = ""
) -> tuple[int, str]:
    """Run the lab with a terminal of `width` columns; returns the exit status and the output."""
    import fcntl
    import struct
    import termios

    terminal, end = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    pid = os.fork()
    if pid == 0:
        os.login_tty(end)
        os.chdir(folder)
        environment = {**lab_environment(), "TERM": "xterm-256color"}
        environment.pop("COLUMNS", None)
        os.execve(LAB[0], [*LAB, *words], environment)
    os.close(end)
    text, sent, deadline = "", False, time.monotonic() + 200
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            text += data.decode("utf-8", "replace")
        if interrupt_at and interrupt_at in text and not sent:
            sent = True
            os.write(terminal, b"\x03")
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text


def _plain(text: str) -> str:
    """The text without escape sequences. Of a line that was drawn several times it has the last
    state."""
    import re

    bare = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return "\n".join(line.split("\r")[-1] for line in bare.replace("\r\n", "\n").split("\n"))


def test_ctrl_c_while_a_process_is_forked_is_not_lost() -> None:
    code = """
import os, signal
from threadmark.machine.limits import default_limits
from threadmark.measure.cage import Cage
from threadmark.measure.process import TimeLimits, execute

signal.signal(signal.SIGINT, signal.default_int_handler)
with Cage(default_limits()) as cage:
    os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
    cpus = tuple(os.sched_getaffinity(0))
    try:
        execute(["true"], cage=cage, cpus=cpus, limits=TimeLimits(9, 9), environment={})
    except KeyboardInterrupt:
        print("interrupted")
"""
    line = [sys.executable, "-P", "-c", code]
    done = subprocess.run(
        line, check=False, capture_output=True, text=True, env=lab_environment(), timeout=60
    )
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr

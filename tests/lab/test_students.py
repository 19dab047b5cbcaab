"""The comparison of writers: its selection, judgement and output, with a made-up program."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import browsing
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_support import LAB, lab_environment
from threadmark import cli
from threadmark.judge.verdict import Kind, Point
from threadmark.kinds.students import judgement, selection, tool
from threadmark.kinds.students.kind import KIND
from threadmark.machine import load
from threadmark.measure.observation import Observation
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError
from threadmark.model.request import Request

WRITERS = """\
as_published\t4\tsequential\tflushes\tturns under a mutex
buffered\t1\tbuffered\tbuffers\tone thread, no flush
fast\t0\tfast\tbuffers\tflat texts
persistent\t4\tbuffered\tbuffers\tfour threads
sequential\t1\tsequential\tflushes\tone thread
"""
# Writes a file whose content depends on the number of students, and prints a time by the writer.
TOOL = f"""#!/bin/sh
case $1 in writers) printf '%s' '{WRITERS}'; exit;; esac
case " $* " in
  *as_published*) ms=400;; *sequential*) ms=100;; *buffered*) ms=20;; *persistent*) ms=13;;
  *"--threads 2"*) ms=1;; *fast*) ms=2;; *) ms=0;;
esac
students=0
while [ $# -gt 0 ]; do
  case $1 in -s) students=$2;; --out) out=$2;; --writer) writer=$2;; esac
  shift
done
BODY
echo $students > $out/exam-info.txt
echo "Generation took $ms.25 ms"
"""
Say = Callable[..., str]
browser = browsing.browser  # a fixture


def write(folder: Path, body: str = ":") -> Path:
    path = folder / "tmk-students"
    path.write_text(TOOL.replace("BODY", body), encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    """The output of a command line; stderr if the command fails."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load, "disturbance", lambda *_: "")  # other work of this machine

    def run(*words: str, status: int = 0) -> str:
        assert cli.main([*words, "--store", "s.db"]) == status, capsys.readouterr()
        captured = capsys.readouterr()
        return captured.err if status == 2 else captured.out

    return run


SMALL = ("--tool", "tmk-students", "--runs", "3", "--no-record", "--sizes", "10,20")


def test_all_writers_are_measured_judged_and_written_into_a_folder(
    say: Say, tmp_path: Path
) -> None:
    # The tool fails if there is another folder beside its own.
    write(tmp_path, "[ $(ls -d $out/../.students-* | wc -l) = 1 ] || exit 3")
    (tmp_path / "out").mkdir()
    printed = say("students", *SMALL, "--threads", "2", "--out", "out")
    assert all(len(line) <= 80 for line in printed.splitlines() if "Written" not in line)
    lines = [line.split() for line in printed.splitlines()]
    block = lines[lines.index(["10", "students"]) + 2 :]
    # 400.25 ms against 100.25 ms, 20.25 against 13.25, and 2.25 against 1.25.
    assert block[0][:3] == ["as_published", "4", "400"]
    found = {(line[0], line[1]): " ".join(line) for line in block if len(line) > 2}
    assert "slower than sequential x4.0" in found["as_published", "4"]
    assert "x1.53 of buffered" in found["persistent", "4"]
    assert "x320 " in found["fast", "2"]  # 400.25 / 1.25
    assert "x1.80 of fast: scales" in found["fast", "2"]
    assert "of" not in found["sequential", "1"]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        "students.csv",
        "students.html",
    ]
    with (tmp_path / "out/students.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["status"] for row in rows} == {"ok"}
    assert {row["arguments"] for row in rows} == {
        f"block=500 exercises=10 students={n}" for n in (10, 20)
    }
    assert say("show") == printed
    record = json.loads(say("show", "--json"))["writers"]
    assert {(each["writer"], each["threads"]) for each in record} >= {("fast", 1), ("fast", 2)}
    page = (tmp_path / "out/students.html").read_text(encoding="utf-8")
    assert "slower than sequential x4.0" in page


def test_the_page_draws_its_charts_without_a_network(
    say: Say, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    write(tmp_path)
    say("students", *SMALL)
    # After the run, because a lab ends all children of its process.
    browser = request.getfixturevalue("browser")
    browsing.visit(browser, tmp_path / "students.html", browsing.DESKTOP)
    assert browsing.complaints(browser) == []
    assert browsing.requests(browser) == []
    drawn = "return [...document.querySelectorAll('[data-chart]')].map(e => e.dataset.drawn)"
    assert browser.execute_script(drawn) == ["true", "true"]
    marks = "return document.querySelectorAll('[data-chart=times] .mark-symbol path').length"
    assert browser.execute_script(marks) == 2 * 7  # two sizes, seven lines


def test_a_writer_that_writes_other_bytes_is_wrong(say: Say, tmp_path: Path) -> None:
    write(tmp_path, '[ "$writer" = persistent ] && students=$((students + 1))')
    printed = say("students", *SMALL, status=1)
    assert "differ" in printed
    assert "WRONG" in printed
    status = {each["writer"]: each["kind"] for each in json.loads(say("show", "--json"))["writers"]}
    assert "wrong" in status.values()
    assert status["sequential"] == "sequential"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo 'The disk is full.' >&2; exit 1", "refused: .*: The disk is full"),
        ("echo 'It is bad.' >&2; exit 2", "unavailable: .*: It is bad"),
        ("kill -9 $$", "crashed: .*: ended by Killed"),
        ("echo nothing; exit 0", "it did not print its time"),
    ],
)
def test_every_way_to_fail_is_a_row_with_its_reason(
    say: Say, tmp_path: Path, body: str, words: str
) -> None:
    write(tmp_path, body)
    status = 1 if "crashed" in words or "did not print" in words else 0
    printed = say("students", *SMALL, "--writers", "fast", status=status)
    text = " ".join(printed.split())
    assert re.search(words, text), text
    assert not list(tmp_path.glob(".students-*"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--sizes", "0"), "--sizes takes numbers of students from 1 to"),
        (("--sizes", "10,x"), "not '10,x'"),
        (("--runs", "0"), "--runs goes from 1 to 1000"),
        (("--threads", "0"), "--threads goes from 1 to 256"),
        (("--block", "0"), "--block goes from 1"),
        (("--exercises", "20000"), "--exercises goes from 1 to 10000"),
        (("--writers", "fastt"), "There is no writer 'fastt'"),
        (("--budget", "0"), "no time for --budget"),
        (("--out", "gone"), "is not a folder; create it or name another with --out"),
        (("--folder", "gone"), "is not a folder; create it or name another with --folder"),
        (("--tool", "gone"), "is not a program; build it with ./threadmark setup --apps"),
        (("--tool", "/bin/true"), "/bin/true names no writers"),
        (("--resume",), "no unfinished run of ./threadmark students"),
        (("--what",), "see ./threadmark students --help"),
    ],
)
def test_bad_requests_are_one_sentence(
    say: Say, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    write(tmp_path)
    if words == ("--resume",):
        say("students", *SMALL, "--writers", "fast")
    given_tool = () if "--tool" in words else ("--tool", "tmk-students")
    said = say("students", *given_tool, *words, status=2)
    assert sentence in said
    assert said.count("\n") == 1


def test_a_budget_leaves_out_the_costliest_writer_and_says_so(tmp_path: Path) -> None:
    found = tool.executable(write(tmp_path))
    asked = selection.Asked((10,), 10, 500, 5, ".")
    request = Request(arguments=asked.arguments(), threads=(2,), budget_s=10)
    schedule = KIND.schedule(request, selection.select(request, found))
    done: Counter[Cell] = Counter()
    elapsed_s = 0.0
    while task := schedule.next(elapsed_s):
        cost_s = 3.0 if task.cell.variant == "sequential" else 0.1
        elapsed_s += cost_s
        done[task.cell] += 1
        schedule.record(
            Observation(task.cell, task.round, Status.OK, cost_s, 1e6, 1e6, disturbed=False)
        )
    assert {cell.variant: count for cell, count in done.items() if count != 5} == {"sequential": 1}
    note = "budget of 10 s left 0 cells unmeasured and 1 with fewer than 5 samples"
    assert note in schedule.notes()[0]
    assert "fewer --writers" in schedule.notes()[0]


def test_ctrl_c_shows_what_is_known_and_resume_goes_on(tmp_path: Path) -> None:
    first, go = tmp_path / "first", tmp_path / "go"
    # The first process ends, and the next one waits until the test lets it go.
    write(
        tmp_path,
        f"[ ! -e {first} ] || until [ -e {go} ]; do sleep 0.02; done; touch {first}; sleep 0.05",
    )
    small = ["--tool", "tmk-students", "--runs", "2", "--sizes", "10", "--no-record"]
    line = [*LAB, "students", *small, "--store", "s.db", "--out", "."]
    lab = subprocess.Popen(
        line,
        cwd=tmp_path,
        env=lab_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (rows := _rows(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert rows
    os.kill(lab.pid, signal.SIGINT)
    out, err = lab.communicate(timeout=60)
    assert lab.returncode == 130, err
    go.touch()
    assert "unfinished" in out
    assert "students --resume --store s.db` goes on" in err
    assert (tmp_path / "students.csv").read_text(encoding="utf-8").count("\n") > rows
    assert not list(tmp_path.glob(".students-*"))
    again = [*LAB, "students", "--tool", "tmk-students", "--resume", "--store", "s.db"]
    again += ["--no-record", "--no-report"]
    done = subprocess.run(
        again, cwd=tmp_path, env=lab_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "unfinished" not in done.stdout
    assert "as_published" in done.stdout


def _rows(folder: Path) -> int:
    import sqlite3

    if not (folder / "s.db").exists():
        return 0
    try:
        with sqlite3.connect(folder / "s.db") as db:
            found: int = db.execute("SELECT count(*) FROM row").fetchone()[0]
            return found
    except sqlite3.Error:
        return 0


def test_writers_that_flush_stop_at_half_a_million_and_each_has_its_serial_one(
    tmp_path: Path,
) -> None:
    found = tool.executable(write(tmp_path))
    asked = selection.Asked((500_000, 500_001), 10, 500, 20, ".")
    request = Request(arguments=asked.arguments(), threads=(2,), variants=("as_published", "fast"))
    assert selection.asked(request) == asked
    cells = selection.select(request, found).cells
    names = {(each.variant, each.threads, selection.students(each)) for each in cells}
    small, large = 500_000, 500_001
    assert names == {
        ("as_published", 4, small),
        ("sequential", 1, small),
        *(("fast", threads, size) for threads in (1, 2) for size in (small, large)),
        *(("limit", 1, size) for size in (small, large)),
    }


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=5))
def test_sizes_are_read_as_they_are_written(sizes: list[int]) -> None:
    assert selection.parse_sizes(",".join(map(str, sizes))) == tuple(sorted(set(sizes)))


def verdict_of(speedup: float, *, threads: int = 2, rounds: int = 6, spread: float = 0.001) -> Kind:
    values = [speedup * (1 + spread * (-1) ** i) for i in range(rounds)]
    point = Point(values, [Status.OK] * rounds)
    return judgement.verdict(point, threads, "sequential").kind


@pytest.mark.parametrize(
    ("speedup", "kind"),
    [
        (1.42, Kind.SCALES),
        (1.38, Kind.POORLY),
        (1.12, Kind.POORLY),
        (1.08, Kind.NONE),
        (0.92, Kind.NONE),
        (0.89, Kind.SLOWER),
    ],
)
def test_verdicts_part_at_the_limits_of_the_lab(speedup: float, kind: Kind) -> None:
    assert verdict_of(speedup) is kind


def test_an_interval_on_both_sides_of_a_limit_few_rounds_or_one_processor_are_unclear() -> None:
    assert verdict_of(1.1, spread=0.1) is Kind.UNCLEAR
    assert verdict_of(2.0, rounds=2) is Kind.UNCLEAR
    assert verdict_of(2.0, threads=1) is Kind.UNCLEAR


def rows_of(cell: Cell, times: list[float], **changes: Any) -> list[Row]:
    facts = {"cpus": [0, 1]}
    return [
        Row(cell, number, Status.OK, sample_ns=ms * 1e6, facts=facts, **changes)
        for number, ms in enumerate(times)
    ]


def cell_of(name: str, backend: str, threads: int) -> Cell:
    return Cell(
        "students", "custom", backend, name, "apps", "glibc", threads, (("students", "10"),)
    )


def test_rounds_are_paired_and_disturbed_processes_do_not_count(tmp_path: Path) -> None:
    described = tool.executable(write(tmp_path)).description
    machine = [1.0, 3.0, 1.0, 2.0]  # the slowness of the machine in each round
    rows = rows_of(cell_of("sequential", "serial", 1), [100 * x for x in machine])
    rows += rows_of(cell_of("as_published", "threads", 4), [200 * x for x in machine])
    rows += rows_of(cell_of("as_published", "threads", 4), [1.0], disturbed="others")
    found = {entry.name: entry for entry in judgement.judge(rows, [described])}
    verdict = found["as_published"].judged.verdict
    assert verdict.speedup is not None
    assert verdict.speedup.estimate == pytest.approx(0.5)
    assert verdict.label == "slower than sequential x2.0"
    faster = found["sequential"].faster
    assert faster is not None
    assert faster.estimate == pytest.approx(2)


def test_a_program_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="is not a program"):
        tool.executable(tmp_path)

"""Comparisons of numbers of threads on real programs: from the command line to the store."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from threadmark import cli
from threadmark.kinds.explain.analysis.limit import Limit
from threadmark.kinds.explain.differential import _doubt_of_cores
from threadmark.kinds.explain.probe import load
from threadmark.kinds.explain.turns import Turns
from threadmark.machine import host
from threadmark.model.errors import LabError

SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
[[gnu::noinline]] void work(int id) {
  volatile unsigned sum = 0;
  for (int i = 0; i < 20000000; ++i) sum = sum * 31 + id;
}
int main(int, char** words) {
  std::vector<std::thread> all;
  const int count = std::atoi(words[1]);
  for (int i = 0; i < count; ++i) all.emplace_back(work, i);
  for (auto& each : all) each.join();
  std::printf("step 1 of 2\\ndone %d,000 parts\\n", count);
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all output."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explain(capfd: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    """The output of the command."""
    line = ["explain", "--store", "s.db", "--threads", "1,2", *words]
    assert cli.main(line) == status
    captured = capfd.readouterr()
    return captured.err if status else captured.out


def test_a_program_is_run_in_turns_and_judged_by_its_units_of_work(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.cpp").write_text(SOURCE, encoding="ascii")
    subprocess.run(["g++", "-O2", "-pthread", "a.cpp", "-o", "prog"], check=True)
    options = ("--rounds", "2", "--progress", r"done ([\d,]+)", "--json")
    found = json.loads(explain(capfd, *options, "--", "./prog", "{threads}"))
    assert found["command"] == ["./prog", "2"]
    told = found["differential"]
    assert (told["threads"], told["rounds"]) == ([1, 2], 2)
    times = {count: each["s"] for count, each in told["time_per_unit"].items()}
    # 1,000 units with one thread, 2,000 with two, even if the machine does other work.
    assert found["speedup"] == pytest.approx(times["1"] / times["2"], rel=0.5)
    assert 0.0002 > times["1"] > 0.00001
    assert load(Path("explain-s-1.tmr")).command == ("./prog", "2")
    assert load(Path("explain-s-1-threads-1.tmr")).command == ("./prog", "1")
    assert sorted(path.name for path in folder.glob("*.tmr")) == [
        "explain-s-1-threads-1.tmr",
        "explain-s-1.tmr",
    ]
    assert cli.main(["explain", "--store", "s.db", "explain-s-1-threads-1.tmr"]) == 0
    assert cli.main(["show", "1", "--store", "s.db"]) == 0
    assert f"{told['words'][:20]}" in " ".join(capfd.readouterr().out.split())


def test_the_variable_and_the_output_of_the_first_run_reach_where_they_belong(
    capfd: pytest.CaptureFixture[str],
) -> None:
    script = 'echo "$COUNT threads"; echo "$COUNT" >> all; echo "$((5 * COUNT))" > units'
    options = ("--rounds", "2", "--threads-env", "COUNT", "--counter", "units")
    said = explain(capfd, *options, "--", "sh", "-c", script)
    assert said.startswith("1 threads\n")
    assert "2 threads\n" not in said
    # Each number twice in a round: recorded and not recorded.
    assert Path("all").read_text(encoding="ascii").split() == [*"1122"] * 2


def test_the_speedup_is_that_of_the_program_without_the_recorder(
    capfd: pytest.CaptureFixture[str],
) -> None:
    # The second, fourth, ... run is not recorded. Two threads take half of the time only there.
    script = (
        'read seen < seen; seen=$((seen + 1)); echo "$seen" > seen; '
        '[ "$1" = 2 ] && [ $((seen % 2)) = 0 ] && sleep 0.1 || sleep 0.2'
    )
    Path("seen").write_text("0\n", encoding="ascii")
    found = json.loads(
        explain(capfd, "--rounds", "2", "--json", "--", "sh", "-c", script, "sh", "{threads}")
    )
    assert found["speedup"] == pytest.approx(2.0, rel=0.3)
    assert any("times as long with 2 threads because it is recorded" in a for a in found["limits"])


def test_a_run_without_the_recorder_may_fail_too(capfd: pytest.CaptureFixture[str]) -> None:
    script = "[ -e there ] && { echo again >&2; exit 3; }; : > there"
    said = explain(capfd, "--", "sh", "-c", script, "sh", "{threads}", status=2)
    assert "The program failed with 1 thread (exit status 3; it said: again)" in said


@contextmanager
def standard_input(descriptor: int) -> Iterator[None]:
    before = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        for each in (before, descriptor):
            os.close(each)


def test_each_run_reads_a_file_from_the_place_where_the_lab_found_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("input").write_text("read before\none\ntwo\n", encoding="ascii")
    with standard_input(os.open("input", os.O_RDONLY)):
        os.read(0, len("read before\n"))
        explain(capfd, "--rounds", "1", "--", "sh", "-c", "cat >> all; : {threads}")
    # Recorded and not recorded, with one thread and with two.
    assert Path("all").read_text(encoding="ascii") == "one\ntwo\n" * 4


def test_a_pipe_with_data_is_refused_and_one_without_is_empty_for_each_run(
    capfd: pytest.CaptureFixture[str],
) -> None:
    read_end, write_end = os.pipe()
    line = ("--rounds", "1", "--", "sh", "-c", "cat; : {threads}")
    with standard_input(read_end):
        explain(capfd, *line)  # the pipe stays open, so that a program that reads it waits
        os.write(write_end, b"one\n")
        assert "write the input to a file" in explain(capfd, *line, status=2)
    os.close(write_end)


def test_threads_that_share_cores_are_slower_for_that_reason_too(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one_core = [host.Processor(each, 0, 0, each) for each in range(2)]
    monkeypatch.setattr(host, "processors", lambda: one_core)
    line = ("--rounds", "1", "--json", "--", "sh", "-c", "sleep 0.1; : {threads}")
    assert json.loads(explain(capfd, *line))["limits"][0].startswith("2 threads had 1 core.")
    found: dict[str, Any] = {"limits": [], "causes": []}
    for category in ("memory_bandwidth", "mutex"):
        found["causes"].append({"category": category, "certain": True, "words": "threads wait"})
    _doubt_of_cores(found, 2, one_core)
    memory, mutex = found["causes"]
    assert (memory["certain"], mutex["certain"]) == (False, True)
    assert memory["words"].endswith("; or two threads of one core share its units")
    apart: dict[str, Any] = {"limits": [], "causes": []}
    _doubt_of_cores(apart, 2, [*one_core, host.Processor(0, 0, 2, 2)])
    assert not apart["limits"]


def test_the_recorder_alone_runs_what_it_ends(capfd: pytest.CaptureFixture[str]) -> None:
    script = 'echo "$1" >> all; sleep 5 & sleep 5'
    options = ("--rounds", "1", "--duration", "0.2", "--stop", "KILL")
    explain(capfd, *options, "--", "sh", "-c", script, "sh", "{threads}")
    assert Path("all").read_text(encoding="ascii").split() == ["1", "2"]


def test_bounds_are_those_that_the_limit_allows(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.cpp").write_text(SOURCE, encoding="ascii")
    subprocess.run(["g++", "-O2", "-pthread", "a.cpp", "-o", "prog"], check=True)
    monkeypatch.setattr(Limit, "lower", lambda *_: 1.25)
    found = json.loads(explain(capfd, "--rounds", "1", "--json", "--", "./prog", "{threads}"))
    bounds = {each["bound"] for each in (*found["causes"], *found["fixes"])}
    if bounds == {None}:
        pytest.skip("Other programs had the processors for most of the run.")
    assert bounds - {None} == {1.25}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--", "sh", "-c", "echo no >&2; exit $(({threads} - 1))"),
         "The program failed with 2 threads (exit status 1; it said: no)"),
        (("--progress", r"done (\d+)", "--", "echo", "{threads} done"),
         r"--progress 'done (\d+)' finds no number above 0 in the output of the program with 1"),
        (("--progress", r"done (\d+)", "--", "echo", "done 0 {threads}"), "no number above 0"),
        (("--counter", "none", "--", "true", "{threads}"), "none of --counter cannot be read"),
        (("--", "true"), "Write {threads} where the program takes the number of threads"),
        (("--progress", "(", "--", "true", "{threads}"), "--progress is no regular expression"),
        (("--progress", "done", "--", "true", "{threads}"), "--progress needs one group"),
        (("--rounds", "0", "--", "true", "{threads}"), "--rounds takes a number"),
        (("--pid", "1"), "--threads starts a program several times"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_one_sentence(
    capfd: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    said = explain(capfd, *words, status=2)
    assert sentence in said
    assert "Traceback" not in said
    assert not Path("s.db").exists()
    assert not list(Path().glob(".explain-*"))


@pytest.mark.parametrize("text", ["2,4", "1", "1,1", "1,two", "", "0,1,2"])
def test_a_comparison_has_one_thread_and_more(text: str) -> None:
    with pytest.raises(LabError, match="--threads takes 1 and greater numbers"):
        assert not Turns(text).counts
    assert Turns("4,1,2").counts == (1, 2, 4)


def test_a_counter_that_this_run_did_not_write_is_refused(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "units").write_text("7\n", encoding="ascii")
    os.utime("units", (1, 1))
    said = explain(capfd, "--counter", "units", "--", "true", "{threads}", status=2)
    assert "wrote no number above 0 to units with 1 thread" in said

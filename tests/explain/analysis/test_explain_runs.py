"""The store keeps, shows, compares and writes runs of explain like runs of any kind."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from made import MAIN, Made, waits, works
from threadmark import cli
from threadmark.kinds.explain.analysis.recording import Module
from threadmark.kinds.explain.mapped import File
from threadmark.kinds.explain.probe import load
from threadmark.machine import host
from threadmark.store.store import Store

SOURCE = """
#include <mutex>
struct Part { int before[4]; std::mutex lock; };
Part parts[3];
namespace { std::mutex plain; }
static inline void take(int i) { parts[i].lock.lock(); parts[i].lock.unlock(); }
[[gnu::noinline]] void outer(int i) { take(i); plain.lock(); plain.unlock(); }
int main(int count, char**) { outer(count % 3); }
"""


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lines of a record as the recorder prints them."""
    monkeypatch.chdir(tmp_path)
    lock = waits("mutex", 1, "Cache::get worker", MAIN + 1)
    made = Made().thread(MAIN, [lock, works()]).thread(MAIN + 1, works(), "main")
    path = tmp_path / "a.tmr"
    path.write_text("\n".join(made.thing(1, "mutex").text()), encoding="ascii")
    return path


def say(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    """The output of a command line."""
    assert cli.main([*words, "--store", "s.db"]) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def test_a_record_becomes_a_run_that_every_command_takes(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(say(capsys, "explain", str(record), "--json"))
    assert (found["schema"], found["version"]) == ("threadmark.explain", 1)
    assert found["causes"][0]["category"] == "mutex"
    assert json.loads(say(capsys, "show", "--json")) == found
    assert json.loads(say(capsys, "export")) == found
    assert "waits for a lock" in say(capsys, "show")
    assert "[mutex]" in say(capsys, "export", "--format", "collapsed")
    profile = json.loads(say(capsys, "export", "--format", "speedscope"))
    assert sum(profile["profiles"][0]["weights"]) == profile["profiles"][0]["endValue"]
    say(capsys, "explain", str(record))
    assert "Causes:" in say(capsys, "compare", "1", "2")
    with Store.open(Path("s.db"), create=False) as store:
        assert store.run(1).machine["commit"] == host.commit()
    say(capsys, "explain", str(record), "--to", "0.1")
    assert "After is a part of a record: to 0.1 s." in say(capsys, "compare", "1", "3")
    say(capsys, "report", "1")
    page = Path("report-s-1.html").read_text(encoding="utf-8")
    assert "<title>Threadmark: run 1</title>" in page
    assert "waits for a lock" in page.lower()


def test_a_record_that_is_not_there_is_called_one(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "explain", "missing.tmr", status=2)
    assert "There is no record missing.tmr; check its path." in said


def test_what_cannot_be_explained_is_one_sentence(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, sentence in (
        ((), "Name a program"),
        (("--jsn", "prog"), "explain has no option --jsn"),
        (("--", "/nonexistent/prog"), "There is no program /nonexistent/prog"),
        (("--pid", "1", "--", "sh"), "--pid records a process"),
        ((str(record), "--delay", "1"), "are for recording"),
        ((str(record), "--no-follow"), "are for recording"),
        (("--duration", "-1", "--", "sh"), "--duration takes"),
        ((str(record), "--load", "true"), "are for recording"),
        (("--ready", " ", "--", "sh"), "--ready needs a value"),
        (("--stop", "TERM", "--", "sh"), "--stop needs --load"),
        (("--stop", "NONE", "--load", "true", "--", "sh"), "There is no signal NONE"),
        (("--stop", "INT", "--load", "true", "--pid", "1"), "leave it or --pid out"),
        ((str(record), "--from", "2", "--to", "1"), "--to 1 is not after --from 2"),
        ((str(record), "--to", "0"), "--to 0 is not after --from 0"),
        ((str(record), "--from", "-1"), "--from takes seconds"),
        ((str(record), "--from", "9"), "The recording lasts 0.4 s"),
        ((str(record), "--thread", "reader"), "No thread is named reader; the names are 100, 101."),
    ):
        assert sentence in say(capsys, "explain", *words, status=2)
    record.write_text('{"kind":"record","version":2}\n', encoding="ascii")
    assert "has version 2" in say(capsys, "explain", str(record), status=2)
    assert not Path("s.db").exists()


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_children_are_recorded_unless_that_is_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("sh", "-c", "seq 20000000 | wc -l > lines; true")
    assert cli.main(["explain", "--store", "s.db", "--", *command]) == 0
    capsys.readouterr()
    threads = load(Path("explain-s-1.tmr")).threads.values()
    assert len({each.process for each in threads}) == 3
    assert {each.process for each in threads if each.tid == each.process} | {0} == {
        each.process for each in threads
    }
    assert cli.main(["explain", "--store", "s.db", "--no-follow", "--", *command]) == 0
    assert "record them with --follow" in " ".join(capsys.readouterr().out.split())
    assert {each.process for each in load(Path("explain-s-2.tmr")).threads.values()} == {0}


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_functions_inlined_ones_and_members_have_their_names(tmp_path: Path) -> None:
    source, program = tmp_path / "a.cpp", tmp_path / "a"
    source.write_text(SOURCE, encoding="ascii")
    line = ["g++", "-O2", "-g", str(source), "-o", str(program), "-pthread"]
    subprocess.run(line, check=True)
    table = subprocess.run(["nm", "-C", str(program)], check=True, capture_output=True, text=True)
    at = {name: int(a, 16) for a, _, name in (e.split(None, 2) for e in table.stdout.splitlines()
                                              if e[0] != " ")}  # fmt: skip
    file = File(Module(str(program), "", 0x1000_0000, 0x1001_0000, 0))
    assert file.datum(at["parts"] + 2 * 56 + 16) == ("parts[2].lock", "a.cpp:4")
    assert file.datum(at["(anonymous namespace)::plain"]) == (
        "(anonymous namespace)::plain", "a.cpp:5")  # fmt: skip
    seen = {
        tuple(frame.name for frame in file.functions(at["outer(int)"] + offset))
        for offset in range(64)
    }
    assert any(names[-2:] == ("take", "outer") for names in seen)
    subprocess.run(["strip", str(program)], check=True)
    bare = File(Module(str(program), "", 0x1000_0000, 0x1001_0000, 0))
    [frame] = bare.functions(at["outer(int)"])
    assert frame.name == f"a+{at['outer(int)']:#x}"
    gone = File(Module(str(program), "00" * 20, 0x1000_0000, 0x1001_0000, 0))
    assert gone.changed


def test_a_function_of_a_run_is_shown_with_its_waits(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(capsys, "explain", str(record))
    name = say(capsys, "export", "--format", "collapsed").partition(";[mutex]")[0]
    assert "waits in itself: mutex" in say(capsys, "show", "--function", name)
    found = json.loads(say(capsys, "show", "--function", name, "--json"))
    assert found["waiting_us"]["for"] == {"mutex": found["waiting_us"]["all"]}
    assert "has a function nothing" in say(capsys, "show", "--function", "nothing", status=2)

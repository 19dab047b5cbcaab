"""explain analyses records without the program, by the symbols and code that they carry."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from threadmark import cli
from threadmark.kinds.explain.analysis.recording import Code, Module, Symbol
from threadmark.kinds.explain.carried import Carried
from threadmark.kinds.explain.elf import Elf
from threadmark.kinds.explain.mapped import File

SOURCE = """
#include <atomic>
#include <mutex>
#include <thread>
std::mutex tally_mutex;
static std::atomic<long> hits;
long sum = 0;
[[gnu::noinline]] void tally(int i) {
  const std::lock_guard<std::mutex> lock(tally_mutex);
  for (int k = 0; k < 2000; ++k) sum = (sum ^ (sum >> 7)) * 31 + i;
}
[[gnu::noinline]] void hit(int i) { for (int k = 0; k < 2000; ++k) hits += i; }
static void work() { for (int i = 0; i < 20000; ++i) { hit(i); tally(i); } }
int main() { std::thread one(work), other(work); one.join(); other.join(); }
"""
FUNCTION = Symbol(1, 0x100, 0x40, False, "_ZN5Cache3getEi")
OBJECT = Symbol(1, 0x400, 16, True, "_ZL5cache")


def test_a_file_that_is_not_here_has_what_was_carried() -> None:
    module = Module("/nowhere/prog", "ab" * 20, 0x5000, 0x6000, 0, 0x4F00)
    file = File(module, Carried((FUNCTION, OBJECT), (Code(1, 0x110, b"abcdefgh"),)))
    assert file.changed
    assert [each.name for each in file.functions(0x13F)] == ["Cache::get"]
    assert [each.name for each in file.functions(0x140)] == ["prog+0x140"]
    assert file.datum(0x408) == ("cache+8", "prog+0x408")
    assert file.datum(0x410) is None
    assert file.carried.code(0x114, 2, 2) == (0x112, b"cdef")
    assert file.carried.code(0x200, 2, 2) == (0x200, b"")


def test_a_file_without_a_build_id_is_known_by_its_code() -> None:
    elf = Elf(Path(sys.executable).resolve())
    at = elf.loads[1][0]
    first, content = elf.code(at, 0, 16)
    module = Module(sys.executable, "", 0x5000, 0x6000, 0, 0x4F00)
    same, other = Code(1, first, content), Code(1, first, bytes(16))
    assert content != bytes(16)
    assert not File(module, Carried((FUNCTION,), (same,))).changed
    assert File(module, Carried((FUNCTION,), (same, other))).changed


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_a_program_that_is_gone_has_the_same_causes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cpp").write_text(SOURCE, encoding="ascii")
    line = ["g++", "-std=c++17", "-O2", "-pthread", "a.cpp", "-o", "prog"]
    subprocess.run(line, check=True)
    assert cli.main(["explain", "--json", "--store", "s.db", "--", "./prog"]) == 0
    here = json.loads(capsys.readouterr().out)
    Path("prog").rename("gone")
    assert cli.main(["explain", "--json", "--store", "s.db", "explain-s-1.tmr"]) == 0
    away = json.loads(capsys.readouterr().out)
    assert {"tally_mutex", "hits"} <= {each["name"] for each in here["causes"]}
    assert here["causes"] == away["causes"]
    assert any("not here as it was recorded" in each for each in away["limits"])
    # explain must not take another program at the path for the recorded one.
    shutil.copy("/bin/true", "prog")
    assert cli.main(["explain", "--json", "--store", "s.db", "explain-s-1.tmr"]) == 0
    assert json.loads(capsys.readouterr().out)["causes"] == here["causes"]


@pytest.mark.parametrize("wrong", ["0g", "abc", 5])
def test_code_that_is_no_code_is_one_sentence(
    wrong: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "a.tmr"
    lines = ({"kind": "record", "version": 1, "command": []}, {"kind": "code", "bytes": wrong})
    record.write_text("\n".join(map(json.dumps, lines)), encoding="ascii")
    assert cli.main(["explain", "--store", str(tmp_path / "s.db"), str(record)]) == 2
    assert "line 2, 'bytes' is not" in capsys.readouterr().err

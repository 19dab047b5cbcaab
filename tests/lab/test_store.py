"""The store keeps every row that it accepted, whatever happens to the lab, and explains each
refusal."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from lab_support import cell, lab_environment
from threadmark.model.cell import Row, Status
from threadmark.model.effort import IMPORTED
from threadmark.model.errors import LabError
from threadmark.store import schema
from threadmark.store.store import Store

ROW = Row(
    cell=cell(arguments=(("n", "3"),)),
    round=2,
    status=Status.OK,
    sample_ns=12.5,
    repeats=({"event": "repeat", "answer": "\ud800 ß", "wall_ns": 10**30},),
    command=("a", "b c"),
    started_at="2020-01-01T00:00:00+00:00",
    disturbed="load",
    facts={"exit_code": 0, "list": [1, None]},
)
BAD = Row(cell=cell(threads=2), round=0, status=Status.CRASHED, reason="bytes \udcff in a path")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "store.db"


def start(store: Store) -> int:
    return store.start_run("quick", 1, {"programs": ["fib"]}, {"processors": 2})


def test_what_goes_in_comes_out(path: Path) -> None:
    with Store.open(path, create=True) as store:
        run = start(store)
        store.append(run, ROW)
        store.append(run, BAD)
        store.add_note(run, "a note")
        store.add_description(run, "gcc", {"program": "fib", "backend": "tbb", "x": 1})
        store.add_description(run, "gcc", {"program": "fib", "backend": "tbb", "x": 2})
    with Store.open(path, create=False) as store:
        assert store.rows(run)[0] == ROW
        assert [each.cell.threads for each in store.rows(run, status="crashed")] == [2]
        assert store.rows(run, program="fib", threads=1) == [ROW]
        assert store.rows(run, program="sort") == []
        [description] = store.descriptions(run)
        assert (description["x"], description["platform_name"]) == (2, "gcc")
        found = store.run("last")
        assert (found.notes, found.finished_at, found.request) == (
            ("a note",),
            "",
            {"programs": ["fib"]},
        )
        store.finish(run)
        assert store.run(str(run)).finished_at
        assert store.runs() == [store.run(run)]


def test_a_store_of_schema_1_is_read_as_it_is_and_brought_up_to_date_by_writing(
    path: Path,
) -> None:
    with Store.open(path, create=True) as store:
        run = start(store)
        store.append(run, ROW)
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE document")
        db.execute("PRAGMA user_version = 1")
    with Store.open(path, create=False) as store:
        assert store.load(run).documents == {}
    with Store.open(path, create=True) as store:
        store.add_document(run, "answer", {"a": 1})
        store.add_document(run, "answer", {"a": [2, "ß"]})
        assert store.load(run).documents == {"answer": {"a": [2, "ß"]}}
        assert store.rows(run) == [ROW]


def test_an_unknown_run_is_named_with_those_that_exist(path: Path) -> None:
    with Store.open(path, create=True) as store:
        with pytest.raises(LabError, match="no run yet"):
            store.run("last")
        start(store)
        for wrong in (2, "2", "-1", "x", "٣", "9" * 40):
            with pytest.raises(LabError, match=r"There is no run .*one of: 1"):
                store.run(wrong)


def test_a_failed_transaction_leaves_nothing(path: Path) -> None:
    with Store.open(path, create=True) as store:
        run = start(store)
        with pytest.raises(AttributeError):
            store.append_all(run, [ROW, None])  # type: ignore[list-item]
        assert store.rows(run) == []
        store.append(run, ROW)


def test_what_is_written_at_once_is_kept_as_a_whole_or_not_at_all(path: Path) -> None:
    with Store.open(path, create=True) as store:
        with pytest.raises(KeyboardInterrupt), store.at_once():
            run = start(store)
            store.append(run, ROW)
            raise KeyboardInterrupt
        assert store.runs() == []
        with store.at_once():
            run = start(store)
            store.append(run, ROW)
            with Store.open(path, create=False) as other:
                assert other.runs() == []
        assert store.rows(run) == [ROW]


def test_neither_an_import_nor_a_run_that_is_measured_hides_one_to_resume(path: Path) -> None:
    with Store.open(path, create=True) as store:
        killed = start(store)
        store.start_run(IMPORTED, 0, {"import": "a.csv"}, {})
        assert store.unfinished(("quick", IMPORTED)) == killed
        code = f"""
import os, time
from pathlib import Path
from threadmark.store.store import Store
with Store.open(Path({str(path)!r}), create=False) as store:
    print(store.start_run("quick", 1, {{}}, {{}}), flush=True)
    time.sleep(60)
"""
        line = [sys.executable, "-c", code]
        lab = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=lab_environment())
        try:
            assert lab.stdout is not None
            measured = int(lab.stdout.readline())
            assert store.unfinished(("quick", IMPORTED)) == killed
            store.finish(killed)
            assert store.unfinished(("quick", IMPORTED)) == measured  # take_over names the owner
        finally:
            lab.kill()
            lab.communicate()


def test_a_store_that_is_not_there_is_not_made_by_looking(path: Path) -> None:
    with pytest.raises(LabError, match=r"no store at .*measure first"):
        Store.open(path, create=False)
    assert not path.parent.exists()


def test_a_newer_store_is_refused_with_the_remedy(path: Path) -> None:
    with Store.open(path, create=True):
        pass
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    for create in (True, False):
        with pytest.raises(LabError, match=r"newer Threadmark .*update this checkout"):
            Store.open(path, create=create)


@pytest.mark.parametrize("content", [b"not a database" * 100, b"\0" * 5000, b"SQLite format 3\0x"])
def test_another_file_is_not_taken_for_a_store(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    for create in (True, False):
        with pytest.raises(LabError, match="--store"):
            Store.open(path, create=create)
    assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE x (y)")
    with pytest.raises(LabError, match="another program"):
        Store.open(path, create=True)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    for create in (True, False):
        with pytest.raises(LabError, match="--store"):
            Store.open(tmp_path, create=create)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="cannot be made"):
        Store.open(tmp_path / "file" / "store.db", create=True)
    with pytest.raises(LabError, match="--store"):
        Store.open(Path("/proc/store.db"), create=True)


def test_why_a_store_cannot_be_opened_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    for create in (True, False):
        with pytest.raises(LabError, match=r"pipe\.db is no regular file, so it cannot be a store"):
            Store.open(tmp_path / "pipe.db", create=create)
    monkeypatch.setattr(os, "access", lambda *_: False)  # as on a read-only file system
    with pytest.raises(LabError, match="cannot be opened, because /proc is read-only; name"):
        Store.open(Path("/proc/store.db"), create=True)


def test_a_full_disk_is_said_and_loses_no_earlier_row(path: Path) -> None:
    with Store.open(path, create=True) as store:
        run = start(store)
        store.append(run, ROW)
    code = f"""
import resource, signal
from pathlib import Path
from threadmark.model.errors import LabError
from threadmark.store.store import Store
from dataclasses import replace
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store.open(Path({str(path)!r}), create=True) as store:
    row = replace(store.rows({run})[0], facts={{"x": "y" * 5000}})
    try:
        while True:
            store.append({run}, row)
    except LabError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env=lab_environment(),
    )
    assert "make room" in done.stdout or "free space" in done.stdout, done.stderr
    with Store.open(path, create=True) as store:
        assert store.rows(run)[0] == ROW
        store.append(run, ROW)


def test_a_killed_writer_keeps_every_row_that_append_returned_for(path: Path) -> None:
    code = f"""
from pathlib import Path
from threadmark.model.cell import *
from threadmark.store.store import Store
store = Store.open(Path({str(path)!r}), create=True)
run = store.start_run("quick", 1, {{}}, {{}})
for number in range(10 ** 6):
    store.append(run, Row(Cell("p", "quick", "b", "v", "x", "glibc", 1), number, Status.OK))
    print(number, flush=True)
"""
    writer = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=lab_environment()
    )
    assert writer.stdout is not None
    for _ in range(20):
        last = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    last = max([last, *(int(line) for line in writer.stdout if line.endswith("\n"))])
    writer.wait()
    with Store.open(path, create=True) as store:
        rounds = [each.round for each in store.rows(1)]
        assert rounds[: last + 1] == list(range(last + 1))
        assert store.unfinished(("quick", IMPORTED)) == 1
        store.take_over(1)  # the owner of the run is dead


def test_the_last_run_is_one_that_was_measured_if_there_is_one(path: Path) -> None:
    with Store.open(path, create=True) as store:
        imported = store.start_run(IMPORTED, 0, {}, {})
        assert store.run("last").id == imported
        measured = start(store)
        newer = store.start_run(IMPORTED, 0, {}, {})
        assert store.run("last").id == measured
        assert store.run(newer).id == newer


def test_a_run_that_is_being_measured_cannot_be_taken_over(path: Path) -> None:
    with Store.open(path, create=True) as store:
        run = start(store)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with Store.open(path, create=False) as other:
                    assert other.measuring() == [os.getppid()]
                    other.take_over(run)
            except LabError as error:
                status = 0 if "being measured by process" in str(error) else 2
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_many_labs_write_one_store(path: Path) -> None:
    code = f"""
from pathlib import Path
from threadmark.model.cell import *
from threadmark.store.store import Store
with Store.open(Path({str(path)!r}), create=True) as store:
    run = store.start_run("quick", 1, {{}}, {{}})
    for number in range(30):
        store.append(run, Row(Cell("p", "quick", "b", "v", "x", "glibc", 1), number, Status.OK))
"""
    labs = [subprocess.Popen([sys.executable, "-c", code], env=lab_environment()) for _ in range(5)]
    assert [each.wait() for each in labs] == [0] * 5
    with Store.open(path, create=False) as store:
        runs = [run.id for run in store.runs()]
        assert [len(store.rows(run)) for run in runs] == [30] * 5


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_store_in_a_read_only_folder_can_be_looked_at(path: Path) -> None:
    with Store.open(path, create=True) as store:
        run = start(store)
        store.append(run, ROW)
    path.parent.chmod(0o555)
    for each in path.parents:
        if each.stat().st_uid == os.getuid() and each != path.parent:
            each.chmod(each.stat().st_mode | 0o055)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setuid(65534)
            with Store.open(path, create=False) as store:
                status = 0 if store.rows(run) == [ROW] else 2
                try:
                    store.append(run, ROW)
                    status = 3
                except LabError:
                    pass
            try:
                Store.open(path.with_name("new.db"), create=True)
                status = 4
            except LabError:
                pass
        finally:
            os._exit(status)
    path.parent.chmod(0o755)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

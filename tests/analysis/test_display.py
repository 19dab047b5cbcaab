"""Output of show, compare, import and export: golden texts at 80 columns, bad input, formats."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from lab.lab_support import store_again
from test_table2 import BLOCK
from threadmark import cli
from threadmark.judge.estimates import Interval
from threadmark.judge.findings import Judged, agreement
from threadmark.judge.verdict import Kind, Verdict
from threadmark.kinds.tasks import judgement, table
from threadmark.kinds.tasks.kind import KIND
from threadmark.model.cell import Cell, Row, Status, Stored
from threadmark.model.errors import LabError
from threadmark.model.places import report_path
from threadmark.present import columns, failures, files, foreign_formats, marks
from threadmark.store.store import Store

GOLDEN = Path(__file__).parent / "golden"
STARTED = "2025-01-02T03:04:05.000+00:00"
SMALL = synthetic.Lab(programs=("alignment", "fib", "health", "qap", "sort", "uts"))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A store with one synthetic run of fixed date."""
    path = tmp_path / "store.db"
    with Store.open(path, create=True) as store:
        synthetic.fill(store, SMALL)
        with store._writing() as db:
            db.execute("UPDATE run SET started_at = ?", (STARTED,))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a command."""
    status = cli.main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def check_golden(name: str, text: str) -> None:
    """Compare with the stored text; UPDATE_GOLDEN=1 stores the new text."""
    path = GOLDEN / f"{name}.txt"
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns, no colour."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")


def text_of(database: Path, width: int, *, utf8: bool) -> str:
    """The matrix as text."""
    with Store.open(database, create=False) as store:
        stored = store.load(1)
        found = KIND.table(stored, KIND.judge(stored), width, utf8=utf8)
    return "\n".join(line.plain for line in found)


def test_show_prints_the_matrix(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "show", "--store", database)
    assert (status, err) == (0, "")
    check_golden("show", out)


def test_a_run_of_serial_programs_alone_says_so(database: Path) -> None:
    with Store.open(database, create=False) as store:
        stored = store.load(1)
    rows = [row for row in stored.rows if row.cell.backend == "serial"]
    serial = replace(stored, rows=rows)
    shown = table.lines(serial, KIND.judge(serial), 80, utf8=True)
    assert shown[1].plain == "Nothing of this run may run in parallel."
    assert not any("Speed-up" in line.plain for line in shown)


def test_compare_counts_the_equal_verdicts_of_two_runs(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_again(database)
    status, out, _ = run(capsys, "compare", "1", "2", "--store", database)
    assert status == 0
    with Store.open(database, create=False) as store:
        judged = judgement.judge(store.rows(1), store.descriptions(1))
    same = agreement(judged, judged)
    assert same.of > same.equal > 0
    words = " ".join(out.split())
    assert f"of {same.of} that can differ {same.equal} are definite and equal" in words
    assert f"unclear in A {same.unclear[0]}, in B {same.unclear[1]}" in words
    at = next(i for i, each in enumerate(judged) if each.verdict.kind is Kind.SCALES)
    wrong = replace(judged[at], verdict=Verdict(Kind.WRONG, "wrong"))
    found = agreement(judged, [*judged[:at], wrong, *judged[at + 1 :]])
    assert (found.equal, found.of) == (same.equal - 1, same.of)
    assert (judged[at].verdict.label, "wrong") in [each[1:] for each in found.differ]


def test_compare_prints_ratios(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "compare", "tbb", "openmp", "--store", database)
    assert (status, err) == (0, "")
    check_golden("compare", out)


def test_compare_as_json_keeps_its_shape(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs that read the document rely on these names: a change needs another schema."""
    words = ["compare", "tbb", "openmp", "--programs", "qap", "sort", "--store", database]
    _, out, _ = run(capsys, *words, "--json")
    document = json.loads(out)
    assert document["schema"] == "threadmark/compare/1"
    assert set(document) == {
        "schema", "version", "a", "b", "level", "layout", "drift", "pairs", "skipped", "overall",
        "different_by_chance", "fail_above", "verdicts",
    }  # fmt: skip
    assert {pair["a"]["program"] for pair in document["pairs"]} == {"qap", "sort"}
    pair = document["pairs"][0]
    assert set(pair) == {
        "a", "b", "ratio", "rounds", "drift", "layout", "different", "exceeds_layout", "fails",
        "words",
    }  # fmt: skip
    assert set(pair["ratio"]) == {"low", "estimate", "high"}
    assert pair["rounds"] == {"a": 6, "b": 6}
    store_again(database)
    _, out, _ = run(capsys, "compare", "1", "2", "--store", database, "--json")
    assert {"equal", "of", "differ"} <= set(json.loads(out)["verdicts"])


@pytest.mark.parametrize("sides", [("tbb", "openmp"), ("tbb", "std_async"), ("serial", "tbb")])
def test_compare_says_the_same_of_a_and_b_as_of_b_and_a(
    database: Path, capsys: pytest.CaptureFixture[str], sides: tuple[str, str]
) -> None:
    found = []
    for a, b in (sides, sides[::-1]):
        _, out, _ = run(
            capsys, "compare", a, b, "--every-thread-count", "--json", "--store", database
        )
        found.append(json.loads(out)["pairs"])
    forth = {(str(pair["a"]), str(pair["b"])): pair["ratio"] for pair in found[0]}
    back = {(str(pair["b"]), str(pair["a"])): pair["ratio"] for pair in found[1]}
    assert forth.keys() == back.keys()
    for cells, ratio in forth.items():
        if ratio["high"] is None:
            assert back[cells]["low"] == 0
        else:
            assert ratio["high"] * back[cells]["low"] == pytest.approx(1)
        assert ratio["estimate"] * back[cells]["estimate"] == pytest.approx(1)


@pytest.mark.parametrize(("second", "may_move"), [("aa", False), ("bb", True), (None, True)])
def test_runs_of_other_or_unknown_executables_must_differ_by_more_than_layout(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    second: str | None,
    may_move: bool,
) -> None:
    path = tmp_path / "two.db"
    cell = Cell("p", "quick", "tbb", "futures", "gcc", "glibc", 2)
    with Store.open(path, create=True) as store:
        for digest in ("aa", second):
            known = {"executables": {"gcc/p.tbb": digest}} if digest else {}
            number = store.start_run("quick", 1, {}, known)
            store.append_all(number, [Row(cell, i, Status.OK, sample_ns=1e6) for i in range(3)])
            store.finish(number)
    _, out, _ = run(capsys, "compare", "1", "2", "--json", "--store", path)
    (pair,) = json.loads(out)["pairs"]
    assert (pair["layout"] > 0) == may_move


@pytest.mark.parametrize(
    ("sides", "percent", "status"),
    [
        (("openmp", "tbb"), "5", 1),  # health takes 35 % more under openmp
        (("openmp", "tbb"), "5 %", 1),
        (("openmp", "tbb"), "60", 0),
        (("tbb", "openmp"), "0", 0),  # faster everywhere
    ],
)
def test_compare_fails_above_what_is_allowed(
    database: Path,
    capsys: pytest.CaptureFixture[str],
    sides: tuple[str, str],
    percent: str,
    status: int,
) -> None:
    words = ["compare", *sides, "--programs", "health", "sort", "--store", database]
    found, out, _ = run(capsys, *words, "--fail-above", percent)
    assert found == status
    number, of = (2, " (health)") if status else (0, "")
    assert f"\n{number} pairs are slower by more than {percent.rstrip(' %')} %{of}.\n" in out
    assert "\n0 cells of A failed where B has a time.\n" in out
    found, out, _ = run(capsys, *words, "--fail-above", percent, "--json")
    assert found == status
    assert any(pair["fails"] for pair in json.loads(out)["pairs"]) == bool(status)


def test_compare_fails_where_a_times_out_and_b_has_a_time(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "boost_fiber", "tbb", "--programs", "qap", "--fail-above", "5"]
    status, out, _ = run(capsys, *words, "--store", database)
    assert status == 1
    assert "failed where B has a time (qap).\n" in out
    status, out, _ = run(capsys, *words, "--store", database, "--json")
    assert status == 1
    assert any(each["fails"] for each in json.loads(out)["skipped"])


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("utf8", [True, False])
def test_no_line_is_wider_than_the_terminal(database: Path, width: int, utf8: bool) -> None:
    text = text_of(database, width, utf8=utf8)
    assert max(map(len, text.splitlines())) <= width
    assert utf8 or text.isascii()
    for program in SMALL.programs:
        assert program in text


def test_the_reach_of_a_speed_up_covers_its_interval_and_no_whole_per_cent_more(
    filled: Store,
) -> None:
    timed = 0
    for judged in judgement.judge(filled.rows(1), filled.descriptions(1)):
        said = table.reach(judged, utf8=True)
        found = judged.verdict.speedup
        if found is None or marks.MARKS[judged.verdict.kind].word:
            assert not said
            continue
        timed += 1
        share = int(said.removeprefix("±")) / 100
        farther = max(found.high / found.estimate, found.estimate / found.low) - 1
        assert farther <= share < farther + 0.01
    assert timed > 20


@pytest.mark.parametrize(
    ("low", "estimate", "high", "said"),
    [
        (1.88, 1.93, 1.98, "●1.93±3"),
        (1.60, 1.93, 2.20, "●1.9±21"),
        (0.14, 0.16, 0.18, "●0.16±15"),
        (0.0, 1.93, math.inf, "●1.9±?"),
        (1.93, 1.93, 1.93, "●1.93"),
    ],
)
def test_a_field_shows_no_digit_that_its_interval_makes_meaningless(
    low: float, estimate: float, high: float, said: str
) -> None:
    found = Interval(low, estimate, high)
    verdict = Verdict(Kind.SCALES, "scales to 2", found, None, 2, "", {2: found})
    cell = Cell("p", "quick", "tbb", "futures", "gcc", "glibc", 0)
    judged = Judged(cell, verdict, None, {}, {})
    assert table.figure(judged, utf8=True) + table.reach(judged, utf8=True) == said


def test_every_speed_up_of_the_matrix_stands_with_its_interval(database: Path) -> None:
    for utf8, sign in ((True, "±"), (False, "~")):
        text = text_of(database, 80, utf8=utf8)
        assert f"{sign}3: its 95 % interval" in " ".join(text.split())
        figures = re.findall(r"(?<=[ ●◐○▼│?#+=|-])x?\d+\.\d+\S*", text.split("scales: at")[0])
        with_units = [each for each in figures if not each.endswith(("s", ",", "."))]
        assert len(with_units) > 20
        assert all(sign in each for each in with_units)


def test_a_sign_in_the_place_of_a_figure_is_explained_where_it_stands(database: Path) -> None:
    unbounded, untimed = "too few samples for a limit", "no serial time was measured"
    text = " ".join(text_of(database, 200, utf8=True).split())
    assert (unbounded in text) == ("±?" in text.replace("±?: ", ""))
    assert untimed not in text
    with Store.open(database, create=False) as store, store._writing() as db:
        db.execute("DELETE FROM row WHERE round > 0")  # one sample has no limits
    text = " ".join(text_of(database, 200, utf8=True).split())
    assert f"±?: {unbounded}." in text
    with Store.open(database, create=False) as store, store._writing() as db:
        db.execute("DELETE FROM row WHERE backend = 'serial'")
    assert untimed in " ".join(text_of(database, 200, utf8=True).split())


def test_without_colour_and_utf8_every_kind_has_a_sign_of_its_own() -> None:
    for choose in (lambda m: m.word or m.symbol, lambda m: m.word or m.plain):
        signs = [choose(mark) for mark in marks.MARKS.values()]
        assert len(set(signs)) == len(signs)
        assert all(signs)


def test_a_narrow_terminal_folds_between_backends(tmp_path: Path) -> None:
    path = tmp_path / "wide.db"
    backends = {"aa": 5, "bb": 5, "cc": 3}
    with Store.open(path, create=True) as store:
        number = store.start_run("quick", 1, {}, {})
        for backend, count in backends.items():
            for variant in range(count):
                cell = Cell("p", "quick", backend, f"v{variant}", "gcc", "glibc", 2)
                store.append(number, Row(cell, 0, Status.CRASHED, "said nothing"))
    lines = [line.split() for line in text_of(path, 80, utf8=True).splitlines()]
    heads = [words for words in lines if words and set(words) <= set(backends)]
    assert heads == [["aa", "bb"], ["cc"]]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_of_rows_and_columns_are_never_cut(tmp_path: Path, width: int) -> None:
    variants = ("parallel_for", "parallel_for_each", "unbroken" * 3, "v")
    forms = ("streams", "streams_imbue", "streams_imbue_utf8", "x" * 90 + "1", "x" * 90 + "2")
    path = tmp_path / "long.db"
    with Store.open(path, create=True) as store:
        number = store.start_run("quick", 1, {}, {})
        for form in forms:
            given = (("entities", "500"), ("form", form))
            for backend in ("boost_fiber_and_more", "tbb"):
                for variant in variants:
                    cell = Cell("mapping", "custom", backend, variant, "gcc", "glibc", 2, given)
                    store.append(number, Row(cell, 0, Status.CRASHED, "said nothing"))
    text = text_of(path, width, utf8=True)
    assert max(map(len, text.splitlines())) <= width
    block = text.split("gcc · custom · glibc\n")[1].split("\n\n")[0]
    rows = re.split(r"^(?=mapping)", block.split("scale")[0], flags=re.MULTILINE)[1:]
    names = ["".join(re.sub("- +crash.*", "", row).split()) for row in rows]
    assert names == [f"mappingentities=500form={form}" for form in forms]


@pytest.mark.parametrize("name", ["v", "fork_join", "parallel_for_each", "unbroken" * 3, ""])
@pytest.mark.parametrize("room", [5, 9, 20])
def test_a_head_has_all_of_each_name(name: str, room: int) -> None:
    lines = list(columns.heads([(name, room, "  "), ("next", room, " ")]))
    assert "".join(line[2 : 2 + room].strip() for line in lines) == name
    assert lines[0][3 + room :].strip() == "next"
    assert len({len(line) for line in lines}) == 1
    if room >= columns.longest_part(name):
        assert all(line[2 : 2 + room].strip().endswith("_") for line in lines[:-1] if name)


def test_unclear_verdicts_are_explained(database: Path) -> None:
    text = " ".join(text_of(database, 80, utf8=True).split())
    assert re.search(
        r"unclear: \d+: speed-up on 2 threads is .* on both sides of (1\.10|0\.91)", text
    )


def test_a_failure_names_the_cells_that_failed_and_no_others() -> None:
    failed = {
        ("fork_join", "floorplan", 2), ("futures", "fft", 2), ("futures", "fib", 2),
        ("futures", "floorplan", 2), ("futures", "qap", 1), ("futures", "qap", 2),
        ("fork_join", "uts", 1), ("futures", "uts", 1),
    }  # fmt: skip
    rows = [
        Row(Cell(program, "quick", "openmp", variant, "gcc", "glibc", p), 0, Status.TIMEOUT, "late")
        for variant, program, p in sorted(failed)
    ]
    found = failures.grouped(judgement.judge([*rows, rows[0]]))
    named = [
        (column.removeprefix("openmp:"), program, p)
        for each in found
        for column in each.columns
        for program in each.programs
        for p in each.threads
    ]
    assert sorted(named) == sorted(failed)
    assert {(each.columns, each.programs, each.threads) for each in found} == {
        (("openmp:fork_join",), ("floorplan",), (2,)),
        (("openmp:fork_join", "openmp:futures"), ("uts",), (1,)),
        (("openmp:futures",), ("qap",), (1, 2)),
        (("openmp:futures",), ("fft", "fib", "floorplan"), (2,)),
    }
    assert sum(each.processes for each in found) == len(rows) + 1


def test_a_reason_names_its_program_as_a_word_only() -> None:
    rows = [
        Row(Cell(name, "quick", "boost_fiber", "futures", "gcc", "glibc", 1), 0, Status.UNAVAILABLE,
            f"{name} needs libfiber")
        for name in ("fib", "qap")
    ]  # fmt: skip
    assert [each.programs for each in failures.grouped(judgement.judge(rows))] == [("fib", "qap")]


def test_an_empty_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.db"
    with Store.open(path, create=True) as store:
        store.start_run("quick", 1, {}, {})
    status, out, _ = run(capsys, "show", "--store", path)
    assert status == 0
    assert "unfinished" in out
    assert "Nothing was measured" in out


def test_escapes_in_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "hostile.db"
    cell = Cell("\x1b[2Jfib\n", "quick", "s\x07erial", "plain", "g\x9bcc", "glibc", 1)
    with Store.open(path, create=True) as store:
        number = store.start_run("quick", 1, {}, {})
        store.append(number, Row(cell, 0, Status.CRASHED, "said \x1b]0;title\x07"))
        store.add_note(number, "a \x1b[31mnote")
    assert not set(text_of(path, 80, utf8=True)) & set("\x1b\x07\x9b")


def test_show_json_gives_every_row_with_its_status(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, "show", "--json", "--store", database)
    document = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    with Store.open(database, create=False) as store:
        rows = store.rows(1)
    assert len(document["rows"]) == len(rows)
    assert [r["status"] for r in document["rows"]] == [r.status.value for r in rows]
    labels = {(v["program"], v["backend"], v["variant"]): v["label"] for v in document["verdicts"]}
    assert labels["fib", "std_async", "async"] == "timeout"
    assert document["run"]["id"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "7"], "There is no run '7'"),
        (["show", "--table2"], "import results_2014-09.csv"),
        (["show", "1", "--table2"], "not run 1 of this store was imported"),
        (["compare", "1", "tbb"], "compare two runs or two sides"),
        (["compare", "1", "2"], "There is no run '2'"),
        (["compare", "1", "1"], "'1' and '1' are the same; compare two runs"),
        (["compare", "last", "1"], "'last' and '1' are the same; compare two runs"),
        (["compare", "tbb", "tbb"], "'tbb' and 'tbb' are the same"),
        (["compare", "tbb", "openmp", "--programs", "fob"], "no program 'fob'.*alignment, fib"),
        (["compare", "tbb", "openmp", "--fail-above", "x"], "percentage such as 5 or 2.5%, not"),
        (["compare", "tbb", "openmp", "--fail-above=-5"], "percentage such as 5 or 2.5%, not"),
        (["compare", "tbb", "openmp", "--fail-above", "nan"], "percentage such as 5 or 2.5%, not"),
        (
            ["compare", "tbb", "boost_fiber", "--programs", "qap", "--fail-above", "5"],
            "Nothing could be compared, so --fail-above cannot be answered; .*"
            "B has no time: crashed.",
        ),
        (["compare", "tbb", "tbc"], "no backend, variant, platform or allocator 'tbc'"),
        (["export", "--format", "xml"], "xml"),
        (["export", "--json"], "--json"),
        (["export", "--output", "result.txt"], "does not say the format"),
        (["export", "--output", "/nonexistent/x.csv"], "cannot be written"),
        (["report", "--output", "/nonexistent/x.html"], "cannot be written"),
        (["import", "/nonexistent.csv"], "cannot be read"),
        (["import", "/"], "cannot be read"),
    ],
)
def test_bad_requests_are_one_sentence_and_status_2(
    database: Path, capsys: pytest.CaptureFixture[str], arguments: Sequence[str], said: str
) -> None:
    status, out, err = run(capsys, *arguments, "--store", database)
    assert (status, out) == (2, "")
    assert re.search(said, err)
    assert err.count("\n") == 1


def test_an_import_can_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, store = tmp_path / "r.csv", tmp_path / "s.db"
    source.write_text(BLOCK)
    status, out, _ = run(capsys, "import", source, "--store", store)
    assert status == 0
    assert "75 published medians (0 missing) of 1 of the 14 programs;" in out
    assert f"; ./threadmark show 1 --table2 --store {store} judges them." in out
    _, out, _ = run(capsys, "show", "--table2", "--store", store)
    said = " ".join(out.split())
    assert re.search(r"in \d of 4 cells. The data lack alignment, fft, floorplan", said)
    assert "uts gcc:async:" not in out
    assert "deferred on one core" in run(capsys, "show", "--store", store)[1]
    _, out, _ = run(capsys, "show", "--table2", "--json", "--store", store)
    cells = {(c["program"], c["column"]): c for c in json.loads(out)["cells"]}
    assert cells["fib", "gcc:async"]["ours"] == "no scaling"
    assert cells["uts", "gcc:async"]["ours"] == "not in the data"
    assert json.loads(out)["schema"] == "threadmark/table2/1"


@pytest.mark.parametrize("text", [BLOCK[:-30], BLOCK.replace(":deferred", ':"deferred', 1)])
def test_a_broken_import_leaves_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    source, store = tmp_path / "r.csv", tmp_path / "s.db"
    source.write_text(text)
    assert run(capsys, "import", source, "--store", store)[0] == 2
    assert not store.exists()


def test_csv_has_a_line_for_each_row_and_no_formulas(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.db", create=True) as store:
        number = synthetic.fill(store, SMALL)
        cell = Cell("=cmd()", "quick", "tbb", "futures", "gcc", "glibc", 1)
        store.append(number, Row(cell, 0, Status.CRASHED, '+1, "quoted"\nsecond line'))
        stored = store.load(number)
        rows = stored.rows
    lines = list(csv.DictReader(io.StringIO(foreign_formats.to_csv(stored))))
    assert len(lines) == len(rows)
    assert lines[-1]["program"] == "'=cmd()"
    assert lines[-1]["reason"] == '\'+1, "quoted"\nsecond line'
    assert [line["status"] for line in lines] == [row.status.value for row in rows]


def test_google_benchmark_json_keeps_the_rules_of_its_comparer(filled: Store) -> None:
    rows = filled.rows(1)
    document = json.loads(foreign_formats.to_google_benchmark(filled.load(1)))
    entries = document["benchmarks"]
    ended = [row for row in rows if row.sample_ns is not None]
    assert len(entries) == sum(not row.disturbed for row in ended) < len(ended)
    assert document["context"]["threadmark_left_out"] == {
        "failed": len(rows) - len(ended),
        "disturbed": len(ended) - len(entries),
        "no_cpu_time": 0,
    }
    by_name: dict[str, list[dict[str, object]]] = {}
    for entry in entries:
        assert entry["run_name"] == entry["name"]
        assert (entry["run_type"], entry["time_unit"]) == ("iteration", "ns")
        assert entry["iterations"] == 1
        assert entry["real_time"] > 0
        assert entry["cpu_time"] > 0
        by_name.setdefault(entry["name"], []).append(entry)
    for repeated in by_name.values():
        assert [e["repetition_index"] for e in repeated] == list(range(len(repeated)))
        assert {e["repetitions"] for e in repeated} == {len(repeated)}


def test_google_benchmark_json_holds_nothing_that_was_not_measured(store: Store) -> None:
    cell = Cell("p", "quick", "tbb", "futures", "gcc", "glibc", 2)
    repeat = {"warmup": False, "wall_ns": 5}
    timed = Row(cell, 0, Status.OK, sample_ns=5.0, repeats=({**repeat, "cpu_ns": 8},) * 3)
    number = store.start_run("quick", 1, {}, {"governor": "", "processors": 2})
    run = store.run(number)

    def written(machine: dict[str, object], *rows: Row) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            foreign_formats.to_google_benchmark(Stored(replace(run, machine=machine), rows, []))
        )
        return found

    untimed = replace(timed, repeats=(repeat,))
    document = written({"governor": ""}, timed, untimed)
    (entry,) = document["benchmarks"]
    assert (entry["real_time"], entry["cpu_time"], entry["iterations"]) == (5, 8, 3)
    assert document["context"]["threadmark_left_out"]["no_cpu_time"] == 1
    invented = {"num_cpus", "mhz_per_cpu", "cpu_scaling_enabled", "caches", "load_avg"}
    assert not {*invented, "host_name", "library_build_type"} & set(document["context"])
    known = {"performance": False, "powersave": True}
    for governor, scaling in known.items():
        context = written({"governor": governor, "processors": 4, "load": 0.5}, timed)["context"]
        assert context["cpu_scaling_enabled"] is scaling
        assert (context["num_cpus"], context["load_avg"]) == (4, [0.5])
    with pytest.raises(LabError, match="--format csv or json"):
        written({}, untimed)


def test_google_benchmarks_own_tool_compares_our_export(filled: Store, tmp_path: Path) -> None:
    tool = Path(os.environ.get("GBENCH_COMPARE", "/usr/share/benchmark/compare.py"))
    if not tool.exists():
        pytest.skip("compare.py is not installed: apt-get install libbenchmark-tools")
    other = synthetic.fill(filled, synthetic.Lab(seed=8))
    files = []
    for number in (1, other):
        path = tmp_path / f"{number}.json"
        path.write_text(foreign_formats.to_google_benchmark(filled.load(number)))
        files.append(str(path))
    found = subprocess.run(
        [sys.executable, str(tool), "benchmarks", *files],
        check=False,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    assert "sort/quick/tbb:futures/gcc-libstdc++/glibc/threads:2_pvalue" in found.stdout
    assert "U Test, Repetitions: 6 vs 6" in found.stdout


def test_an_export_replaces_files_only_when_forced_and_at_once(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.csv"
    target.write_text("precious")
    common = ("export", "--store", database, "--output", target)
    status, _, err = run(capsys, *common)
    assert (status, target.read_text()) == (2, "precious")
    assert "--force" in err
    assert run(capsys, *common, "--force")[0] == 0
    assert target.read_text().startswith("run,program")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".out")] == []


@pytest.mark.parametrize("words", [("export", "--format", "json"), ("report",)])
def test_no_result_is_written_over_a_store(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    before = database.read_bytes()
    (tmp_path / "link").symlink_to(database)
    for name in (database, tmp_path / "link"):
        status, _, err = run(capsys, *words, "--store", database, "--force", "--output", name)
        assert (status, database.read_bytes()) == (2, before)
        assert "is a database" in err
        assert "name another file with --output" in err
        for function in (files.check_place, files.check_appendable):
            with pytest.raises(LabError, match="is a database"):
                function(name, "--summary")
        with pytest.raises(LabError, match="is a database"):
            files.append(name, "more", "--summary")
    assert database.read_bytes() == before
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("words", [("export", "--format", "json"), ("report",)])
def test_a_pipe_is_written_to_and_stays(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for function in (files.check_place, files.check_appendable):
        function(pipe, "--output")  # the function does not wait for a reader
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert run(capsys, *words, "--store", database, "--output", pipe)[0] == 0
    reader.join(60)
    assert "fib" in read[0]
    assert pipe.is_fifo()


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    ours, its = os.openpty()  # a device that even a faulty test as root cannot replace
    device, link = Path(os.ttyname(its)), tmp_path / "link"
    link.symlink_to(device)
    for name in (device, link):
        files.check_place(name, "--junit")
        assert files.write_atomically(name, "all", "--junit") == 3
        assert os.read(ours, 9) == b"all"
    assert device.is_char_device()
    assert link.is_symlink()
    for each in (ours, its):
        os.close(each)


def test_what_a_link_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link, target = tmp_path / "link", tmp_path / "folder" / "out.csv"
    link.symlink_to(Path("folder") / "out.csv")
    for text in ("new", "newer"):
        files.check_place(link, "--output")
        files.write_atomically(link, text, "--output")
        assert target.read_text() == text
    assert link.is_symlink()
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(LabError, match="symbolic links"):
        files.write_atomically(tmp_path / "circle", "new", "--output")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "out.csv"
    target.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LabError, match="No space left"):
        files.write_atomically(target, "new", "--output")
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_whatever_ends_a_writing_leaves_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    files.write_atomically(tmp_path / "out.csv", "a path with \udcff", "--output")
    assert (tmp_path / "out.csv").read_text() == "a path with \\udcff"
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_atomically(tmp_path / "out.csv", "new", "--output")
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_the_report_replaces_reports_and_nothing_else(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "page.html"
    other.write_text("<title>mine</title>")
    assert run(capsys, "report", "--store", database, "--output", other)[0] == 2
    assert other.read_text() == "<title>mine</title>"
    for _ in range(2):
        status, out, _ = run(capsys, "report", "--store", database, "--json")
        assert status == 0
        path = Path(json.loads(out)["report"])
        assert (path.parent, path.name) == (database.parent, f"report-{database.stem}-1.html")


def test_two_stores_of_a_folder_do_not_share_a_report(tmp_path: Path) -> None:
    names = ("threadmark.db", "a.db", "a.sqlite", "b.db")
    paths = [report_path(tmp_path / name, 1) for name in names]
    assert [path.name for path in paths[:2]] == ["report-1.html", "report-a-1.html"]
    assert len(set(paths)) == len(names)


def test_the_launcher_shows_a_run_in_a_locale_without_utf8(database: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONPATH": str(Path(cli.__file__).parents[1]),
        "COLUMNS": "80",
    }
    assert shutil.which(sys.executable)
    found = subprocess.run(
        [sys.executable, "-m", "threadmark", "show", "--store", str(database)],
        check=True,
        capture_output=True,
        env=environment,
    )
    assert found.stdout.isascii()
    assert b"#1.9" in found.stdout
    assert b"?" not in found.stdout.split(b"\n")[0]

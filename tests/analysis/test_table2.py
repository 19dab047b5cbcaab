"""INNCABS' published results: the reader, Table II by one rule, and their impossible values."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from threadmark.commands.import_ import import_
from threadmark.judge import plausibility, table2
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError
from threadmark.store import inncabs_csv
from threadmark.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("THREADMARK_DATA", ROOT / "../shared/data"))
PUBLISHED = DATA / "inncabs/results_2014-09.csv"
THREADS = (1, 2, 4, 8, 16, 32, 64)

HEADER = "#Cores," + ",".join(
    f"{platform}:{policy}"
    for platform in ("clang", "clang_limit64", "gcc", "gcc_limit64", "win_x86")
    for policy in ("deferred", "optional", "async")
)
BLOCK = "\n".join(["fib", HEADER, *(f"{p}," + ",".join(["100"] * 15) for p in THREADS), ""])


@pytest.fixture(scope="module")
def published() -> list[Row]:
    """The published rows, if the data are present."""
    if not PUBLISHED.exists():
        pytest.skip(f"INNCABS' results are not at {PUBLISHED}; set THREADMARK_DATA")
    return inncabs_csv.read(PUBLISHED)


def label(*times: float | None, overhead: float = 1.0) -> str:
    """The label of a series on 1, 2, 4, ... threads."""
    return table2.table2_label(dict(zip(THREADS, times, strict=False)), overhead)


def test_each_rule_of_the_table_by_hand() -> None:
    assert label(*[None] * 7) == "timeout"
    assert label(100, 50, 25, None, None, None, None) == "scales to 4, partial error"
    assert label(100, 50, 49, None, None, None, None) == "partial timeout"
    assert label(100, None, None, None, None, None, None) == "partial timeout"
    assert label(None, 50, 25, 12, 6, 3, 2) == "partial timeout"
    assert label(100, 50, 25, 12, 6, 3, 2) == "scales to 64"
    assert label(100, 50, 25, 12, 13, 3, 2) == "scales to 8"
    assert label(100, 50, 25, 12, 6, 3, 3.04) == "scales to 64"  # hyper-threads may cost 1.5 %
    assert label(100, 50, 25, 12, 6, 3, 3.06) == "scales to 32"
    assert label(100, 50, 25, 12, 6, 300, 2) == "scales to 16"
    assert label(100, 99, 50, 25, 26, 27, 28) == "scales to 8"  # a slow start is forgiven
    assert label(100, 900, 800, 700, 600, 500, 400) == "no scaling"  # unless nothing comes back
    assert label(100, 99, 98, 98, 98, 98, 98) == "no scaling"
    assert label(100, 50, 25, 12, 6, 3, 2, overhead=4) == "scales to 64, overhead"


def test_at_least_46_of_56_labels_agree_with_the_paper(published: list[Row]) -> None:
    entries = table2.table(published)
    assert len(entries) == 56
    assert sum(e.ours == e.paper for e in entries) == 46
    by_column = {
        name: sum(e.ours == e.paper for e in entries if e.column == name) for name in table2.COLUMNS
    }
    assert by_column == {"clang:async": 14, "gcc:async": 12, "vc:optional": 8, "vc:async": 12}
    assert all(bool(e.why) == (e.ours != e.paper) for e in entries)
    assert all("the data" in e.why for e in entries if e.why)


def test_copies_of_deferred_are_not_read_as_measurements(published: list[Row]) -> None:
    deferred = [r.cell for r in published if r.cell.variant == "deferred"]
    assert {cell.threads for cell in deferred} == {1}
    assert len(published) == 14 * (10 * 7 + 5)


def test_impossible_points_are_found(published: list[Row]) -> None:
    doubts = plausibility.doubts(published)
    early = {(d.program, d.series) for d in doubts if d.what == "less time than the work needs"}
    for program in ("floorplan", "qap", "sort", "strassen"):
        assert (program, "gcc:async") in early
    assert ("floorplan", "clang_limit64:optional") in early
    assert not any(series.startswith("win") for _, series in early)
    late = [d for d in doubts if d.what == "more time than the limit allows"]
    assert [(d.program, d.series, d.threads) for d in late] == [
        ("fft", "gcc:async", (8, 16, 32, 64))
    ]
    clocks = [d for d in doubts if d.what == "a coarse clock"]
    assert [d.series for d in clocks] == ["win_x86"]
    missing = [d for d in doubts if d.what == "a sequential run without a result"]
    assert [(d.program, d.series) for d in missing] == [("uts", "win_x86:deferred")]


def test_plausible_results_raise_no_doubt() -> None:
    def row(variant: str, threads: int, ms: float) -> Row:
        cell = Cell("p", "full", "std_async", variant, "gcc", "", threads)
        return Row(cell, 0, Status.OK, sample_ns=ms * 1e6)

    rows = [row("deferred", 1, 1000), *(row("async", p, 1003 / p + 1) for p in THREADS)]
    assert plausibility.doubts(rows) == []


def test_a_whole_block_is_read(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text(BLOCK.replace("8,100,100", "8,100,900000"))
    rows = inncabs_csv.read(path)
    assert len(rows) == 75
    gone = [row for row in rows if row.sample_ns is None]
    assert [(r.cell.platform, r.cell.variant, r.cell.threads) for r in gone] == [
        ("clang", "optional", 8)
    ]
    assert gone[0].status is Status.TIMEOUT
    assert "900000" in gone[0].reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no results"),
        ("fib\n", "line 2: .*a header"),
        (BLOCK.replace("#Cores", "Cores"), "line 2: .*a header"),
        (BLOCK.replace("clang:async", "clang:deferred"), "line 2: .*a header"),
        (BLOCK.replace("4,100", "4,1e9"), "line 5: .*whole numbers"),
        (BLOCK.replace("4,100", "4,-5"), "line 5: .*whole numbers"),
        (BLOCK.replace("4,100", "4,999999"), "line 5: .*1 to 900000"),
        (BLOCK.replace("4,100", "4,0"), "line 5: .*1 to 900000"),
        (BLOCK.replace("4,100,100", "4,100"), "line 5: .*whole numbers"),
        (BLOCK.replace("\n2,", "\n1,"), "ascending thread counts"),
        (BLOCK[: BLOCK.index("\n4,")] + "\n", None),
        ("\n".join(BLOCK.split("\n")[:2]) + "\n", "ascending thread counts"),
        (BLOCK[:-2], "ends within a line"),
        (
            BLOCK + "\n" + BLOCK.replace("fib", "sort")[:-65],
            "ends within a line|other thread counts",
        ),
        (BLOCK + "\n" + BLOCK, "a program's name was expected"),
        ("<script>\n" + HEADER + "\n", "a program's name was expected"),
        ('"' * 3 + "x", "no CSV text"),
        ("x" * (2 << 20), "larger than"),
    ],
)
def test_a_malformed_file_is_one_sentence(tmp_path: Path, text: str, said: str | None) -> None:
    path = tmp_path / "results.csv"
    path.write_text(text)
    if said is None:
        assert inncabs_csv.read(path)
        return
    with pytest.raises(LabError, match=said) as caught:
        inncabs_csv.read(path)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@settings(
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.binary(max_size=400) | st.tuples(st.integers(0, len(BLOCK)), st.binary(max_size=8)))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes | tuple[int, bytes]) -> None:
    path = tmp_path / "results.csv"
    if isinstance(data, tuple):
        at, put = data
        data = BLOCK[:at].encode() + put + BLOCK[at + len(put) :].encode()
    path.write_bytes(data)
    try:
        rows = inncabs_csv.read(path)
    except LabError:
        return
    assert all(row.sample_ns is None or row.sample_ns > 0 for row in rows)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="No such file"):
        inncabs_csv.read(tmp_path / "absent.csv")


def test_an_import_that_is_killed_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    row = Row(Cell("fib", "full", "std", "async", "paper", "glibc", 1), 0, Status.OK)
    monkeypatch.setattr(inncabs_csv, "read", lambda path: [row])
    monkeypatch.setattr(Store, "finish", killed)
    with pytest.raises(KeyboardInterrupt):
        import_(Path("a.csv"), store=tmp_path / "s.db")
    with Store.open(tmp_path / "s.db", create=False) as store:
        assert store.runs() == []

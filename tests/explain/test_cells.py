"""explain on a field of the matrix: a word names the field, the lab runs it, and show shows
both."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console
from threadmark import cli
from threadmark.judge.estimates import Interval
from threadmark.judge.findings import Judged
from threadmark.judge.verdict import Kind, Verdict
from threadmark.kinds.explain.fields import Fields, worst
from threadmark.kinds.tasks.selection import select
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.cell_name import cell_name, parse
from threadmark.model.errors import LabError
from threadmark.model.request import Request
from threadmark.setup.discovery import find
from threadmark.store.store import Store

from lab import fakes

# Sleeps outside the counted time: before the warm-up, and between the repeats.
STEADY = """
start()
def repeat(number, seconds):
    begin = time.monotonic_ns()
    while time.monotonic_ns() < begin + seconds * 1e9: pass
    end = time.monotonic_ns()
    say(event="repeat", repeat=number, warmup=number == 0, began_ns=begin, ended_ns=end,
        wall_ns=end - begin, cpu_ns=end - begin, run_delay_ns=0, voluntary_switches=0,
        yardstick_ns=11_500.0, max_rss_bytes=1 << 20, tasks=1, nodes=0, answer="42", ok=True)
    time.sleep(0.3)
time.sleep(0.3)
repeat(0, 0.05)
repeat(1, 0.4)
repeat(2, 0.4)
end()
"""


def test_the_name_of_a_cell_names_it_and_no_other() -> None:
    cell = parse("fib/tbb:futures/gcc-libstdc++/2")
    assert cell == Cell("fib", "quick", "tbb", "futures", "gcc-libstdc++", "glibc", 2)
    for text in (
        "fib/tbb:futures/gcc-libstdc++/2",
        "rand/threads:rand/clang-libc++/4/full",
        "map_churn/threads:map/gcc-libstdc++/2/quick/jemalloc",
        "sat_mapping/tbb:parallel_for/gcc-libstdc++/2 form=streams",
    ):
        assert cell_name(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fib/tbb:futures", "is no cell; write PROGRAM/BACKEND:VARIANT/PLATFORM/THREADS"),
        ("fib/tbb:futures//2", "is no cell"),
        ("fib/tbb/gcc-libstdc++/2", "'tbb' is no backend with its variant"),
        ("fib/tbb:futures/gcc-libstdc++/0", "from 1 to 4096 threads, not '0'"),
        ("fib/tbb:futures/gcc-libstdc++/9999999999", "from 1 to 4096 threads"),
        ("fib/tbb:futures/gcc-libstdc++/2/quik", "no size 'quik'; did you mean 'quick'?"),
        ("fob/tbb:futures/gcc-libstdc++/2", "no program 'fob'; did you mean 'fib'?"),
        ("fib/tb:futures/gcc-libstdc++/2", "no backend 'tb'; did you mean 'tbb'?"),
        ("rand/tbb:rand/gcc-libstdc++/2", "no backend 'tbb'; there is threads."),
        ("fib/tbb:futures/gcc/2", "There is no platform 'gcc'"),
        ("fib/tbb:futures/gcc-libstdc++/2/quick/jemallo", "did you mean 'jemalloc'?"),
    ],
)
def test_a_cell_that_cannot_be_is_one_sentence(
    text: str, sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["explain", "--cell", text, "--store", str(tmp_path / "s.db")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def judged(program: str, kind: Kind, speedup: float, threads: int | None = 2) -> Judged:
    cell = Cell(program, "quick", "tbb", "futures", "fake", "glibc", 0)
    interval = Interval(speedup, speedup, speedup)
    return Judged(cell, Verdict(kind, "", interval, interval, threads), None, {}, {})


def test_what_does_not_scale_is_explained_the_slowest_first() -> None:
    found = worst([
        judged("poor", Kind.POORLY, 1.2),
        judged("good", Kind.SCALES, 1.9),
        judged("slow", Kind.SLOWER, 0.1, 4),
        judged("open", Kind.UNCLEAR, 0.5),
        judged("none", Kind.NONE, 1.0),
    ])  # fmt: skip
    assert [(each.program, each.threads) for each in found] == [
        ("slow", 4),
        ("none", 2),
        ("poor", 2),
    ]


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A store with a run of two cells: one was explained, and the other crashed meanwhile."""
    fakes.write(tmp_path, "steady.serial")
    fakes.write(tmp_path, "steady.tbb", STEADY)
    fakes.write(tmp_path, "broken.tbb", "sys.exit(9)")
    request = Request(threads=(1,), order_seed=1)
    selection = select(request, find(["fake"], tmp_path), ())
    cells = sorted(each for each in selection.cells if each.backend == "tbb")
    with Store.open(tmp_path / "s.db", create=True) as store:
        run = store.start_run("quick", 1, request.as_json(), {})
        store.append_all(run, [Row(each, 0, Status.OK, sample_ns=2e7) for each in cells])
        Fields(store, run, request, selection).explain(cells, Console(stderr=True))
        store.finish(run)
    return tmp_path / "s.db"


def said(capsys: pytest.CaptureFixture[str], store: Path, *words: str) -> str:
    assert cli.main([*words, "--store", str(store)]) == 0
    return capsys.readouterr().out


def test_a_field_explains_itself_and_the_run_shows_and_links_it(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = " ".join(said(capsys, measured, "show").split())  # of the last run, the measured one
    assert "Why it does not scale" in shown
    command = f"./threadmark show 2 --store {measured}".replace(" ", "")  # a long line is folded
    assert re.search(rf"steady/tbb:futures/fake/1:.+;{re.escape(command)}", shown.replace(" ", ""))
    assert shown.endswith(
        "broken/tbb:futures/fake/1 cannot be explained: crashed, ended with exit code 9 and "
        "without its last line"
    )
    whole = json.loads(said(capsys, measured, "show", "2", "--json"))
    assert whole["cell"]["program"] == "steady"
    assert 0.1 < whole["wall_s"] < 0.85  # the two repeats, less the time before the recorder
    assert whole["states"]["sleep"] < 0.05
    listed = json.loads(said(capsys, measured, "show", "--json"))["explanations"]
    assert [(e["run"], e["cell"]["name"]) for e in listed] == [(2, "steady/tbb:futures/fake/1")]
    assert listed[0]["first"]["category"] == whole["causes"][0]["category"]
    said(capsys, measured, "report", "1")
    page = measured.with_name("report-s-1.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])  # type: ignore[index]
    linked = {each["program"]: each["explained"] for each in data["cells"]}
    assert linked == {"steady": 2, "broken": None}
    assert '<details id="explained-2"><summary>steady/tbb:futures/fake/1' in page


def test_no_time_for_a_field_is_said_with_the_command_for_it(tmp_path: Path) -> None:
    fakes.write(tmp_path, "steady.tbb", STEADY)
    request = Request(threads=(1,))
    selection = select(request, find(["fake"], tmp_path), ())
    with Store.open(tmp_path / "s.db", create=True) as store:
        run = store.start_run("quick", 1, request.as_json(), {})
        fields = Fields(store, run, request, selection, budget_s=0.0)
        fields.explain(list(selection.cells), Console(stderr=True))
        notes: Sequence[str] = store.run(run).notes
    assert "./threadmark explain --cell steady/tbb:futures/fake/1" in notes[-1]


def test_more_threads_than_a_way_can_use_are_refused(tmp_path: Path) -> None:
    from threadmark.kinds.explain.subject import of_executable

    fakes.write(tmp_path, "steady.serial", variants=[{"name": "plain", "parallel": False}])
    cell = Cell("steady", "quick", "serial", "plain", "fake", "glibc", 2)
    with pytest.raises(LabError, match=r"serial:plain of steady uses one thread only; write 1"):
        of_executable(cell, find(["fake"], tmp_path)[0])

"""The figures in README.md and docs/ are those of the exports in docs/runs/, and a false one fails.

`tools/figures --write` puts the figures of new exports into the documents.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cyclopts
import pytest
import synthetic
import test_catalogue_page
import tool
from threadmark.cli import command_names
from threadmark.commands.export import export
from threadmark.judge import findings
from threadmark.kinds import registry
from threadmark.kinds.catalogue import judgement as catalogue
from threadmark.kinds.catalogue.profiles import CATALOGUE
from threadmark.kinds.tasks.kind import KIND
from threadmark.machine.version import version
from threadmark.model.cell import Run, Stored
from threadmark.model.effort import IMPORTED
from threadmark.model.request import Request
from threadmark.options import Measuring
from threadmark.present import summary
from threadmark.store.store import Store

ROOT = Path(__file__).resolve().parents[2]


figures = tool.load("figures")
published = importlib.import_module("published")


def summary_of(stored: Stored) -> str:
    """The summary of a run of any kind."""
    kind = registry.kind_of(stored)
    return kind.export(stored, kind.judge(stored), "summary")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with one export, the picture drawn from it, and an empty README."""
    folder = tmp_path_factory.mktemp("checkout")
    runs = folder / "docs" / "runs"
    runs.mkdir(parents=True)
    with Store.open(folder / "store.db", create=True) as store:
        synthetic.fill(store)
        text = summary_of(store.load(1))
    (runs / "quick-1.json").write_text(text, encoding="utf-8")
    (folder / "README.md").write_text("# Nothing\n")
    assert figures.check(folder, write=True) == []
    return folder


@pytest.fixture
def root(drawn: Path, tmp_path: Path) -> Path:
    """A copy of that checkout."""
    shutil.copytree(drawn, tmp_path, dirs_exist_ok=True)
    return tmp_path


def found(root: Path, text: str, *, write: bool = False) -> list[str]:
    """The complaints of the check about a README with this text."""
    (root / "README.md").write_text(text, encoding="utf-8")
    return [str(each) for each in figures.check(root, write=write)]


def test_every_published_figure_is_that_of_its_export() -> None:
    assert [str(each) for each in figures.check(ROOT)] == []


def test_a_false_figure_is_found_with_its_line_and_the_right_one(root: Path) -> None:
    count = published.compute("quick-1 count tbb scales", root / "docs" / "runs")
    assert count > 0
    right = f"# T\n\nIt scales in <!--=quick-1 count tbb scales-->{count}<!--/--> fields.\n"
    assert found(root, right) == []
    (said,) = found(root, right.replace(f">{count}<", f">{count + 1}<"))
    assert said.startswith(f"README.md:3: says {count + 1}, ")
    assert f"gives {count};" in said
    assert "tools/figures --write" in said


def test_writing_gives_each_figure_the_precision_that_it_had(root: Path) -> None:
    words = "count tbb scales / tbb"
    exact = published.compute(f"quick-1 {words}", root / "docs" / "runs")
    text = f"A <!--=quick-1 {words}-->9.9 %<!--/--> or <!--=quick-1 {words}-->0.125<!--/-->.\n"
    assert found(root, text, write=True) == []
    written = (root / "README.md").read_text(encoding="utf-8")
    assert f"-->{exact:.1%}".replace("%", " %<!--/-->") in written
    assert f"-->{exact:.3f}<!--/-->" in written
    assert found(root, written) == []


@pytest.mark.parametrize(
    ("shown", "value", "better"),
    [
        ("?", 16, "16"),
        ("1", 2506, "2,506"),
        ("?", 1.9372, "1.94"),
        ("? %", 0.9595, "96.0 %"),
        ("3 min 1 s", 611.4, "10 min 11 s"),
        ("old", "fft and fib", "fft and fib"),
    ],
)
def test_a_value_takes_the_form_of_what_is_printed(
    shown: str, value: float | str, better: str
) -> None:
    assert published.printed(value, shown) == better


@pytest.mark.parametrize(
    "sentence",
    [
        "It is 12 % faster.",
        "It takes 1.8 ms.",
        "It takes 30 ns.",
        "It is x3 slower.",
        "It is 4 times slower.",
        "It scales in 16 of the 28 fields.",
        "It scales in eight of the fourteen programs.",
        "The speed-up is 1.93.",
        "| sort | 1.93 |",
        "* It gains 10 to 20 %.",
        "It times out with 8 programs.",
        "It is slower in 14 fields.",
        "It was measured in 3 runs of 50 processes.",
        "Of these 336 verdicts are equal.",
        "It is 2.5x slower.",
        "It is 3x slower.",
        "It is twice as fast.",
        "A call takes `1.8 ms` here.",
        "A steal takes `140us`.",
    ],
)
def test_a_figure_without_mark_or_label_is_found(root: Path, sentence: str) -> None:
    assert "looks measured" in " ".join(found(root, f"# T\n\n{sentence}\n"))
    labelled = f"# T\n\n{sentence}\n".replace(".\n", ". <!-- historical: 2026 -->\n")
    labelled = labelled.replace(" |\n", " <!-- sourced: a paper --> |\n")
    assert found(root, labelled) == []


@pytest.mark.parametrize(
    "text",
    [
        "It needs g++ 12.2, Python 3.11 and clang 19.1.",
        "On 2026-11-23 there were fourteen programs on 2 threads.",
        "`--budget 5.5` and [a link](x-1.25.md).",
        "```\nit takes 1.8 ms\n```",
    ],
)
def test_versions_dates_and_code_are_no_figures(root: Path, text: str) -> None:
    assert found(root, f"# T\n\n{text}\n") == []


def test_a_label_covers_its_section_block_or_item_and_no_more(root: Path) -> None:
    label = "<!-- limit: a rule -->"
    section = f"# T\n\n## A\n{label}\n\nIt is 0.7.\n\n### B\n\nIt is 0.7.\n\n## C\n\nIt is 0.8.\n"
    assert [each.split(":")[1] for each in found(root, section)] == ["14"]
    block = f"# T\n\nText.\n\n{label}\n| a | 0.7 |\n| b | 0.7 |\n\nIt is 0.8.\n"
    assert [each.split(":")[1] for each in found(root, block)] == ["9"]
    item = f"# T\n\n* It is 0.7. {label}\n* It is 0.8.\n"
    assert [each.split(":")[1] for each in found(root, item)] == ["4"]
    assert found(root, "# T\n\nIt is 0.7. <!-- limit: -->\n") != []


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("quick-9 count tbb", "there is no export quick-9.json"),
        ("quick-1 count tbc", "no field of the export has the word 'tbc'"),
        ("quick-1 guess tbb", "'guess' is no verb"),
        ("quick-1", "is no export and a verb"),
        ("quick-1 x tbb", "fields have these words; name one"),
        ("quick-1 value processes none", "has no 'none'"),
        ("quick-1 count tbb / uts boost_fiber scales", "divides by 0"),
        ("quick-1 equal", "needs two exports"),
        ("quick-1 bars", "has no rows"),
    ],
)
def test_a_mark_that_means_nothing_is_found(root: Path, mark: str, said: str) -> None:
    assert said in " ".join(found(root, f"It is <!--={mark}-->5<!--/-->.\n"))


def test_a_mark_may_not_begin_a_line_of_text(root: Path) -> None:
    mark = "<!--=quick-1 count tbb-->?<!--/-->"
    assert "move it" in " ".join(found(root, f"It has\n{mark} fields.\n", write=True))
    table = "<!--=quick-1 overview-->\n?\n<!--/-->\n"
    assert found(root, f"# T\n\n{table}", write=True) == []
    assert "| `tbb` |" in (root / "README.md").read_text()


def test_a_word_narrows_a_bar_widens_and_a_mark_negates(root: Path) -> None:
    def count(words: str) -> int:
        return int(published.compute(f"quick-1 count {words}", root / "docs" / "runs"))

    assert count("tbb|openmp") == count("tbb") + count("openmp")
    assert count("tbb scales") + count("tbb !scales") == count("tbb")
    assert 0 < count("tbb scales") < count("tbb")
    assert count("parallel") + count("!parallel") == count("clang-libc++|gcc-libstdc++")


def swapped(text: str, pattern: str) -> str:
    """The text in which the first two different matches are exchanged."""
    first, second = list(dict.fromkeys(re.findall(pattern, text)))[:2]
    return text.replace(first, "\0", 1).replace(second, first, 1).replace("\0", second, 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("●1.9", "●1.2"),
        lambda text: swapped(text, r">●[\d.]+<"),
        lambda text: re.sub(r">±\d+ %<", ">±1 %<", text),
        lambda text: swapped(text, r'fill="rgb[^"]*"'),
    ],
    ids=["a speed-up", "swapped fields", "every interval", "colours"],
)
def test_a_picture_that_differs_from_its_export_is_found(
    root: Path, change: Callable[[str], str]
) -> None:
    picture = root / "docs" / "matrix.svg"
    text = picture.read_text(encoding="utf-8")
    assert found(root, "# T\n") == []
    changed = change(text)
    assert changed != text
    picture.write_text(changed, encoding="utf-8")
    (said,) = found(root, "# T\n")
    assert said.startswith("docs/matrix.svg:1: is not drawn from quick-1")
    assert found(root, "# T\n", write=True) == []


def test_a_picture_without_its_export_is_found(root: Path) -> None:
    (root / "docs" / "runs" / "quick-1.json").unlink()
    (said,) = found(root, "# T\n")
    assert "cannot be drawn from quick-1: there is no export quick-1.json" in said


def test_exports_stay_small_and_say_where_they_are_from(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "docs" / "runs" / "other.json"
    document = json.loads((root / "docs" / "runs" / "quick-1.json").read_text(encoding="utf-8"))
    lacking = {
        "does not say commit": {**document, "commit": ""},
        "does not say judged_by": {k: v for k, v in document.items() if k != "judged_by"},
        "failed with exit status 1": {**document, "exit_status": 1},
        "no JSON object of a schema": [document],
    }
    text = "# T\n\n<!--=other count tbb-->\n5\n<!--/-->\n"
    for said, other in lacking.items():
        published.export.cache_clear()
        path.write_text(json.dumps(other))
        assert said in " ".join(found(root, text))
    published.export.cache_clear()
    path.write_text("{")
    assert "no JSON object of a schema" in " ".join(found(root, text))
    monkeypatch.setattr(figures, "LARGEST_BYTES", 1000)
    assert "at most 1000 are allowed" in " ".join(found(root, "# T\n"))


def test_a_summary_keeps_verdicts_speed_ups_and_numbers_of_processes(filled: Store) -> None:
    stored = filled.load(1)
    run, rows, judged = stored.run, stored.rows, KIND.judge(stored)
    text = summary_of(stored)
    document = json.loads(text)
    assert len(text) < 100_000
    assert document["machine"]["processor"] == run.machine["processor"]
    assert document["judged_by"] == version()
    read = published.verdicts(document)
    assert [each.cell for each in read] == [each.cell for each in judged]
    for ours, theirs in zip(judged, read, strict=True):
        assert ours.verdict.kind == theirs.verdict.kind
        assert ours.verdict.speedups.keys() == theirs.verdict.speedups.keys()
        for p, speedup in ours.verdict.speedups.items():
            assert theirs.verdict.speedups[p].estimate == pytest.approx(speedup.estimate, rel=1e-4)
    counted = sum(sum(p["n"].values()) for v in document["verdicts"] for p in v["threads"].values())
    assert counted == len(rows)


RUN = Request(
    programs=("fib", "sort"),
    threads=(1, 2),
    arguments=("fib.n=20", "sort.n=1000"),
    profile="full",
    seed=0,
    order_seed=7,
    budget_s=1234567.5,
    executables="/a folder",
)
CATALOGUE_RUN = Request(
    variants=("usual",), allocators=("glibc", "jemalloc"), profile=CATALOGUE, order_seed=0
)


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        (
            RUN,
            {
                "programs": ("fib", "sort"),
                "allocators": ("glibc",),
                "threads": "1,2",
                "size": "quick",
                "profile": "full",
                "arg": ("fib.n=20", "sort.n=1000"),
                "executables": Path("/a folder"),
                "seed": 0,
                "order_seed": 7,
                "budget": "1234567.5",
            },
        ),
        (
            CATALOGUE_RUN,
            {
                "variants": ("usual",),
                "allocators": ("glibc", "jemalloc"),
                "threads": "1",
                "profile": "quick",
                "order_seed": 0,
            },
        ),
    ],
)
def test_a_summary_says_the_command_that_asks_for_the_same(
    request_: Request, options: dict[str, object]
) -> None:
    run = Run(1, "", "", request_.profile, request_.seed, request_.as_json(), {})
    kind = registry.kind_of(Stored(run, [], []))
    line = summary.command(run, kind.command, kind.options)
    launcher, *words = shlex.split(line)
    assert launcher == "./threadmark"
    assert parsed(words) == options


def test_a_summary_of_an_import_says_the_command_that_imports(tmp_path: Path) -> None:
    run = Run(1, "", "", IMPORTED, 0, {"import": "a b.csv"}, {})
    line = summary.command(run, KIND.command, KIND.options)
    assert parsed(shlex.split(line)[1:]) == {"path": Path("a b.csv")}


def parsed(words: list[str]) -> dict[str, object]:
    """The arguments that the real command line understands."""
    app = cyclopts.App()
    importlib.import_module(command_names()[words[0]]).command(app)
    _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    found = dict(bound.arguments)
    measuring = found.pop("measuring", Measuring())
    usual = vars(Measuring())
    return found | {name: v for name, v in vars(measuring).items() if v != usual[name]}


def test_export_writes_a_summary(filled: Store, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    export("1", form="summary", output=path, store=tmp_path / "store.db")
    assert json.loads(path.read_text(encoding="utf-8"))["schema"] == summary.SCHEMA


def test_a_recorded_command_is_an_export_with_its_time(root: Path) -> None:
    (root / "tools").mkdir()
    for name in ("figures", "published.py"):
        shutil.copy(ROOT / "tools" / name, root / "tools")
    (root / "lab").symlink_to(ROOT / "lab")
    program = (
        'print(\'{"rate": 0.03, "expected": [4, 16], "rows": [{"what": "a b", "figure": 2.5}]}\')'
    )
    command = [sys.executable, root / "tools/figures", "record", "doctor", "--"]
    subprocess.run([*command, sys.executable, "-c", program], check=True, capture_output=True)
    text = "At <!--=doctor value figures rate-->? %<!--/-->.\n"
    text += "In <!--=doctor value seconds-->?<!--/-->.\n"
    text += 'Also <!--=doctor value figures rows "a b" figure-->?<!--/-->.\n'
    text += "At most <!--=doctor value figures expected 1-->?<!--/-->.\n"
    assert found(root, text, write=True) == []
    written = (root / "README.md").read_text()
    assert "-->3.0 %<" in written
    assert "-->2.50<" in written
    assert "-->16<" in written
    table = "<!--=doctor bars-->\n?\n<!--/-->\n"
    assert found(root, table, write=True) == []
    assert "| a b |  | 2.50 |" in (root / "README.md").read_text()
    assert "has no verdicts" in " ".join(found(root, "It is <!--=doctor count tbb-->1<!--/-->.\n"))


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--"], 2, "give the command after --"),
        (["--accept", "one", "--", "true"], 2, "invalid int value"),
        (["--", "echo", "[1]"], 2, "JSON that is no object"),
        (["--", "false"], 1, "failed with exit status 1 and is not recorded; --accept"),
        (["--accept", "1", "--", "sh", "-c", "exit 3"], 3, "failed with exit status 3"),
    ],
)
def test_a_command_that_gives_no_figures_is_not_recorded(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: list[str],
    status: int,
    said: str,
) -> None:
    monkeypatch.setattr(figures, "ROOT", root)
    try:
        found = figures.main(["record", "new", *words])
    except SystemExit as stop:
        found = stop.code
    assert found == status
    err = capfd.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not (root / "docs" / "runs" / "new.json").exists()


def test_a_complaint_is_recorded_where_its_status_is_accepted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "ROOT", root)
    complaint = ["sh", "-c", "echo '{\"rate\": 0.5}'; exit 1"]
    assert figures.main(["record", "new", "--accept", "1", "--", *complaint]) == 0
    runs = root / "docs" / "runs"
    assert json.loads((runs / "new.json").read_text())["exit_status"] == 1
    assert published.compute("new value figures rate", runs) == 0.5


def test_two_exports_agree_as_their_runs_do(root: Path) -> None:
    runs = root / "docs" / "runs"
    with Store.open(root / "store.db", create=False) as store:
        synthetic.fill(store, synthetic.Lab(seed=8))
        both = [store.load(n) for n in (1, 2)]
        text = summary_of(both[1])
    (runs / "quick-2.json").write_text(text, encoding="utf-8")
    said = findings.agreement(*(KIND.judge(each) for each in both))
    assert 0 < said.equal < said.of
    assert published.compute("quick-1+quick-2 equal", runs) == said.equal
    assert published.compute("quick-1+quick-2 equal / compared", runs) == said.equal / said.of


def test_a_mark_gives_a_way_of_the_catalogue_with_both_libraries(
    store: Store, tmp_path: Path
) -> None:
    number = test_catalogue_page.fill(store)
    stored = store.load(number)
    text = summary_of(stored)
    (tmp_path / "catalogue.json").write_text(text, encoding="utf-8")
    entries = {
        (each.cell.variant, each.cell.platform): each
        for each in catalogue.judge(stored.rows, stored.descriptions).entries
        if each.cell.program == "rand"
    }
    ways = {way for way, _ in entries}
    assert {"rand", "thread_local_engine", "missing"} <= ways
    for way in ways:
        ours = [entries[way, platform] for platform in published.LIBRARIES]
        said = published.compute(f"catalogue both rand:{way}", tmp_path).split(" / ")
        assert len(said) == len(ours)
        for each, text in zip(ours, said, strict=True):
            if each.speedup is None:
                assert text == each.judged.verdict.kind.value
            else:
                assert float(text.removesuffix(" (unclear)")) == pytest.approx(
                    each.speedup, abs=0.01
                )
                assert ("unclear" in text) == (each.judged.verdict.kind.value == "unclear")
        for each, text in zip(
            ours,
            published.compute(f"catalogue gains rand:{way}", tmp_path).split(" / "),
            strict=True,
        ):
            if each.gain_many is None:
                assert text == "-"
            else:
                assert float(text.removeprefix("x")) == pytest.approx(each.gain_many, rel=0.06)
    with pytest.raises(published.FigureError, match="name one way"):
        published.compute("catalogue both rand", tmp_path)

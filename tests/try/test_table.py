"""The table of a try against a golden file of 80 columns, and the sentences of the documents about
fixes.

    THREADMARK_GOLDEN=1 pytest tests/try/test_table.py

writes the golden file anew.
"""

from __future__ import annotations

import os
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from threadmark.fixes import choosing
from threadmark.kinds.trials import judgement, page, table
from threadmark.kinds.trials.arms import AGAIN, AS_IS
from threadmark.kinds.trials.gaps import gaps
from threadmark.kinds.trials.kind import KIND
from threadmark.model.cell import Cell, Row, Run, Status, Stored
from threadmark.model.places import ROOT
from threadmark.model.workload import Workload
from threadmark.present.terminal import TextPage
from try_bars import PLANTED, expectation, threads_of

GOLDEN = Path(__file__).parent / "golden.txt"
GAINS = {
    "jemalloc": 1.5, "batch": 1.2, "jemalloc + batch": 1.55, "tcache": 1.0, "one-processor": 0.6,
    "arenas": 1.0, "c-locale": 1.03, AGAIN: 1.0,
}  # fmt: skip


def described() -> dict[str, Any]:
    """The fixes of a try; the last one broke."""
    tried = []
    for name in [*GAINS, "spinning-mutex"]:
        if name == AGAIN:
            continue
        line = f"FIX={name.replace(' + ', '+')} ./prog 2"
        keep = {"environment": {}, "command": line, "dockerfile": [f'ENV FIX="{name}"']}
        parts = name.split(" + ") if " + " in name else []
        own = {"kind": name, "what": f"the fix {name}", "risk": "It costs.", "keep": keep}
        tried.append({"name": name, "parts": parts, **own})
    left_out = {"omp-bind": "the program is not linked with OpenMP", "arenas2": "no time"}
    return {"family": 12, "tried": tried, "left_out": left_out, "checked": False, "units": False}


def cause(summary: str, name: str, bound: float | None, *fixes: str) -> dict[str, Any]:
    """A cause in the form of briefly.py."""
    return {"summary": summary, "category": name, "name": name, "bound": bound, "fixes": fixes}


def stored(*, gains: dict[str, float], rounds: int = 16) -> Stored:
    """A stored try whose runs have the times of GAINS, within a percent."""
    noise = random.Random(4)
    rows = []
    for number in range(1, rounds + 1):
        for threads in (1, 2):
            for fix, gain in gains.items():
                if threads == 1 and fix not in ("jemalloc", AGAIN):
                    continue
                for variant, factor in ((AS_IS, 1.0), (fix, gain)):
                    time_s = 0.4 / threads**0.5 / factor * noise.lognormvariate(0, 0.01)
                    peak = (2 if variant == "jemalloc" else 1) << 20
                    facts = {"pair": fix, "wall_s": time_s, "peak_bytes": peak, "output": "x"}
                    cell = Cell("prog", "custom", "program", variant, "", "", threads)
                    row = Row(cell, number, Status.OK, "", 1e9 * time_s, facts=facts)
                    rows.append(row)
    cell = Cell("prog", "custom", "program", "spinning-mutex", "", "", 2)
    facts = {"pair": "spinning-mutex", "wall_s": 0.1}
    rows.append(Row(cell, 1, Status.CRASHED, "it was ended by SIGSEGV", facts=facts))
    workload = Workload(("./prog", "{threads}"), "1,2").as_json()
    request = {"command": ["./prog", "{threads}"], "workload": workload}
    run = Run(7, "2026-11-25T10:00:00.000+00:00", "x", "try", 1, request, {"kernel": "<k>"})
    explained = {
        "run": 6,
        "causes": [],
        "bounds": {"jemalloc": 1.6, "tcache": 1.6, "batch": 1.1, "c-locale": 1.3},
        "about": [
            cause("40 % allocator", "allocator", 1.6, "tcache", "jemalloc"),
            cause("9 % run queue", "run_queue", 1.1, "batch", "priority"),
            cause("8 % allocator of another kind", "malloc", 2.5, "jemalloc"),
            cause("5 % locale", "locale", 1.04, "c-locale"),
            cause("4 % input", "io", 1.04, "large-buffers"),
            cause("a cause without a bound", "spin", None, "jemalloc"),
        ],
        "best": "jemalloc",
        "left": {
            "run": 8,
            "causes": ["3 % allocator"],
            "about": [cause("3 % allocator", "allocator", 1.03)],
        },
    }
    return Stored(run, rows, [], {judgement.FIXES: described(), judgement.EXPLAINED: explained})


def printed(run: Stored, width: int = 80) -> list[str]:
    """The lines on a terminal."""
    return [line.plain for line in table.lines(run, KIND.judge(run), width, utf8=True)]


def test_the_answer_is_as_in_the_golden_file() -> None:
    text = "\n".join(printed(stored(gains=GAINS))) + "\n"
    if os.environ.get("THREADMARK_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_table_keeps_to_the_width() -> None:
    cell = "unclear (-8.5 % to +9.9 %)"
    rows = [
        ["fix", "1 thread", "2 threads", "4 threads", "memory"],
        ["jemalloc", cell, cell, cell, "x1.00"],
        ["queueing-mutex + c-locale", cell, cell, "", "x1.00"],
    ]
    two = TextPage(80, utf8=True)
    two.columns([[*row[:3], row[4]] for row in rows], ["dim", "bold", ""])
    assert [line.plain for line in two.lines] == [
        "",
        "fix               1 thread                    2 threads                   memory",
        f"jemalloc          {cell}  {cell}  x1.00",
        f"queueing-mutex +  {cell}  {cell}  x1.00",
        "c-locale",
    ]
    four = TextPage(60, utf8=True)
    four.columns(rows, ["dim", "bold", ""])
    lines = [line.plain for line in four.lines]
    assert max(map(len, lines)) <= 60
    heads = " ".join(" ".join(line for line in lines if line.startswith("fix ")).split())
    assert heads == "fix 1 thread fix 2 threads fix 4 threads memory"
    assert lines.count("c-locale") == 3
    wide = TextPage(120, utf8=True)
    wide.columns(rows, ["dim", "bold", ""])
    assert wide.lines[3].plain == f"queueing-mutex + c-locale  {cell}  {cell}{30 * ' '}x1.00"
    pair = {"queueing-mutex": 0.9, "queueing-mutex + batch": 1.2, AGAIN: 1.0}
    run = stored(gains=pair)
    document = described()
    document["tried"] += [document["tried"][0] | {"name": name} for name in pair]
    text = printed(replace(run, documents={judgement.FIXES: document}), 60)
    assert max(map(len, text)) <= 60
    assert any(line.startswith("queueing-mutex +  ") for line in text)


def test_the_answer_says_what_counts() -> None:
    text = " ".join(" ".join(printed(stored(gains=GAINS))).split())
    assert "spinning-mutex breaks the program: it was ended by SIGSEGV." in text
    assert "The gains do not add up: jemalloc + batch gives +5" in text
    assert "its parts would give +80 %" in text
    assert "- 40 % allocator At most x1.6; measured +50 % (+" in text
    assert "Not tried: omp-bind (the program is not linked with OpenMP)" in text
    assert "(1.41 times as fast as on 1, 1." in text


def test_each_cause_has_its_bound_and_what_the_best_fix_for_it_gained() -> None:
    found = gaps(KIND.judge(stored(gains=GAINS)))
    said = [(each.fix.name if each.fix else "", each.said, each.left) for each in found]
    assert said[0][:2] == ("jemalloc", "less than the bound, x1.07 is left")
    assert said[0][2] == "with jemalloc explain still finds it, worth at most x1.03"
    assert said[1][:2] == (
        "batch", "more than the bound, so the fix changes more than the causes that it helps with"
    )  # fmt: skip
    assert said[1][2] == ""
    assert said[2][2] == "with jemalloc it is not among the first causes"
    assert said[3][:2] == ("c-locale", "as much as the bound")
    assert said[4] == ("", "no fix for it was measured", "")
    assert said[5][1] == "explain gives no bound"
    others = stored(gains={**GAINS, "c-locale": 1.2})
    assert gaps(KIND.judge(others))[3].said == (
        "more, because the fix helps with other causes too, with them at most x1.3"
    )
    without = stored(gains={**GAINS, "c-locale": 0.99})
    assert gaps(KIND.judge(without))[3].said == "no gain for sure"


def test_a_combination_that_is_no_faster_comes_after_the_fix_alone() -> None:
    for gain, first in ((1.5, "jemalloc"), (2.0, "jemalloc + batch")):
        found = KIND.judge(stored(gains={**GAINS, "jemalloc + batch": gain}))
        assert found.winners[0].name == first
        assert "jemalloc + batch" in {each.name for each in found.winners}


def test_where_nothing_gains_the_least_gain_is_said_that_would_have_been_seen() -> None:
    run = stored(gains={"tcache": 1.0, "arenas": 0.99, AGAIN: 1.0})
    text = " ".join(" ".join(printed(run)).split())
    assert "None of the 2 fixes that were measured helps; a gain of 2.0 % or more would" in text
    assert "To keep it" not in text
    unclear = stored(gains={"tcache": 1.0, "arenas": 1.02, AGAIN: 1.0}, rounds=5)
    text = " ".join(" ".join(printed(unclear)).split())
    assert "None of the 2 fixes that were measured is sure to help; a gain of" in text
    wild = stored(gains={"tcache": 1.0, "arenas": 1.02, AGAIN: 1.0}, rounds=8)
    rows = [
        replace(row, sample_ns=row.sample_ns and row.sample_ns * (1 + (5 * at) % 7 / 4))
        for at, row in enumerate(wild.rows)
    ]
    text = " ".join(" ".join(printed(replace(wild, rows=rows))).split())
    assert re.search(r"a gain of x\d\.\d\d or more would have been seen", text), text
    few = stored(gains={"tcache": 1.5, AGAIN: 1.0}, rounds=2)
    text = " ".join(" ".join(printed(few)).split())
    assert "No fix was measured often enough; give more time with --budget." in text
    assert "x1e" not in text


def test_a_fix_with_too_few_pairs_has_the_reason() -> None:
    run = stored(gains={"tcache": 1.5, "arenas": 1.2, AGAIN: 1.0}, rounds=2)

    def said(**ended: Any) -> str:
        documents = {judgement.FIXES: described() | ended}
        return " ".join(" ".join(printed(replace(run, documents=documents))).split())

    text = said(given_up=["tcache"])
    assert "Given up early, because time was short and others promised more: tcache." in text
    assert "Fewer than 4 pairs of runs ended well before the budget was over: arenas." in text
    text = said(interrupted=True)
    assert "Given up" not in text
    assert "ended well before the try was interrupted: tcache, arenas." in text
    assert "The try was interrupted before a fix was measured often enough." in text
    assert "--budget" not in text


def test_a_try_that_goes_on_says_so_and_asks_for_no_more_time() -> None:
    def said(run: Stored, finished_at: str) -> str:
        return " ".join(printed(replace(run, run=replace(run.run, finished_at=finished_at)), 100))

    few = stored(gains={"tcache": 1.5, AGAIN: 1.0}, rounds=2)
    rough = stored(gains={"tcache": 1.0, AGAIN: 1.0}, rounds=5)
    draw = random.Random(1)
    rows = [
        replace(row, sample_ns=row.sample_ns and row.sample_ns * draw.lognormvariate(0, 3))
        for row in rough.rows
    ]
    unfinished = "The try is unfinished: this is what its runs say so far."
    for run in (few, replace(rough, rows=rows)):
        assert unfinished in said(run, "")
        assert "--budget" not in said(run, "")
        assert unfinished not in said(run, "2026-11-25T10:03:00.000+00:00")
        assert "give more time with --budget." in said(run, "2026-11-25T10:03:00.000+00:00")
    assert "No fix was measured often enough so far." in said(few, "")
    assert "Fewer than 4 pairs of runs ended well so far: tcache." in said(few, "")
    nothing = stored(gains={}, rounds=0)
    assert unfinished in said(replace(nothing, rows=[]), "")


def test_where_each_fix_breaks_the_program_no_more_time_is_asked_for() -> None:
    text = " ".join(" ".join(printed(stored(gains={AGAIN: 1.0}))).split())
    assert "No fix can be kept, because each that was tried breaks the program." in text
    assert "--budget" not in text


def test_the_page_escapes_and_the_record_is_plain() -> None:
    run = stored(gains=GAINS)
    found = KIND.judge(run)
    text = page.page(run, found)
    assert "&lt;k&gt;" in text
    assert "<k>" not in text
    assert "does not add up" in text or "do not add up" in text
    few = stored(gains={"tcache": 9.0, AGAIN: 1.0}, rounds=2)
    text = page.page(few, KIND.judge(few))
    assert "Too few pairs of runs to tell: tcache." in text
    assert "the ends are half as fast and 2 times as fast" in text
    much = stored(gains={"tcache": 9.0, AGAIN: 1.0}, rounds=8)
    assert "the ends are 1/16 as fast and 16 times as fast" in page.page(much, KIND.judge(much))
    record = KIND.json(run, found)
    assert "Infinity" not in record
    assert '"gains": [\n    "jemalloc' in record


@pytest.mark.parametrize("path", sorted(PLANTED.glob("*.cpp")), ids=lambda path: path.stem)
def test_a_planted_program_says_which_fixes_help_and_why(path: Path) -> None:
    found = expectation(path.read_text(encoding="utf-8"))
    names = {fix.name for fix in choosing.every()}
    right = {each.strip() for each in found["fix"].split("|")}
    assert right == {"none"} or right <= names
    assert found["why"].endswith(".")
    assert threads_of(found["threads"] or "2") >= 2


def test_threads_of_a_planted_program_may_be_told_by_processor() -> None:
    assert threads_of("4") == 4
    assert threads_of("2 per processor") == 2 * len(os.sched_getaffinity(0))


def test_the_document_has_a_row_for_each_fix_and_no_other() -> None:
    text = (ROOT / "docs/try.md").read_text(encoding="utf-8")
    section = text.split("## The fixes")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `([\w-]+)` \| \S.* \| \S.* \|$", section, re.MULTILINE)
    assert sorted(listed) == sorted(fix.name for fix in choosing.every())

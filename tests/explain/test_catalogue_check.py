"""catalogue_bar.py on made-up answers of explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import catalogue_bar as catalogue
import pytest
from catalogue_bar import Row, Subject
from threadmark.kinds.catalogue.cards import Explained

SLOW = Subject("rand", "gcc-libstdc++", Path("rand.threads"), Explained("rand", "", ("rand",)))
FAST = Subject("rand", "gcc-libstdc++", Path("rand.threads"), Explained("rand_r", "", ()))


def judge(subject: Subject = SLOW, **changes: Any) -> Row:
    first = {"category": "mutex", "knowledge": "rand.toml", "name": "rand", "share": 0.5}
    first = {**first, "certain": True, **changes}
    return catalogue.judge(subject, {"causes": [first], "exit_status": changes.get("status", 0)})


@pytest.mark.parametrize(
    ("row", "right", "misleads", "remark"),
    [
        (judge(), True, False, ""),
        (judge(certain=False), True, False, "not certain"),
        (judge(knowledge="own_mutex.toml"), False, False, "WRONG KNOWLEDGE"),
        (judge(category="io", knowledge="own_writes.toml"), False, True, "WRONG, and certain"),
        (judge(category="io", knowledge=None, certain=False), False, False, "WRONG"),
        (judge(category="none", knowledge=None), False, True, "NO CAUSE"),
        (judge(FAST, category="none", knowledge=None), True, False, ""),
        (judge(FAST, certain=False), True, False, "not certain"),
        (judge(FAST), False, True, "WRONG, and certain"),
        (judge(status=3), False, False, "the program ended with status 3"),
    ],
)
def test_an_answer_is_compared_with_the_card(
    row: Row, right: bool, misleads: bool, remark: str
) -> None:
    assert (row.right, row.misleads, row.remark) == (right, misleads, remark)


def test_variants_that_scale_do_not_help_the_bar() -> None:
    fast = judge(FAST, category="none", knowledge=None)
    named, certain, wrong = catalogue.bars([judge(), judge(knowledge="own_mutex.toml"), fast, fast])
    assert (named.value, named.held) == (0.5, False)
    assert (certain.value, certain.held) == (1.0, True)
    assert (wrong.value, wrong.held) == (0, True)
    assert not catalogue.bars([judge(FAST)])[2].held


def test_a_platform_runs_what_is_said_of_its_library(tmp_path: Path) -> None:
    for platform in ("gcc-libstdc++", "clang-libc++"):
        folder = tmp_path / platform / "bin"
        folder.mkdir(parents=True)
        (folder / "call_once.threads").touch()
        (folder / "nothing_like_it.threads").touch()
    found = catalogue.subjects(sorted(tmp_path.glob("*/bin")), [])
    assert [(each.platform, each.scales) for each in found] == [
        ("clang-libc++", False),
        ("gcc-libstdc++", True),
    ]
    assert catalogue.subjects(sorted(tmp_path.glob("*/bin")), ["get*"]) == []


def test_a_program_that_says_nothing_is_a_row_with_the_reason(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo no program >&2; exit 2"]
    row = catalogue.explain(SLOW, command, 1.0, 10.0)
    assert row.problem == "status 2: no program"
    assert "status 2: no program" in catalogue.table([row])
    assert catalogue.explain(SLOW, ["sh", "-c", "echo {}"], 1.0, 10.0).problem

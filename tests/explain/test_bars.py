"""bars.py on made-up outputs of explain: right, wrong and broken ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import expectation as expectations
import pytest
from expectation import Expectation, Judgement

import bars
from bars import Row, Subject

DRIVER = Path(bars.__file__)
LOCK = Expectation(
    "page_server",
    ("mutex",),
    "So.",
    names=("cache_mutex",),
    holder=(("find_page",), ("serve",)),
    must_be_certain=True,
)


def output(**changes: Any) -> dict[str, Any]:
    """An output that is right for LOCK, except for the changes of its first cause."""
    cause = {
        "category": "mutex",
        "share": 0.4,
        "certain": True,
        "name": "(anonymous namespace)::cache_mutex",
        "where": "page_server.cpp:23",
        "holders": [
            {"share": 0.2, "frames": ["other"]},
            {"share": 0.7, "frames": ["find_page", "(anonymous namespace)::serve", "main"]},
        ],
    }
    first = {**cause, **changes}
    document = {"schema": "threadmark.explain", "version": 1, "unknown": 0.01}
    return {**document, "causes": [first, {**cause, "category": "io"}]}


def judge(expected: Expectation = LOCK, *, debug: bool = True, **changes: Any) -> Judgement:
    return expectations.judge(expected, output(**changes), debug=debug)


def row(judgement: Judgement) -> Row:
    return Row(Subject(LOCK, Path("page_server"), "gcc", debug=True), judgement)


def test_the_first_cause_is_what_counts() -> None:
    found = judge()
    assert (found.right, found.holder_right, found.certain) == (True, True, True)
    assert (found.share, found.unknown, found.problem) == (0.4, 0.01, "")
    assert not judge(category="io").right


def test_one_of_several_categories_is_enough() -> None:
    both = Expectation("tiles", ("thread_creation", "task_overhead"), "So.")
    assert judge(both, category="task_overhead").right
    assert not judge(both, category="mutex").right


def test_a_right_category_with_another_lock_is_wrong() -> None:
    found = judge(name="log_mutex")
    assert (found.category_right, found.name_right, found.right) == (True, False, False)
    assert "WRONG NAME" in bars.remark(row(found))


def test_where_a_lock_was_made_is_its_name_only_without_debug_information() -> None:
    on_stack = Expectation("word_index", ("mutex",), "So.", ("words_mutex",), ("build_index",))
    assert judge(on_stack, name="made in build_index", debug=False).right
    assert judge(on_stack, name="", where="build_index+0x40", debug=False).right
    assert not judge(on_stack, name="made in build_index", debug=True).right


def test_a_stripped_program_needs_no_name() -> None:
    stripped = Expectation("tickets", ("mutex",), "So.", ("prices_mutex",), build="stripped")
    assert judge(stripped, name="tickets+0x5080", debug=False).right


@pytest.mark.parametrize(
    ("frames", "right"),
    [
        (["find_page", "serve"], True),
        (["find_page", "handle", "serve", "main"], True),
        (["ns::find_page", "(anonymous namespace)::serve"], True),
        (["find_page [clone .isra.0]", "serve [clone .constprop.0]"], True),
        (["find_page(int)", "serve(int, std::function<void (int)>) const"], True),
        (["serve", "find_page"], False),
        (["find_page"], False),
        (["find_pages", "observe"], False),
        ([], False),
    ],
)
def test_functions_of_a_holder_are_in_their_order(frames: list[str], right: bool) -> None:
    assert judge(holders=[{"share": 1.0, "frames": frames}]).holder_right is right


def test_either_of_two_functions_is_right_and_templates_do_not_matter() -> None:
    wanted = (("fsync", "write"), ("Log::add",))
    assert expectations.occur_in_order(wanted, ["__GI_write", "Log::add<int>"])
    assert expectations.occur_in_order(wanted, ["write@@GLIBC_2.2.5", "Log::add"])
    assert not expectations.occur_in_order(wanted, ["fwrite", "Log::add"])


def test_the_holder_with_the_largest_share_counts() -> None:
    holders = [
        {"share": 0.4, "frames": ["find_page", "serve"]},
        {"share": 0.6, "frames": ["x"]},
    ]
    assert judge(holders=holders).holder_right is False
    assert judge(holders=[]).holder_right is False


def test_no_holder_is_judged_where_none_is_expected() -> None:
    assert judge(Expectation("blur", ("none",), "So."), holders=[]).holder_right is None


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"schema": "threadmark.explain", "version": 2, "unknown": 0, "causes": []},
        {"schema": "threadmark.explain", "version": 1, "unknown": 0, "causes": []},
        {"schema": "threadmark.explain", "version": 1, "unknown": None, "causes": [{}]},
        {**output(), "unknown": "little"},
        {**output(), "causes": [["mutex"]]},
        output(share=None),
        output(holders=[{"share": 1.0}]),
        output(holders=["find_page"]),
    ],
)
def test_an_output_that_breaks_the_contract_is_wrong(broken: dict[str, Any]) -> None:
    found = expectations.judge(LOCK, broken, debug=True)
    assert found.problem
    assert (found.right, found.holder_right, found.certain) == (False, False, False)
    assert found.unknown == 1.0


def held(judgements: list[Judgement]) -> dict[str, bool]:
    return {bar.name: bar.held for bar in bars.bars([row(each) for each in judgements])}


def test_all_bars_are_held_by_right_outputs() -> None:
    assert set(held([judge()] * 20).values()) == {True}


@pytest.mark.parametrize(
    ("wrong", "few", "many", "missed"),
    [
        ({"category": "io", "certain": False}, 1, 2, {"first cause right"}),
        ({"holders": []}, 1, 2, {"holder's stack right"}),
        ({"certain": False}, 4, 5, {"right and certain"}),
        ({"category": "io"}, 0, 1, {"wrong and certain"}),
        ({"name": "log_mutex"}, 0, 1, {"wrong and certain"}),
    ],
)
def test_a_bar_is_missed_by_one_too_many(
    wrong: dict[str, Any], few: int, many: int, missed: set[str]
) -> None:
    def missed_with(count: int) -> set[str]:
        found = held([judge()] * (20 - count) + [judge(**wrong)] * count)
        return {name for name, is_held in found.items() if not is_held}

    assert missed_with(few) == set()
    assert missed_with(many) == missed


def test_one_run_with_too_much_unknown_misses_the_bar() -> None:
    much = expectations.judge(LOCK, {**output(), "unknown": 0.06}, debug=True)
    assert not held([judge(), much])["largest unknown share"]
    assert "6% unknown" in bars.remark(row(much))


def test_a_run_without_an_output_misses_three_bars() -> None:
    found = held([expectations.failed(LOCK, "status 1")])
    assert [name for name, is_held in found.items() if not is_held] == [
        "first cause right",
        "holder's stack right",
        "largest unknown share",
    ]


def test_the_object_is_found_between_lines_of_the_program() -> None:
    text = 'checksum {5}\n{not json\n{"a": {"b": 1}}\nchecksum 7\n'
    assert bars.read_json(text) == {"a": {"b": 1}}
    with pytest.raises(ValueError, match="no JSON"):
        bars.read_json("checksum 5\n")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Two programs that do nothing, in the folders of a platform named `gcc`."""
    folder = tmp_path / "gcc/explain/planted"
    for variant in ("debug", "plain"):
        for name in ("page_server", "tickets", "blur"):
            program = folder / variant / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text("")
    return folder


def stub(folder: Path, body: str) -> str:
    """A command that stands for explain; its body has the program's path in `program`."""
    path = folder / "stub.py"
    path.write_text(f"import json, sys, time\nprogram = sys.argv[1]\n{body}\n")
    return f"{sys.executable} {path}"


def drive(folder: Path, command: str, *more: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(DRIVER), "--build", str(folder), "--explain", command, *more]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)


def test_the_driver_holds_a_command_to_the_bars(built: Path) -> None:
    said = f"print('checksum 5')\nprint(json.dumps({output()!r}))"
    found = drive(built, stub(built, said), "--only", "page_*")
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count("page_server") == 2  # with debug information and without
    assert found.stdout.count("held") == 5


def test_the_driver_fails_when_a_bar_is_missed(built: Path) -> None:
    said = f"print(json.dumps({output()!r}))"
    found = drive(built, stub(built, said), "--json")
    assert found.returncode == 1
    document = json.loads(found.stdout)
    programs = [(each["program"], each["build"], each["right"]) for each in document["rows"]]
    assert programs == [
        ("blur", "gcc -g", False),
        ("blur", "gcc", False),
        ("page_server", "gcc -g", True),
        ("page_server", "gcc", True),
        ("tickets", "gcc", True),  # once: it has no debug information in either folder
    ]
    assert {bar["name"] for bar in document["bars"] if not bar["held"]} == {
        "first cause right",
        "wrong and certain",
    }


def test_a_program_that_needs_a_differential_run_is_explained_in_one(built: Path) -> None:
    program = built / "debug" / "lanes"
    program.write_text("")
    body = f"sys.exit(sys.argv[1:] != ['--threads', '1,2', '--', {str(program)!r}, '{{threads}}'])"
    found = drive(built, stub(built, body), "--only", "lanes")
    assert "no JSON object" in found.stdout  # the message of a status would be the wrong one


def test_a_command_that_fails_is_told_with_its_last_words(built: Path) -> None:
    found = drive(built, stub(built, "sys.exit('explain: no such program')"), "--only", "blur")
    assert found.returncode == 1
    assert "status 1: explain: no such program" in found.stdout


def test_a_command_that_does_not_end_is_ended(built: Path) -> None:
    found = drive(built, stub(built, "time.sleep(60)"), "--only", "tickets", "--limit", "0.5")
    assert found.returncode == 1
    assert "not at its end" in found.stdout


def test_a_driver_without_programs_says_what_to_run(tmp_path: Path) -> None:
    found = drive(tmp_path, "true")
    assert found.returncode == 2
    assert "./threadmark test" in found.stderr


def test_control_c_ends_it_with_what_was_measured(built: Path, tmp_path: Path) -> None:
    body = f"""
if 'tickets' in program:
    open({str(tmp_path / "reached")!r}, 'w').close()
    time.sleep(60)
print(json.dumps({output()!r}))"""
    line = [sys.executable, str(DRIVER), "--build", str(built), "--explain", stub(built, body)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "reached").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    said, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.count("page_server") == 2
    assert "interrupted after 4 of 5 programs" in said
    assert "Traceback" not in complaint

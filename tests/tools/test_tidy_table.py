"""tools/tidy takes the allowed includes from the table of ARCHITECTURE.md and from nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tool

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "ARCHITECTURE.md").read_text()

tidy = tool.load("tidy")


def findings(path: str, line: str, table: str = TABLE) -> list[str]:
    files = [tidy.File("ARCHITECTURE.md", table), tidy.File(path, f"// a\n{line}\n")]
    return [str(each) for each in tidy.check(files) if each.rule == "who-may-know-whom"]


@pytest.mark.parametrize(
    ("path", "line", "allowed"),
    [
        ("bench/random.hpp", '#include "bench.hpp"', True),
        ("bench/bench.hpp", '#include "random.hpp"', False),
        ("bench/backends/a.hpp", "#include <any/library.h>", True),
        ("bench/backends/a.hpp", '#include "b.hpp"', False),
        ("bench/programs/tasks/a.cpp", '#include "random.hpp"', True),
        ("bench/programs/tasks/a.cpp", '#include "contention.hpp"', False),
        ("bench/programs/library/a.cpp", '#include "contention.hpp"', True),
        ("bench/executable.cpp", "#include <nlohmann/json.hpp>", True),
        ("bench/harness.cpp", "#include <nlohmann/json.hpp>", False),
        ("include/tmk/detail/deque.hpp", '#include "entry.hpp"', True),
        ("include/tmk/detail/entry.hpp", '#include "deque.hpp"', False),
        ("include/tmk/detail/deque.hpp", '#include "../mutex.hpp"', False),
        ("include/tmk/detail/shared_library.hpp", "#include <dlfcn.h>", True),
        ("include/tmk/detail/stack.hpp", "#include <dlfcn.h>", False),
        ("include/tmk/mutex.hpp", '#include "detail/futex.hpp"', True),
        ("include/tmk/mutex.hpp", '#include "detail/deque.hpp"', False),
        ("include/tmk/a.hpp", '#include "version.hpp"', False),
        ("include/tmk/a.hpp", '#include "../bench/registry.hpp"', False),
        ("include/tmk/a.hpp", "#include <sys/mman.h>", True),
        ("bars/lock/a.cpp", "#include <tmk/mutex.hpp>", True),
        ("examples/a.cpp", "#include <tmk/mutex.hpp>", False),
        ("tests/a.cpp", "#include <gtest/gtest.h>", True),
    ],
)
def test_an_include_is_allowed_as_the_table_says(path: str, line: str, allowed: bool) -> None:
    expected = f"{path}:2: who-may-know-whom: "
    found = findings(path, line)
    assert [each.startswith(expected) for each in found] == ([] if allowed else [True])


def test_a_change_of_the_table_changes_what_is_allowed() -> None:
    row = "| `bench/registry.hpp` | what the harness knows of a program and a backend "
    assert row in TABLE
    line = '#include "bad_input.hpp"'
    assert not findings("bench/registry.hpp", line)
    assert findings("bench/registry.hpp", line, TABLE.replace("`bad_input.hpp` |", "|"))
    assert not findings("bench/registry.hpp", line, TABLE.replace(row, "| `other` | x "))


def test_the_row_with_the_longest_name_decides() -> None:
    table = (
        "\n## Parts and who may know whom\n"
        "| `bench/` | x | |\n| `bench/a/*.hpp` | x | `b.hpp` |\n| `bench/a/c.hpp` | x | |\n"
    )
    line = '#include "b.hpp"'
    assert not findings("bench/a/d.hpp", line, table)
    assert findings("bench/a/c.hpp", line, table)
    assert findings("bench/d.hpp", line, table)


def test_a_header_of_the_runtime_includes_what_its_row_says_from_rows_above_it() -> None:
    """So the headers form layers, and the table shows them."""
    above: set[Path] = set()
    section = TABLE.split("### The headers of the runtime\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        if not line.startswith("| `"):
            continue
        _, names, _, allowed, _ = line.split("|")
        header = ROOT / names.strip(" `")
        text = header.read_text()
        own = set(re.findall(r'^#include "([^"]+)"', text, re.MULTILINE))
        foreign = set(re.findall(r"^#include <((?:cxxabi|dlfcn)\.h)>", text, re.MULTILINE))
        assert own | foreign == set(re.findall(r"`([^`]+)`", allowed)), f"the row of {names}"
        below = [name for name in own if (header.parent / name).resolve() not in above]
        assert not below, f"{names} includes {below}, which no row above it has"
        above.add(header)
    assert above == set((ROOT / "include/tmk").rglob("*.hpp"))


def test_every_header_and_source_of_the_folders_with_rules_has_a_row() -> None:
    rows = [prefix for prefix, _ in tidy.who_may_include([tidy.File("ARCHITECTURE.md", TABLE)])]
    for folder in ("bench", "include/tmk", "examples", "bars"):
        for file in (ROOT / folder).rglob("*.?pp"):
            path = str(file.relative_to(ROOT))
            assert any(path.startswith(row) for row in rows), f"{path} is in no row"


def lab(files: dict[str, str], table: str = TABLE) -> list[str]:
    """The complaints of tidy about modules of the lab, by the table and their names alone."""
    made = [tidy.File(f"lab/threadmark/{path}", text) for path, text in files.items()]
    found = tidy.check([tidy.File("ARCHITECTURE.md", table), *made])
    return [str(each) for each in found if each.rule in ("who-may-know-whom", "names")]


@pytest.mark.parametrize(
    ("module", "imported", "allowed"),
    [
        ("judge/a.py", "model/cell.py", True),
        ("judge/a.py", "judge/b.py", True),
        ("judge/a.py", "store/store.py", False),
        ("model/a.py", "judge/b.py", False),
        ("present/a.py", "kinds/kind.py", False),
        ("kinds/tasks/a.py", "kinds/cells.py", True),
        ("kinds/tasks/a.py", "kinds/catalogue/b.py", False),
        ("kinds/a.py", "kinds/tasks/b.py", False),
        ("kinds/a.py", "kinds/b.py", True),
        ("commands/a.py", "kinds/tasks/b.py", True),
        ("measure/a.py", "present/b.py", False),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_an_import_of_the_lab_is_allowed_as_the_table_says(
    module: str, imported: str, allowed: bool, late: bool
) -> None:
    folder, _, name = imported.removesuffix(".py").replace("/", ".").rpartition(".")
    line = f"from threadmark.{folder} import {name}"
    text = f'"""a"""\ndef f():\n    {line}\n' if late else f'"""a"""\n{line}\n'
    found = lab({module: text, imported: '"""b"""\n'})
    assert bool(found) is not allowed
    if found:
        assert found[0].startswith(f"lab/threadmark/{module}:{3 if late else 2}: who-may-know-whom")


def test_modules_that_import_one_another_are_a_circle() -> None:
    files = {
        "judge/a.py": '"""a"""\nfrom threadmark.judge.b import x\n',
        "judge/b.py": '"""b"""\ndef f():\n    from threadmark.judge import a\n',
    }
    [found] = lab(files)
    assert "a circle: " in found
    del files["judge/b.py"]
    assert lab(files) == []


def test_rows_that_know_one_another_are_a_circle() -> None:
    row = "| `lab/threadmark/model/` |"
    assert row in TABLE
    line = next(each for each in TABLE.splitlines() if each.startswith(row))
    wrong = TABLE.replace(line, line.removesuffix("| |") + "| `lab/threadmark/judge/` |")
    [found] = lab({}, wrong)
    assert found.startswith("ARCHITECTURE.md:1: who-may-know-whom: a circle: ")


def test_two_modules_of_one_name_are_told_apart_only_in_kinds() -> None:
    text = '"""a"""\n'
    assert len(lab({"judge/a.py": text, "model/a.py": text})) == 1
    assert lab({"kinds/tasks/table.py": text, "kinds/catalogue/table.py": text}) == []
    assert len(lab({"kinds/tasks/a.py": text, "kinds/catalogue/a.py": text})) == 1

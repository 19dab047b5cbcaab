"""Every rule of tools/tidy refuses its example and lets the repaired one pass."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import tool

ROOT = Path(__file__).resolve().parents[2]


tidy = tool.load("tidy")

# rule, path, a text that it refuses, a text that it accepts instead
EXAMPLES = [
    (
        "who-may-know-whom",
        "bench/programs/tasks/a.cpp",
        "// a\n#include <tbb/task_group.h>\n",
        "// a\n#include <vector>\n",
    ),
    (
        "who-may-know-whom",
        "bench/harness.cpp",
        '// a\n#include "bench.hpp"\n',
        '// a\n#include "registry.hpp"\n',
    ),
    (
        "who-may-know-whom",
        "include/tmk/mutex.hpp",
        "// a\n#pragma once\n#include <boost/a.hpp>\n",
        '// a\n#pragma once\n#include "detail/futex.hpp"\n',
    ),
    (
        "who-may-know-whom",
        "lab/threadmark/a.py",
        '"""a"""\nimport tests\n',
        '"""a"""\nimport json\n',
    ),
    (
        "who-may-know-whom",
        "lab/threadmark/store/a.py",
        '"""a"""\nfrom threadmark.judge import verdict\n',
        '"""a"""\nfrom threadmark.model.cell import Cell\n',
    ),
    (
        "who-may-know-whom",
        "lab/threadmark/judge/a.py",
        '"""a"""\nimport time\n',
        '"""a"""\nimport math\n',
    ),
    (
        "who-may-know-whom",
        "lab/threadmark/judge/a.py",
        '"""a"""\ntext = open("a")\n',
        '"""a"""\ntext = iter("a")\n',
    ),
    (
        "names",
        "lab/threadmark/judge/statistics.py",
        '"""a"""\nfrom statistics import median\n',
        '"""a"""\nfrom math import sqrt\n',
    ),
    (
        "clock-and-output",
        "bench/programs/tasks/a.cpp",
        "// a\nauto t = std::chrono::steady_clock::now();\n",
        "// a steady_clock\n",
    ),
    (
        "clock-and-output",
        "bench/backends/a.hpp",
        '// a\n#pragma once\nprintf("");\n',
        '// a\n#pragma once\nauto s = "printf";\n',
    ),
    ("banned", "bench/a.cpp", "// a\nx.load(std::memory_order_consume);\n", "// a\nx.load();\n"),
    ("banned", "bench/a.cpp", "// a\nvolatile bool stop;\n", '// a\nasm volatile("");\n'),
    ("banned", "bench/a.cpp", "// a\nusing namespace std;\n", "// a\nusing std::swap;\n"),
    (
        "banned",
        "lab/a.py",
        '"""a"""\ntry:\n    pass\nexcept:\n    pass\n',
        '"""a"""\ntry:\n    pass\nexcept OSError:\n    pass\n',
    ),
    (
        "memory-order",
        "include/tmk/a.hpp",
        "// a\n#pragma once\nx.load(std::memory_order_acquire);\n",
        "// a\n#pragma once\n"
        "// ORDER take: acquire, pairs with give. Sees it.\nx.load(std::memory_order_acquire);\n"
        "// ORDER give: release, pairs with take.\nx.store(1, std::memory_order_release);\n",
    ),
    (
        "memory-order",
        "include/tmk/a.hpp",
        "// a\n#pragma once\n"
        "// ORDER take: acquire, pairs with nobody.\nx.load(std::memory_order_acquire);\n",
        "// a\n#pragma once\n"
        "// ORDER count: relaxed, statistic.\nx.load(std::memory_order_relaxed);\n",
    ),
    (
        "memory-order",
        "include/tmk/a.hpp",
        "// a\n#pragma once\n// ORDER own: relaxed.\nx.load(std::memory_order_relaxed);\n",
        "// a\n#pragma once\n"
        "// ORDER own: relaxed, owner-only.\nx.load(std::memory_order_relaxed);\n",
    ),
    (
        "note",
        "include/tmk/a.hpp",
        "// a\n#pragma once\n// ORDER own: relaxed, owner-only.\n",
        "// a\n#pragma once\n",
    ),
    ("size", "README.md", "x\n" * 121, "x\n" * 120),
    ("size", "apps/a/README.md", "x\n" * 121, "x\n" * 120),
    ("size", "apps/a/b.cpp", "// a\n" * 301, "// a\n" * 300),
    (
        "size",
        "bench/programs/tasks/a.cpp",
        "// a\n" * 251,
        "// long because of its tables\n" + "// a\n" * 260,
    ),
    ("layout", "bench/a.cpp", "// a\n" + "x" * 101 + "\n", "// a\n" + "x" * 100 + "\n"),
    ("layout", "include/a.md", "x" * 101 + "\n", "x" * 100 + "\n"),
    ("layout", "lab/a.py", '"""a"""\nx = 1 \n', '"""a"""\nx = 1\n'),
    ("layout", "bench/a.cpp", "// a\n\tx();\n", "// a\n  x();\n"),
    ("opening", "bench/a.cpp", "int a;\n", "// a\nint a;\n"),
    ("opening", "bench/a.hpp", "// a\nint a;\n", "// a\n#pragma once\nint a;\n"),
    ("opening", "lab/a.py", "import json\n", '"""a"""\nimport json\n'),
    ("dead-reference", "docs/a.md", "see [b](b.md)\n", "see [itself](a.md)\n"),
    ("dead-reference", "docs/a.md", "see `docs/b.md`\n", "see `docs/a.md`\n"),
    ("registry", "lab/a.py", '"""a"""\nU = "pypi' + '.org"\n', '"""a"""\nU = "a package"\n'),
    (
        "test-name",
        "tests/a.py",
        '"""a"""\ndef test_store():\n    pass\n',
        '"""a"""\ndef test_a_store_keeps_rows():\n    pass\n',
    ),
    (
        "test-name",
        "tests/a.cpp",
        "// a\nTEST(Lock, Works) {}\n",
        "// a\nTEST(Lock, two_threads_never_hold_it) {}\n",
    ),
]


@pytest.mark.parametrize(("rule", "path", "bad", "good"), EXAMPLES)
def test_a_rule_refuses_its_example_and_accepts_the_repair(
    rule: str, path: str, bad: str, good: str
) -> None:
    table = tidy.File("ARCHITECTURE.md", (ROOT / "ARCHITECTURE.md").read_text())
    assert rule in {f.rule for f in tidy.check([table, tidy.File(path, bad)])}
    assert rule not in {f.rule for f in tidy.check([table, tidy.File(path, good)])}


def test_no_rule_is_without_an_example() -> None:
    source = (ROOT / "tools/tidy").read_text()
    named = set(re.findall(r'yield Finding\([^"]*"([a-z-]+)"', source))
    assert named
    assert named <= {rule for rule, *_ in EXAMPLES}


def test_a_root_that_is_no_folder_is_one_sentence() -> None:
    command = [str(ROOT / "tools/tidy"), "/nowhere"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1

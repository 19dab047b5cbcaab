"""Some test reads every page with code or commands in blocks: a block on another page needs a new
test."""

from __future__ import annotations

import re

from threadmark.model.places import ROOT

# Page -> the file of tests that builds or runs its blocks.
READ = {
    "README.md": "tests/analysis/test_readme.py",
    "CONTRIBUTING.md": ".ci/run",
    "apps/sat/README.md": "tests/apps/test_readmes.py",
    "apps/students/README.md": "tests/apps/test_readmes.py",
    "apps/students/nodes/README.md": "tests/apps/test_readmes.py",
    "docs/dropin.md": "tests/tmk/package/test_package.py",
    "docs/install.md": "tests/pages.py",
    "docs/json.md": "tests/pages.py",
    "docs/loops.md": "tests/tmk/package/test_loops_page.py",
    "docs/text.md": "tests/tmk/reference/test_tmk_reference.py",
    "docs/tmk.md": "tests/tmk/reference/test_tmk_reference.py",
    "docs/try.md": "tests/try/test_commands_of_page.py",
    "docs/tutorial.md": "tests/explain/test_tutorial.py",
}


def test_each_page_with_code_or_commands_is_read_by_a_test() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("apps/**/*.md")]
    block = re.compile(r"^```(sh|cpp|c\+\+|cmake|python)\n", re.MULTILINE)
    with_blocks = {
        page.relative_to(ROOT).as_posix()
        for page in pages
        if block.search(page.read_text(encoding="utf-8"))
    }
    assert with_blocks == READ.keys()


def test_the_tests_name_their_pages() -> None:
    for page, test in READ.items():
        text = (ROOT / test).read_text(encoding="utf-8")
        name = page.rpartition("/")[2]
        assert name in text or test == ".ci/run", f"{test} does not read {page}"

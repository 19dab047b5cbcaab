"""The documents as a site: the files that are copied for it, and the links that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT
from threadmark.setup import site


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with two documents, a source and a folder."""
    folder = tmp_path / "checkout"
    for name, text in {
        "README.md": "[page](docs/page.md) ![picture](docs/a.svg)",
        "docs/page.md": "[source](../bench/fib.cpp#L3) [runs](runs) `[](int x)` [w](https://a.b)",
        "docs/a.svg": "<svg/>",
        "docs/runs/one.json": "{}",
        "docs/site/site.css": "",
        "docs/site/file_worker.js": "",
        "bench/fib.cpp": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_documents_are_copied_with_what_they_link_to(root: Path, tmp_path: Path) -> None:
    site.stage(root, tmp_path / "source")
    found = {
        each.relative_to(tmp_path / "source").as_posix()
        for each in (tmp_path / "source").rglob("*")
        if each.is_file()
    }
    assert found >= {"README.md", "docs/page.md", "docs/a.svg", "bench/fib.cpp"}
    assert "](runs/listing.md)" in (tmp_path / "source/docs/page.md").read_text()
    assert "`one.json`" in (tmp_path / "source/docs/runs/listing.md").read_text()


def test_a_link_to_nothing_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "docs/page.md").write_text("[gone](gone.md)")
    with pytest.raises(LabError, match=r"docs/page\.md links to .*gone\.md"):
        site.stage(root, tmp_path / "source")


def test_a_page_that_needs_the_network_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f'{site._STAND_IN}<a href="https://a.b">a link may lead anywhere</a>')
    site._keep_from_network(tmp_path)
    assert "unpkg" not in page.read_text()
    page.write_text('<script src="https://a.b/c.js"></script>')
    with pytest.raises(LabError, match=r"fetches https://a\.b/c\.js"):
        site._keep_from_network(tmp_path)


def test_every_page_of_docs_is_in_the_navigation() -> None:
    navigation = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    pages = [each.relative_to(ROOT).as_posix() for each in (ROOT / "docs").rglob("*.md")]
    assert [each for each in pages if each not in navigation] == []

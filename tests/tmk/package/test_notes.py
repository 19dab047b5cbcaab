"""The documents that the installed headers name are installed with them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("install")
    for line in (
        ["cmake", "-S", ROOT / "include", "-B", folder / "build"],
        ["cmake", "--install", folder / "build", "--prefix", folder / "prefix"],
    ):
        subprocess.run(line, check=True, capture_output=True, timeout=300)
    return folder / "prefix"


def test_every_document_that_an_installed_header_names_is_installed(prefix: Path) -> None:
    """A note is found from its header, a document of docs/ where packages keep documents."""
    named = set()
    for header in (prefix / "include").rglob("*.hpp"):
        for name in re.findall(r"[\w./-]+\.md\b", header.read_text()):
            folder = prefix / "share/doc/tmk" if name.startswith("docs/") else header.parent
            document = folder / name.removeprefix("docs/")
            assert document.is_file(), f"{header.name} names {name}, which is not installed"
            named.add(document.name)
    assert {"scheduler.md", "mutex.md", "runtime.md", "text.md"} <= named


def test_every_installed_note_is_named_by_a_header(prefix: Path) -> None:
    headers = "".join(each.read_text() for each in (prefix / "include").rglob("*.hpp"))
    notes = list((prefix / "include").rglob("*.md"))
    assert notes
    assert all(note.name in headers for note in notes)

"""The generated pages are those of the commands and schemas, and the tool reports a stale page."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
from threadmark.model.places import ROOT

TOOL = ROOT / "tools/reference"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    loader = SourceFileLoader("reference", str(TOOL))
    module = module_from_spec(spec_from_loader("reference", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


def test_the_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, TOOL], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_stale_page_is_seen_and_mended(reference: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{reference.BEGIN}old\n{reference.END}\nafter\n")
    assert not reference.holds(page, "new")
    page.write_text(reference.replaced(page.read_text(), "new"))
    assert reference.holds(page, "new")
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("\nafter\n")


def test_a_page_without_its_place_is_refused(reference: ModuleType) -> None:
    with pytest.raises(SystemExit):
        reference.replaced("nothing", "new")


def test_every_command_and_option_is_on_the_page() -> None:
    from threadmark import cli

    text = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    for name in cli.command_names():
        assert f"\n## {name}\n" in text
    assert "`--fail-on" in text

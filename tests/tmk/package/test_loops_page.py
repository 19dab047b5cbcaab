"""The programs of docs/loops.md compile on each platform and print the output on the page: with the
headers, and as one of two sources that include all of tmk as one header."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from compilers import PLATFORMS, ROOT, Platform, succeed

PAGE = (ROOT / "docs/loops.md").read_text()
PROGRAMS = re.findall(r"```cpp\n(.*?)```\n```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_has_its_two_programs() -> None:
    assert len(PROGRAMS) == len(re.findall(r"^```cpp$", PAGE, re.MULTILINE)) == 2


@pytest.fixture(scope="module")
def one_header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tmk.hpp."""
    folder = tmp_path_factory.mktemp("one")
    succeed([sys.executable, ROOT / "tools/single_header", "--output", folder / "tmk.hpp"])
    return folder


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda each: each.compiler)
@pytest.mark.parametrize(("program", "printed"), PROGRAMS)
def test_a_program_of_the_page_prints_what_the_page_says(
    platform: Platform, program: str, printed: str, tmp_path: Path
) -> None:
    source, executable = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(program)
    succeed(platform.command(f"-I{ROOT / 'include'}", source, "-o", executable))
    assert succeed([executable]) == printed


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda each: each.compiler)
@pytest.mark.parametrize(("program", "printed"), PROGRAMS)
def test_a_program_of_two_sources_may_include_the_one_header_in_both(
    platform: Platform, program: str, printed: str, one_header: Path, tmp_path: Path
) -> None:
    source, other, executable = (
        tmp_path / each for each in ("program.cpp", "other.cpp", "program")
    )
    source.write_text(re.sub(r'#include "tmk/\w+\.hpp"', '#include "tmk.hpp"', program))
    other.write_text(
        '#include "tmk.hpp"\nint other() { return tmk::async([] { return 1; }).get(); }\n'
    )
    assert '"tmk.hpp"' in source.read_text()
    succeed(platform.command(f"-I{one_header}", source, other, "-o", executable))
    assert succeed([executable]) == printed

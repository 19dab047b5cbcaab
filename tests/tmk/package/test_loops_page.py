"""The programs of docs/loops.md compile on each platform and print what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compilers import PLATFORMS, ROOT, Platform, succeed

PAGE = (ROOT / "docs/loops.md").read_text()
PROGRAMS = re.findall(r"```cpp\n(.*?)```\n```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_has_its_two_programs() -> None:
    assert len(PROGRAMS) == len(re.findall(r"^```cpp$", PAGE, re.MULTILINE)) == 2


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda each: each.compiler)
@pytest.mark.parametrize(("program", "printed"), PROGRAMS)
def test_a_program_of_the_page_prints_what_the_page_says(
    platform: Platform, program: str, printed: str, tmp_path: Path
) -> None:
    source, executable = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(program)
    succeed(platform.command(f"-I{ROOT / 'include'}", source, "-o", executable))
    assert succeed([executable]) == printed

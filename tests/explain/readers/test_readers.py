"""Programs of other authors read the exports of explain. Go builds its pprof first, which takes a
minute."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
import shown
from threadmark.kinds.explain.kind import KIND

GO = shutil.which("go") or shutil.which("/usr/local/go/bin/go")


@pytest.mark.skipif(not GO, reason="no go")
@pytest.mark.parametrize(
    ("form", "rows"),
    [
        ("pprof", {"main": "200ms", "Cache::get": "40ms", "worker": "40ms"}),
        ("pprof-cpu", {"Cache::put": "60ms", "worker": "60ms"}),
    ],
)
def test_go_shows_functions_with_their_time(
    form: str, rows: dict[str, str], tmp_path: Path
) -> None:
    run = shown.run()
    content = KIND.export(run, KIND.judge(run), form)
    assert isinstance(content, bytes)
    path = tmp_path / form
    path.write_bytes(content)
    assert GO
    line = [GO, "tool", "pprof", "-top", "-nodefraction=0", str(path)]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"(\S+)\s+\S+%\s+(\S+)$", said, re.MULTILINE)
    assert {name: time for time, name in found} == rows, said

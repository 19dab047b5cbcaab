"""The benchmark of tmk's bars measures only programs that launch tasks in the ways of its bars."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build/gcc-libstdc++/bin"


@pytest.mark.skipif(not BIN.is_dir(), reason="nothing is built; run: ./threadmark test")
def test_each_program_of_the_bars_has_the_variants_that_they_compare() -> None:
    spec = importlib.util.spec_from_file_location("bars_of_tmk", ROOT / "bars/bars.py")
    assert spec is not None
    assert spec.loader is not None
    bars = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = bars  # a dataclass looks its module up there
    spec.loader.exec_module(bars)
    suite = bars.Suite(BIN, BIN)
    programs = suite.programs()
    assert {*bars.SCALING, *bars.COARSE, *bars.RECURSIVE} <= set(programs)
    for program in programs:
        assert "optional" in suite.variants(program, "tmk")
        assert "plain" in suite.variants(program, "serial")

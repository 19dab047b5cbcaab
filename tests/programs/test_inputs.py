"""The well-formed inputs from which fuzzers start: a refused input would blind its fuzzer."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {each.stem for each in (ROOT / "bench/programs/tasks").glob("*.cpp")}
SEEDS = sorted(
    seed for seed in (ROOT / "tests/fuzz/seeds").glob("*/*") if seed.parent.name in PROGRAMS
)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.parent.name}/{seed.name}")
def test_a_fuzzer_starts_from_inputs_that_run_and_verify(seed, run):
    result = run(seed.parent.name, "serial", "--arg", f"input={seed}")
    assert result.status == 0, result


@pytest.mark.parametrize("program", sorted({seed.parent.name for seed in SEEDS}))
def test_an_input_that_is_missing_or_empty_is_refused(program, run, refused, tmp_path):
    result = run(program, "serial", "--arg", f"input={tmp_path / 'absent'}")
    assert result.status == 2
    assert "does not exist" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "input file" in refused(program, "")

"""bounds.py on made-up bounds, and on programs that are scripts."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import bounds
import pytest
from bounds import Gain, Row
from expectation import Expectation, Judgement

from bars import Subject

LOCK = Expectation("page_server", ("mutex",), "So.")
SUBJECT = Subject(LOCK, Path("debug/page_server"), "gcc", debug=True)
DRIVER = Path(bounds.__file__)


def row(bound: float | None, times: float, noise: float = 0.0, *, right: bool = True) -> Row:
    return Row(SUBJECT, Judgement(bound=bound, category_right=right), Gain(times, noise))


def test_the_gain_is_the_ratio_of_the_medians() -> None:
    found = bounds.gain([(2.0, 1.0), (2.0, 1.0), (9.0, 1.0), (2.0, 1.0), (2.0, 4.0)])
    assert found.times == 2.0


def test_the_noise_grows_with_how_the_pairs_differ() -> None:
    assert bounds.gain([(2.0, 1.0)] * 5).noise == 0.0
    little = bounds.gain([(2.0 + 0.01 * i, 1.0) for i in range(5)]).noise
    much = bounds.gain([(2.0 + 0.10 * i, 1.0) for i in range(5)]).noise
    assert 0.0 < little < 0.1 < much


@pytest.mark.parametrize(
    ("bound", "times", "noise", "within", "close"),
    [
        (2.0, 1.9, 0.0, True, True),
        (2.0, 2.1, 0.0, False, True),
        (2.0, 2.1, 0.2, True, True),
        (2.0, 1.3, 0.0, True, False),
        (2.0, 3.1, 0.0, False, False),
        (None, 1.3, 0.0, None, False),
    ],
)
def test_a_bound_is_held_to_the_gain_and_its_noise(
    bound: float | None, times: float, noise: float, within: bool | None, close: bool
) -> None:
    found = row(bound, times, noise)
    assert (found.within, found.close) == (within, close)


def test_a_wrong_cause_and_a_failed_run_are_not_judged() -> None:
    wrong = row(9.0, 1.0, right=False)
    failed = Row(SUBJECT, Judgement(bound=2.0, category_right=True), Gain(math.nan, math.nan, "x"))
    assert {bar.value for bar in bounds.held([wrong, failed])} == {None}
    assert "not judged" in bounds.remark(wrong)


@pytest.mark.parametrize(
    ("category", "alone", "judged"),
    [("mutex", 1.1, True), ("mutex", 1.4, False), ("thread_creation", 9.0, True)],
)
def test_what_one_thread_gains_too_is_no_gain_of_a_wait(
    category: str, alone: float, judged: bool
) -> None:
    said = Judgement(category=category, bound=2.0, category_right=True)
    found = Row(SUBJECT, said, Gain(2.0, 0.0, alone=alone))
    assert found.judged == judged
    assert ("on one thread too" in bounds.remark(found)) != judged


def missed(rows: list[Row]) -> list[str]:
    return [bar.name for bar in bounds.held(rows) if not bar.held]


def test_a_bar_is_missed_by_one_too_many() -> None:
    good, above, far = row(2.0, 2.0), row(2.0, 2.1), row(4.0, 2.0)
    assert missed([good] * 19 + [above]) == []
    assert missed([good] * 18 + [above] * 2) == ["gain within the bound"]
    assert missed([good] * 16 + [far] * 4) == []
    assert missed([good] * 15 + [far] * 5) == ["bound within 1.5 x"]
    assert missed([good] * 15 + [row(None, 2.0)] * 5) == ["bound within 1.5 x"]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A program that sleeps, on two threads a third as long without its cause; and other
    programs."""
    folder = tmp_path / "gcc/explain/planted"
    for variant, program, body in (
        ("debug", "page_server", 'test "$1" = 1 && sleep 0.3 || sleep 0.9'),
        ("without", "page_server", "sleep 0.3"),
        ("debug", "tiles", "true"),
        ("without", "tiles", "exit 3"),
        ("debug", "blur", "true"),
    ):
        path = folder / variant / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    return folder


def arguments(folder: Path, bound: float, *more: str) -> list[str]:
    cause = {"category": "mutex", "share": 0.5, "certain": True, "name": "cache_mutex"}
    document = {"schema": "threadmark.explain", "version": 1, "unknown": 0.0}
    said = json.dumps({**document, "causes": [{**cause, "bound": bound}]})
    stub = folder / "stub.sh"
    stub.write_text(f"echo '{said}'\n")
    return ["--build", str(folder), "--explain", f"sh {stub}", *more]


def drive(folder: Path, bound: float, *more: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(DRIVER), *arguments(folder, bound, *more)]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("bound", "status"), [(2.4, 0), (1.9, 1), (3.1, 1)])
def test_the_driver_fails_when_a_bar_is_missed(
    built: Path, bound: float, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "measure_gain", lambda *_: Gain(2.0, 0.0))
    assert bounds.main(arguments(built, bound, "--only", "page_server")) == status


def test_the_driver_measures_what_the_program_gains(built: Path) -> None:
    found = drive(built, 3.0, "--only", "page_server", "--pairs", "1", "--json")
    (only,) = json.loads(found.stdout)["rows"]
    assert only["bound"] == 3.0
    assert only["gain"] > 1.2  # far below 3 on processors that also have other work


@pytest.mark.parametrize(("options", "bound"), [((), 3.0), (("--one-run",), 4.0)])
def test_the_driver_explains_a_comparison_unless_one_run_is_asked_for(
    built: Path,
    options: tuple[str, ...],
    bound: float,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bounds, "measure_gain", lambda *_: Gain(2.0, 0.0))
    line = arguments(built, 4.0, "--only", "page_server", "--json", *options)
    stub = built / "stub.sh"
    single = stub.read_text().strip()
    compared = single.replace("4.0", "3.0")
    stub.write_text(f'case "$*" in *"--threads 1,2"*) {compared};; *) {single};; esac\n')
    bounds.main(line)
    (only,) = json.loads(capsys.readouterr().out)["rows"]
    assert only["bound"] == bound


def test_the_driver_says_which_program_failed(built: Path) -> None:
    found = drive(built, 2.0, "--only", "tiles")
    assert "without/tiles ended with status 3" in found.stdout


def test_a_driver_without_programs_says_what_to_run(built: Path) -> None:
    found = drive(built, 2.0, "--only", "blur")
    assert found.returncode == 2
    assert "./threadmark test" in found.stderr

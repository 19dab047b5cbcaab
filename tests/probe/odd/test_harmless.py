"""No odd program notices a recording, and harmless.py finds every way to notice it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
DRIVER = HERE / "harmless.py"
BUILT = [
    folder
    for folder in sorted((ROOT / "build").glob("*/probe"))
    if (folder / "odd/refuse").exists() and (folder / "libthreadmark-agent.so").exists()
]


def differences(line: list[str]) -> dict[str, dict[str, str]]:
    """By case, the differences that are not known."""
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(done.stdout)["rows"]
    found = {row["case"]: row["differences"] for row in rows if not row["known"]}
    assert done.returncode == any(found.values())
    return found


@pytest.mark.skipif(not BUILT, reason="no platform is built; run: ./threadmark test")
@pytest.mark.parametrize("probe", BUILT, ids=lambda probe: probe.parent.name)
def test_no_odd_program_notices_that_it_is_recorded(probe: Path, tmp_path: Path) -> None:
    # Interpreters and the C library do not depend on the compiler.
    few = [] if probe == BUILT[0] else ["--no-interpreters"]
    kept = ["--keep", str(tmp_path / "kept")]
    found = differences(
        [sys.executable, str(DRIVER), "--build", str(probe.parent), "--json", *few, *kept]
    )
    assert {case: each for case, each in found.items() if each} == {}
    assert len(found) > 40


@pytest.mark.skipif(not BUILT, reason="no platform is built; run: ./threadmark test")
def test_programs_whose_threads_are_stopped_for_samples_do_not_notice(tmp_path: Path) -> None:
    # Calls that signals interrupt, exits of threads, and a program that traces its own threads.
    cases = ("interrupted*", "thread_timers", "storm", "cancels", "address_sanitizer right")
    chosen = [word for case in cases for word in ("--only", case)]
    line = [sys.executable, str(DRIVER), "--build", str(BUILT[0].parent), "--without-perf"]
    kept = ["--keep", str(tmp_path / "kept")]
    found = differences([*line, "--json", "--no-interpreters", *chosen, *kept])
    assert {case: each for case, each in found.items() if each} == {}
    assert len(found) >= len(cases)


# A recorder that runs a command, makes a record by hand, and applies a change in between.
FAKE = """#!{python}
import os, subprocess, sys, time
from pathlib import Path
import json
if sys.argv[1] == "--print":
    sys.exit(print(Path(sys.argv[2]).read_text(), end=""))
place, command = Path(sys.argv[2]), sys.argv[sys.argv.index("--") + 1 :]
done = subprocess.run(command, capture_output=True)
status, output, errors = done.returncode, done.stdout, done.stderr
head = dict(kind="record", complete=True, limits=[], lost=dict(stacks=0, samples=3))
head["tier"] = dict(agent=True)
end, told = dict(kind="end"), status
{change}
head |= dict(exit_status=max(told, 0), signal=max(-told, 0))
place.write_text(json.dumps(head) + chr(10) + json.dumps(end) + chr(10))
os.write(1, output)
os.write(2, errors)
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
"""
PROGRAM = "echo said; echo wrong >&2; exit 4\n"


def run_faked(folder: Path, program: str, change: str, *options: str) -> dict[str, str]:
    """The differences of a script, as the program, under the fake recorder with that change."""
    # The script has the name of a program with one case.
    for path, text in (
        (folder / "build/probe/odd/storm", f"#!/bin/sh\n{program}"),
        (
            folder / "build/probe/threadmark-record",
            FAKE.format(python=sys.executable, change=change),
        ),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    line = [sys.executable, str(DRIVER), "--build", str(folder / "build"), "--json", *options]
    line += ["--no-interpreters", "--runs", "3"]
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=100)
    (row,) = json.loads(done.stdout)["rows"]
    assert row["runs"] == 3
    assert done.returncode == (1 if row["differences"] else 0)
    return dict(row["differences"])


@pytest.mark.parametrize("program", [PROGRAM, "echo before; kill -USR1 $$\n"])
def test_what_is_the_same_is_no_difference(tmp_path: Path, program: str) -> None:
    assert run_faked(tmp_path, program, "") == {}


@pytest.mark.parametrize(
    ("change", "kind", "example"),
    [
        ("status = told = 5", "status", "5, not 4"),
        ("status = told = -9", "status", "-9, not 4"),
        ("output = output.replace(b'said', b'sad')", "output", "-said\n+sad"),
        ("output += b'more'", "output", "+more"),
        ("errors = b''", "errors", "-wrong"),
        ("Path('rest').touch()", "files", "left behind: ('rest',), not ()"),
        (
            "null = subprocess.DEVNULL\n"
            "subprocess.Popen(['sleep', '50'], stdin=null, stdout=null, stderr=null)",
            "processes",
            "left behind: ('sleep',), not ()",
        ),
        ("end = {}", "record", "not readable"),
        ("head['complete'] = False", "record", "not complete"),
        ("head['tier']['agent'] = False", "record", "agent: False"),
        ("head['lost']['stacks'] = 2", "record", "lost {'stacks': 2}"),
        ("told = 6", "record", "tells of status 6, not 4"),
    ],
)
def test_each_kind_of_difference_is_told(
    tmp_path: Path, change: str, kind: str, example: str
) -> None:
    found = run_faked(tmp_path, PROGRAM, change)
    assert list(found) == [kind]
    assert found[kind].startswith(example)


def test_a_hang_is_told_with_where_its_threads_stand(tmp_path: Path) -> None:
    found = run_faked(tmp_path, PROGRAM, "subprocess.run(['sleep', '60'])", "--limit", "1")
    assert list(found) == ["hangs"]
    assert "(sleep)" in found["hangs"]


def test_a_program_that_differs_alone_is_told_apart(tmp_path: Path) -> None:
    assert "the program alone: output" in run_faked(tmp_path, "date +%N\n", "")

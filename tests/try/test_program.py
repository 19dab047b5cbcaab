"""One run of a program of the user: its ending, its time, and a clean machine after it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from threadmark.fixes.fix import Setting
from threadmark.kinds.program_runs import cell_of, one_run
from threadmark.machine import load, processes
from threadmark.machine.limits import default_limits
from threadmark.machine.load import Counters
from threadmark.measure import program
from threadmark.measure.cage import Cage
from threadmark.measure.program import Job, Result
from threadmark.model.cell import Status
from threadmark.model.errors import LabError
from threadmark.model.workload import Workload


@pytest.fixture(params=["groups", "polling"])
def cage(request: pytest.FixtureRequest) -> Iterator[Cage]:
    """A cage with control groups, if the machine allows them, and one without."""
    groups = request.param == "groups"
    with Cage(default_limits(), use_groups=groups, cap_threads=False) as made:
        yield made


def run(cage: Cage, script: str, limit_s: float = 60, **options: object) -> Result:
    job = replace(Job(("sh", "-c", script)), **options)  # type: ignore[arg-type]
    return program.run(job, os.environ, cage, limit_s)


def test_a_run_has_its_time_its_peak_and_what_tells_its_output(
    cage: Cage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real, looked = processes.peak_bytes, tmp_path / "looked"

    def look(pid: int) -> int:
        found = real(pid)
        looked.touch()
        return found

    monkeypatch.setattr(processes, "peak_bytes", look)
    until_looked = f"until [ -e {looked} ]; do sleep 0.02; done"
    found = run(cage, f"echo 12,000 units; sleep 0.1; {until_looked}")
    assert found.status is Status.OK
    assert found.seconds == found.facts["wall_s"] > 0.08
    assert found.facts["peak_bytes"] > 100_000
    assert found.facts["output"] == run(cage, "echo 12,000 units").facts["output"]
    assert found.facts["output"] != run(cage, "echo 12,001 units").facts["output"]
    by_units = run(cage, "echo 5 units; echo 12,000 units", progress=re.compile(r"([\d,]+) units"))
    assert by_units.seconds == by_units.facts["wall_s"] / 12_000
    assert run(cage, "echo 4", metric="sed s/4/8/").seconds == 1 / 8


def test_the_time_begins_with_the_process(cage: Cage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time counts in full, even if the lab gets no processor while the program runs."""

    class Late(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            time.sleep(0.3)

    run(cage, "true")  # measures the time that a child needs to reach its program
    monkeypatch.setattr(subprocess, "Popen", Late)
    found = run(cage, "sleep 0.2")
    assert found.seconds is not None
    assert found.seconds >= 0.2
    served = run(cage, "exec sleep 60", load="sleep 0.2")
    assert served.seconds is not None
    assert served.seconds >= 0.2


def test_the_way_of_a_child_to_its_program_counts_for_the_lab(
    cage: Cage, monkeypatch: pytest.MonkeyPatch
) -> None:
    entrance = cage.entrance

    def late(*words: Any) -> Callable[[], None]:
        def enter() -> None:
            own()
            time.sleep(2)

        own = entrance(*words)
        return enter

    monkeypatch.setattr(cage, "entrance", late)
    found = run(cage, "true")
    assert found.seconds is not None
    assert found.seconds < 2


def test_the_work_of_others_is_that_beside_the_program_alone(
    cage: Cage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The work of --prepare, --check and --metric is no work of others."""
    worked = tmp_path / "worked"
    work = f"echo x >> {worked}"
    worked.touch()
    monkeypatch.setattr(load, "read", lambda _: Counters(100.0 * worked.stat().st_size, 0, 1))
    found = run(cage, "echo 1", prepare=work, check=work, metric=f"{work}; cat")
    assert found.status is Status.OK
    assert len(worked.read_text(encoding="ascii").split()) == 3
    assert (found.facts["others_s"], found.facts["steal_s"]) == (0, 0)
    assert found.facts["watched_s"] >= found.facts["wall_s"]
    assert run(cage, work).facts["others_s"] > 100


@pytest.mark.parametrize(
    ("script", "status", "reason"),
    [
        ("echo no. >&2; exit 3", Status.CRASHED, "it ended with exit status 3; it said: no"),
        ("kill -SEGV $$", Status.CRASHED, "it was ended by SIGSEGV"),
        ("sleep 30", Status.TIMEOUT, "it did not end within 0.2 s"),
    ],
)
def test_a_run_that_fails_has_a_reason(
    cage: Cage, script: str, status: Status, reason: str
) -> None:
    found = run(cage, script, limit_s=0.2 if "sleep" in script else 10)
    assert (found.status, found.reason, found.seconds) == (status, reason, None)


def test_output_that_the_check_refuses_is_wrong(cage: Cage) -> None:
    assert run(cage, "echo 41", check="grep -q 42").status is Status.WRONG
    found = run(cage, "echo 41", check="echo too small; exit 1")
    assert found.reason == "--check refused its output; it said: too small"
    assert run(cage, "echo 42", check="grep -q 42").status is Status.OK


def test_output_without_the_number_that_is_asked_for_is_wrong(cage: Cage) -> None:
    found = run(cage, "echo none", metric="cat")
    assert found.status is Status.WRONG
    assert found.reason.startswith("--metric printed no number above 0")
    found = run(cage, "echo none", progress=re.compile(r"(\d+)"))
    assert (found.status, found.seconds) == (Status.WRONG, None)
    assert found.reason == r"--progress '(\d+)' finds no number above 0 in the output"


def test_a_check_that_does_not_end_fails_that_run_only(
    cage: Cage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "_ASIDE_S", 0.2)
    found = run(cage, "true", check="sleep 9")
    assert (found.status, found.reason) == (Status.TIMEOUT, "--check did not end within 0 s")
    with pytest.raises(LabError, match="--prepare did not end within"):
        run(cage, "true", prepare="sleep 9")


def test_nothing_that_a_program_started_outlives_it(cage: Cage, tmp_path: Path) -> None:
    started = tmp_path / "pid"
    script = (
        f"setsid sh -c 'echo $$ > {started}; exec sleep 60' & while ! [ -s {started} ]; do :; done"
    )
    assert run(cage, script).status is Status.OK
    assert not Path(f"/proc/{started.read_text().strip()}").exists()


def test_what_runs_beside_the_program_is_at_fault_itself(cage: Cage) -> None:
    with pytest.raises(LabError, match="--prepare ended with exit status 1; it said: oh"):
        run(cage, "true", prepare="echo oh; exit 1")
    with pytest.raises(LabError, match="no-such-program cannot be started"):
        program.run(Job(("./no-such-program",)), os.environ, cage, 1)


def test_the_variables_of_a_setting_reach_the_program_alone(cage: Cage, tmp_path: Path) -> None:
    """The commands beside the program, and the runs as is, see the environment unchanged."""
    workload = Workload(
        ("sh", "-c", "echo program $LC_ALL-$N >> seen; exec sleep 60"),
        threads="2",
        threads_env="N",
        prepare="echo prepare $LC_ALL-$N >> seen",
        ready="echo ready $LC_ALL-$N >> seen; grep -q program seen",
        load="echo load $LC_ALL-$N >> seen",
        check="echo check $LC_ALL-$N >> seen",
        metric="echo metric $LC_ALL-$N >> seen; echo 1",
    )
    for place in (tmp_path / "as-is", tmp_path / "fixed"):
        place.mkdir()
        setting = Setting({"LC_ALL": "C"}, threads=1) if place.name == "fixed" else Setting()
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "POSIX"}
        with contextlib.chdir(place):
            row = one_run(workload, cell_of(workload, "v", 2), 1, 10, (environment, setting), cage)
        assert row.status is Status.OK, row.reason
        seen = set((place / "seen").read_text(encoding="ascii").split("\n")) - {""}
        program = {"program C-1"} if place.name == "fixed" else {"program POSIX-2"}
        assert {each for each in seen if each.startswith("program")} == program
        aside = ("prepare", "ready", "load", "check", "metric")
        assert seen - program == {f"{each} POSIX-2" for each in aside}


SERVER = "trap 'echo bye; exit 0' USR1; touch {0}; while :; do sleep 0.02; done"


def test_a_server_is_measured_by_its_load_and_ended_by_its_signal(
    cage: Cage, tmp_path: Path
) -> None:
    up = tmp_path / "up"
    found = run(
        cage,
        SERVER.format(up),
        ready=f"test -e {up}",
        load="sleep 0.2; echo 50 requests",
        stop=signal.SIGUSR1,
        progress=re.compile(r"(\d+) requests"),
    )
    assert found.status is Status.OK
    assert found.seconds is not None
    assert 0.15 < 50 * found.seconds < 30
    assert found.facts["peak_bytes"] > 100_000


@pytest.mark.parametrize(
    ("script", "load", "status", "reason"),
    [
        ("exit 5", "sleep 1", Status.CRASHED, "it ended before it was ready"),
        ("until [ -e loaded ]; do sleep 0.02; done; kill -SEGV $$",
         "touch loaded; until grep -q '^State:.Z' /proc/$(cat server)/status; do sleep 0.02; done",
         Status.CRASHED, "it ended before its load had"),
        ("exec sleep 60", "echo oh; exit 4", Status.CRASHED,
         "its load ended with exit status 4; it said: oh"),
        ("exec sleep 60", "sleep 60", Status.TIMEOUT, "its load did not end within 0.5 s"),
    ],
)  # fmt: skip
def test_a_server_that_fails_has_a_reason(
    *,
    cage: Cage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    load: str,
    status: Status,
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ready = "test ! -e /proc/self/none" if "ready" not in reason else "sleep 0.1; false"
    began = time.monotonic()
    limit_s = 0.5 if status is Status.TIMEOUT else 60
    found = run(cage, f"echo $$ > server; {script}", limit_s, ready=ready, load=load)
    assert (found.status, found.reason) == (status, reason)
    assert time.monotonic() - began < 50

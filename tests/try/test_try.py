"""The command line of try: from a program to the answer, and its refusals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import steady
from lab.lab_support import store_again
from threadmark import cli
from threadmark.fixes.fix import Setting
from threadmark.kinds.trials import trying
from threadmark.kinds.trials.judgement import Found
from threadmark.machine import host
from threadmark.model.effort import parse_seconds
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT
from threadmark.store.store import Store

# A process in the background of a shell ignores Ctrl-C, and so would the children of this test.
signal.signal(signal.SIGINT, signal.default_int_handler)

steady_budget = steady.budget  # a fixture

# Five times as fast if the locale is C, and broken by a priority.
SCRIPT = """#!/bin/sh
[ "$(nice)" -lt {nice} ] && exit 7
[ "$LC_ALL" = C ] && sleep 0.02 || sleep 0.1
echo done
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the test, in which all files are written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.delenv("LC_ALL", raising=False)
    script = tmp_path / "prog"
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    script.write_text(SCRIPT.format(nice=nice), encoding="ascii")
    script.chmod(0o755)
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    """The output of the command."""
    assert cli.main(["try", "--store", "s.db", *words]) == status
    captured = capfd.readouterr()
    return captured.err if status == 2 else captured.out


@pytest.mark.usefixtures("steady_budget")
def test_what_helps_is_found_kept_and_shown_again(capfd: pytest.CaptureFixture[str]) -> None:
    fixes = "c-locale" + (",priority" if os.geteuid() == 0 else "")
    options = ("--only", fixes, "--budget", "4s", "--json")
    found = json.loads(run(capfd, *options, "--", "./prog"))
    assert found["schema"] == "threadmark/try/1"
    assert found["gains"] == ["c-locale"]
    by_name = {each["name"]: each for each in found["fixes"]}
    gain = by_name["c-locale"]["threads"]["0"]["times_as_fast"]
    assert 1.2 < gain["low"] < gain["high"] < 8
    assert by_name["c-locale"]["keep"] == {
        "build": "",
        "environment": {"LC_ALL": "C"},
        "command": "LC_ALL=C ./prog",
        "dockerfile": ['ENV LC_ALL="C"'],
    }
    if os.geteuid() == 0:
        assert by_name["priority"]["broken"] == "it ended with exit status 7"
    variants = {row["variant"] for row in found["rows"]}
    assert variants >= {"first", "as is", "as is again", "c-locale"}
    assert found["run"]["finished_at"]

    assert cli.main(["show", "--store", "s.db"]) == 0
    shown = capfd.readouterr().out
    assert "c-locale: LC_ALL=C" in shown
    assert "LC_ALL=C ./prog" in shown
    assert cli.main(["report", "1", "--store", "s.db", "--output", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "LC_ALL=C ./prog" in page
    store_again(Path("s.db"))
    assert cli.main(["compare", "1", "2", "--store", "s.db"]) == 0
    assert "c-locale" in capfd.readouterr().out


@pytest.mark.usefixtures("steady_budget")
def test_a_fix_that_takes_the_number_away_costs_that_fix_only(
    capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    script = '[ "$LC_ALL" = C ] && echo none || echo 8'
    options = ("--only", "c-locale,batch", "--budget", "8s", "--metric", "cat", "--json")
    found = json.loads(run(capfd, *options, "--", "sh", "-c", script))
    broken = {each["name"]: each["broken"] for each in found["fixes"]}
    assert broken["batch"] is None
    assert broken["c-locale"].startswith("--metric printed no number above 0")


@pytest.mark.usefixtures("steady_budget")
def test_the_best_of_two_kinds_are_measured_together(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both_gain = property(lambda found: [each for each in found.tried if not each.parts])
    monkeypatch.setattr(Found, "best_of_kinds", both_gain)
    options = ("--only", "c-locale,batch", "--budget", "6s", "--json")
    found = json.loads(run(capfd, *options, "--", "sleep", "0.01"))
    both = next(each for each in found["fixes"] if each["parts"])
    assert set(both["parts"]) == {"c-locale", "batch"}
    assert both["keep"]["command"] == "LC_ALL=C chrt --batch 0 sleep 0.01"
    rows = [row for row in found["rows"] if row["variant"] == both["name"]]
    assert len(rows) >= 1
    assert rows[0]["command"] == ["chrt", "--batch", "0", "sleep", "0.01"]


@pytest.mark.usefixtures("steady_budget")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_a_fix_that_sets_the_threads_by_a_variable_is_held_to_neither_threads_nor_output(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    all_gain = property(lambda found: [each for each in found.tried if not each.parts])
    monkeypatch.setattr(Found, "best_of_kinds", all_gain)
    script = folder / "counts"
    script.write_text("#!/bin/sh\necho ${TMK_NUM_THREADS:-4}\n", encoding="ascii")
    script.chmod(0o755)
    options = ("--only", "tmk-threads,batch", "--budget", "12s", "--threads", "4,5", "--json")
    found = json.loads(run(capfd, *options, "--", "./counts", "{threads}"))
    broken = {each["name"]: each["broken"] for each in found["fixes"]}
    assert broken["tmk-threads"] is None
    threads = {
        name: {row["threads"] for row in found["rows"] if row["variant"] == name}
        for name in ("tmk-threads", "batch")
    }
    assert threads == {"tmk-threads": {5}, "batch": {4, 5}}


@pytest.mark.usefixtures("steady_budget")
def test_where_nothing_helps_it_says_what_would_have_been_seen(
    capfd: pytest.CaptureFixture[str],
) -> None:
    said = run(capfd, "--only", "batch", "--budget", "1500ms", "--", "true", status=2)
    assert "no time for --budget" in said
    said = run(capfd, "--only", "batch", "--budget", "6s", "--", "sleep", "0.02")
    assert "sleep as it is:" in said
    pattern = r"batch (does not|is not sure to) help; a gain of (\d+(\.\d)? %|x\S+) or more would"
    assert re.search(pattern, " ".join(said.split()))


def _about(summary: str, name: str, bound: float, *fixes: str) -> dict[str, object]:
    return {
        "summary": summary, "category": "atomic", "name": name, "bound": bound, "fixes": fixes
    }  # fmt: skip


SAID = {
    "run": 7,
    "causes": ["40 % locale"],
    "bounds": {"c-locale": 1.6},
    "about": [_about("40 % locale", "locale", 1.6, "batch", "c-locale")],
}


def _explains(
    monkeypatch: pytest.MonkeyPatch, *answers: dict[str, object] | LabError, takes_s: float = 0
) -> list[Setting]:
    """Make explain give these answers; returns the settings that explain was asked for."""
    asked: list[Setting] = []

    def explained(_: object, setting: Setting, *__: object) -> dict[str, object]:
        time.sleep(takes_s)
        asked.append(setting)
        answer = answers[len(asked) - 1]
        if isinstance(answer, LabError):
            raise answer
        return dict(answer)

    monkeypatch.setattr(trying, "explained", explained)
    return asked


EXPLAIN = ("--explain", "--only", "batch,c-locale", "--budget", "4s", "--", "./prog")


@pytest.mark.usefixtures("steady_budget")
def test_explain_puts_its_fixes_first_and_explains_the_best(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = {
        "run": 8,
        "causes": ["9 % locale"],
        "bounds": {},
        "about": [_about("9 % locale", "locale", 1.1)],
    }
    asked = _explains(monkeypatch, SAID, left)
    found = json.loads(run(capfd, "--json", *EXPLAIN))
    assert [each.variables.get("LC_ALL") for each in asked] == [None, "C"]
    expected = {**SAID, "best": "c-locale", "left": left}
    assert found["explained"] == json.loads(json.dumps(expected))
    bounds = {each["name"]: each["bound"] for each in found["fixes"]}
    assert bounds["c-locale"] == 1.6
    assert cli.main(["show", "--store", "s.db"]) == 0
    shown = " ".join(capfd.readouterr().out.split())
    assert "What explain says (./threadmark show 7 --store s.db) - 40 % locale" in shown
    assert "At most x1.6; measured x" in shown
    assert "with c-locale: more than the bound, so the fix changes more" in shown
    assert "With c-locale explain still finds it, worth at most x1.1." in shown
    assert "Causes left with c-locale (./threadmark show 8 --store s.db): - 9 % locale" in shown
    assert cli.main(["report", "--store", "s.db", "--output", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "at most x1.6</td><td>c-locale<br>" in page
    assert "with c-locale explain still finds it, worth at most x1.1" in page


@pytest.mark.usefixtures("steady_budget")
def test_an_explanation_that_fails_costs_no_answer(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _explains(monkeypatch, LabError("Nothing was recorded."))
    said = " ".join(run(capfd, *EXPLAIN).split())
    assert "LC_ALL=C ./prog" in said
    assert "- explain says nothing of the program as it is: Nothing was recorded." in said
    _explains(monkeypatch, SAID, LabError("The probe is gone."))
    said = " ".join(run(capfd, *EXPLAIN).split())
    assert "LC_ALL=C ./prog" in said
    assert "- 40 % locale" in said
    assert "- explain says nothing of the program with c-locale: The probe is gone." in said


def test_the_time_that_explain_takes_is_not_given_to_fixes(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _explains(monkeypatch, SAID, SAID, takes_s=3.5)
    said = run(capfd, *EXPLAIN, status=2)
    assert "are too few for one fix; give more with --budget" in said
    assert not Path("s.db").exists()


@pytest.mark.usefixtures("steady_budget")
def test_what_is_given_up_is_told_from_what_had_too_few_pairs(
    capfd: pytest.CaptureFixture[str],
) -> None:
    said = run(capfd, "--only", "batch,c-locale", "--budget", "4s", "--", "sleep", "0.1")
    given_up = re.findall(r"others promised more: (\S+)\.", " ".join(said.split()))
    assert given_up in (["batch"], ["c-locale"])


@pytest.mark.usefixtures("steady_budget")
def test_threads_and_a_metric_reach_the_runs(capfd: pytest.CaptureFixture[str]) -> None:
    options = (
        "--only",
        "batch",
        "--budget",
        "10s",
        "--threads",
        "1,2",
        "--metric",
        "cat",
        "--json",
    )
    found = json.loads(run(capfd, *options, "--", "echo", "{threads}0"))
    assert {count: each["seconds"] for count, each in found["as_is"].items()} == {
        "1": 1 / 10, "2": 1 / 20
    }  # fmt: skip
    assert found["as_is"]["2"]["speedup"]["estimate"] == pytest.approx(2)
    assert {row["threads"] for row in found["rows"]} == {1, 2}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Name a program: ./threadmark try -- ./prog arguments"),
        (("--", "./absent"), "There is no program ./absent that can be started; check its path."),
        (("--nonsense", "--", "true"), "try has no option --nonsense"),
        (("--only", "jemaloc", "--", "true"), "There is no fix 'jemaloc'; did you mean 'jemalloc'"),
        (
            ("--only", "omp-bind", "--", "true"),
            "No fix can be tried here (omp-bind: the program is",
        ),
        (("--threads", "1,2", "--", "true"), "Write {threads} where the program takes"),
        (("--", "echo", "{threads}"), "Give the numbers of threads for the program: --threads 1,2"),
        (("--threads", "0", "--", "echo", "{threads}"), "Thread counts go from 1 to 4096"),
        (("--threads-env", "A B", "--threads", "2", "--", "true"), "takes the name of a variable"),
        (("--progress", "(", "--", "true"), "--progress is no regular expression"),
        (("--progress", "x", "--", "true"), "--progress needs one group"),
        (("--progress", "(x)", "--metric", "cat", "--", "true"), "both give the work of a run"),
        (("--stop", "NONE", "--load", "true", "--", "true"), "There is no signal NONE"),
        (("--ready", "true", "--", "true"), "--ready and --stop are for a server"),
        (("--check", " ", "--", "true"), "--check needs a value."),
        (("--budget", "fast", "--", "true"), "'fast' is no time for --budget"),
        (("--", "false"), "The program as it is failed: it ended with exit status 1"),
        (("--budget", "0.2s", "--", "sleep", "9"), "took more than the budget of 0.2 s"),
        (("--budget", "0.4s", "--", "sleep", "0.1"), "are too few for one fix; give more with"),
        (("--budget", "0.4s", "--", "sleep", "0.1"), "A run takes 1"),
        (("--prepare", "exit 3", "--", "true"), "--prepare ended with exit status 3; correct it."),
        (("--progress", r"(\d+)", "--", "true"), "finds no number above 0 in the output; correct"),
        (("--metric", "cat", "--", "true"), "--metric printed no number above 0 for the output"),
        (("--load", "true", "--only", "batch", "--", "false"), "it ended before its load had"),
    ],
)
def test_what_cannot_be_tried_is_one_sentence(
    capfd: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    said = run(capfd, *words, status=2)
    last = said.strip().splitlines()[-1]
    assert last.startswith("threadmark: ")
    assert sentence in last
    assert "Traceback" not in said
    assert not Path("s.db").exists() or "--progress" in words


@pytest.mark.parametrize(("text", "value"), [("90", 90), ("90s", 90), ("1.5m", 90), ("1h", 3600)])
def test_a_budget_has_a_unit(text: str, value: float) -> None:
    assert parse_seconds(text) == value
    for bad in ("", "0", "-1", "1d", "m", "1e9"):
        with pytest.raises(LabError, match="is no time for --budget"):
            parse_seconds(bad)


def test_ctrl_c_shows_what_is_known_and_leaves_no_process(folder: Path) -> None:
    marker = folder / "marker"
    script = f"echo run >> runs; sleep 0.02; [ -e {marker} ] && exec sleep 71; true"
    line = [sys.executable, "-P", "-m", "threadmark", "try", "--store", "s.db", "--only", "batch"]
    line += ["--budget", "60s", "--", "sh", "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lab")}
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        _wait_for(lambda: _runs() >= 8)
        marker.touch()
        seen = _runs()
        _wait_for(lambda: _runs() > seen)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "sh as it is:" in out
    assert "The try was interrupted" in " ".join(out.split())
    assert "Given up" not in out
    left = subprocess.run(["pgrep", "-f", "^sleep 71$"], capture_output=True, check=False)
    assert not left.stdout


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        (host, "facts", "The try was interrupted before its first round."),
        (Store, "append_all", "The try was interrupted before its first round."),
        (trying._Session, "_begin", ""),
    ],
)
def test_ctrl_c_at_the_start_of_the_run_is_no_fault(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    said: str,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)
    options = ("--store", "s.db", "--only", "batch", "--budget", "5s")
    assert cli.main(["try", *options, "--", "sleep", "0.01"]) == 130
    printed = capfd.readouterr()
    assert said in printed.err
    assert "The try was interrupted" in " ".join((printed.out + printed.err).split())


def _runs() -> int:
    path = Path("runs")
    return len(path.read_text(encoding="ascii").split()) if path.exists() else 0


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)

"""gate: its demands, its certainty, its files, and its endings."""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import pytest
from threadmark import cli
from threadmark.kinds.gates import demands, gating, judgement, reports
from threadmark.kinds.gates.demands import Demand
from threadmark.kinds.gates.gating import MOST_ROUNDS, Loop
from threadmark.kinds.gates.judgement import Found, Verdict
from threadmark.machine import load
from threadmark.machine.load import Counters, disturbance
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT

TWO = demands.efficiencies("0.7@2")


@dataclass
class Machine:
    """A program with the share `serial` of serial work, on a machine with noise."""

    serial: float = 0.0
    noise: float = 0.03
    disturbed: float = 0.0  # the share of the runs
    fails_on: int = 0  # the number of threads
    seed: int = 1
    now: float = 0.0
    kept: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def run(self, threads: int, number: int, limit_s: float) -> Row:
        time_s = self.serial + (1 - self.serial) / threads
        time_s *= self.random.lognormvariate(0, self.noise)
        if self.random.random() < 0.05:
            time_s *= 1.5  # a neighbour runs
        self.now += time_s
        bad = threads == self.fails_on
        why = "other processes took 40 %" if self.random.random() < self.disturbed else ""
        cell = Cell("p", "custom", "program", "as is", "", "", threads)
        status, reason = (Status.CRASHED, "it was ended by SIGSEGV") if bad else (Status.OK, "")
        sample = None if bad else 1e9 * time_s
        facts = {"wall_s": time_s}
        return Row(cell, number, status, reason, sample, disturbed=why, facts=facts)

    def judged(self, asked: Sequence[Demand], *, budget_s: float = 120.0) -> Found:
        loop = Loop(self.run, (1, 2), asked, budget_s, 0, self.seed, lambda: self.now)
        loop.first()
        loop.measure(self.kept.extend)
        assert loop.rows == self.kept
        return judgement.judge(loop.rows, asked)


def test_a_program_that_scales_hardly_ever_fails_and_is_soon_passed() -> None:
    found = [Machine(seed=seed).judged(TWO) for seed in range(200)]
    assert sum(each.verdict is Verdict.FAILED for each in found) <= 4
    assert sum(each.verdict is Verdict.PASSED for each in found) >= 195
    assert sorted(each.rounds for each in found)[100] < 10


def test_a_program_at_its_limit_is_not_guessed_at() -> None:
    least = [Demand(2, 1 / (0.2 + 0.8 / 2), "as now")]
    found = [Machine(serial=0.2, seed=seed).judged(least, budget_s=60) for seed in range(100)]
    assert sum(each.verdict is Verdict.FAILED for each in found) <= 2
    assert sum(each.verdict is Verdict.PASSED for each in found) <= 2


@pytest.mark.parametrize(("serial", "efficiency"), [(0.2, "0.9@2"), (0.8, "0.7@2")])
def test_what_does_not_scale_is_caught(serial: float, efficiency: str) -> None:
    asked = demands.efficiencies(efficiency)
    found = [Machine(serial, seed=seed).judged(asked) for seed in range(40)]
    assert sum(each.verdict is Verdict.FAILED for each in found) >= 38


def test_rounds_beside_other_work_do_not_count() -> None:
    found = Machine(disturbed=1.0).judged(TWO)
    assert found.verdict is Verdict.UNDECIDED
    assert found.disturbed == found.rounds
    assert "no round counts" in reports.sentence(found.checked[0])
    assert not found.seconds
    machine = Machine(disturbed=0.4)
    half = machine.judged(TWO)
    assert half.verdict is Verdict.PASSED
    assert half.disturbed > 0
    gone = {row.round for row in machine.kept if row.disturbed} | {0}  # the first round warms up
    counted = [r for r in machine.kept if r.round not in gone and r.cell.threads == 2]
    assert half.seconds[2] == pytest.approx(median(r.sample_ns / 1e9 for r in counted))


def test_a_program_that_fails_fails_the_gate_at_once() -> None:
    machine = Machine(fails_on=2)
    found = machine.judged(TWO)
    assert found.verdict is Verdict.FAILED
    assert found.failure == "with 2 threads it was ended by SIGSEGV"
    said = (
        "efficiency of 0.7 on 2 threads, a speed-up of 1.4: not decided, because the program failed"
    )
    assert reports.sentence(found.checked[0]) == said
    suite = ElementTree.fromstring(reports.junit("p", found, []))[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    skipped = suite.find("testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == said
    assert "not decidable" not in reports.markdown("p", found, [])
    assert len(machine.kept) <= 2


def test_one_unmet_demand_is_enough_and_one_open_one_leaves_all_open() -> None:
    both = TWO + demands.speedups("1.99@2")
    assert Machine(serial=0.1).judged(both).verdict is Verdict.FAILED
    nothing = judgement.judge([], TWO)
    assert nothing.verdict is Verdict.UNDECIDED
    endless = Machine(noise=0.0001).judged([], budget_s=1e9)
    assert endless.rounds == MOST_ROUNDS


def test_demands_are_read_as_they_are_written() -> None:
    assert demands.efficiencies("0.7@2, 0.5@8") == [
        Demand(2, 1.4, "efficiency of 0.7 on 2 threads, a speed-up of 1.4"),
        Demand(8, 4.0, "efficiency of 0.5 on 8 threads, a speed-up of 4"),
    ]
    assert demands.speedups("1.5@2") == [Demand(2, 1.5, "speed-up of 1.5 on 2 threads")]
    assert demands.share("5%") == demands.share("0.05") == 0.05
    for text in ("0.7", "0.7@1", "x@2", "0@2", "0.7@2@3", "0.7@99999"):
        with pytest.raises(LabError, match=r"write for example --min-efficiency 0\.7@2"):
            demands.efficiencies(text)
    for text in ("", "x", "200%", "-5%"):
        with pytest.raises(LabError, match="is no share for --by"):
            demands.share(text)


def test_a_baseline_is_held_to_its_lower_limit(tmp_path: Path) -> None:
    found = Machine().judged(TWO)
    path = tmp_path / "base.json"
    demands.write_baseline(path, ["./p", "{threads}"], found.speedups)
    asked = demands.of_baseline(path, 0.05, ["./p", "{threads}"])
    assert asked[0].speedup == pytest.approx(0.95 * found.speedups[2].low)
    unchanged = [Machine(seed=seed).judged(asked).verdict for seed in range(100, 200)]
    assert unchanged.count(Verdict.FAILED) <= 2
    assert Machine(serial=0.3).judged(asked).verdict is Verdict.FAILED
    with pytest.raises(LabError, match=r"is of another program \(./p \{threads\}\)"):
        demands.of_baseline(path, 0.05, ["./q"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema":"threadmark/gate-baseline/1"}',
                                  '{"schema":"threadmark/gate-baseline/1","program":["p"],'
                                  '"speedups":{"2":{"low":"1"}}}',
                                  '{"schema":"threadmark/gate-baseline/1","program":["p"],'
                                  '"speedups":{}}',
                                  pytest.param(200_000 * "[", id="deep")])  # fmt: skip
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "base.json"
    path.write_text(text, encoding="ascii")
    with pytest.raises(LabError, match="is no baseline; name a file that --write-baseline wrote"):
        demands.of_baseline(path, 0.05, ["p"])


def test_reports_say_the_same_in_each_form() -> None:
    found = Machine(serial=0.8).judged(TWO)
    causes = ["80 % waits for a lock: table|mutex <x>"]
    suite = ElementTree.fromstring(reports.junit('p "&\x1b', found, causes))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text == causes[0]
    assert "failed, the speed-up is 1.1" in str(failure.get("message"))
    text = reports.markdown("p", found, causes)
    assert text.startswith("## Threadmark gate: p failed\n")
    assert "* 80 % waits for a lock: table\\|mutex &lt;x>" in text
    (line,) = reports.annotated("github", "p", found, causes)
    assert line.startswith(
        "::error title=threadmark gate p::efficiency of 0.7 on 2 threads, a speed-up of 1.4: "
    )
    assert "80 %25 waits" in line
    assert reports.annotated("azure", "p", found, causes)[0].startswith(
        "##vso[task.logissue type=e"
    )
    assert reports.annotated("none", "p", found, causes) == []
    assert reports.annotated("github", "p", Machine().judged(TWO), []) == []
    skipped = ElementTree.fromstring(reports.junit("p", judgement.judge([], TWO), []))[0]
    assert skipped.get("skipped") == "1"


def test_the_service_is_told_by_its_variables() -> None:
    assert reports.form_here({"GITHUB_ACTIONS": "true"}) == "github"
    assert reports.form_here({"TF_BUILD": "True"}) == "azure"
    assert reports.form_here({}) == "none"


# Two threads take half the time, unless the second word is `serial`.
SCRIPT = '[ "$1" = 2 ] && [ "$2" != serial ] && sleep 0.03 || sleep 0.06'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own, on a machine without other work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load, "disturbance", lambda *_: "")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setattr(gating, "BUDGET_S", 6.0)
    return tmp_path


def gate(capfd: pytest.CaptureFixture[str], *words: str, status: int) -> str:
    """The output of the command."""
    line = ["gate", "--store", "s.db", "--no-explain", *words]
    assert cli.main(line) == status
    captured = capfd.readouterr()
    return captured.err if status == 2 else captured.out


def test_from_the_command_line_to_all_that_is_written(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = ("--", "sh", "-c", SCRIPT, "sh", "{threads}")
    options = ("--min-efficiency", "0.6@2", "--write-baseline", "base.json")
    said = gate(capfd, *options, *program, status=0)
    assert "sh: passed." in said
    assert json.loads(Path("base.json").read_text())["speedups"]["2"]["low"] > 1
    files = ("--junit", "j.xml", "--summary", "sum.md", "--annotations", "github")
    options = ("--no-worse-than", "base.json", "--by", "20%", *files)
    said = gate(capfd, *options, *program, status=0)
    assert "::" not in said
    options = ("--min-speedup", "1.5@2", *files)
    said = gate(capfd, *options, *program, "serial", status=1)
    assert "sh: failed." in said
    assert "::error title=threadmark gate sh::speed-up of 1.5 on 2 threads: failed" in said
    assert ElementTree.parse("j.xml").getroot()[0].get("failures") == "1"
    assert Path("sum.md").read_text().count("## Threadmark gate") == 2
    assert cli.main(["show", "3", "--json", "--store", "s.db"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["schema"], found["verdict"]) == ("threadmark/gate/1", "failed")
    speedup = found["speedups"]["2"]
    assert 0.5 < speedup["low"] <= speedup["estimate"] <= speedup["high"] < 1.5
    for words in (["report", "3", "--output", "p.html"], ["compare", "1", "3"]):
        assert cli.main([*words, "--store", "s.db"]) == 0
    assert "sh: failed." in Path("p.html").read_text()


def test_what_cannot_be_decided_has_a_status_of_its_own(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "disturbance", lambda *_: "other processes took 60 %")
    monkeypatch.setattr(gating, "MOST_ROUNDS", 5)
    options = ("--min-efficiency", "0.7@2", "--json")
    program = ("--", "sh", "-c", SCRIPT, "sh", "{threads}")
    found = json.loads(gate(capfd, *options, *program, status=3))
    assert found["verdict"] == "not decidable on this machine today"
    assert found["disturbed_rounds"] == found["rounds"] > 0


def test_what_runs_beside_the_program_disturbs_no_round(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    worked = Path("worked")
    worked.touch()
    monkeypatch.setattr(load, "disturbance", disturbance)
    monkeypatch.setattr(
        load, "read", lambda cpus: Counters(1e3 * worked.stat().st_size, 0, len(cpus))
    )
    work = "echo x >> worked"
    options = ("--min-efficiency", "0.1@2", "--json", "--prepare", work, "--check", work)
    program = ("--", "sh", "-c", SCRIPT, "sh", "{threads}")
    found = json.loads(gate(capfd, *options, "--budget", "60s", *program, status=0))
    assert found["disturbed_rounds"] == 0
    monkeypatch.setattr(gating, "MOST_ROUNDS", 5)
    program = ("--", "sh", "-c", f"{work}; sleep 0.01", "sh", "{threads}")
    found = json.loads(gate(capfd, *options, *program, status=3))
    assert found["disturbed_rounds"] == found["rounds"]


def test_a_program_that_fails_has_its_reason(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = ("--", "sh", "-c", "echo oh >&2; exit $(({threads} - 1))")
    said = gate(capfd, "--min-efficiency", "0.7@2", *program, status=1)
    assert "with 2 threads it ended with exit status 1; it said: oh" in " ".join(said.split())
    assert "Medians" not in said  # the first round only warms up


def test_a_program_that_fails_late_or_hangs_fails_the_gate_in_its_first_round(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = ("--min-efficiency", "0.7@2", "--budget", "2s")
    late = ("--", "sh", "-c", "sleep 0.6; exit {threads}")
    said = gate(capfd, *asked, *late, status=1)
    assert "it ended with exit status" in " ".join(said.split())
    began = time.monotonic()
    said = gate(capfd, *asked, "--", "sleep", "6{threads}", status=1)
    assert "it did not end within 2 s" in " ".join(said.split())
    assert time.monotonic() - began < 30


def test_the_limits_of_a_first_round_keep_to_the_budget() -> None:
    machine, limits = Machine(), []

    def run(threads: int, number: int, limit_s: float) -> Row:
        limits.append(limit_s)
        return machine.run(threads, number, limit_s)

    loop = Loop(run, (1, 2, 4), TWO, 120.0, clock=lambda: 35.0 * len(limits))
    with pytest.raises(LabError, match="are too few; give more with --budget"):
        loop.first()
    assert limits == [60.0, 60.0, 50.0]


def test_a_round_of_milliseconds_has_a_budget_that_is_enough() -> None:
    machine, runs = Machine(), []

    def run(threads: int, number: int, limit_s: float) -> Row:
        runs.append(threads)
        return machine.run(threads, number, limit_s)

    loop = Loop(run, (1, 2), TWO, 0.05, clock=lambda: 0.01 * len(runs))
    with pytest.raises(LabError, match=r"A round takes 20ms, so 50ms are too few; .* such as 1s\."):
        loop.first()


def test_a_program_that_fails_has_its_reports_and_no_baseline(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("base.json").write_text("old", encoding="ascii")
    options = ("--threads", "1,2", "--write-baseline", "base.json", "--junit", "j.xml")
    said = gate(capfd, *options, "--json", "--", "sh", "-c", "exit $(({threads} - 1))", status=1)
    found = json.loads(said)
    assert found["failure"] == "with 2 threads it ended with exit status 1"
    assert ElementTree.parse("j.xml").getroot()[0].get("failures") == "1"
    assert Path("base.json").read_text(encoding="ascii") == "old"


def test_a_baseline_that_is_not_known_leaves_the_reports(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gating, "MOST_ROUNDS", 2)
    options = ("--threads", "1,2", "--write-baseline", "base.json", "--junit", "j.xml")
    said = gate(capfd, *options, "--", "sh", "-c", SCRIPT, "sh", "{threads}", status=3)
    assert "Speed-up on 2 threads: not known after 2 rounds." in said
    assert "sh: not decidable on this machine today." in said
    assert Path("j.xml").exists()
    assert not Path("base.json").exists()


@pytest.mark.parametrize("option", ["--junit", "--summary", "--write-baseline"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(
    here: Path, capfd: pytest.CaptureFixture[str], option: str
) -> None:
    Path("folder").mkdir()
    for place, why in (("absent/f", "No such file or directory"), ("folder", "Is a directory")):
        options = ("--min-speedup", "0.1@2", option, place)
        said = gate(capfd, *options, "--", "sh", "-c", "echo >> ran{threads}", status=2)
        assert f"{place} cannot be written ({why}); name another place with {option}." in said
    assert [each.name for each in here.iterdir()] == ["folder"]


def test_the_verdict_is_printed_before_a_file_turns_out_not_to_be_writable(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("gone").mkdir()
    Path("sum.md").write_text("before\n", encoding="ascii")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "sum.md")
    options = ("--min-speedup", "0.1@2", "--no-explain", "--store", "s.db")
    program = ("--", "sh", "-c", "rmdir gone 2> /dev/null; sleep 0.02; : {threads}")
    assert cli.main(["gate", *options, "--junit", "gone/j.xml", *program]) == 2
    said = capfd.readouterr()
    assert "sh: passed." in said.out
    assert "gone/j.xml cannot be written" in said.err
    assert Path("sum.md").read_text(encoding="ascii").startswith("before\n## Threadmark gate")


def test_a_program_that_prints_no_number_fails_the_gate(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for option in (("--metric", "cat"), ("--progress", r"(\d+) units")):
        asked = ("--min-efficiency", "0.7@2", *option)
        said = gate(capfd, *asked, "--", "echo", "{threads}", "none", status=1)
        assert "no number above 0" in " ".join(said.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--", "echo", "{threads}"), "Give a demand"),
        (("--min-efficency", "0.7@2", "--", "echo"), "gate has no option --min-efficency"),
        (("--min-efficiency", "0.7@2"), "Name a program: ./threadmark gate -- ./prog arguments"),
        (("--min-efficiency", "0.7@2", "--", "true"), "Write {threads} where the program takes"),
        (("--min-efficiency", "0.7", "--", "true"), "'0.7' is no value for --min-efficiency"),
        (("--by", "5%", "--", "true"), "--by is for a baseline; give --no-worse-than FILE too."),
        (("--no-worse-than", "none", "--", "true"), "none cannot be read"),
        (("--write-baseline", "b", "--", "echo", "{threads}"), "give --threads 1,2."),
        (("--min-speedup", "1@2", "--annotations", "x", "--", "true"), "There is no form of ann"),
        (("--min-speedup", "1@2", "--budget", "0.3s", "--", "sleep", "0.{threads}"),
         "are too few; give more with --budget, such as"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_one_sentence(
    here: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    said = gate(capfd, *words, status=2)
    assert sentence in said
    assert "Traceback" not in said
    assert not Path("s.db").exists()


PROGRAM = """
#include <cstdlib>
#include <thread>
#include <vector>
int main(int, char** words) {
  const int count = std::atoi(words[1]);
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back([=] { for (long k = 0; k < 60'000'000 / count; ++k) asm volatile(""); });
  for (auto& each : all) each.join();
}
"""


def test_the_steps_of_the_example_workflow_run(here: Path) -> None:
    """The step allows a gate without a decision, which a busy machine causes. A failing gate fails
    the step."""
    steps = _steps((ROOT / "examples/gate.yml").read_text(encoding="utf-8"))
    assert [name for name, _ in steps] == ["Build", "Gate"]
    (here / "threadmark").symlink_to(ROOT)
    (here / "prog.cpp").write_text(PROGRAM, encoding="ascii")
    # The commands run unchanged, except for a shorter budget and a store of this test.
    shorter = f"--budget 3s --no-explain --store {here / 's.db'}"
    lines = [["bash", "-e", "-c", script.replace("--budget 60s", shorter)] for _, script in steps]
    for line in lines:
        subprocess.run(line, cwd=here, check=True, capture_output=True)
    (suite,) = ElementTree.parse(here / "scaling.xml").getroot()
    assert suite.get("failures") == "0"
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names == ["runs to its end", "efficiency of 0.6 on 2 threads, a speed-up of 1.2"]
    (here / "prog").write_text("#!/bin/sh\nexit 7\n", encoding="ascii")
    failed = subprocess.run(lines[-1], cwd=here, check=False, capture_output=True)
    assert failed.returncode == 1
    assert ElementTree.parse(here / "scaling.xml").getroot()[0].get("failures") == "1"


def _steps(text: str) -> list[tuple[str, str]]:
    """The names and the scripts of the steps that run something."""
    found = []
    for step in re.split(r"^ {6}- ", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"name: (.*)", step)
        script = re.search(r"^ {8}run: (?:\|\n)?((?:.*\n(?: {10}.*\n)*))", step, flags=re.MULTILINE)
        if name and script:
            found.append((name[1], script[1]))
    return found

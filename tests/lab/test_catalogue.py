"""`threadmark catalogue` from outside: its measurements, rows, output and endings."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fakes
import pytest
from contention_lines import window
from lab_support import LAB, cell, lab_environment
from threadmark.judge.verdict import Kind
from threadmark.kinds.catalogue import judgement, process_rows, selection
from threadmark.kinds.catalogue.process_rows import Asked
from threadmark.kinds.catalogue.profiles import PROFILES
from threadmark.kinds.catalogue.rounds import Usual
from threadmark.kinds.catalogue.sampling import CatalogueSchedule
from threadmark.kinds.tasks.selection import select
from threadmark.machine.host import Processor
from threadmark.machine.limits import Limits
from threadmark.machine.load import Load
from threadmark.measure.observation import Observation
from threadmark.measure.outcome import Attempt
from threadmark.measure.process import Ending, Killed
from threadmark.measure.schedule import Task
from threadmark.model.cell import DEFAULT, Cell, Row, Status
from threadmark.model.errors import LabError
from threadmark.model.request import Request
from threadmark.setup import allocators
from threadmark.setup.discovery import find
from threadmark.store.store import Store

Lab = Callable[..., subprocess.CompletedProcess[str]]
RUN = ("catalogue", "--executables", "programs", "--store", "s.db", "--no-report")
TWO = (*RUN, "--threads", "1,2")
SPEEDS = "start(); rounds({'good': 1.9, 'poor': 1.2, 'none': 1.0, 'bad': 0.4}[option('--variant')])"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The calibration, and a program whose ways end in different verdicts."""
    fakes.calibrate(tmp_path / "programs")
    ways = [fakes.way(name) for name in ("bad", "poor", "none")]
    ways.append(fakes.way("good", remedy=True))
    ways.append(fakes.way("missing", lacks="this library has no such thing; version 3 has"))
    fakes.contend(tmp_path / "programs", "facility", ways, f"{SPEEDS}; end()")
    return tmp_path / "programs"


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the test if the lab may use fewer than two cores."""
    from threadmark.machine import host

    if host.cores(host.processors()) < 2:
        pytest.skip("verdicts need two cores")


def stored(tmp_path: Path, **filters: str | int) -> list[Row]:
    with Store.open(tmp_path / "s.db", create=False) as store:
        return store.rows(store.run("last").id, **filters)


def kinds(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], str]:
    """(program, variant) -> kind of the verdict, from --json."""
    found = json.loads(done.stdout)["verdicts"]
    return {(each["program"], each["variant"]): each["kind"] for each in found}


def test_each_way_gets_its_verdict_and_a_row_for_each_number_of_threads(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    done = lab(*TWO, "--json")
    assert done.returncode == 0, done.stderr
    assert kinds(done) == {
        ("calibration", "arithmetic"): "scales",
        ("calibration", "shared_atomic"): "slower with threads",
        ("facility", "bad"): "slower with threads",
        ("facility", "poor"): "scales poorly",
        ("facility", "none"): "no scaling",
        ("facility", "good"): "scales",
        ("facility", "missing"): "unavailable",
    }
    document = json.loads(done.stdout)
    assert document["valid"] is True
    good = next(each for each in document["verdicts"] if each["variant"] == "good")
    assert (good["gain_over"], good["gain_one"]) == ("bad", 1.0)
    assert good["gain_many"] == pytest.approx(1.9 / 0.4)
    missing = next(each for each in document["verdicts"] if each["variant"] == "missing")
    assert missing["detail"] == "this library has no such thing; version 3 has"
    for threads in (1, 2):
        rows = stored(tmp_path, variant="good", threads=threads)
        assert len(rows) >= 5
        assert {len(row.repeats) for row in rows} == {10}
    one, two = (stored(tmp_path, variant="bad", threads=p)[0] for p in (1, 2))
    assert one.sample_ns == pytest.approx(1e9 / 1e6)
    assert two.sample_ns == pytest.approx(1e9 / (2 * 0.2e6))
    assert (one.cell.backend, one.started_at) == ("threads", two.started_at)


def test_the_table_has_every_way_and_show_prints_it_again(lab: Lab, programs: Path) -> None:
    done = lab(*TWO)
    for word in ("facility", "> good", "slower", "poorly", "none", "x4.8", "unavailable: missing"):
        assert word in done.stdout, word
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert lab("show", "--store", "s.db").stdout == done.stdout


def test_a_run_without_a_calibration_that_comes_out_is_not_valid(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    fakes.calibrate(programs, free=1.6)
    done = lab(*TWO, "--json")
    assert done.returncode == 1
    found = kinds(done)
    assert {found["facility", way] for way in ("good", "bad", "poor", "none")} == {"unclear"}
    said = json.loads(done.stdout)["calibrations"][0]
    assert said["why"] == "calibration:arithmetic reached x1.60 on 2 threads instead of x1.80"
    assert "NOT VALID: calibration:arithmetic" in " ".join(
        lab("show", "--store", "s.db").stdout.split()
    )

    fakes.calibrate(programs, bound=1.4)
    done = lab(*TWO, "--json")
    assert done.returncode == 1
    found = kinds(done)
    assert {found["facility", name] for name in ("good", "bad", "none")} == {"unclear"}


def test_at_the_size_smoke_no_calibration_is_called_not_valid(lab: Lab, programs: Path) -> None:
    fakes.calibrate(programs, free=1.6)
    done = lab(*TWO, "--profile", "smoke")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert "NOT VALID" not in said
    assert "The profile smoke only checks that everything runs, and judges nothing." in said
    counts = [int(each) for each in re.findall(r"unclear: (\d+):", said)]
    (unclear,) = re.findall(r"ways: .*?unclear (\d+)", said)
    assert sum(counts) == int(unclear) == 4


def test_a_calibration_that_failed_is_not_replaced_by_a_later_one(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    path = tmp_path / "count"
    path.touch()
    body = (
        f"done = os.path.getsize({str(path)!r}); open({str(path)!r}, 'a').write('x'); start(); "
        "rounds(0.3 if option('--variant') != 'arithmetic' else 1.5 if done < 10 else 1.99); end()"
    )
    ways = [fakes.way("arithmetic"), fakes.way("shared_atomic")]
    fakes.contend(programs, "calibration", ways, body)
    done = lab(*TWO, "--json")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["calibrations"][0]["arithmetic"] == pytest.approx(1.5)


def test_the_calibration_is_measured_as_long_as_any_way_is_undecided(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    path = tmp_path / "count"
    path.touch()
    body = (
        f"odd = os.path.getsize({str(path)!r}) % 2; open({str(path)!r}, 'a').write('x'); start(); "
        "rounds(1.4 + (0.2 if odd else -0.2)); end()"
    )
    fakes.contend(programs, "wavering", [fakes.way("usual")], body)
    lab(*TWO, "--programs", "wavering")
    rounds = {row.round for row in stored(tmp_path, program="wavering", threads=2)}
    assert len(rounds) > 5
    for way in ("arithmetic", "shared_atomic"):
        assert {row.round for row in stored(tmp_path, variant=way, threads=2)} == rounds


def test_every_status_reaches_the_store(lab: Lab, programs: Path, tmp_path: Path) -> None:
    bodies = {
        "wrong": "start(); rounds(ok=False); end('wrong', 'no', 3)",
        "crashed": "start(); rounds(); os.abort()",
        "refused": "start(); end('refused', 'no', 4)",
        "out_of_memory": "start(); end('out_of_memory', 'no', 5)",
        "unavailable": "tell('no'); sys.exit(2)",
    }
    for status, body in bodies.items():
        fakes.contend(programs, f"is_{status}", [fakes.way("usual")], body)
    done = lab(*TWO, "--json")
    assert done.returncode == 1, done.stderr
    for status in bodies:
        rows = stored(tmp_path, program=f"is_{status}")
        assert {row.status.value for row in rows} == {status}
        assert {row.cell.threads for row in rows} == {1, 2}
        assert all(row.reason and row.sample_ns is None for row in rows)
        assert kinds(done)[f"is_{status}", "usual"] == status.replace("_", " ")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("start(); rounds(per_second=0); end()", "no positive number"),
        ("start(); rounds(overlap='x'); end()", "overlap"),
        ("start(); rounds(count=0); end()", "made 0 repeats instead of some"),
        ("start(); counts = [1]; rounds(); end()", "other rounds on 2 threads than on one"),
        ("start(); counts = [1, 2, 3]; rounds(); end()", "nobody asked for"),
        ("start(); rounds(repeat=1); end()", "other rounds"),
        ("start(threads=3); rounds(); end()", "ran with threads 3"),
        ("start(); rounds()", "without its last line"),
    ],
)
def test_a_process_that_does_not_say_what_was_agreed_has_crashed(
    lab: Lab, programs: Path, tmp_path: Path, body: str, reason: str
) -> None:
    fakes.contend(programs, "odd", [fakes.way("usual")], body)
    lab(*TWO, "--profile", "smoke")
    rows = stored(tmp_path, program="odd")
    assert {row.status for row in rows} == {Status.CRASHED}
    assert reason in rows[0].reason


def test_a_way_of_one_thread_has_a_time_and_no_verdict(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    ways = [fakes.way("usual"), fakes.way("alone", use="alone", parallel=False)]
    fakes.contend(programs, "pointer", ways)
    done = lab(*TWO, "--programs", "pointer", "--json")
    assert kinds(done)["pointer", "alone"] == "sequential"
    rows = stored(tmp_path, variant="alone")
    assert {row.cell.threads for row in rows} == {1}
    assert all("--threads 1 " in " ".join(row.command) for row in rows)


def test_a_killed_lab_keeps_whole_processes_and_goes_on(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    held, go, marks = (str(tmp_path / name) for name in ("held", "go", "marks"))
    # The second process waits until the test kills it.
    body = f"""
marks = open({marks!r}, "a+"); marks.write("x"); marks.flush()
if marks.tell() == 2:
    open({held!r}, "w").close()
    while not os.path.exists({go!r}): time.sleep(0.01)
{fakes.CONTENDED}
"""
    fakes.contend(programs, "slow", [fakes.way("usual")], body)
    killed = subprocess.Popen(
        [*LAB, *TWO],
        cwd=tmp_path,
        env=lab_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not Path(held).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    Path(go).touch()
    before = stored(tmp_path)
    assert len(before) > 12
    counts = Counter((row.cell.program, row.cell.variant, row.round) for row in before)
    assert all(count % 2 == 0 for key, count in counts.items() if key[1] != "missing")
    assert lab("run", "--store", "s.db", "--resume").returncode == 2  # not a run of this command
    done = lab("catalogue", "--store", "s.db", "--resume", "--no-report", "--json")
    assert done.returncode == 0, done.stderr
    assert stored(tmp_path)[: len(before)] == before
    assert kinds(done)["slow", "usual"] == "scales"
    for program in ("facility", "slow", "calibration"):
        for row in stored(tmp_path, program=program, threads=2, status="ok"):
            assert len(stored(tmp_path, variant=row.cell.variant, threads=2)) >= 5


def _rows(tmp_path: Path) -> list[Row]:
    try:
        return stored(tmp_path)
    except LabError:
        return []


def test_run_and_catalogue_leave_each_others_programs_alone(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    for backend in ("serial", "tbb"):
        fakes.write(programs, f"fib.{backend}")
    found = find(["fake"], programs.parent / "programs")
    assert {each.program for each in select(Request(), found, ()).cells} == {"fib"}
    chosen = selection.select(Request(allocators=()), found, ()).cells
    assert {each.program for each in chosen} == {"calibration", "facility"}
    done = lab("run", "--executables", "programs", "--store", "s.db", "--programs", "facility")
    assert "no program 'facility'" in done.stderr


def test_allocators_are_for_the_usual_way_of_programs_that_allocate(tmp_path: Path) -> None:
    fakes.calibrate(tmp_path)
    ways = [fakes.way("usual"), fakes.way("own", remedy=True)]
    fakes.contend(tmp_path, "churn", ways, allocates=True)
    fakes.contend(tmp_path, "other", ways)
    found = find(["fake"], tmp_path)
    cells = selection.select(Request(allocators=(), threads=(1, 2)), found, ()).cells
    taken = {(c.program, c.variant): set() for c in cells}
    for each in cells:
        taken[each.program, each.variant].add(each.allocator)
    assert taken["churn", "usual"] == set(allocators.NAMES)
    assert {len(names) for way, names in taken.items() if way != ("churn", "usual")} == {1}
    named = selection.select(Request(allocators=("jemalloc",)), found, ()).cells
    assert {c.allocator for c in named if c.program != "calibration"} == {"jemalloc"}


def test_a_program_with_another_c_library_keeps_its_own_malloc(tmp_path: Path) -> None:
    path = fakes.contend(tmp_path, "churn", [fakes.way("usual")], allocates=True)
    path.write_text(path.read_text().replace('c_library="none"', 'c_library="musl"'))
    chosen = selection.select(Request(allocators=()), find(["fake"], tmp_path), ())
    assert {cell.allocator for cell in chosen.cells} == {DEFAULT}
    lacking = {cell.allocator: reason for cell, reason in chosen.unavailable.items()}
    assert lacking.keys() == set(allocators.NAMES) - {DEFAULT}
    assert lacking["jemalloc"].endswith("which a program on musl has not")


def test_an_allocator_is_chosen_by_the_environment_of_the_program(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    value = "os.environ.get('GLIBC_TUNABLES', '')"
    body = f"start(); rounds(1.9 if 'tcache_count=0' in {value} else 0.5); end()"
    fakes.contend(programs, "churn", [fakes.way("usual")], body)
    done = lab(*TWO, "--programs", "churn", "--allocators", "glibc-no-tcache", "glibc", "--json")
    found = {
        each["allocator"]: each
        for each in json.loads(done.stdout)["verdicts"]
        if each["program"] == "churn"
    }
    assert found["glibc"]["kind"] == "slower with threads"
    assert found["glibc-no-tcache"]["kind"] == "scales"
    assert found["glibc-no-tcache"]["gain_over"] == "glibc"
    row = stored(tmp_path, program="churn", allocator="glibc-no-tcache")[0]
    assert "GLIBC_TUNABLES=glibc.malloc.tcache_count=0" in row.command


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("kind='contention'", "kind='other'"), "which its name denies"),
        (("'use': 'threads'", "'use': 'some'"), "'some' - at `$.variants[0].use`"),
        (("'remedy': False", "'remedy': True"), "A remedy stands before its usual way"),
        (("'lacks': ''", "'lacks': 1"), "got `int` - at `$.variants[0].lacks`"),
        (("operation='nothing'", "operation=1"), "got `int` - at `$.operation`"),
        (("ALLOCATES = False", "ALLOCATES = 'no'"), "got `str` - at `$.allocates`"),
    ],
)
def test_a_contention_program_that_does_not_describe_itself_is_unavailable(
    tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    path = fakes.contend(tmp_path, "odd", [fakes.way("usual")])
    path.write_text(path.read_text().replace('"', "'").replace(*change))
    (found,) = find(["fake"], tmp_path)
    assert sentence in found.fault
    assert "build it again" in found.fault


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--programs", "facilty"), "did you mean 'facility'?"),
        (("--variants", "god"), "did you mean 'good'?"),
        (("--platforms", "gcc"), "no platform 'gcc'; there is fake"),
        (("--allocators", "jemallok"), "did you mean 'jemalloc'?"),
        (("--threads", "0"), "from 1 to 4096"),
        (("--threads", "2000"), "up to 1024 threads"),
        (("--profile", "big"), "--profile"),
        (("--budget", "0"), "--budget"),
        (("--order-seed", "-1"), "--order-seed"),
        (("--resume",), "no unfinished run of ./threadmark catalogue"),
    ],
)
def test_bad_requests_are_one_sentence_and_exit_2(
    lab: Lab, programs: Path, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    Store.open(tmp_path / "s.db", create=True).__exit__(None, None, None)
    done = lab(*RUN, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_program_without_the_ways_that_are_asked_for_is_refused(tmp_path: Path) -> None:
    fakes.calibrate(tmp_path)
    fakes.contend(tmp_path, "clock", [fakes.way("bad"), fakes.way("good")])
    fakes.contend(tmp_path, "rand", [fakes.way("usual")])
    found = find(["fake"], tmp_path)
    said = "no cell of the program 'rand'; its variants are usual, so change --variants."
    for programs in (("rand",), ("clock", "rand")):
        with pytest.raises(LabError, match=said):
            selection.select(Request(programs=programs, variants=("good",)), found, ())


def test_a_dry_run_lists_processes_and_measures_nothing(
    lab: Lab, programs: Path, tmp_path: Path
) -> None:
    done = lab(*TWO, "--dry-run")
    assert "facility quick threads:bad fake glibc x2" in done.stdout
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "on facility (fake): this library has no such thing" in " ".join(done.stdout.split())
    assert len([each for each in lines if each.startswith("unavailable: ")]) == 1
    assert "6 cells, about" in done.stdout
    assert not (tmp_path / "s.db").exists()


def test_two_catalogues_are_compared_by_their_verdicts(lab: Lab, programs: Path) -> None:
    lab(*TWO)
    lab(*TWO, "--order-seed", "2")
    fakes.write(programs, "fib.serial")
    lab("run", "--executables", "programs", "--store", "s.db", "--no-report", "--profile", "smoke")
    done = lab("compare", "1", "2", "--store", "s.db")
    assert "of 4 that can differ 4 are definite and equal" in " ".join(done.stdout.split())
    mixed = lab("compare", "1", "3", "--store", "s.db")
    assert mixed.returncode == 2
    assert "compare two of one kind" in mixed.stderr


CALM = Load(0.0, 0.0, 2)
BUSY = Load(0.2, 0.0, 2)


def judged(
    lines: list[dict[str, object]], seen: Load = CALM, usual: Usual | None = None
) -> list[Row]:
    """The rows of a process that printed `lines` while the processors had these times. The process
    is the first of its run unless `usual` is given."""
    asked = Asked((1, 2), "threads")
    whole = cell(program="p", backend="threads", variant="v", threads=2)
    start = {"event": "start", "program": "p", "backend": "threads", "variant": "v", "threads": 2}
    text = [start | {"cpus": 2}, *lines, {"event": "end", "status": "ok", "reason": ""}]
    attempt = Attempt(whole, 0, ("p",), {}, (0, 1), 10.0, 1, "now")
    output = "".join(json.dumps(line) + "\n" for line in text)
    ending = Ending(output, "", 0, None, Killed.NO, 0.2, 0.2, 1, 0, 0, seen)
    return process_rows.judge(
        asked, attempt, ending, Limits(1 << 30, 100, "a test"), usual or Usual()
    )


def test_a_round_in_which_a_thread_waited_does_not_count() -> None:
    lines = [window(r, p, 1e6) for r in range(7) for p in (1, 2)]
    lines[7] = window(3, 2, 1e3, run_delay_ns=1e6)  # 1 ms of 2 x 4 ms: one in eight
    lines[9] = window(4, 2, 1e3, overlap=0.3)
    lines[10] = window(5, 1, 1e9, run_delay_ns=1e6)
    one, two = judged(lines, BUSY)
    assert two.disturbed == one.disturbed == ""
    assert two.sample_ns == pytest.approx(1e9 / 2e6)
    assert len(two.repeats) == 7


def test_a_process_with_too_few_clean_rounds_counts_only_beside_nobody() -> None:
    lines = [window(r, p, 1e6) for r in range(7) for p in (1, 2)]
    for index in range(4, 13, 2):
        lines[index] |= {"run_delay_ns": 1e6}
    assert all("other processes took 50 %" in row.disturbed for row in judged(lines, BUSY))
    assert all(row.disturbed == "" for row in judged(lines, CALM))


def test_a_round_in_which_the_processors_changed_their_speed_does_not_count() -> None:
    lines = [window(r, p, 1e6) for r in range(7) for p in (1, 2)]
    lines[7] = window(3, 2, 1e3, yardstick_ns=23_000)  # the usual time is 20,000
    lines[8] = window(4, 1, 1e9, yardstick_ns=17_000)
    lines[10] |= {"yardstick_ns": 21_000}
    one, two = judged(lines)
    assert two.disturbed == one.disturbed == ""
    assert two.sample_ns == pytest.approx(1e9 / 2e6)


def slowed(together: float, rounds: int = 7) -> list[dict[str, object]]:
    """The lines of a process whose yardstick takes `together` times longer in the windows of two
    threads."""
    return [
        window(r, p, 1e6, yardstick_ns=20_000 * (together if p == 2 else 1))
        for r in range(rounds)
        for p in (1, 2)
    ]


def test_a_clock_that_is_lower_when_all_cores_run_disturbs_no_process() -> None:
    usual = Usual()
    for _ in range(8):
        one, two = judged(slowed(1.25), usual=usual)
        assert two.disturbed == one.disturbed == ""
    uneven = slowed(1.25)
    uneven[7] = window(3, 2, 1e3, yardstick_ns=20_000)  # as fast as alone, which is unusual
    _, two = judged(uneven, usual=usual)
    assert two.disturbed == ""
    assert two.sample_ns == pytest.approx(1e9 / 2e6)


def test_a_process_whose_processors_slowed_otherwise_than_is_usual_does_not_count() -> None:
    usual = Usual()
    for _ in range(5):
        judged(slowed(1.0), usual=usual)
    for _ in range(3):
        one, two = judged(slowed(1.6), usual=usual)
        assert two.disturbed == "its processors slowed together otherwise than is usual in this run"
        assert one.disturbed == ""


def test_threads_that_did_not_run_side_by_side_are_not_judged() -> None:
    lines = [window(r, p, 1e6, overlap=0.5 if p == 2 else 1.0) for r in range(7) for p in (1, 2)]
    one, two = judged(lines)
    assert two.disturbed == "its threads ran side by side for 50 % of a window only"
    assert one.disturbed == ""


def test_a_disturbed_process_is_taken_again(lab: Lab, programs: Path, tmp_path: Path) -> None:
    path = tmp_path / "first"
    body = (
        f"known = os.path.exists({str(path)!r}); open({str(path)!r}, 'w').close(); start(); "
        "rounds(1.9, overlap=1.0 if known else 0.2); end()"
    )
    fakes.contend(programs, "once", [fakes.way("usual")], body)
    lab(*TWO, "--programs", "once")
    rows = stored(tmp_path, program="once", threads=2)
    assert [bool(row.disturbed) for row in rows].count(True) == 1
    assert len(rows) == 6


def ended(task: Task, cost_s: float = 1.0, *, disturbed: bool = False) -> Observation:
    """A process that ended well. Its speed-up is 1.9 unless it was disturbed."""
    value = None if disturbed else 1.9
    return Observation(task.cell, task.round, Status.OK, cost_s, value, None, disturbed)


def test_a_disturbed_process_leaves_no_sample_and_more_are_wanted() -> None:
    cells = [cell(program=f"p{number}", backend="threads", threads=2) for number in range(4)]
    schedule = CatalogueSchedule(
        cells,
        PROFILES["quick"],
        seed=1,
        budget_s=None,
        uncertainty=lambda samples: 1.0 if len(samples) < 6 else 0.0,
    )
    taken: Counter[Cell] = Counter()
    while task := schedule.next(0.0):
        taken[task.cell] += 1
        disturbed = task.cell == cells[0] and task.round % 2 == 1
        schedule.record(ended(task, 0.1, disturbed=disturbed))
    assert {taken[each] for each in cells[1:]} == {6}
    # Six rounds are undisturbed before the eleventh ends. The schedule takes some other rounds
    # twice.
    assert 11 <= taken[cells[0]] <= 14


@pytest.mark.parametrize("budget_s", [None, 25.0, 60.0])
def test_every_round_has_the_calibration_whatever_the_budget(budget_s: float | None) -> None:
    names = ["calibration", *(f"p{number}" for number in range(6))]
    cells = [cell(program=name, backend="threads", threads=2) for name in names]
    schedule = CatalogueSchedule(
        cells,
        PROFILES["quick"],
        seed=1,
        budget_s=budget_s,
        uncertainty=lambda samples: 1.0 if len(samples) < 9 else 0.0,
    )
    rounds: dict[str, set[int]] = {name: set() for name in names}
    elapsed_s = 0.0
    while task := schedule.next(elapsed_s):
        rounds[task.cell.program].add(task.round)
        elapsed_s += 1.0
        schedule.record(ended(task))
    everything = set().union(*rounds.values())
    last = {max(everything)} if budget_s else set()  # the time may end within a round
    assert everything - last <= rounds["calibration"]
    assert len(everything) > 2


def test_other_ways_are_given_up_where_the_time_is_too_short_for_all() -> None:
    costs_s = {"calibration": 4.0, **{f"p{number}": 1.0 for number in range(6)}}
    cells = [cell(program=name, backend="threads", threads=2) for name in costs_s]
    schedule = CatalogueSchedule(
        cells, PROFILES["quick"], seed=1, budget_s=25.0, uncertainty=lambda _: 1.0
    )  # three rounds of all take 30 s
    taken: Counter[str] = Counter()
    elapsed_s = 0.0
    while task := schedule.next(elapsed_s):
        taken[task.cell.program] += 1
        elapsed_s += costs_s[task.cell.program]
        schedule.record(ended(task, costs_s[task.cell.program]))
    assert taken["calibration"] >= 3
    whole = [name for name, count in taken.items() if count >= 3]
    assert 4 <= len(whole) < len(costs_s)  # some cells get nothing, so that the others are whole


def test_a_machine_that_is_never_calm_does_not_keep_it_going() -> None:
    cells = [cell(program=f"p{number}", backend="threads", threads=2) for number in range(4)]
    profile = PROFILES["quick"]
    schedule = CatalogueSchedule(cells, profile, seed=1, budget_s=None, uncertainty=lambda _: 1.0)
    taken = 0
    while task := schedule.next(0.0):
        taken += 1
        assert taken <= 2 * profile.max_samples * len(cells)
        disturbed = task.round > 0
        schedule.record(ended(task, 0.1, disturbed=disturbed))


SIBLINGS = [Processor(number % 2, 0, number // 2, number) for number in (0, 2, 1, 3)]


def test_by_default_there_are_as_many_threads_as_cores(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from threadmark import cli
    from threadmark.machine import host

    monkeypatch.setattr(host, "processors", lambda: SIBLINGS)
    fakes.write(programs, "fib.serial")
    fakes.write(programs, "fib.tbb")
    for command in ("catalogue", "run"):
        assert cli.main([command, "--executables", str(programs), "--dry-run", "--json"]) == 0
        cells = json.loads(capsys.readouterr().out)["cells"]
        assert max(each["threads"] for each in cells) == 2


def test_threads_fill_one_processor_of_each_core_first(programs: Path) -> None:
    found = find(["fake"], programs)
    for threads, cpus in (((1, 2), "0,2"), ((1, 2, 4), "0,2,1,3"), ((1, 2, 8), "")):
        request = Request(allocators=(), threads=threads)
        for each, executable in selection.select(request, found, ()).cells.items():
            line = selection.arguments(request, each, executable, SIBLINGS)
            assert (line[line.index("--cpus") + 1] if "--cpus" in line else "") == cpus


def test_two_threads_of_one_core_decide_no_verdict(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threadmark import cli
    from threadmark.machine import host

    one_core = [replace(each, core=0) for each in host.processors()[:2]]
    monkeypatch.setattr(host, "processors", lambda: one_core)
    monkeypatch.chdir(tmp_path)
    cli.main([*TWO, "--programs", "facility", "--json"])
    with Store.open(tmp_path / "s.db", create=False) as store:
        found = judgement.judge(store.rows(1), store.descriptions(1))
    kinds = {each.cell.variant: each.judged.verdict for each in found.entries}
    assert {kinds[way].kind for way in ("good", "poor", "bad")} == {Kind.UNCLEAR}
    assert "had a core for each thread" in kinds["good"].detail
    assert kinds["good"].speedups[2].estimate == pytest.approx(1.9)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_list_cuts_no_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    from threadmark.commands import list as listing

    ways = [f"ostringstream_{which}_locale" for which in ("global", "own")]
    forms = [f"from_{what}_counted" for what in ("chars", "streams", "spans", "files", "texts")]
    record = {
        "program": "ostringstream",
        "what": "Formats numbers into a string stream of its own",
        "arguments": ["entities=2000 (1..100000)", f"form={'|'.join(forms)}"],
        "ways": ways,
    }
    monkeypatch.setenv("COLUMNS", str(width))
    listing._print({"": [record]})
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out
    if width >= 80:
        assert all(name in out for name in (*ways, *forms))


def test_the_lab_lists_contention_programs_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from threadmark import cli
    from threadmark.setup import discovery, platforms

    fakes.calibrate(tmp_path)
    fakes.write(tmp_path, "fib.serial")
    found = find(["fake"], tmp_path)
    monkeypatch.setattr(discovery, "find", lambda names: found)
    monkeypatch.setattr(discovery, "absences", lambda name: [])
    monkeypatch.setattr(platforms, "platforms", list)
    assert cli.main(["list"]) == 0
    out = capsys.readouterr().out
    places = [out.index(each) for each in ("./threadmark catalogue", "calibration", "fib")]
    assert places == sorted(places)
    assert cli.main(["list", "--json"]) == 0
    listed = {each["program"]: each for each in json.loads(capsys.readouterr().out)["programs"]}
    assert listed["calibration"]["ways"] == ["arithmetic", "shared_atomic"]
    assert "ways" not in listed["fib"]
    assert cli.main(["list", "backends", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["backends"]
    assert [each["backend"] for each in listed] == ["serial"]


def test_a_row_of_the_catalogue_is_exported_with_what_a_thread_did(
    lab: Lab, programs: Path
) -> None:
    lab(*TWO, "--programs", "facility")
    lines = csv.DictReader(io.StringIO(lab("export", "--store", "s.db").stdout))
    found = {
        (each["variant"], each["threads"]): each["per_second"]
        for each in lines
        if each["status"] == "ok"
    }
    assert float(found["bad", "2"]) == pytest.approx(0.2e6)

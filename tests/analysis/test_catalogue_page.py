"""The catalogue's rule, its statistics, its table and its page, on made-up runs."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import browsing
import numpy as np
import pytest
from contention_lines import window
from lab.lab_support import store_again
from test_display import check_golden
from threadmark import cli
from threadmark.judge import findings
from threadmark.judge.verdict import Kind, Point, Verdict
from threadmark.kinds.catalogue import cards, scaling
from threadmark.kinds.catalogue import page as report
from threadmark.kinds.catalogue.judgement import judge
from threadmark.kinds.catalogue.profiles import CATALOGUE
from threadmark.kinds.catalogue.scaling import Calibration, calibration
from threadmark.model.cell import Cell, Row, Status
from threadmark.model.places import ROOT
from threadmark.store.store import Store

browser = browsing.browser  # a fixture
STARTED = "2025-01-02T03:04:05.000+00:00"
VALID = Calibration("gcc", 2, 1.98, 0.3, 1.0)
LIBRARIES = {"gcc-libstdc++": "libstdc++ 12", "clang-libc++": "libc++ 19.1"}
# program -> ways: (name, ns per operation on one thread, speed-up on two threads by platform)
PROGRAMS: dict[str, list[tuple[str, float, tuple[float, float]]]] = {
    "calibration": [("arithmetic", 1.1, (1.98, 1.97)), ("shared_atomic", 5.2, (0.31, 0.33))],
    "rand": [("rand", 9.1, (0.19, 0.21)), ("thread_local_engine", 2.3, (1.97, 1.95))],
    "random_device": [("random_device", 782.0, (1.01, 1.89)), ("seeded_once", 2.2, (1.9, 1.95))],
    "getenv": [("getenv", 31.0, (1.92, 1.93))],
    "parallel_algorithms": [("sort", 61e6, (1.7, 1.0)), ("fork_join", 60e6, (1.9, 1.9))],
    "throwing": [("shallow", 2100.0, (1.5, 1.2))],
    "shared_ptr_copy": [("alone", 3.0, (1.0, 1.0)), ("copy", 11.5, (0.43, 0.52))],
    "broken": [("usual", 10.0, (1.9, 1.9))],
    "vector_churn": [("vector", 25.0, (1.9, 1.85)), ("reused", 2.0, (1.95, 1.96))],
}
REMEDIES = {"thread_local_engine", "seeded_once", "fork_join", "reused"}
ALLOCATORS = {"glibc": 1.9, "glibc-no-tcache-one-arena": 0.4, "jemalloc": 1.93}


def point(*speedups: float, disturbed: int = 0, status: Status = Status.OK) -> Point:
    lacking = f"{disturbed} were disturbed: load" if disturbed else ""
    return Point(speedups, [status] * (len(speedups) + disturbed), lacking)


def said(speedups: list[float], calibrated: Calibration | None = VALID, **changes: Any) -> Verdict:
    """The verdict on two threads."""
    points = {1: point(*speedups), 2: point(*speedups)}
    options: dict[str, Any] = {"use": "threads", "cores": 2, "calibrated": calibrated}
    return scaling.verdict(points, **(options | changes))


@pytest.mark.parametrize(
    ("speedup", "kind", "label"),
    [
        (1.9, Kind.SCALES, "scales"),
        (1.41, Kind.SCALES, "scales"),
        (1.39, Kind.POORLY, "scales poorly"),
        (1.11, Kind.POORLY, "scales poorly"),
        (1.09, Kind.NONE, "no scaling"),
        (0.92, Kind.NONE, "no scaling"),
        (0.9, Kind.CONTENDED, "slower with threads x1.1"),
        (0.19, Kind.CONTENDED, "slower with threads x5.3"),
    ],
)
def test_the_verdict_follows_the_limits(speedup: float, kind: Kind, label: str) -> None:
    found = said([speedup * (1 + 0.001 * i) for i in (-2, -1, 0, 1, 2)])
    assert (found.kind, found.label, found.at_threads) == (kind, label, 2)
    assert found.efficiency is not None
    assert found.efficiency.estimate == pytest.approx(speedup / 2, rel=1e-3)


@pytest.mark.parametrize("limit", [1.4, 1.1, 1 / 1.1])
def test_an_interval_on_both_sides_of_a_limit_is_unclear(limit: float) -> None:
    found = said([limit * (1 + 0.02 * i) for i in (-3, -2, -1, 1, 2, 3)])
    assert found.kind is Kind.UNCLEAR
    assert f"both sides of {limit:.2f}" in found.detail
    assert scaling.uncertainty([limit * (1 + 0.02 * i) for i in (-3, -2, -1, 1, 2, 3)], 2) > 0


def test_nothing_is_said_about_threads_that_never_overlapped() -> None:
    points = {1: point(1.0), 2: point(0.4, 0.4, disturbed=4)}
    found = scaling.verdict(points, use="threads", cores=2, calibrated=VALID)
    assert found.kind is Kind.UNCLEAR
    assert found.detail == "2 of the 3 undisturbed processes needed: 4 were disturbed: load"
    alone = {2: point(disturbed=6)}
    found = scaling.verdict(alone, use="threads", cores=2, calibrated=VALID)
    assert (found.kind, found.speedup) == (Kind.UNCLEAR, None)


def test_more_threads_than_cores_decide_nothing() -> None:
    points = {p: point(*[speedup] * 6) for p, speedup in ((1, 1.0), (2, 1.9), (8, 0.5))}
    found = scaling.verdict(points, use="threads", cores=2, calibrated=VALID)
    assert (found.kind, found.at_threads) == (Kind.SCALES, 2)
    assert set(found.speedups) == {2, 8}
    found = scaling.verdict(points, use="threads", cores=1, calibrated=VALID)
    assert found.kind is Kind.UNCLEAR
    assert found.detail == "no number of threads above one had a core for each thread"


def test_where_the_calibration_failed_every_verdict_is_unclear() -> None:
    ways = {speedup: [speedup] * 6 for speedup in (0.4, 1.0, 1.2, 1.9)}
    assert {said(each).kind for each in ways.values()} == {
        Kind.CONTENDED, Kind.NONE, Kind.POORLY, Kind.SCALES
    }  # fmt: skip
    failed = [replace(VALID, free=1.79), replace(VALID, bound=1.01), replace(VALID, free=None)]
    for calibrated in (*failed, None):
        for each in ways.values():
            found = said(each, calibrated)
            assert (found.kind, found.at_threads) == (Kind.UNCLEAR, 2)
            assert "calibration" in found.detail


@pytest.mark.parametrize(("failed", "half"), [(slice(32), "first"), (slice(48, None), "second")])
def test_a_calibration_that_failed_in_forty_percent_of_the_run_is_not_valid(
    failed: slice, half: str
) -> None:
    def spoilt(usual: float, value: float) -> list[float]:
        rounds = [usual] * 80
        rounds[failed] = [value] * len(rounds[failed])
        return rounds

    usual = {"free": [1.98] * 80, "bound": [0.3] * 80, "slowings": [1.0] * 80}
    for change, why in (
        ({"free": spoilt(1.98, 1.5)}, "calibration:arithmetic reached x1.50"),
        ({"bound": spoilt(0.3, 1.2)}, "calibration:shared_atomic reached x1.20"),
        ({"slowings": spoilt(1.0, 1.5)}, "a core gives 0.67 of its speed"),
    ):
        found = calibration("gcc", 2, **(usual | change))
        assert found.why.startswith(f"in the {half} half of the run {why}")
        assert said([1.9] * 6, found).kind is Kind.UNCLEAR
    assert calibration("gcc", 2, **usual).why == ""


def test_half_a_calibration_of_too_few_rounds_decides_nothing() -> None:
    rounds = [1.5] * 8 + [1.98] * 9
    assert calibration("gcc", 2, rounds, [0.3] * 17, [1.0] * 17).why == ""


def test_the_calibration_needs_nine_rounds() -> None:
    assert calibration("x", 2, [1.9] * 9, [0.3] * 9, [1.0] * 9).why == ""
    assert "fewer than 9" in calibration("x", 2, [1.9] * 8, [0.3] * 9, [1.0] * 8).why
    assert "fewer than 9" in calibration("x", 2, [1.9] * 9, [0.3] * 8, [1.0] * 9).why


@pytest.mark.parametrize(
    ("slowing", "free", "why"),
    [
        (1.0, 3.61, ""),
        (1.0, 3.5, "calibration:arithmetic reached x3.50 on 4 threads instead of x3.60"),
        (1.25, 3.2, ""),  # the clock falls to 0.8 when all cores run
        (1.25, 2.9, "calibration:arithmetic reached x2.90 on 4 threads instead of x3.00"),
        (
            1.6,
            3.9,
            "a core gives 0.62 of its speed when 4 threads run, and verdicts need 0.75; give fewer",
        ),
    ],
)
def test_the_calibration_must_reach_what_the_processors_give(
    slowing: float, free: float, why: str
) -> None:
    found = calibration("x", 4, [free] * 9, [0.3] * 9, [slowing] * 9).why
    assert found.startswith(why)
    assert bool(found) == bool(why)


def test_a_way_of_one_thread_is_sequential_and_a_failure_comes_first() -> None:
    assert said([1.0] * 6, use="alone").kind is Kind.SEQUENTIAL
    points = {1: point(1.0), 2: Point((1.9,) * 5, [Status.OK] * 5 + [Status.WRONG])}
    found = scaling.verdict(points, use="threads", cores=2, calibrated=VALID)
    assert (found.kind, found.detail) == (Kind.WRONG, "1 of 6 processes on 2 threads")


def draw(rng: np.random.Generator, true: float, count: int, fits: float = 0.1) -> list[float]:
    """Speed-ups of processes: noise of 2 %, and some processes are disturbed by up to a third."""
    lost = np.minimum(rng.exponential(0.15, count), 0.4) * (rng.random(count) < fits)
    return list(true * np.exp(rng.normal(0, 0.02, count) - lost))


def definite_at_a_limit(fits: float) -> float:
    """How often a way gets a definite verdict if its speed-up is a limit, so that any definite
    verdict may be wrong; sampling goes on as in a run."""
    rng = np.random.default_rng(31)
    draws = [draw(rng, 1.1, 25, fits) for _ in range(1500)]
    counts = (next(n for n in range(3, 26) if ends(each[:n])) for each in draws)
    kinds = [said(each[:n]).kind for each, n in zip(draws, counts, strict=True)]
    return sum(kind is not Kind.UNCLEAR for kind in kinds) / len(kinds)


def ends(speedups: list[float]) -> bool:
    return len(speedups) >= 5 and scaling.uncertainty(speedups, 2) == 0


@pytest.mark.parametrize("fits", [0.0, 0.1])
def test_all_looks_together_keep_the_error_at_a_limit(fits: float) -> None:
    assert definite_at_a_limit(fits) <= 0.05


def test_a_run_that_stops_at_the_first_clear_interval_errs_far_more_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scaling, "LOOKS", tuple(range(5, 22)))
    monkeypatch.setattr(scaling, "LEVEL", 0.95)
    assert definite_at_a_limit(0.0) > 0.15


def test_what_comes_after_the_look_that_was_clear_changes_no_verdict() -> None:
    calm = [1.9, 1.91, 1.89, 1.92, 1.9]
    assert scaling.uncertainty(calm, 2) == 0
    assert said([*calm, 0.2]) == said(calm)
    assert said([*calm[:4], 0.9]).kind is Kind.UNCLEAR
    assert scaling.uncertainty([*calm[:4], 0.9], 2) > 0


def test_a_run_that_ended_between_two_looks_is_judged_by_all_it_has() -> None:
    wide = [1.7, 1.3, 1.75, 1.6, 1.8]
    assert said(wide).kind is Kind.UNCLEAR
    more = [*wide, 1.7, 1.71, 1.69]
    assert said(more).kind is Kind.SCALES
    assert scaling.uncertainty(more, 2) > 0  # the schedule waits for the next look


def decide(rng: np.random.Generator, true: float) -> Kind:
    """The verdict that a run reaches."""
    samples = draw(rng, true, 21)
    return said(samples[: next(n for n in range(5, 22) if ends(samples[:n]))]).kind


def test_two_catalogues_agree_on_nineteen_verdicts_of_twenty() -> None:
    rng = np.random.default_rng(32)
    # As on two processors: many ways contend, many scale, some lie between.
    true = np.concatenate([
        np.exp(rng.uniform(np.log(0.15), np.log(0.8), 120)),
        rng.uniform(0.85, 1.6, 60),
        rng.normal(1.93, 0.05, 120),
    ])  # fmt: skip
    equal = [decide(rng, each) is decide(rng, each) for each in true]
    assert sum(equal) >= 0.95 * len(equal)


def process(cell: Cell, number: int, ns: float, speedups: dict[int, float]) -> list[Row]:
    """The rows of one process; a neighbour slows both sides of its ratio."""
    slow = 1 + 0.1 * math.sin(number)
    facts = {"cpus": [0, 1], "wall_s": 0.2}
    command = (f"build/{cell.platform}/bin/{cell.program}.threads", "--run", "--variant")
    rows = []
    for p in (1, *speedups):
        each = 1e9 / (ns * slow) * (speedups[p] / p if p > 1 else 1)
        rows.append(
            Row(
                Cell(**{**vars(cell), "threads": p}),
                number,
                Status.OK,
                sample_ns=1e9 / (p * each),
                repeats=tuple(window(r, p, each, slowest_per_second=each * 0.9) for r in range(10)),
                command=(*command, cell.variant),
                started_at=f"2025-01-02T03:04:{number:02}",
                facts={**facts, "callers": 2 if p == 1 else p},
            )
        )
    return rows


def fill(store: Store, *, free: float = 1.98, names: dict[str, str] | None = None) -> int:
    """Add a catalogue to `store`; returns its number."""
    machine = {"processors": 2, "processor": "Example CPU", "commit": "0123456789ab"}
    run = store.start_run(CATALOGUE, 1, {"size": "quick"}, machine)
    rows: list[Row] = []
    for index, (platform, library) in enumerate(LIBRARIES.items()):
        for program, ways in PROGRAMS.items():
            name = (names or {}).get(program, program)
            store.add_description(run, platform, _description(name, ways, library))
            for way, ns, speedups in ways:
                speedup = free if way == "arithmetic" and index == 0 else speedups[index]
                others = ALLOCATORS if way == "vector" else {"glibc": speedup}
                for allocator, on_two in others.items():
                    cell = Cell(name, "quick", "threads", way, platform, allocator, 2)
                    for number in range(6):
                        shift = 1 + 0.002 * number
                        found = process(cell, number, ns, {2: on_two * shift})
                        rows += found[:1] if way == "alone" else _spoilt(found, program)
            lacks = Cell(name, "quick", "threads", "missing", platform, "glibc", 2)
            if program == "rand":
                reason = "this library has no such thing; version 3 has"
                rows.append(Row(lacks, 0, Status.UNAVAILABLE, reason))
    store.append_all(run, rows)
    store.add_note(run, "A note.")
    store.finish(run)
    with store._writing() as db:
        db.execute("UPDATE run SET started_at = ? WHERE id = ?", (STARTED, run))
    return run


def _spoilt(rows: list[Row], program: str) -> list[Row]:
    if program != "broken":
        return rows
    reason = "the sum is 3 instead of 4"
    return [
        Row(r.cell, r.round, Status.WRONG, reason, command=r.command, facts=r.facts) for r in rows
    ]


def _description(
    program: str, ways: list[tuple[str, float, tuple[float, float]]], library: str
) -> dict[str, Any]:
    return {
        "program": program,
        "kind": "contention",
        "summary": f"what {program} asks",
        "operation": f"one operation of {program}",
        "backend": "threads",
        "backend_version": library,
        "platform": {"compiler": "C++", "standard_library": library},
        "variants": [
            {
                "name": name,
                "meaning": f"what {name} does",
                "remedy": name in REMEDIES,
                "parallel": name != "alone",
                "use": "alone" if name == "alone" else "threads",
                "lacks": "",
            }
            for name, _, _ in ways
        ],
    }


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with one catalogue, and a terminal of 80 columns."""
    for name, value in (("COLUMNS", "80"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    path = tmp_path / "store.db"
    with Store.open(path, create=True) as store:
        fill(store)
    return path


def shown(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_the_table_at_80_columns(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "show", "--store", database)
    assert max(map(len, text.splitlines())) <= 80
    check_golden("catalogue", text)


def test_the_worst_comes_first_and_remedies_below_their_usual_way(database: Path) -> None:
    from threadmark.kinds.catalogue import table

    with Store.open(database, create=False) as store:
        found = judge(store.rows(1), store.descriptions(1))
    groups = table.ordered(found.entries)
    first = [each[0].cell.program for each in groups]
    assert first[:2] == ["broken", "broken"]
    assert first.index("rand") < first.index("random_device") < first.index("getenv")
    assert all(each.cell.program != "calibration" for group in groups for each in group)
    for group in groups:
        remedies = [each.remedy for each in group]
        assert remedies == sorted(remedies)
    churn = next(each for each in groups if each[0].cell.program == "vector_churn")
    ways = [(each.cell.variant, each.cell.allocator) for each in churn]
    assert ways[0] == ("vector", "glibc")
    assert {name for _, name in ways[1:3]} == {"glibc-no-tcache-one-arena", "jemalloc"}
    assert ways[3] == ("reused", "glibc")


def test_json_has_every_way_with_figures_that_fit_together(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(shown(capsys, "show", "--store", database, "--json"))
    assert (document["valid"], document["threads"]) == (True, 2)
    found = {
        (v["program"], v["variant"], v["platform"], v["allocator"]): v for v in document["verdicts"]
    }
    rand = found["rand", "rand", "gcc-libstdc++", "glibc"]
    assert rand["kind"] == "slower with threads"
    assert rand["speedup"]["estimate"] == pytest.approx(0.19, rel=0.02)
    assert rand["speedups"]["2"] == rand["speedup"]
    assert rand["one_ns"] == pytest.approx(9.1, rel=0.1)
    assert rand["fairness"] == pytest.approx(0.9)
    alone = found["shared_ptr_copy", "alone", "gcc-libstdc++", "glibc"]
    assert (alone["kind"], alone["speedup"]) == ("sequential", None)
    engine = found["rand", "thread_local_engine", "gcc-libstdc++", "glibc"]
    assert engine["gain_one"] == pytest.approx(9.1 / 2.3, rel=0.01)
    assert engine["gain_many"] == pytest.approx(9.1 / 2.3 * 1.97 / 0.19, rel=0.01)
    arena = found["vector_churn", "vector", "gcc-libstdc++", "glibc-no-tcache-one-arena"]
    assert arena["gain_over"] == "glibc"
    assert len(document["rows"]) == len({json.dumps(row) for row in document["rows"]})


def test_a_neighbour_that_slows_both_sides_changes_no_speed_up(database: Path) -> None:
    with Store.open(database, create=False) as store:
        rows = [r for r in store.rows(1) if r.cell.variant == "rand"]
    times = [r.sample_ns for r in rows if r.cell.threads == 2 and r.sample_ns]
    assert max(times) / min(times) > 1.1
    found = judge(rows, [])
    estimate = found.entries[0].judged.verdict.speedups[2]
    assert estimate.half_width < 0.02


def test_two_runs_agree_on_what_could_have_come_out_otherwise(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(database, create=False) as store:
        fill(store)
        fill(store, free=1.5)
        said_by = [judge(store.rows(n), store.descriptions(n)).said for n in (1, 2, 3)]
    assert all(each.cell.program != "calibration" for each in said_by[0])
    same, spoilt = (findings.agreement(said_by[0], each) for each in said_by[1:])
    fixed = (Kind.SEQUENTIAL, Kind.UNAVAILABLE)
    assert same.equal == same.of == sum(e.verdict.kind not in fixed for e in said_by[0])
    assert spoilt.equal < spoilt.of
    assert all("gcc-libstdc++" in what for what, _, _ in spoilt.differ)
    text = shown(capsys, "compare", "1", "3", "--store", database)
    assert f"of {spoilt.of} that can differ {spoilt.equal} are definite" in " ".join(text.split())


@pytest.mark.parametrize("status", [Status.DROPPED, Status.UNAVAILABLE])
def test_a_way_that_only_one_run_measured_is_a_difference(database: Path, status: Status) -> None:
    with Store.open(database, create=False) as store:
        rows, descriptions = store.rows(1), store.descriptions(1)
    gone = [replace(r, status=status, sample_ns=None) for r in rows if r.cell.variant == "getenv"]
    others = [row for row in rows if row.cell.variant != "getenv"]
    whole, lacking = (judge(each, descriptions).said for each in (rows, [*others, *gone]))
    same, found = (findings.agreement(whole, each) for each in (whole, lacking))
    assert (found.of, found.unmatched) == (same.of, 0)
    assert found.equal < same.equal


def test_compare_says_how_many_verdicts_only_one_run_has(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(database, create=False) as store:
        fill(store, names={"getenv": "setenv"})
    text = " ".join(shown(capsys, "compare", "1", "2", "--store", database).split())
    assert "4 more are in only one of the two runs." in text
    store_again(database)
    same = shown(capsys, "compare", "1", "3", "--store", database)
    assert "only one of the two runs" not in same
    document = json.loads(shown(capsys, "compare", "1", "2", "--json", "--store", database))
    assert document["verdicts"]["unmatched"] == 4


def test_a_catalogue_has_no_picture(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(database.with_name("x.svg"))
    assert cli.main(["report", "--store", str(database), "--output", target]) == 2
    assert "has no picture" in capsys.readouterr().err


CARD = """# rand: does std::rand scale?

## What happens
`std::rand` takes one lock, in `stdlib/random.c`.

- libc++ calls the same function.

## Evidence
Counted: one lock a call.

## Since and until
not known

## Explained as
* `rand` (libc++): `rand` or `stdio`
* `rand_r`: nothing

## Instead
One engine per thread.

~~~cpp
thread_local std::minstd_rand engine{std::random_device{}()};
auto x = engine() < 7 ? "<b>" : "";
~~~
2 threads: 0.19 -> 1.97 times one thread.

Changes: each thread has a sequence of its own, and `srand` no longer repeats it.
"""


def test_a_card_is_read_as_it_is_agreed() -> None:
    card = cards.parse("rand", CARD)
    assert card.question == "does std::rand scale?"
    assert card.sections["What happens"][0][:2] == [
        ("std::rand", True),
        (" takes one lock, in ", False),
    ]
    assert card.sections["What happens"][1] == [("libc++ calls the same function.", False)]
    assert card.explained == (
        cards.Explained("rand", "libc++", ("rand", "stdio")),
        cards.Explained("rand_r", "", ()),
    )
    assert card.sections["Instead"] == [[("One engine per thread.", False)]]
    assert len(card.code) == 2
    assert CARD.splitlines()[card.line - 1] == card.code[0]
    assert card.gain == [[("2 threads: 0.19 -> 1.97 times one thread.", False)]]
    assert card.changes == [
        ("each thread has a sequence of its own, and ", False),
        ("srand", True),
        (" no longer repeats it.", False),
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("# rand:", "# rond:"), "does not begin"),
        (("## Evidence", "## Proof"), "has not the sections"),
        (("Counted: one lock a call.", ""), "nothing under Evidence"),
        (("~~~cpp\n", "~~~cpp\n" + 7 * ";\n"), "1 to 8 lines"),
        (("~~~cpp", "~~~py"), "1 to 8 lines"),
        (("~~~cpp", "text"), "1 to 8 lines"),
        (("not known", "~~~\n;\n~~~"), "1 to 8 lines"),
        (("`rand_r`: nothing", "`rand_r`: no lock"), "under Explained as; write"),
        (("~~~\n2", "2"), "does not end with a paragraph 'Changes: ...'"),
        (("Changes: each", "Each"), "does not end with a paragraph 'Changes: ...'"),
        (("Changes: each", "Changes:each"), "does not end with a paragraph 'Changes: ...'"),
        (("2 threads: 0.19 -> 1.97 times one thread.", ""), "nothing under the code"),
    ],
)
def test_a_card_of_another_shape_is_refused(change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        cards.parse("rand", CARD.replace(*change))


def programs_of_the_library() -> list[str]:
    return sorted(each.stem for each in cards.FOLDER.glob("*.cpp"))


@pytest.mark.parametrize("program", programs_of_the_library())
def test_every_contention_program_has_a_card(program: str) -> None:
    card = cards.read(program)
    assert card is not None, f"write bench/programs/library/{program}.md"
    unsure = re.compile(r"\b(TODO|TBD|FIXME)\b")
    assert not unsure.search((ROOT / f"bench/programs/library/{program}.md").read_text("utf-8"))


HOSTILE = {"rand": "</script><script>alert(1)</script>", "getenv": "<img src=x onerror=alert(2)>"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a usual, a hostile, an invalid and an empty catalogue, one card among them."""
    folder = tmp_path_factory.mktemp("catalogues")
    (folder / "rand.md").write_text(CARD, encoding="utf-8")
    found = {}
    with Store.open(folder / "store.db", create=True) as store:
        empty = store.start_run(CATALOGUE, 1, {}, {})
        runs = {
            "usual": fill(store),
            "hostile": fill(store, names=HOSTILE),
            "invalid": fill(store, free=1.5),
            "empty": empty,
        }
        for name, run in runs.items():
            rows = store.rows(run)
            text = report.page(store.load(run), judge(rows, store.descriptions(run)), folder)
            found[name] = folder / f"{name}.html"
            found[name].write_text(text, encoding="utf-8")
    return found


@pytest.mark.parametrize("size", [browsing.DESKTOP, browsing.PHONE])
@pytest.mark.parametrize("name", ["usual", "hostile", "invalid", "empty"])
def test_the_page_is_quiet_off_line_and_fits(
    browser: Any, pages: dict[str, Path], name: str, size: tuple[int, int]
) -> None:
    browsing.visit(browser, pages[name], size, dark=size == browsing.PHONE)
    assert browsing.complaints(browser) == []
    assert browsing.requests(browser) == []
    assert browsing.outside(browser) == []


def test_the_page_draws_a_chart_for_every_program(browser: Any, pages: dict[str, Path]) -> None:
    browsing.visit(browser, pages["usual"], browsing.DESKTOP)
    charts = browser.execute_script(
        "return [...document.querySelectorAll('[data-chart]')].map(e => ({"
        "program: e.dataset.program ?? '', drawn: e.dataset.drawn,"
        "marks: e.querySelectorAll('.mark-symbol path, .mark-rect path').length}))"
    )
    drawn = {each["program"] for each in charts if each["drawn"] == "true" and each["marks"]}
    assert drawn == set(PROGRAMS) - {"calibration", "broken"} | {""}


def test_the_page_sorts_by_figures_and_by_names(browser: Any, pages: dict[str, Path]) -> None:
    browsing.visit(browser, pages["usual"], browsing.DESKTOP)
    click = (
        "const t = document.querySelector('.entries'); const c = arguments[0];"
        't.querySelector(`[data-sort="${c}"]`).click();'
        "return [...t.tBodies[0].rows].map(r => r.cells[c].dataset.value ?? r.cells[c].textContent)"
    )
    for column, numeric in ((0, False), (7, True)):
        first, second = (browser.execute_script(click, column) for _ in range(2))
        if numeric:
            first, second = ([float(x) for x in each] for each in (first, second))
            assert first == sorted(first, reverse=True)
            assert second == sorted(second)
        else:
            assert first == sorted(first)
            assert second == sorted(second, reverse=True)


def test_the_page_shows_the_card_and_says_where_one_is_missing(pages: dict[str, Path]) -> None:
    text = pages["usual"].read_text(encoding="utf-8")
    assert "<code>std::rand</code> takes one lock" in text
    assert "&#34;&lt;b&gt;&#34;" in text
    assert "Changes: each thread has a sequence of its own, and <code>srand</code>" in text
    assert "nothing is written about this program yet" in text


def test_names_that_want_to_be_markup_stay_text(browser: Any, pages: dict[str, Path]) -> None:
    source = pages["hostile"].read_text(encoding="utf-8")
    assert all(name not in source for name in HOSTILE.values())
    browsing.visit(browser, pages["hostile"], browsing.DESKTOP)
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    text = browser.execute_script("return document.body.innerText")
    assert all(name in text for name in HOSTILE.values())


def test_the_page_of_a_run_that_is_not_valid_says_so_first(pages: dict[str, Path]) -> None:
    text = pages["invalid"].read_text(encoding="utf-8")
    assert "Not valid on gcc-libstdc++:" in text[: text.index("<main>")]
    usual = pages["usual"].read_text(encoding="utf-8")
    assert "Not valid on" not in usual[: usual.index("<main>")]

"""Exports of stacks, as their readers read them."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import shown
from threadmark import cli
from threadmark.kinds.explain import firefox
from threadmark.kinds.explain.kind import KIND
from threadmark.model.cell import Stored
from threadmark.model.errors import LabError

WAIT_US = 40_000  # the wait of the made-up run for its lock
SAMPLES = 30


@pytest.fixture(scope="module")
def run() -> Stored:
    """A run with waits for a lock and samples."""
    return shown.run()


def exported(run: Stored, form: str) -> Any:
    """The text that export writes."""
    return KIND.export(run, KIND.judge(run), form)


def test_collapsed_lines_have_stacks_on_and_off_the_processor_in_microseconds(run: Stored) -> None:
    lines = dict(line.rsplit(" ", 1) for line in exported(run, "collapsed").splitlines())
    assert lines["worker;Cache::get;[mutex]"] == str(WAIT_US)
    assert lines["worker;Cache::put"] == str(SAMPLES * 2000)


def test_speedscope_has_two_profiles_whose_weights_are_their_length(run: Stored) -> None:
    document = json.loads(exported(run, "speedscope"))
    frames = [each["name"] for each in document["shared"]["frames"]]
    assert [each["name"] for each in document["profiles"]] == [
        "off the processor", "on the processor"
    ]  # fmt: skip
    for profile in document["profiles"]:
        assert profile["unit"] == "microseconds"
        assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"] > 0
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= each < len(frames) for stack in profile["samples"] for each in stack)
    first = [frames[each] for each in document["profiles"][0]["samples"][0]]
    assert first == ["main", "[join]"]  # outermost first


def test_pprof_has_contentions_and_delay_by_stack_and_kind_of_wait(run: Stored) -> None:
    types, samples = read_profile(exported(run, "pprof"))
    assert types == [("contentions", "count"), ("delay", "nanoseconds")]
    assert (["Cache::get", "worker"], [10, WAIT_US * 1000], "mutex") in samples


def test_pprof_of_the_processor_has_samples_and_their_time(run: Stored) -> None:
    types, samples = read_profile(exported(run, "pprof-cpu"))
    assert types == [("samples", "count"), ("cpu", "nanoseconds")]
    assert samples == [(["Cache::put", "worker"], [SAMPLES, SAMPLES * 2_000_000], "")]


def read_profile(packed: bytes) -> tuple[list[tuple[str, str]], list[tuple[list[str], Any, str]]]:
    """Types of samples, and samples with functions, values and label, of a pprof profile."""
    profile = fields(gzip.decompress(packed))
    strings = [each.decode() for each in profile[6]]
    assert strings[0] == ""
    names = {}
    for each in map(fields, profile[5]):
        names[each[1][0]] = strings[each[2][0]]
    places = {}
    for each in map(fields, profile[4]):
        places[each[1][0]] = names[fields(each[4][0])[1][0]]
    [mapping] = map(fields, profile[3])
    assert mapping[7] == [1]  # the mapping has names of functions
    samples = []
    for each in map(fields, profile[2]):
        label = fields(each[3][0]) if each[3] else None
        said = strings[label[2][0]] if label else ""
        path = [places[number] for number in numbers(each[1][0])]
        samples.append((path, numbers(each[2][0]), said))
    types = [fields(each) for each in profile[1]]
    return [(strings[each[1][0]], strings[each[2][0]]) for each in types], samples


def fields(message: bytes) -> dict[int, list[Any]]:
    """The fields of a message of protocol buffers: numbers and bytes."""
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(message):
        tag, at = number(message, at)
        value: Any
        value, at = number(message, at)
        if tag & 7 == 2:
            value, at = message[at : at + value], at + value
            assert at <= len(message)
        else:
            assert tag & 7 == 0
        found[tag >> 3].append(value)
    return found


def numbers(packed: bytes) -> list[int]:
    """The numbers of a packed list."""
    found, at = [], 0
    while at < len(packed):
        value, at = number(packed, at)
        found.append(value)
    return found


def number(message: bytes, at: int) -> tuple[int, int]:
    """One number, and the offset of the next."""
    value = shift = 0
    while True:
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 0x80:
            return value, at


def test_a_firefox_profile_has_what_its_format_asks_for(run: Stored) -> None:
    profile = json.loads(exported(run, "firefox"))
    meta = profile["meta"]
    assert meta["preprocessedProfileVersion"] == firefox.VERSION
    categories = meta["categories"]
    assert all(each["subcategories"] for each in categories)
    assert any(each["color"] == "grey" for each in categories)
    assert len(profile["threads"]) == 2
    for thread in profile["threads"]:
        for name in ("samples", "markers", "stackTable", "frameTable", "funcTable",
                     "resourceTable", "nativeSymbols"):  # fmt: skip
            table = thread[name]
            for column, values in table.items():
                if isinstance(values, list):
                    assert len(values) == table["length"], (name, column)
        strings, frames = len(thread["stringArray"]), thread["frameTable"]["length"]
        for at, (prefix, frame) in enumerate(
            zip(thread["stackTable"]["prefix"], thread["stackTable"]["frame"], strict=True)
        ):
            assert prefix is None or 0 <= prefix < at
            assert 0 <= frame < frames
        assert all(0 <= each < strings for each in thread["funcTable"]["name"])
        assert all(0 <= each < len(categories) for each in thread["frameTable"]["category"])
        stacks = thread["stackTable"]["length"]
        assert all(each is None or each < stacks for each in thread["samples"]["stack"])
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
        schemas = {each["name"] for each in meta["markerSchema"]}
        for data in thread["markers"]["data"]:
            assert data["type"] in schemas


def test_a_firefox_profile_shows_each_wait_with_its_state_lock_and_holder(run: Stored) -> None:
    profile = json.loads(exported(run, "firefox"))
    worker = next(each for each in profile["threads"] if each["name"] == "worker")
    markers = worker["markers"]
    first = markers["data"][0]
    assert (first["state"], first["awaited"]) == ("waiting", shown.MAIN)
    assert first["object"] == "made in make, used in Cache::get"
    category = profile["meta"]["categories"][markers["category"][0]]["name"]
    assert category == worker["stringArray"][markers["name"][0]] == "waiting"
    assert markers["endTime"][0] - markers["startTime"][0] == pytest.approx(4)
    waited = sum(b - a for a, b in zip(markers["startTime"], markers["endTime"], strict=True))
    assert sum(worker["samples"]["weight"]) == pytest.approx(waited + SAMPLES * 2)


def test_binary_output_goes_to_a_file_or_a_pipe_and_not_to_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tmr").write_text("\n".join(shown.record().text()), encoding="ascii")
    assert cli.main(["explain", "a.tmr", "--store", "s.db"]) == 0
    words = ["export", "--store", "s.db", "--format", "pprof"]
    capfdbinary.readouterr()
    assert cli.main([*words, "--output", "waits.gz"]) == 0
    capfdbinary.readouterr()
    assert cli.main(["export", "--store", "s.db", "--output", "waits.pprof"]) == 0
    assert Path("waits.gz").read_bytes() == Path("waits.pprof").read_bytes()
    read_profile(Path("waits.gz").read_bytes())
    capfdbinary.readouterr()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert cli.main(words) == 2
    assert b"name a file with --output" in capfdbinary.readouterr().err


def test_a_format_of_another_kind_of_run_says_which_run_it_was_asked_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tmr").write_text("\n".join(shown.record().text()), encoding="ascii")
    assert cli.main(["explain", "a.tmr", "--store", "s.db"]) == 0
    for asked, which in (
        (["--format", "google-benchmark"], "The newest run, 1,"),
        (["1", "--format", "google-benchmark"], "Run 1"),
    ):
        capsys.readouterr()
        assert cli.main(["export", *asked, "--store", "s.db"]) == 2
        assert capsys.readouterr().err == (
            f"threadmark: {which} is of explain, which has the formats json, collapsed, "
            "speedscope, pprof, pprof-cpu and firefox; for google-benchmark name a run of another "
            "kind, as in `./threadmark export NUMBER --format google-benchmark --store s.db` "
            "(`./threadmark list runs --store s.db` lists the numbers).\n"
        )


def test_a_run_that_another_version_analysed_is_one_sentence(run: Stored) -> None:
    old = Stored(run.run, [], [], {**run.documents, "details": {"running": [], "waiting": []}})
    for form in ("collapsed", "pprof", "firefox"):
        with pytest.raises(LabError, match="analyse its record again"):
            exported(old, form)
    with pytest.raises(LabError, match="analyse its record again"):
        KIND.page(old, KIND.judge(old))

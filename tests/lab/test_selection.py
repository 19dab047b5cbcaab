"""Names that do not exist, executables that are of no use, and their replacements."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import fakes
import pytest
from lab_support import cell
from rich.console import Console
from threadmark.kinds import plan, session
from threadmark.kinds.tasks.kind import KIND
from threadmark.kinds.tasks.selection import select
from threadmark.model.effort import parse_threads
from threadmark.model.errors import LabError
from threadmark.model.request import Request
from threadmark.options import Measuring
from threadmark.setup import allocators
from threadmark.setup.discovery import absences, find, targets
from threadmark.setup.platforms import Platform, platforms


def test_serial_is_measured_whatever_backend_is_asked_for(tmp_path: Path) -> None:
    for backend in ("serial", "tbb", "openmp"):
        fakes.write(tmp_path, f"fib.{backend}")
    found = select(Request(backends=("tbb",), threads=(1, 2)), find(["fake"], tmp_path), ())
    assert sorted((c.backend, c.threads) for c in found.cells) == [
        ("serial", 1),
        ("tbb", 1),
        ("tbb", 2),
    ]


def test_quick_measures_the_default_policy_and_others_when_they_are_named(tmp_path: Path) -> None:
    fakes.write(tmp_path, "fib.serial")
    policies = [{"name": each, "parallel": True} for each in ("async", "optional")]
    several = fakes.write(tmp_path, "fib.std_async")
    several.write_text(several.read_text().replace(repr(fakes.PARALLEL), repr(policies)))
    found = find(["fake"], tmp_path)

    def measured(request: Request) -> set[str]:
        return {each.variant for each in select(request, found, ()).cells if each.threads == 2}

    assert measured(Request(threads=(2,))) == {"optional"}
    assert measured(Request(threads=(2,), variants=("async",))) == {"async"}
    assert measured(Request(threads=(2,), profile="full")) == {"async", "optional"}


def test_a_name_of_which_the_other_options_leave_nothing_is_refused(tmp_path: Path) -> None:
    fakes.write(tmp_path, "fib.serial")
    fakes.write(tmp_path, "fib.tbb")
    fakes.write(tmp_path, "sort.serial")
    others = [{"name": each, "parallel": True} for each in ("async", "optional")]
    fakes.write(tmp_path, "fib.tmk", variants=others)
    found = find(["fake"], tmp_path)

    def refused(**options: tuple[str, ...]) -> str:
        with pytest.raises(LabError) as error:
            select(Request(threads=(2,), **options), found, ())  # type: ignore[arg-type]
        return str(error.value)

    lost = "The other options leave no cell of the backend 'tmk'; "
    said = lost + "its variants are async, optional, so change --variants."
    assert refused(backends=("tmk",), variants=("futures",)) == said
    assert refused(backends=("tbb", "tmk"), variants=("futures",), programs=("fib",)) == said
    said = lost + "its programs are fib, so change --programs."
    assert refused(backends=("tmk",), programs=("sort",)) == said
    said = "no cell of the program 'sort'; its variants are plain, so change --variants."
    assert said in refused(programs=("fib", "sort"), variants=("futures",))
    said = "no cell of the variant 'async'; its backends are tmk, so change --backends."
    assert said in refused(backends=("tbb",), variants=("futures", "async"))
    # The serial program is the base of the others, unless the user asks for it alone.
    assert select(Request(backends=("serial",), programs=("sort",)), found, ()).cells


FORMS = [
    {"name": "fast", "meaning": "", "quick": True, "lacks": ""},
    {"name": "slow", "meaning": "", "quick": False, "lacks": ""},
    {"name": "rare", "meaning": "", "quick": False, "lacks": "the library has none"},
]


def test_each_form_of_a_program_is_a_problem_of_its_own(tmp_path: Path) -> None:
    for name in ("map.serial", "map.tbb"):
        path = fakes.write(tmp_path, name)
        described = f"forms={FORMS!r}, parameters=PARAMETERS"
        path.write_text(path.read_text().replace("parameters=PARAMETERS", described))
    fakes.write(tmp_path, "fib.serial")
    found = find(["fake"], tmp_path)

    def measured(request: Request) -> set[str]:
        cells = [each for each in select(request, found, ()).cells if each.program == "map"]
        # Each form has a serial time of its own, and has the size of the request.
        assert len({each.problem for each in cells}) * 2 == len(cells)
        assert {each.size for each in cells} <= {"quick"}
        return {dict(each.arguments)["form"] for each in cells}

    assert measured(Request()) == {"fast"}
    assert measured(Request(programs=("map",))) == {"fast", "slow"}
    assert measured(Request(profile="full")) == {"fast", "slow"}
    assert measured(Request(programs=("map",), arguments=("form=slow",))) == {"slow"}
    assert measured(Request(arguments=("map.form=slow",))) == {"slow"}
    lacking = select(Request(profile="full"), found, ()).unavailable
    assert {(dict(c.arguments)["form"], why) for c, why in lacking.items()} == {
        ("rare", "the library has none")
    }
    with pytest.raises(LabError, match="There is no form 'fats'; did you mean 'fast'"):
        measured(Request(programs=("map",), arguments=("form=fats",)))
    with pytest.raises(LabError, match="The program fib has no argument 'form'"):
        measured(Request(programs=("fib",), arguments=("form=fast",)))


def test_a_program_that_takes_long_to_build_is_built_when_it_is_asked_for(tmp_path: Path) -> None:
    tasks = tmp_path / "bench/programs/tasks"
    tasks.mkdir(parents=True)
    (tasks / "map.cpp").write_text("// needs: sat::sat\n")
    (tasks / "fib.cpp").write_text("// Fibonacci numbers\n")
    assert targets((), tmp_path) == ()
    assert targets(("fib", "no such program"), tmp_path) == ()
    assert targets(("fib", "map"), tmp_path) == ("all", "map")


def test_a_program_that_takes_long_to_build_is_measured_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("map.serial", "map.tbb", "fib.serial", "fib.tbb"):
        fakes.write(tmp_path, name)
    built = SimpleNamespace(executables=find(["fake"], tmp_path), absent=())
    monkeypatch.setattr(session.preparation, "prepare", lambda *_, **__: built)
    monkeypatch.setattr(session.discovery, "sources", lambda: {"map": {"tbb"}, "fib": {"tbb"}})
    monkeypatch.setattr(session.discovery, "on_request", lambda *_: {"map"})

    def measured(*programs: str) -> set[str]:
        asked = session.Session(KIND, Request(programs=programs), Measuring(), Console())
        return {each.program for each in asked._selection().cells}

    assert measured() == {"fib"}
    assert measured("map") == {"map"}


def test_a_request_that_was_stored_without_an_order_has_that_of_its_seed() -> None:
    stored = Request(seed=3, order_seed=5).as_json()
    assert Request.from_json(stored) == Request(seed=3, order_seed=5)
    del stored["order_seed"]
    assert Request.from_json(stored) == Request(seed=3, order_seed=3)


def test_an_executable_without_a_description_is_unavailable(tmp_path: Path) -> None:
    fakes.write(tmp_path, "fib.serial")
    bad = fakes.write(tmp_path, "fib.tbb")
    bad.write_text("#!/bin/sh\necho '{}'\n")
    dead = fakes.write(tmp_path, "fib.openmp")
    dead.write_text("#!/bin/sh\nexit 1\n")
    other = fakes.write(tmp_path, "fib.fiber")
    other.write_text(other.read_text().replace("'fib.fiber'", "'fib.tbb'"))
    old = fakes.write(tmp_path, "fib.old")
    old.write_text(old.read_text().replace("contract=1", "contract=2"))
    found = select(Request(), find(["fake"], tmp_path), ())
    assert {c.backend for c in found.cells} == {"serial"}
    reasons = {cell.backend: reason for cell, reason in found.unavailable.items()}
    assert set(reasons) == {"tbb", "openmp", "fiber", "old"}
    assert all("build it again" in reason for reason in reasons.values())
    assert "contract 2" in reasons["old"]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("contract=1, input=''", "contract=1, input=1", "got `int` - at `$.input`"),
        ("contract=1, input=''", "contract=1", "missing required field `input`"),
        ("contract=1", "contract=float('nan')", "JSON is malformed"),
        ("contract=1", "contract=10**400", "speaks contract 1000"),
        ("contract=1, input", "contract=1, kind='contention', input", "which its name denies"),
        ("summary='a fake'", r"summary='\ud800'", "does not print the agreed JSON"),
        ("summary='a fake'", "summary=None", "got `null` - at `$.summary`"),
        ("platform=dict(compiler='none'", "platform=dict(compiler=[]", "at `$.platform[...]`"),
        ("variants=VARIANTS", "variants=[]", "length >= 1 - at `$.variants`"),
        ("variants=VARIANTS", "variants=VARIANTS + [{}]", "at `$.variants[1]`"),
        ("'parallel': True", "'parallel': 1", "got `int` - at `$.variants[0].parallel`"),
        ("'max': 45", "'max': 19", "Size outside the range of its parameter n"),
        ("'min': 0", "'min': '0'", "got `str` - at `$.parameters[0].min`"),
        ("'quick': 10,", "", "missing required field `quick` - at `$.parameters[0].sizes`"),
        ("print(json.dumps(line)", "print('{\"a\":' + '[' * 100_000", "recursion"),
        ("print(json.dumps(line)", "print('{\"a\":' + '1' * 5000 + '}'", "out of range"),
        ("print(json.dumps(line)", "print([line]", "does not print the agreed JSON"),
        ("print(json.dumps(line)", "print('[1]'", "Expected `object`, got `array`"),
    ],
)
def test_a_description_that_breaks_its_types_is_told_where(
    tmp_path: Path, before: str, after: str, sentence: str
) -> None:
    path = fakes.write(tmp_path, "odd.tbb")
    text = path.read_text().replace('"', "'")
    assert before in text
    path.write_text(text.replace(before, after))
    (found,) = find(["fake"], tmp_path)
    assert sentence in found.fault
    assert found.fault.endswith("; build it again")
    assert len(found.fault) < 300
    assert found.description == {}


def test_descriptions_come_from_the_cache_until_the_file_changes(tmp_path: Path) -> None:
    path = fakes.write(tmp_path, "fib.tbb")
    first = find(["fake"], tmp_path)
    cache = tmp_path / "fake/describe-cache.json"
    entries = json.loads(cache.read_text())
    entries["fib.tbb"]["is"]["summary"] = "from the cache"
    cache.write_text(json.dumps(entries))
    assert find(["fake"], tmp_path)[0].description["summary"] == "from the cache"
    path.write_text(path.read_text() + "# changed\n")
    again = find(["fake"], tmp_path)
    assert again[0].description["summary"] == "a fake"
    assert again[0].digest != first[0].digest
    for damaged in ("", "[]", "{", "null"):
        cache.write_text(damaged)
        assert find(["fake"], tmp_path) == again


def test_an_absent_backend_has_a_cell_for_each_variant_seen_elsewhere(tmp_path: Path) -> None:
    for platform in ("one", "two"):
        fakes.write(tmp_path, "fib.serial", platform=platform)
    fakes.write(tmp_path, "fib.tbb", platform="one")
    listed = [
        {"backend": "tbb", "available": False, "reason": "TBB is missing; install it"},
        {"backend": "rare", "available": False, "reason": "Rare is missing; install it"},
        {"backend": "serial", "available": True, "reason": ""},
    ]
    (tmp_path / "two/backends.json").write_text(json.dumps(listed))
    missing = absences("two", tmp_path)
    assert [each.backend for each in missing] == ["tbb", "rare"]
    found = select(Request(), find(["one", "two"], tmp_path), missing)
    absent = {(c.backend, c.variant, c.platform) for c in found.unavailable}
    assert absent == {("tbb", "futures", "two"), ("rare", "any", "two")}


@pytest.mark.parametrize("text", ["", "0", "x", "1,,2", "3-1", "4097", "1-99999", "-1", "1.5", "²"])
def test_a_bad_list_of_threads_is_refused(text: str) -> None:
    with pytest.raises(LabError, match="--threads"):
        parse_threads(text)


def test_lists_of_threads() -> None:
    assert parse_threads("1,2,8") == (1, 2, 8)
    assert parse_threads("2-4, 1") == (1, 2, 3, 4)


def test_the_allocator_of_the_environment_brings_the_library_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocators, "_ENVIRONMENT", tmp_path)
    proxy, own = (tmp_path / f"libtbbmalloc{part}.so.2" for part in ("_proxy", ""))
    proxy.touch()
    assert str(tmp_path) not in allocators.library("tbbmalloc")[0]
    own.touch()
    assert allocators.library("tbbmalloc") == (f"{proxy}:{own}", "")


def test_an_allocator_that_is_found_can_be_preloaded() -> None:
    for name in allocators.NAMES[1:]:
        environment, reason = allocators.setting(name)
        assert bool(environment) != bool(reason)
        done = subprocess.run(["/bin/true"], check=True, capture_output=True, env=environment)
        assert done.stderr == b""


def test_an_allocator_is_found_or_its_package_named() -> None:
    assert allocators.setting("glibc") == ({}, "")
    for name in allocators.NAMES[1:]:
        environment, reason = allocators.setting(name)
        path = environment.get("LD_PRELOAD", "")
        if "GLIBC_TUNABLES" in environment:
            continue
        parts = [Path(each) for each in path.split(":") if each]
        assert all(each.is_file() for each in parts) if parts else "apt-get install" in reason
    with pytest.raises(LabError, match="did you mean 'mimalloc'"):
        allocators.library("mimaloc")


def test_the_settings_of_glibc_are_what_its_loader_takes() -> None:
    loader = next(Path("/").glob("lib64/ld-linux*.so.2"), None)
    if loader is None:
        pytest.skip("there is no loader of glibc")
    wanted = {"glibc.malloc.tcache_count": 0, "glibc.malloc.arena_max": 1}
    for name, count in (("no-tcache", 1), ("one-arena", 1), ("no-tcache-one-arena", 2)):
        environment, reason = allocators.setting(f"glibc-{name}")
        assert not reason
        line = [str(loader), "--list-tunables"]
        done = subprocess.run(line, check=True, capture_output=True, text=True, env=environment)
        said = {key: rest for key, _, rest in (x.partition(": ") for x in done.stdout.splitlines())}
        keys = {each.partition("=")[0] for each in environment["GLIBC_TUNABLES"].split(":")}
        assert len(keys) == count
        for key in keys:  # the list has no names that the library does not know
            assert int(said[key].split()[0], 0) == wanted[key]


def test_platforms_are_presets_that_name_their_packages() -> None:
    names = [each.name for each in platforms()]
    assert "gcc-libstdc++" in names
    assert "asan" not in names


def test_a_missing_compiler_costs_its_platform_and_names_the_packages() -> None:
    platform = Platform("x", "no-such-compiler++", (), ("some-package",))
    assert "no-such-compiler++ is not installed" in platform.missing()
    assert "apt-get install" in platform.missing()
    assert "some-package" in platform.missing()


def test_a_standard_library_that_does_not_link_is_told_from_a_missing_compiler() -> None:
    platform = Platform("x", "g++", ("-lno-such-library",), ("some-package",))
    if "not installed" in platform.missing():
        pytest.skip("there is no g++")
    assert "cannot build a program" in platform.missing()


def test_a_plan_says_each_reason_once_and_in_the_width_of_the_terminal() -> None:
    reason = "Boost.Fiber is not installed for {}; apt-get install -y " + "libboost-dev " * 20
    lost = {
        cell(program=program, backend="boost_fiber", variant=variant, threads=threads): (
            reason.format(program)
        )
        for program in ("fib", "sort")
        for variant in ("futures", "fork_join")
        for threads in (1, 2)
    }
    lost[cell(program="uts", backend="boost_fiber")] = "uts has no such thing"
    found = [each.plain for each in plan.lines([cell()], lost, 2.0, 80, utf8=True)]
    assert max(map(len, found)) <= 80
    assert found[0] == "fib quick tbb:futures gcc glibc x1"
    assert found[-1] == "1 cells, about 2 s"
    heads = [each for each in found if not each.startswith(" ")][1:-1]
    assert [" ".join(each.split()[:6]) for each in heads] == [
        "unavailable: boost_fiber:futures, boost_fiber:fork_join on fib, sort",
        "unavailable: boost_fiber:futures on uts (gcc): uts",
    ]

"""Fixes: each is one file, names the causes that it can help with, and has a reason if it is left
out."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from threadmark.fixes import choosing, known, preloading
from threadmark.fixes.fix import NotApplicableError, Setting, Target, together
from threadmark.fixes.known import other_library
from threadmark.fixes.target import target_of
from threadmark.kinds.explain.table import _CATEGORIES
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT
from threadmark.setup import allocators
from threadmark.setup.preload_library import SOURCES, preload_library

CATEGORIES = {
    *_CATEGORIES, "condition", "barrier", "join", "semaphore", "once", "allocator", "stdio",
    "loader", "sleep", "imbalance", "memory_bandwidth", "task_overhead", "task_idle",
    "runtime_idle",
}  # fmt: skip
TARGET = Target(
    path="/bin/true",
    dynamic=True,
    libraries=frozenset({"libgomp.so.1", "libtbbmalloc.so.2", "libstdc++.so.6"}),
    glibc=(2, 36),
    processors=(0, 1, 2, 3),
    all_processors=(0, 1, 2, 3, 4, 5, 6, 7),
    threads=4,
    environment={"LANG": "de_DE.UTF-8", "LD_PRELOAD": "/own.so", "GLIBC_TUNABLES": "a=1"},
)


def test_each_file_is_a_fix_that_says_what_it_helps_with_and_risks() -> None:
    fixes = choosing.every()
    files = {path.stem for path in Path(known.__path__[0]).glob("*.py")} - {"__init__"}
    assert {fix.name for fix in fixes} == {each.replace("_", "-") for each in files}
    for fix in fixes:
        assert fix.helps
        assert {each.partition("/")[0] for each in fix.helps} <= CATEGORIES, fix.name
        assert fix.risk.endswith("."), fix.name
        assert fix.what, fix.name
        assert not fix.what.endswith("."), fix.name


def test_a_short_list_has_fixes_of_all_kinds() -> None:
    fixes = choosing.every()
    kinds = {fix.kind for fix in fixes}
    openmp = {fix.name for fix in fixes if fix.kind == "openmp"}  # these do different things
    short = fixes[: len(kinds) - 1 + len(openmp)]
    assert {fix.kind for fix in short} == kinds
    assert {fix.name for fix in short} >= openmp
    assert fixes[0].kind == "allocator"


def test_every_fix_has_a_setting_or_a_reason() -> None:
    found, left_out = choosing.applicable(TARGET)
    assert {each.name for each in found} | set(left_out) == {fix.name for fix in choosing.every()}
    for each in found:
        line = each.setting.line(("prog", "2"), TARGET.environment)
        assert line != "prog 2" or each.setting.threads
    assert all(reason and not reason.endswith(".") for reason in left_out.values())
    names = {each.name for each in found}
    assert {"omp-passive", "tbb-huge-pages", "all-processors", "c-locale", "fewer-threads"} <= names


def test_what_cannot_be_preloaded_or_tuned_is_left_out() -> None:
    static = replace(TARGET, dynamic=False, libraries=frozenset())
    found, left_out = choosing.applicable(static)
    assert not any(each.setting.preload or each.setting.tunables for each in found)
    assert left_out["jemalloc"] == "the program is static or set-uid, so it takes no preload"
    assert "static" in left_out["arenas"]
    assert "not linked with OpenMP" in left_out["omp-bind"]
    old = choosing.applicable(replace(TARGET, glibc=(2, 31)))[1]
    assert old["huge-pages"] == "it needs glibc 2.35, here is 2.31"
    alone = choosing.applicable(replace(TARGET, processors=(0,), threads=1))[1]
    assert {"one-processor", "fewer-threads", "omp-threads"} <= set(alone)


def test_only_and_its_names() -> None:
    assert [each.name for each in choosing.applicable(TARGET, ["batch"])[0]] == ["batch"]
    with pytest.raises(LabError, match="There is no fix 'jemaloc'; did you mean 'jemalloc'"):
        choosing.applicable(TARGET, ["jemaloc"])


def test_settings_keep_what_the_environment_has() -> None:
    setting = Setting({"A": "b c"}, ("/lib/x.so",), ("glibc.a=2",), ("nice", "-n", "1"))
    assert setting.changes(TARGET.environment) == {
        "A": "b c",
        "LD_PRELOAD": "/lib/x.so:/own.so",
        "GLIBC_TUNABLES": "a=1:glibc.a=2",
    }
    assert setting.line(("./p", "a b"), {}) == (
        "A='b c' LD_PRELOAD=/lib/x.so GLIBC_TUNABLES=glibc.a=2 nice -n 1 ./p 'a b'"
    )
    assert setting.dockerfile(("./p", 'say "x"'), {})[-1] == (
        'CMD ["nice", "-n", "1", "./p", "say \\"x\\""]'
    )


def test_a_value_of_an_image_is_quoted() -> None:
    setting = Setting({"A": 'say "$x" \\'})
    assert setting.dockerfile((), {}) == ['ENV A="say \\"\\$x\\" \\\\"']


def test_the_lines_of_a_dockerfile_name_libraries_where_the_image_has_them(tmp_path: Path) -> None:
    found = {each.name: each.setting for each in choosing.applicable(TARGET)[0]}
    library = ROOT / "build/preload/large_buffers.so"
    setting = found["large-buffers"]
    assert setting.changes({}) == {"LD_PRELOAD": str(library)}
    assert setting.dockerfile(("./p",), {}) == [
        f"# large_buffers.so must lie beside the Dockerfile; here it is {library}",
        "COPY large_buffers.so /usr/local/lib/large_buffers.so",
        'ENV LD_PRELOAD="/usr/local/lib/large_buffers.so"',
    ]
    both = found["large-buffers"] | found["adaptive-mutex"]
    copies = [each.split()[-1] for each in both.dockerfile((), {}) if each.startswith("COPY")]
    (value,) = (each for each in both.dockerfile((), {}) if each.startswith("ENV LD_PRELOAD="))
    assert value == f'ENV LD_PRELOAD="{":".join(copies)}"'


def test_an_allocator_of_a_package_is_named_without_a_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = "/own/lib/libtbbmalloc_proxy.so.2:/own/lib/libtbbmalloc.so.2"
    monkeypatch.setattr(allocators, "library", lambda _: (paths, ""))
    setting = preloading.allocator("tbbmalloc")(replace(TARGET, libraries=frozenset()))
    assert setting.changes({})["LD_PRELOAD"] == paths
    assert setting.dockerfile((), {}) == [
        "RUN apt-get update && apt-get install -y --no-install-recommends libtbbmalloc2",
        'ENV LD_PRELOAD="libtbbmalloc_proxy.so.2:libtbbmalloc.so.2"',
    ]


def test_another_library_is_copied_into_an_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "libstdc++.so.6"
    library.touch()
    monkeypatch.setattr(other_library, "_found", lambda _: [library])
    setting = other_library.FIX.setting(replace(TARGET, environment={}))
    assert setting.changes({}) == {"LD_LIBRARY_PATH": str(tmp_path)}
    assert setting.dockerfile((), {})[1:] == [
        "COPY libstdc++.so.6 /usr/local/lib/libstdc++.so.6",
        'ENV LD_LIBRARY_PATH="/usr/local/lib"',
    ]


def test_fixes_that_set_the_number_of_threads_say_so(tmp_path: Path) -> None:
    program = tmp_path / "prog"
    program.write_bytes(b"TMK_NUM_THREADS")
    found = choosing.applicable(replace(TARGET, path=str(program)))[0]
    names = {each.name for each in found if each.setting.sets_threads}
    assert names == {"fewer-threads", "omp-threads", "tmk-threads"}
    assert together(found).setting.sets_threads
    assert not Setting({"A": "b"}).sets_threads


def test_a_combination_has_the_settings_of_all() -> None:
    found = {each.name: each for each in choosing.applicable(TARGET)[0]}
    both = together([found["large-buffers"], found["adaptive-mutex"], found["batch"]])
    assert both.parts == ("large-buffers", "adaptive-mutex", "batch")
    assert len(both.setting.preload) == 2
    assert both.setting.tunables == found["adaptive-mutex"].setting.tunables
    assert both.setting.prefix == ("chrt", "--batch", "0")


def test_likely_fixes_come_first_with_the_causes_that_they_help_with() -> None:
    found = choosing.helping([{"category": each} for each in ("allocator", "mutex", "allocator")])
    names = list(found)
    assert found["jemalloc"] == [0, 2]
    assert found["spinning-mutex"] == [1]
    assert names.index("jemalloc") < names.index("spinning-mutex")
    locks = [
        {"category": "mutex", "name": name, "knowledge": None} for name in ("table", "locale::")
    ]
    assert ["c-locale" in choosing.helping([each]) for each in locks] == [False, True]
    # A fix for the locale's lock alone comes before a fix for any lock.
    assert list(choosing.helping(locks[1:]))[:2] == ["c-locale", "classic-locale"]
    ordered = choosing.ordered(choosing.applicable(TARGET)[0], ["batch", "arenas"])
    assert [each.name for each in ordered[:2]] == ["batch", "arenas"]


def test_a_program_is_known_by_its_file_and_its_loader(tmp_path: Path) -> None:
    found = target_of("true", {}, None)
    assert found.dynamic
    assert found.links("libc.so")
    assert found.libraries_at["libc.so.6"].startswith("/")
    script = tmp_path / "a.sh"
    script.write_text("#!/bin/sh\n", encoding="ascii")
    script.chmod(0o755)
    assert target_of(str(script), {}, None).libraries is None
    with pytest.raises(NotApplicableError, match="not known whether the script's program"):
        next(fix for fix in choosing.every() if fix.name == "omp-bind").setting(
            target_of(str(script), {}, None)
        )


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_what_a_program_calls_says_which_fixes_come_first_and_last(tmp_path: Path) -> None:
    sources = {
        "binds": "#include <sched.h>\nint main() { return sched_setaffinity(0, 0, nullptr); }",
        "names": "#include <locale>\nint main() { return std::locale(\"\").name().empty(); }",
        "calls": "void lock(); int main() { lock(); }",
        "loads": "#include <dlfcn.h>\nint main() { return dlopen(\"\", 0) == nullptr; }",
    }  # fmt: skip
    library = "#include <mutex>\nstd::mutex held; void lock() { held.lock(); }"
    (tmp_path / "lock.cpp").write_text(library, encoding="ascii")
    line = ["g++", "-shared", "-fPIC", "lock.cpp", "-o", "liblock.so"]
    subprocess.run(line, cwd=tmp_path, check=True)
    order = {}
    for name, source in sources.items():
        (tmp_path / f"{name}.cpp").write_text(source, encoding="ascii")
        link = ["-Wl,--as-needed", "-L.", "-llock", "-Wl,-rpath,$ORIGIN"]
        line = ["g++", f"{name}.cpp", *link, "-o", name]
        subprocess.run(line, cwd=tmp_path, check=True)
        target = target_of(str(tmp_path / name), {}, 2)
        order[name] = [each.name for each in choosing.applicable(target)[0]]
    mutexes, locale = {"adaptive-mutex", "spinning-mutex"}, {"classic-locale"}
    assert order["binds"][0] == "free-affinity"
    assert set(order["binds"][-5:]) >= mutexes | locale
    assert order["names"][-1] == "free-affinity"
    assert set(order["names"][-4:]) >= mutexes
    assert "classic-locale" not in order["names"][-4:]
    assert set(order["calls"][-2:]) == locale | {"free-affinity"}  # calls of a library's own lock
    usual = [fix.name for fix in choosing.every()]
    assert order["loads"] == [each for each in usual if each in order["loads"]]  # needs unknown


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_static_program_is_told_from_others(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n", encoding="ascii")
    line = ["cc", "-static", "a.c", "-o", "prog"]
    if subprocess.run(line, check=False, cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("there is no static C library")
    assert not target_of(str(tmp_path / "prog"), {}, None).dynamic


PROGRAM = """
#include <clocale>
#include <cstdio>
#include <locale>
#include <mutex>
#include <sched.h>
#include <thread>
int main() {
  std::mutex mutex;
  long sum = 0;
  auto work = [&] { for (int i = 0; i < 20000; ++i) { std::lock_guard<std::mutex> held(mutex); ++sum; } };
  std::thread one(work), two(work);
  one.join();
  two.join();
  std::thread bound([] { cpu_set_t set; sched_getaffinity(0, sizeof set, &set); std::printf("%d ", CPU_COUNT(&set)); });
  bound.join();
  cpu_set_t one_processor;
  CPU_ZERO(&one_processor);
  CPU_SET(0, &one_processor);
  sched_setaffinity(0, sizeof one_processor, &one_processor);
  sched_getaffinity(0, sizeof one_processor, &one_processor);
  std::locale::global(std::locale("C.UTF-8"));
  std::setlocale(LC_ALL, "C.UTF-8");
  std::FILE* file = std::fopen("/dev/null", "w");
  std::fputs("text", file);
  std::printf("%ld %d %s %s\\n", sum, CPU_COUNT(&one_processor), std::locale().name().c_str(), std::setlocale(LC_ALL, nullptr));
  return std::fclose(file);
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def uses_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose output shows the changes by the libraries of lab/preload/."""
    folder = tmp_path_factory.mktemp("uses")
    (folder / "a.cpp").write_text(PROGRAM, encoding="ascii")
    subprocess.run(["g++", "-pthread", "a.cpp", "-o", "prog"], cwd=folder, check=True)
    return folder / "prog"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("name", sorted(each.stem for each in SOURCES.glob("*.c")))
def test_a_library_of_ours_changes_what_it_says_and_nothing_else(uses_all: Path, name: str) -> None:
    library = preload_library(name)
    assert library == ROOT / f"build/preload/{name}.so"

    def output(environment: dict[str, str]) -> list[str]:
        done = subprocess.run(
            [uses_all], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    usual, changed = output({}), output({"LD_PRELOAD": str(library)})
    expected = {
        "bound_threads": ["1", *usual[1:]],
        "classic_locale": [*usual[:3], "C", "C"],
        "free_affinity": [*usual[:2], usual[0], *usual[3:]],
    }
    assert usual[1:3] == ["40000", "1"]
    assert changed == expected.get(name, usual)

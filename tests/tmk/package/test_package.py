"""tmk as its users get it: installed, moved, found by CMake and pkg-config, and in the place of
std::async in programs that know nothing of it. Nothing here uses the lab or its build.
"""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from compilers import ROOT, WARNINGS, Platform, run, succeed, symbols

HERE = Path(__file__).resolve().parent
WAYS = ("std", "alias", "redirected")


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of tmk, which is not the one of its installation."""
    folder = tmp_path_factory.mktemp("install")
    shutil.copytree(ROOT / "include", folder / "include")  # the install needs nothing beside it
    succeed(["cmake", "-S", folder / "include", "-B", folder / "build"])
    succeed(["cmake", "--install", folder / "build", "--prefix", folder / "first"])
    shutil.rmtree(folder / "include")
    shutil.rmtree(folder / "build")
    return (folder / "first").rename(folder / "moved here")


@pytest.fixture(scope="session")
def documented(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the commands of docs/dropin.md were run."""
    folder = tmp_path_factory.mktemp("documented")
    text = (ROOT / "docs/dropin.md").read_text()
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert all(word in script for word in ("--install", "pkg-config", "sed", "-include"))
    for name in ("include", "examples"):
        shutil.copytree(ROOT / name, folder / name)
    flags = " ".join((*platform.flags, *WARNINGS))
    environment = {"CXX": platform.compiler, "CXXFLAGS": flags, "PREFIX": str(folder / "tmk")}
    succeed(["sh", "-euc", script], cwd=folder, environment=environment)
    return folder


@pytest.fixture(scope="session")
def examples(documented: Path) -> Path:
    """The folder in which CMake has built the examples, each in its three ways."""
    return documented / "build/examples"


def test_all_headers_and_notes_are_installed_and_nothing_else(prefix: Path) -> None:
    headers, notes = ((ROOT / "include").rglob(each) for each in ("*.hpp", "*.md"))
    wanted = {each.relative_to(ROOT / "include") for each in (*headers, *notes)}
    found = {each.relative_to(prefix / "include") for each in (prefix / "include").rglob("*.*")}
    assert found == wanted


def test_every_header_compiles_alone_and_two_sources_with_all_link(
    platform: Platform, prefix: Path, tmp_path: Path
) -> None:
    include = prefix / "include"
    names = sorted(each.relative_to(include) for each in include.rglob("*.hpp"))
    # Users include no internal header: one compiler suffices for these.
    public = [each for each in names if "detail" not in each.parts]
    for number, name in enumerate(names if platform.compiler == "g++" else public):
        (tmp_path / f"alone{number}.cpp").write_text(f"#include <{name}>\n#include <{name}>\n")
    alone = sorted(tmp_path.glob("alone*.cpp"))
    succeed(platform.command(f"-I{include}", "-fsyntax-only", *alone))

    # The redirection comes last, because the other headers must not see it.
    names.sort(key=lambda each: each.name == "redirect_std.hpp")
    every = "".join(f"#include <{each}>\n" for each in names)
    sources = [tmp_path / "one.cpp", tmp_path / "other.cpp"]
    for source, rest in zip(sources, ("int main() {}\n", ""), strict=True):
        source.write_text(every + rest)
    succeed(platform.command(f"-I{include}", *sources, "-o", tmp_path / "program"))


def test_a_moved_tree_is_found_and_tells_its_version(prefix: Path, tmp_path: Path) -> None:
    version = re.findall(
        r'define TMK_VERSION "([\d.]+)"', (prefix / "include/tmk/version.hpp").read_text()
    )
    environment = {"PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")}
    told = succeed(["pkg-config", "--modversion", "tmk"], environment=environment)
    assert [told.strip()] == version
    include = succeed(["pkg-config", "--variable=includedir", "tmk"], environment=environment)
    assert (Path(*shlex.split(include)) / "tmk/async.hpp").exists()
    page = (ROOT / "docs/dropin.md").read_text()
    [shown] = re.findall(r"^```cmake\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert f"find_package(tmk {version[0].rpartition('.')[0]} " in shown
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(user LANGUAGES CXX)\n"
        "add_executable(your_program main.cpp)\n"
        f"{shown}"
        "get_target_property(include tmk::tmk INTERFACE_INCLUDE_DIRECTORIES)\n"
        'message(STATUS "found ${tmk_VERSION} in ${include}")\n'
    )
    build = tmp_path / "build"
    told = succeed(["cmake", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"])
    assert f"found {version[0]} in {prefix}/include\n" in told


def test_the_commands_of_the_document_build_what_they_say(documented: Path) -> None:
    for way in WAYS:
        program = documented / f"quicksort.{way}"
        assert "1000 numbers" in succeed([program, "1000", "10"])
        assert ("tmk::" in symbols(program)) == (way != "std")


def digest(path: Path) -> bytes:
    """The digest that the example's first lines define."""
    if path.is_symlink():
        return hashlib.sha256(os.fsencode(path.readlink())).digest()
    if not path.is_dir():
        return hashlib.sha256(path.read_bytes()).digest()
    sum_ = hashlib.sha256()
    for child in sorted(path.iterdir(), key=lambda each: os.fsencode(each.name)):
        letter = b"l" if child.is_symlink() else b"d" if child.is_dir() else b"f"
        sum_.update(letter + digest(child) + os.fsencode(child.name) + b"\0")
    return sum_.digest()


@pytest.mark.parametrize("way", WAYS)
def test_the_directory_hasher_agrees_with_another_implementation(
    examples: Path, tmp_path: Path, way: str
) -> None:
    tree = tmp_path / "tree"
    for number in range(150):
        file = tree / str(number % 3) / str(number % 5) / f"{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(range(number)) * (1 + 999 * (number % 50 == 0)))
    (tree / "empty folder").mkdir()
    (tree / "näme").write_text("ä")
    (tree / "link").symlink_to("nowhere")
    # The lengths at which SHA-256 pads to one block more.
    for length in (0, 55, 56, 63, 64, 65):
        (tree / f"length {length}").write_bytes(b"x" * length)
    printed = succeed([examples / f"hash_tree.{way}", tree])
    assert printed == f"{digest(tree).hex()}  {tree}\n"


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_in_a_task_of_the_hasher_comes_out_of_it(
    examples: Path, tmp_path: Path, way: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    for path, reason in ((tmp_path, "not supported"), (tmp_path / "none", "No such file")):
        done = run([examples / f"hash_tree.{way}", path])
        assert done.returncode == 1
        assert not done.stdout
        assert reason in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_the_quicksort_sorts_whatever_the_size_and_cutoff(examples: Path, way: str) -> None:
    for size, cutoff in ((0, 1), (1, 1), (2, 1), (3, 1), (300, 1), (20000, 100)):
        printed = succeed([examples / f"quicksort.{way}", str(size), str(cutoff)])
        assert printed.startswith(f"{size} numbers, cutoff {cutoff}: ")
    for wrong in (["x"], ["5", "0"], ["1", "1", "1"], ["-1"]):
        assert run([examples / f"quicksort.{way}", *wrong]).returncode == 2


def test_the_quicksort_tells_a_wrong_result(platform: Platform, tmp_path: Path) -> None:
    text = (ROOT / "examples/quicksort.cpp").read_text()
    wrong = text.replace("numbers.subspan(middle)", "numbers.subspan(middle + 1)")
    assert wrong != text
    (tmp_path / "wrong.cpp").write_text(wrong)
    succeed(platform.command(tmp_path / "wrong.cpp", "-o", tmp_path / "wrong"))
    assert run([tmp_path / "wrong", "1000", "10"]).returncode == 1


@pytest.mark.parametrize("name", ["quicksort", "hash_tree"])
def test_each_way_of_building_uses_the_async_that_it_says(examples: Path, name: str) -> None:
    for way in WAYS:
        found = symbols(examples / f"{name}.{way}")
        assert ("tmk::detail::" in found) == (way != "std")
        assert bool(re.search(r"std::(__1::)?(__async|async|__future_base)", found)) == (
            way == "std"
        )


def test_where_threads_are_refused_tmk_goes_on(platform: Platform, examples: Path) -> None:
    def little_space() -> None:  # with stacks of 256 MiB, room for about 8 threads
        for limit, size in ((resource.RLIMIT_STACK, 1 << 28), (resource.RLIMIT_AS, 2 << 30)):
            resource.setrlimit(limit, (size, size))

    def sort(way: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [examples / f"quicksort.{way}", "100000", "10"],
            env={**os.environ, "TMK_NUM_THREADS": "2"},
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            preexec_fn=little_space,
        )

    for way in ("alias", "redirected"):
        done = sort(way)
        assert done.returncode == 0, done.stderr
    if platform.compiler == "g++":  # libc++'s hangs, see docs/dropin.md
        done = sort("std")
        assert done.returncode == 1
        assert "Resource temporarily unavailable" in done.stderr


def test_ordinary_code_is_the_same_with_the_redirection(
    platform: Platform, prefix: Path, tmp_path: Path
) -> None:
    source = HERE / "ordinary.cpp"
    printed = []
    for line in (platform.command(source), redirected(platform, prefix, source)):
        succeed([*line, "-o", str(tmp_path / "program")])
        printed.append(succeed([tmp_path / "program"]))
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) == 13
    found = symbols(tmp_path / "program")
    assert not re.search(r"std::(__1::)?(async|future<|promise<|packaged_task<)", found)


def test_the_redirection_knows_the_next_standard_too(platform: Platform, prefix: Path) -> None:
    line = redirected(platform, prefix, HERE / "ordinary.cpp", "-fsyntax-only", standard="23")
    succeed(line)


def redirected(
    platform: Platform, prefix: Path, source: Path, *arguments: str | Path, standard: str = "20"
) -> list[str]:
    forced = (f"-I{prefix / 'include'}", "-include", "tmk/redirect_std.hpp")
    return platform.command(*arguments, *forced, source, standard=standard)


@pytest.mark.parametrize(
    ("text", "standard", "reason"),
    [
        ("int main() {}", "17", "needs C\\+\\+20"),
        (
            "struct A {}; namespace std { template <> struct hash<A> {}; }",
            "20",
            "different namespace|not in a namespace enclosing",
        ),
        ("std::no_such_name x;", "20", "no_such_name"),
    ],
)
def test_what_cannot_be_redirected_is_refused(
    platform: Platform, prefix: Path, tmp_path: Path, text: str, standard: str, reason: str
) -> None:
    source = tmp_path / "refused.cpp"
    source.write_text(text + "\n")
    done = run(redirected(platform, prefix, source, "-fsyntax-only", standard=standard))
    assert done.returncode != 0
    assert re.search(reason, done.stderr)


def test_a_redirected_source_does_not_link_with_futures_of_the_standard(
    platform: Platform, prefix: Path, tmp_path: Path
) -> None:
    returned = ("future<int>", "shared_future<int>", "promise<void>", "packaged_task<int()>")
    declared = "".join(f"std::{each} make{i}();\n" for i, each in enumerate(returned))
    (tmp_path / "theirs.hpp").write_text("#pragma once\n#include <future>\n" + declared)
    defined = "".join(f"std::{r} make{i}() {{ return {{}}; }}\n" for i, r in enumerate(returned))
    (tmp_path / "theirs.cpp").write_text('#include "theirs.hpp"\n' + defined)
    calls = "".join(f"  make{i}();\n" for i in range(len(returned)))
    (tmp_path / "ours.cpp").write_text('#include "theirs.hpp"\nint main() {\n' + calls + "}\n")
    theirs, ours = tmp_path / "theirs.o", tmp_path / "ours.o"
    program = tmp_path / "program"

    succeed(platform.command("-c", tmp_path / "theirs.cpp", "-o", theirs))
    succeed(redirected(platform, prefix, tmp_path / "ours.cpp", "-c", "-o", ours))
    done = run(platform.command(ours, theirs, "-o", program))
    assert done.returncode != 0
    assert all(f"make{i}[abi:tmk]()" in done.stderr for i in range(len(returned)))

    # Both remedies: their header is forced in before, or both are redirected.
    before = ("-include", tmp_path / "theirs.hpp", "-c", "-o")
    succeed(redirected(platform, prefix, tmp_path / "ours.cpp", *before, ours))
    succeed(platform.command(ours, theirs, "-o", program))
    succeed([program])
    succeed(redirected(platform, prefix, tmp_path / "ours.cpp", "-c", "-o", ours))
    succeed(redirected(platform, prefix, tmp_path / "theirs.cpp", "-c", "-o", theirs))
    succeed(platform.command(ours, theirs, "-o", program))
    succeed([program])

"""Functions of addresses: fixed addresses, static programs, calls that leave no frame."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from threadmark.kinds.explain.analysis import reading
from threadmark.kinds.explain.demangling import demangled
from threadmark.kinds.explain.elf import Elf
from threadmark.kinds.explain.symbols import Symbols

SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <string>
#include <pthread.h>
static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;
namespace shop {
[[gnu::noinline]] int inner(int i) { return std::puts("x") + i; }
[[gnu::noinline]] int middle(int i) { return inner(i + 1); }
[[gnu::noinline]] int outer(int i) { return middle(i) + 1; }
[[gnu::noinline]] int put(const char* text) { return std::puts(text); }
[[gnu::noinline]] int twice(const char* text) { return put(text) + put(text); }
[[gnu::noinline]] int open_till() { return pthread_mutex_lock(&till); }
[[gnu::noinline]] int pay(int i) { return open_till() + i; }
[[gnu::noinline]] std::string text(int i) { return std::to_string(i) + std::string(99, 'x'); }
}
int main(int count, char** args) {
  return shop::outer(count) + shop::twice(*args) + shop::pay(count) + shop::text(count).size();
}
"""
KINDS = {
    "position-independent": ["-pie", "-fPIE"],
    "fixed": ["-no-pie", "-fno-pie"],
    "static": ["-static"],
    "static-pie": ["-static-pie", "-fPIE"],
}


def built(folder: Path, *options: str, source: str = SOURCE) -> Path:
    """The program."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    (folder / "program.cpp").write_text(source)
    line = ["g++", "-O2", *options, "program.cpp", "-o", "program"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and any("static" in each for each in options):
        pytest.skip("cannot link statically here")
    assert done.returncode == 0, done.stderr
    return folder / "program"


def address(program: Path, name: str) -> int:
    """The address of a function, by the end of its demangled name."""
    found = subprocess.run(["nm", "-C", program], capture_output=True, text=True, check=True)
    for line in found.stdout.splitlines():
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[1] in "tTwW" and words[2].split("(")[0] == name:
            return int(words[0], 16)
    raise AssertionError(name)


def symbols(program: Path, *frames: int, library: Path = Path("/bin/true")) -> Symbols:
    """The symbols of a record with one stack. Numbers below 0 are addresses of `library`."""
    stack = ",".join(f"[{1 if each > 0 else 2},{abs(each)}]" for each in frames)
    text = "\n".join([
        '{"kind":"record","version":1,"command":["p"],"pid":1,"began_ns":0,"ended_ns":1}',
        f'{{"kind":"module","id":1,"path":"{program}","build_id":"","low":0,"high":0,"offset":0}}',
        f'{{"kind":"module","id":2,"path":"{library}","build_id":"","low":0,"high":0,"offset":0}}',
        f'{{"kind":"stack","id":1,"frames":[{stack}]}}',
        '{"kind":"end"}',
    ])  # fmt: skip
    return Symbols(reading.read(text.encode().splitlines()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("debug", [["-g"], []], ids=["debug", "plain"])
def test_functions_have_names_wherever_a_program_is_linked_to(
    tmp_path: Path, kind: str, debug: list[str]
) -> None:
    program = built(tmp_path, *KINDS[kind], *debug)
    inner, main = address(program, "shop::inner"), address(program, "main")
    frames = symbols(program, inner + 1, main + 1).frames(1)
    assert [(f.name, f.own) for f in frames] == [("shop::inner", True), ("main", True)]
    assert (frames[0].where == "program.cpp:8") == bool(debug)


@pytest.mark.parametrize("kind", ["static", "static-pie"])
@pytest.mark.parametrize("debug", [["-g"], []], ids=["debug", "plain"])
def test_the_libraries_in_a_static_program_are_not_its_own(
    tmp_path: Path, kind: str, debug: list[str]
) -> None:
    program = built(tmp_path, *KINDS[kind], *debug)
    places = [address(program, name) + 1 for name in ("malloc", "_dl_relocate_static_pie")]
    library = [*places, address(program, "operator new") + 1]
    frames = symbols(program, *library).frames(1)
    assert [f.own for f in frames] == [False, False, False]
    assert frames[0].name in ("malloc", "__libc_malloc")


def returns(program: Path, function: str, called: str = "shop::middle") -> int:
    """The address behind the call that a function makes."""
    begin = address(program, function)
    elf = Elf(program)
    for at in range(begin, begin + 64):
        if elf.called(at) == address(program, called):
            return at
    raise AssertionError(function)


def test_a_function_that_ends_in_a_call_is_named_between_its_caller_and_the_called(
    tmp_path: Path,
) -> None:
    program = built(tmp_path, "-g")
    inner = address(program, "shop::inner") + 4
    frames = symbols(program, inner, returns(program, "shop::outer")).frames(1)
    assert [f.name for f in frames] == ["shop::inner", "shop::middle", "shop::outer"]


@pytest.mark.parametrize("debug", [["-g"], []], ids=["debug", "plain"])
def test_a_function_that_ends_in_a_call_of_a_library_is_named(
    tmp_path: Path, debug: list[str]
) -> None:
    program = built(tmp_path, *debug)
    after = returns(program, "shop::twice", "shop::put")
    library = c_library()
    puts = listed(library, "puts") + 40
    frames = symbols(program, -puts, after, library=library).frames(1)
    assert [f.name for f in frames] == ["puts", "shop::put", "shop::twice"]
    assert [f.own for f in frames] == [False, True, True]
    # An agent's stack begins behind the call of the function that the agent replaces.
    names = [f.name for f in symbols(program, after).frames(1)]
    assert names == ["shop::put", "shop::twice"]


def test_a_function_that_ends_in_taking_a_lock_is_not_named_as_the_holder(tmp_path: Path) -> None:
    program = built(tmp_path)
    after = returns(program, "shop::pay", "shop::open_till")
    assert [f.name for f in symbols(program, after).frames(1)] == ["shop::pay"]
    # A sample may lie within the agent.
    agent = Path(shutil.copy(c_library(), tmp_path / "libthreadmark-agent.so"))
    inside = -listed(agent, "puts") - 40
    assert [f.name for f in symbols(program, inside, after, library=agent).frames(1)][1:] == [
        "shop::pay"
    ]
    after = returns(program, "shop::twice", "shop::put")
    names = [f.name for f in symbols(program, inside, after, library=agent).frames(1)]
    assert names[1:] == ["shop::put", "shop::twice"]


def test_no_function_is_put_between_a_caller_and_what_it_calls(tmp_path: Path) -> None:
    program = built(tmp_path, "-g")
    middle = address(program, "shop::middle") + 2
    frames = symbols(program, middle, returns(program, "shop::outer")).frames(1)
    assert [f.name for f in frames] == ["shop::middle", "shop::outer"]


def test_code_without_a_file_is_not_the_program_s_own(tmp_path: Path) -> None:
    text = "\n".join([
        '{"kind":"record","version":1,"command":["p"],"pid":1,"began_ns":0,"ended_ns":1}',
        '{"kind":"stack","id":1,"frames":[[0,4660]]}',
        '{"kind":"end"}',
    ])  # fmt: skip
    [frame] = Symbols(reading.read(text.encode().splitlines())).frames(1)
    assert (frame.name, frame.own) == ("0x1234", False)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZNSt3__16threadC2IRFviiiRmEJiTnNS_9enable_ifIXsr3x", "std::__1::thread::thread"),
        ("_ZNSt3__112__async_funcIZ4mainE3$_0JEE9__executeTnmJ", "std::__1::__async_func"),
        ("_ZN4shop5innerEi", "shop::inner(int)"),
        ("_Z", "_Z"),
        ("_ZNStT_x", "_ZNStT_x"),
        ("plain", "plain"),
        ("_ZN5cache6Shared4bump17ha64f3d1c59aec01bE.llvm.26227787", "cache::Shared::bump"),
        (
            "_RNvMs_NtNtCsjrHSEGnQ3l9_3std6thread6threadNtB4_6Thread4park",
            "std::thread::thread::Thread::park",  # <std::thread::thread::Thread>::park
        ),
        (
            "_RNvXse_NtNtCsgEmfK2I1SDS_4core3fmt3numhNtB7_8LowerHex3fmt",
            "u8::fmt",  # <u8 as core::fmt::LowerHex>::fmt
        ),
        (
            "_RINvNtCsgEmfK2I1SDS_4core3ptr4readhECsjrHSEGnQ3l9_3std",
            "core::ptr::read<u8>",
        ),
        ("_Rx", "_Rx"),
        ("_RNv", "_RNv"),
    ],
)
def test_names_that_the_demangler_does_not_know_keep_their_beginning(
    symbol: str, name: str
) -> None:
    assert demangled(symbol) == name


WAITS = """
#include <latch>
#include <cstdio>
#include <thread>
[[gnu::noinline]] void meet(std::latch& all) { all.wait(); }
int main() { std::latch all(1); std::thread t([&] { meet(all); }); all.count_down(); t.join(); }
"""


@pytest.mark.parametrize(("options", "told"), [((), 1), (("-g",), 0)], ids=["plain", "-g"])
def test_a_lambda_tells_the_inlined_waiting_function_where_nothing_else_does(
    options: tuple[str, ...], told: int, tmp_path: Path
) -> None:
    path = built(tmp_path, "-std=c++20", *options, source=WAITS)
    names = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    wait = next((e.split() for e in names.splitlines() if "__atomic_wait_address" in e), None)
    if wait is None:
        pytest.skip("this library waits in a function of another name")
    frames = symbols(path, int(wait[0], 16) + 8).frames(1)
    assert [each.name for each in frames].count("std::latch::wait") == told


INLINED = """
#include <condition_variable>
#include <mutex>
std::mutex all;
std::condition_variable changed;
int kept = 0;
[[gnu::noinline]] void keep(int i) {
  std::unique_lock lock(all);
  changed.wait(lock, [&] { return kept < i; });  // a template for what no other file can see
  kept += i;
}
int main(int count, char**) { keep(count); }
"""


@pytest.mark.parametrize("option", ["-g1", "-g"])
def test_inlined_functions_of_the_standard_library_are_in_its_namespace(
    option: str, tmp_path: Path
) -> None:
    path = built(tmp_path, "-std=c++20", option, source=INLINED)
    begin = address(path, "keep")
    found = {f for at in range(begin + 2, begin + 100) for f in symbols(path, at).frames(1)}
    of_headers = {
        each.name
        for each in found
        if not each.where.startswith(("program.", "gthr")) and not each.name.startswith("__gthr")
    }
    assert of_headers
    assert all(each.startswith("std::") for each in of_headers), of_headers


def test_all_places_in_a_function_without_a_name_are_one_function(tmp_path: Path) -> None:
    program = built(tmp_path)
    begins = [address(program, f"shop::{each}") for each in ("outer", "middle")]
    subprocess.run(["strip", program], check=True)
    for begin in begins:
        named = f"program+{begin:#x}"
        for inside in (begin + 2, begin + 8):
            frame = symbols(program, inside).frames(1)[-1]
            assert (frame.name, frame.where) == (named, f"program+{inside - 1:#x}")


def c_library() -> Path:
    """The C library of this process."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    found = next((Path(e.split()[-1]) for e in maps if e.endswith("libc.so.6")), None)
    if found is None:
        pytest.skip("this C library has another name")
    return found


def listed(library: Path, name: str) -> int:
    """The address of an exported function."""
    found = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    for line in found.stdout.splitlines():
        words = line.split()
        if words[-1].split("@")[0] == name:
            return int(words[0], 16)
    raise AssertionError(name)


def test_functions_of_the_c_library_have_the_names_by_which_programs_call_them() -> None:
    library = c_library()
    if not Elf(library).has_both("__write", "write"):
        pytest.skip("this C library has one name for write")
    assert not Elf(library).has_both("__lll_lock_wait", "lll_lock_wait")
    [frame] = symbols(library, listed(library, "write") + 4).frames(1)
    assert (frame.name, frame.own) == ("write", False)


def test_copies_of_one_function_have_the_same_instructions(tmp_path: Path) -> None:
    source = SOURCE.replace(
        "int main",
        """[[gnu::always_inline]] inline unsigned mix(unsigned i) { return (i ^ i >> 7) * 77773; }
        [[gnu::noinline]] unsigned one(unsigned i) { return mix(i); }
        [[gnu::noinline]] unsigned two(long, unsigned i) { return mix(i) + 1; }
        [[gnu::noinline]] unsigned other(unsigned i) { return i / 3 + 1; }
        int main""",
    ).replace(
        "return shop::outer", "return one(count) + two(1, count) + other(count) + shop::outer"
    )
    program = built(tmp_path, source=source)
    places = {name: address(program, name) for name in ("one", "two", "other")}
    doing = [symbols(program, place).doing(1) for place in places.values()]
    assert doing[0] == doing[1] != doing[2]
    assert len(doing[0]) == 4
    library = c_library()
    in_library = symbols(program, -listed(library, "puts"), places["other"], library=library)
    assert in_library.doing(1) == doing[2]  # the program's code around the call

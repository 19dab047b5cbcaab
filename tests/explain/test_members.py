"""The names of locks on heap and stack, from the debug information of the functions that wait."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import capstone
import pytest
from elftools.elf.elffile import ELFFile
from threadmark.kinds.explain.analysis import reading
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.elf import Elf
from threadmark.kinds.explain.symbols import Symbols

FOLDER = Path(__file__).parent / "lock_names"
SOURCES = (FOLDER / "program.cpp", FOLDER / "calls.cpp")
COMPILERS = {
    "gcc": ("g++", "-gdwarf-5"),
    "gcc-dwarf-4": ("g++", "-gdwarf-4"),
    "clang": ("clang++-19", "-gdwarf-5"),
    "clang-dwarf-4": ("clang++-19", "-gdwarf-4"),
    "clang-libc++": ("clang++-19", "-stdlib=libc++", "-gdwarf-5"),
}
# The case, the object in the record for which the stack waits, and the name.
CASES = [
    ("heap_member", "mutex", "Warehouse::shelf_lock_"),
    ("captured_this", "mutex", "Warehouse::shelf_lock_"),
    ("first_of_two", "mutex", "Ledger::incoming_mutex_"),
    ("second_of_two", "mutex", "Ledger::outgoing_mutex_"),
    ("vector_element", "mutex", "Shelf::lock"),
    ("reference_parameter", "mutex", "Shelf::lock"),
    ("shared_pointer", "mutex", "Shelf::lock"),
    ("array_of_mutexes", "mutex", "Stripes::stripe_locks_"),
    ("padded", "mutex", "Counters::slot_locks_.value"),
    ("pointer_to_implementation", "mutex", "Session::Impl::state_mutex"),
    ("base_class", "mutex", "Shared::base_mutex_"),
    ("class_template", "mutex", "Queue::items_mutex_"),
    ("second_condition", "condition", "Queue::not_empty_"),
    ("relock", "relock", "Queue::items_mutex_"),
    ("reference_member", "mutex", "Job::words_mutex"),
    ("handed_on", "mutex", "Account::balance_mutex_"),
    ("own_lock_class", "mutex", "Cache::entries_lock_.raw_"),
    ("shared_mutex", "read_lock", "Settings::values_lock_"),
    ("semaphore", "futex", "Gate::slots_"),
    ("posix_semaphore", "semaphore", "Gate::posix_slots_"),
    ("once", "once", "Table::made_"),
    ("atomic_wait", "futex", "Phases::phase"),
    ("global_barrier", "futex", "all_there"),
    ("barrier_parameter", "futex", "step_done"),
    ("captured_local", "mutex", "total_mutex"),
    ("local_latch", "futex", "finished"),
    ("local_vector", "mutex", "row_locks"),
    ("own_spin_lock", "spin_lock", "Statistics::numbers_lock_.taken_"),
    ("c_structure", "mutex", "c_pool::pool_lock"),
    ("local_of_two", "mutex", "second_mutex"),
]


def compiled(folder: Path, *words: str, source: Path = SOURCES[0]) -> Path:
    """The program; `words` are the beginning of the build command."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    program = folder / "program"
    files = [str(each) for each in (source, SOURCES[1])]
    line = [*words, "-std=c++20", "-O2", "-w", *files, "-pthread", "-o", str(program)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode and "-stdlib=libc++" in words:
        pytest.skip("libc++ is not installed")
    assert done.returncode == 0, done.stderr
    return program


def recorded(program: Path) -> tuple[Recording, dict[str, int]]:
    """A record with the stacks of all cases, and the numbers of the stacks by case."""
    said = subprocess.run([program], capture_output=True, text=True, timeout=300, check=True)
    modules: dict[str, int] = {}
    lines = ['{"kind":"record","version":1,"command":["p"],"pid":1,"began_ns":0,"ended_ns":1}']
    stacks = {}
    found = []
    for number, line in enumerate(said.stdout.splitlines(), 1):
        name, *frames = line.split("\t")
        stacks[name] = number
        numbered = []
        for frame in frames:
            path, address = frame.rsplit(" ", 1)
            modules.setdefault(str(Path(path).resolve()), len(modules) + 1)
            numbered.append(f"[{modules[str(Path(path).resolve())]},{address}]")
        found.append(f'{{"kind":"stack","id":{number},"frames":[{",".join(numbered)}]}}')
    lines += [
        f'{{"kind":"module","id":{number},"path":"{path}","build_id":"","low":0,"high":0,'
        '"offset":0,"bias":0}'
        for path, number in modules.items()
    ]
    text = "\n".join([*lines, *found, '{"kind":"end"}'])
    return reading.read(text.encode().splitlines()), stacks


@cache
def places() -> dict[str, str]:
    """The line of each case, found by its comment."""
    found = {}
    for number, line in enumerate(SOURCES[0].read_text().splitlines(), 1):
        _, mark, comment = line.partition("  // ")
        if mark and line.rstrip():
            found.update(dict.fromkeys(comment.split(), f"program.cpp:{number}"))
    return found


@pytest.fixture(scope="module", params=COMPILERS)
def stacks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Symbols, dict[str, int]]]:
    program = compiled(tmp_path_factory.mktemp("names"), *COMPILERS[request.param])
    recording, numbers = recorded(program)
    yield Symbols(recording), numbers


@pytest.mark.parametrize(("case", "activity", "name"), CASES, ids=[each[0] for each in CASES])
def test_a_lock_has_the_name_of_its_member_or_variable(
    stacks: tuple[Symbols, dict[str, int]], case: str, activity: str, name: str
) -> None:
    symbols, numbers = stacks
    if case not in numbers:
        pytest.skip("this library does not wait in that call")
    assert symbols.member_at_call(numbers[case], activity) == (name, places()[case])


def test_a_global_variable_has_its_members_and_its_place(
    stacks: tuple[Symbols, dict[str, int]],
) -> None:
    symbols, _ = stacks
    lines = SOURCES[0].read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.startswith("const Case cases[]"))
    found = datum(symbols, "cases", 3 * 24 + 8)
    assert found == ("(anonymous namespace)::cases[3].call", f"program.cpp:{line}")


def test_a_container_of_the_library_is_passed_through_to_a_member_of_the_program(
    stacks: tuple[Symbols, dict[str, int]],
) -> None:
    symbols, _ = stacks
    shelf, lock = 48, 8  # size and offset
    found = datum(symbols, "all_shelves", 2 * shelf + lock + 4)
    name = "(anonymous namespace)::all_shelves[2].lock"
    assert found == (name, places()["global_array"])
    known = datum(symbols, "all_there", 8)  # the members of a barrier have no useful names
    assert known is not None and known[0] == "(anonymous namespace)::all_there"


def datum(symbols: Symbols, variable: str, offset: int) -> tuple[str, str] | None:
    """The name at an offset in a variable of the program."""
    files = filter(None, map(symbols.file, range(1, 9)))
    file = next(each for each in files if each.name == "program")
    assert file.elf is not None
    said = subprocess.run(["nm", "-C", file.elf.path], capture_output=True, text=True, check=True)
    rows = [line for line in said.stdout.splitlines() if line.endswith(f"::{variable}")]
    return file.datum(int(rows[0].split()[0], 16) + offset)


GIVEN = """
#include <functional>
#include <mutex>
#include <thread>
extern const char* wanted_call;
extern int work;
static void count(std::mutex& mutex) {
  const std::lock_guard<std::mutex> lock(mutex);
  work += 1;
}
int main() {
  std::mutex totals_mutex;
  wanted_call = "pthread_mutex_lock";
  std::thread(count, std::ref(totals_mutex)).join();
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_lock_that_a_thread_was_given_has_the_name_of_the_variable_if_it_is_on_a_stack(
    tmp_path: Path, compiler: str
) -> None:
    source = tmp_path / "given.cpp"
    source.write_text(GIVEN)
    recording, numbers = recorded(compiled(tmp_path, *COMPILERS[compiler], source=source))
    symbols = Symbols(recording)
    [stack] = numbers.values()
    assert symbols.member_at_call(stack, "mutex", "heap") == ("mutex", "given.cpp:7")
    assert symbols.member_at_call(stack, "mutex", "stack") == ("totals_mutex", "given.cpp:12")


ATOMIC = """
#include <atomic>
struct Hits { char name[64]; std::atomic<long> found; long missed; };
extern "C" [[gnu::noinline]] void find(Hits* hits, int n) {
  for (int i = 0; i < n; ++i) hits->found.fetch_add(n);
}
extern "C" [[gnu::noinline]] void miss(Hits& hits, int n) {
  for (int i = 0; i < n; ++i) __atomic_add_fetch(&hits.missed, n, __ATOMIC_SEQ_CST);
}
int main(int count, char**) {
  Hits* hits = new Hits();
  find(hits, count);
  miss(*hits, count);
  return hits->found + hits->missed == 0;
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
@pytest.mark.parametrize(("function", "name"), [("find", "Hits::found"), ("miss", "Hits::missed")])
def test_an_atomic_has_the_name_of_the_member_that_the_instruction_writes(
    tmp_path: Path, compiler: str, function: str, name: str
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "a.cpp").write_text(ATOMIC)
    program = tmp_path / "a"
    line = [compiler, "-std=c++20", "-O2", "-g", tmp_path / "a.cpp", "-o", program]
    subprocess.run(line, check=True)
    said = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    begin = next(int(line.split()[0], 16) for line in said.splitlines() if line.endswith(function))
    first, code = Elf(program).code(begin, 0, 200)
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    locked = next(each for each in decoder.disasm(code, first) if "lock" in each.mnemonic)
    text = [
        '{"kind":"record","version":1,"command":["p"],"pid":1,"began_ns":0,"ended_ns":1}',
        f'{{"kind":"module","id":1,"path":"{program}","build_id":"","low":0,"high":0,"offset":0}}',
        f'{{"kind":"stack","id":1,"exact":true,"frames":[[1,{locked.address + locked.size}]]}}',
        '{"kind":"end"}',
    ]
    symbols = Symbols(reading.read("\n".join(text).encode().splitlines()))
    assert symbols.member_at_call(1, "atomic") == (name, "a.cpp:3")


def test_an_inlined_function_has_the_name_of_its_class(
    stacks: tuple[Symbols, dict[str, int]],
) -> None:
    symbols, numbers = stacks
    names = [frame.name for frame in symbols.frames(numbers["own_lock_class"])]
    inlined = ["Mutex::lock", "Guard::Guard", "Cache::get"]
    assert names[:3] == [f"(anonymous namespace)::{each}" for each in inlined]
    names = [frame.name for frame in symbols.frames(numbers["captured_this"])]
    outer = "(anonymous namespace)::Warehouse::from_a_lambda"
    inner = [each for each in names if each.startswith(f"{outer}::") and "operator()" in each]
    assert len(inner) == 1 and outer in names


@pytest.mark.parametrize("compiler", ["gcc", "gcc-dwarf-4", "clang"])
def test_damaged_debug_information_gives_other_names_or_none(tmp_path: Path, compiler: str) -> None:
    program = compiled(tmp_path, *COMPILERS[compiler])
    recording, numbers = recorded(program)
    whole = program.read_bytes()
    with program.open("rb") as file:
        sections = [
            (section["sh_offset"], section["sh_size"])
            for section in ELFFile(file).iter_sections()
            if section.name.startswith(".debug_") and section["sh_size"]
        ]
    chance = random.Random(20261123)
    found = 0
    for times in (1, 30) * 6:
        damaged = bytearray(whole)
        for begin, size in sections:
            for _ in range(times):
                damaged[begin + chance.randrange(size)] = chance.randrange(256)
        program.write_bytes(damaged)
        symbols = Symbols(recording)
        began = time.monotonic()
        for case, activity, _ in CASES:
            if case in numbers:
                found += symbols.member_at_call(numbers[case], activity) is not None
        assert time.monotonic() - began < 30
    assert found


def test_without_debug_information_there_is_no_name(tmp_path: Path) -> None:
    program = compiled(tmp_path, "g++", "-g0")
    recording, numbers = recorded(program)
    symbols = Symbols(recording)
    assert {symbols.member_at_call(each, "mutex") for each in numbers.values()} == {None}

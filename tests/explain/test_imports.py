"""References of code to other files: calls that leave no frame, and names beside a place."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_symbols import address, built, symbols
from threadmark.kinds.explain.analysis.waits import BARRIER, HASH
from threadmark.kinds.explain.elf import Elf
from threadmark.kinds.explain.imports import Imports

SOURCE = """
#include <cstdlib>
#include <ctime>
#include <locale>
#include <memory>
#include <sys/single_threaded.h>
[[gnu::noinline]] int draw(int i) { asm volatile(""); return std::rand() + i; }
[[gnu::noinline]] int count(const std::shared_ptr<int>& p) {
  std::shared_ptr<int> copy = p;
  asm volatile("" :: "r"(copy.get()));
  return *copy;
}
[[gnu::noinline]] std::size_t ask() {
  const std::locale here;
  asm volatile("");
  return here.name().size();
}
[[gnu::noinline]] int branch() {
  const int alone = __libc_single_threaded;
  asm volatile(".skip 150, 0x90");
  return alone;
}
int main(int argc, char**) {
  return draw(argc) + count(std::make_shared<int>(argc)) + ask() + branch();
}
"""
MEETS = """
#include <barrier>
[[gnu::noinline, gnu::flatten]] void meet(std::barrier<>& gate) { gate.arrive_and_wait(); }
int main() {
  std::barrier<> gate(1);
  meet(gate);
}
"""
KINDS = {
    "position-independent": ["-pie", "-fPIE"],
    "fixed": ["-no-pie", "-fno-pie"],
    "without a linkage table": ["-fno-plt"],
    "marked branches": ["-fcf-protection=full"],
}


@pytest.fixture(scope="module", params=KINDS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("imports"), *KINDS[request.param], source=SOURCE)


def calls(program: Path, function: str, reach: int = 80) -> dict[int, str]:
    """The functions that the calls of a function of the program call, by the places behind."""
    imports = Imports(Elf(program))
    begin = address(program, function)
    found = {at: imports.called(at) for at in range(begin, begin + reach)}
    return {at: name for at, name in found.items() if name}


def called(program: Path, function: str) -> list[str]:
    """The functions that the calls of a function of the program call, in order."""
    return list(calls(program, function).values())


def test_a_call_of_another_file_has_its_name(program: Path) -> None:
    assert called(program, "draw")[0] == "rand"
    assert "_ZNSt6localeC1Ev" in called(program, "ask")


def test_names_are_those_of_the_function_alone(program: Path) -> None:
    imports = Imports(Elf(program))
    assert "rand" in imports.near(address(program, "draw") + 4, 96)
    beside = imports.near(address(program, "ask") + 8, 4096)
    assert "_ZNSt6localeC1Ev" in beside
    assert "rand" not in beside


def test_a_count_of_a_shared_ptr_has_the_librarys_switch_beside_it(program: Path) -> None:
    assert "__libc_single_threaded" in Imports(Elf(program)).near(address(program, "count") + 8, 96)


def test_a_branch_of_the_librarys_switch_may_lie_apart(program: Path) -> None:
    found = symbols(program, address(program, "branch") + 150)
    assert "__libc_single_threaded" in found.near(1)


def test_a_barrier_that_is_inlined_takes_its_place_near_its_waits(tmp_path: Path) -> None:
    program = built(tmp_path, "-std=c++20", source=MEETS)
    waits = [at for at, name in calls(program, "meet", BARRIER).items() if name == "syscall"]
    assert waits
    for at in waits:
        assert HASH in symbols(program, at).near(1, BARRIER)


def test_a_stack_begins_with_the_librarys_function_that_was_called(program: Path) -> None:
    behind = next(iter(calls(program, "ask")))
    names = [each.name for each in symbols(program, behind).frames(1)]
    assert names == ["std::locale::locale", "ask"]
    behind = next(iter(calls(program, "draw")))
    # The name in C tells less.
    assert [each.name for each in symbols(program, behind).frames(1)] == ["draw"]


def test_a_file_of_another_machine_has_no_names(tmp_path: Path) -> None:
    whole = bytearray(built(tmp_path, source=SOURCE).read_bytes())
    whole[18] = 0xB7  # aarch64
    other = tmp_path / "other"
    other.write_bytes(whole)
    begin = address(tmp_path / "program", "draw")
    assert Imports(Elf(other)).near(begin, 96) == frozenset()

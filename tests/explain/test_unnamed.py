"""Names for functions of the C library that has no symbols for them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_symbols import c_library
from threadmark.kinds.explain.analysis.recording import Module
from threadmark.kinds.explain.elf import Elf, debug_paths, opened
from threadmark.kinds.explain.imports import Imports
from threadmark.kinds.explain.mapped import File
from threadmark.kinds.explain.unnamed import Unnamed

FUTEX = "mov $0xca, %eax; syscall"
CODE = {
    "lock_wait": f"mov $2, %eax; xchg %eax, (%rdi); xor $0x80, %sil; {FUTEX}; ret",
    "lock_wake": f"xor $0x81, %sil; {FUTEX}; ret",
    "event_wait": f"mov $0x189, %esi; {FUTEX}; ret",
    "relock": "lock cmpxchg %edx, (%rdi); call lock_wait; ret",
    "other_lock": "lock cmpxchg %edx, (%rdi); call lock_wait; ret",
    "pthread_cond_wait": "call relock; call lock_wake; ret",
    "slow": "nop; ret",
    "sem_wait": "jmp slow",
    "count_and_wake": f"lock xaddl %eax, (%rdi); je 1f; ret; 1: xor $0x81, %sil; {FUTEX}; ret",
    "requeue": f"mov $0x84, %esi; {FUTEX}; ret",
    "wait_and_wake": f"mov $0x80, %esi; {FUTEX}; mov $0x81, %esi; {FUTEX}; ret",
    "write": "mov $0x80, %esi; mov $1, %eax; syscall; ret",
}
EXPORTED = ("pthread_cond_wait", "sem_wait")
WAITS = "__lll_lock_wait"
RELOCKS = "__pthread_mutex_cond_lock"
# glibc's own functions for the names that their code gives them.
GLIBC = {
    WAITS: r"lll_lock_wait(_private)?",
    "futex_wait": r"futex_abstimed_wait\w*",
    RELOCKS: r"pthread_mutex_cond_lock",
    "pthread_mutex_unlock": r"pthread_mutex_unlock\w*",
    "pthread_once": r"pthread_once_slow",
    "sem_wait": r"new_sem_wait_slow\S*",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A stripped library with this code, and the addresses of its functions."""
    folder = tmp_path_factory.mktemp("unnamed")
    source, library = folder / "made.s", folder / "libpthread.so.0"
    text = "".join(
        f".type {name}, @function\n{'.globl ' + name if name in EXPORTED else ''}\n"
        f"{name}: .cfi_startproc\n{code}\n.cfi_endproc\n.size {name}, .-{name}\n"
        for name, code in CODE.items()
    )
    source.write_text(text + '.section .note.GNU-stack,"",@progbits\n')
    line = ["g++", "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-o", str(library), str(source)]
    subprocess.run(line, check=True)
    symbols = Elf(library).functions
    subprocess.run(["strip", str(library)], check=True)
    return library, {name: at for at, _, name in symbols}


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("lock_wait", WAITS),
        ("lock_wake", "futex_wake"),
        ("event_wait", "futex_wait"),
        ("relock", RELOCKS),
        ("other_lock", ""),
        ("slow", "sem_wait"),
        ("count_and_wake", ""),
        ("requeue", ""),
        ("wait_and_wake", ""),
        ("write", ""),
    ],
)
def test_the_code_of_a_function_shows_its_purpose(
    made: tuple[Path, dict[str, int]], function: str, name: str
) -> None:
    elf = Elf(made[0])
    assert Unnamed(elf, Imports(elf)).name(made[1][function]) == name


def test_only_the_call_of_a_function_that_also_counts_is_a_wake(
    made: tuple[Path, dict[str, int]],
) -> None:
    elf = Elf(made[0])
    begin, end = Imports(elf).function(made[1]["count_and_wake"])
    call = begin + elf.code(begin, 0, end - begin)[1].index(b"\x0f\x05")
    name = Unnamed(elf, Imports(elf)).name
    assert [name(at) for at in (begin, call, call + 2)] == ["", "futex_wake", "futex_wake"]


def test_a_stack_has_these_names(made: tuple[Path, dict[str, int]]) -> None:
    file = File(Module(str(made[0]), "", 0, 1 << 20, 0, 0))
    [frame] = file.functions(made[1]["relock"])
    assert frame.name == RELOCKS
    [frame] = file.functions(made[1]["other_lock"])
    assert frame.name == f"libpthread.so.0+{made[1]['other_lock']:#x}"


def test_the_names_are_those_of_glibc() -> None:
    """The separate debug information of this machine's C library has the true names."""
    path = c_library()
    elf = Elf(path)
    debug = opened(debug_paths(str(path), elf.build_id), elf.build_id)
    if debug is None or elf.machine != "EM_X86_64":
        pytest.skip("no debug information of the C library")
    true: dict[int, list[str]] = {}
    for at, _, name in debug.functions:
        true.setdefault(at, []).append(re.sub(r"^_+(GI_+)?", "", name))
    unnamed, have = Unnamed(elf, Imports(elf)), {at for at, _, _ in elf.functions}
    given = {at: unnamed.name(at) for at in set(true) - have}
    assert set(GLIBC) <= set(given.values())
    wrong = {
        name: true[at]
        for at, name in given.items()
        if name in GLIBC and not any(re.fullmatch(GLIBC[name], each) for each in true[at])
    }
    assert not wrong

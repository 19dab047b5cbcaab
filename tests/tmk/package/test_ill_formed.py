"""Declarations and calls that the standard makes ill-formed, against tmk:: and, if the library
diagnoses them too, against std::. One compilation per library: each line of the program is a case
with types of its own number, which the compiler's messages about it name.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from compilers import ROOT, Platform, run

DEFINITIONS = """\
#include SUBJECT_HEADER
#include <array>
#include <chrono>
template <int> struct Own {};
template <int> struct Indestructible { ~Indestructible() = delete; };
template <class Self> struct Whole {
  using rep = long;
  using period = std::nano;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<Self, duration>;
  static constexpr bool is_steady = true;
  static time_point now() { return time_point(); }
};
template <int N> struct Clock : Whole<Clock<N>> {};
template <int N> struct NoNow : Whole<NoNow<N>> { static void now(int); };
template <int N> struct NoRep {
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<NoRep, duration>;
  static constexpr bool is_steady = true;
  static time_point now() { return time_point(); }
};
template <class C> using Time = std::chrono::time_point<C, std::chrono::seconds>;
"""
# [futures.promise], [futures.unique.future], [futures.shared.future] with LWG 3458 and 3466.
RESULTS = [
    f"subject::{kind}<{result}> NAME;"
    for kind in ("future", "shared_future", "promise")
    for result in ("Own<N>[3]", "Own<N>[]", "Own<N>()", "Indestructible<N>")
]
TASKS = ["subject::packaged_task<Indestructible<N>()> NAME;"]  # the standard does not cover them
# [thread.req.timing]: the program is ill-formed if is_clock_v<Clock> is false.
CLOCKS = [
    f"auto NAME = subject::{kind}<int>().wait_until(Time<{clock}<N>>());"
    for clock in ("NoNow", "NoRep", "Own")
    for kind in ("future", "shared_future")
]
WELL_FORMED = [
    *(
        f"subject::{kind}<{result}> NAME;"
        for kind in ("future", "shared_future", "promise")
        for result in ("std::array<int, N + 1>", "Own<N> (*)()", "Own<N> (&)()", "void")
    ),
    "subject::promise<Indestructible<N>&> NAME;",
    "subject::packaged_task<Own<N>()> NAME;",
    "auto NAME = subject::future<int>().wait_until(Time<Clock<N>>());",
    "auto NAME = subject::shared_future<int>().wait_until(Time<Clock<N>>());",
]


def compiled(
    platform: Platform, folder: Path, subject: str, cases: list[str]
) -> subprocess.CompletedProcess[str]:
    source = folder / "cases.cpp"
    lines = [
        re.sub(r"\bN\b", str(number), case.replace("NAME", f"name{number}"))
        for number, case in enumerate(cases)
    ]
    source.write_text(DEFINITIONS + "\n".join(lines) + "\n")
    header = {"std": "<future>", "tmk": "<tmk/async.hpp>"}[subject]
    limit = "-fmax-errors=0" if platform.compiler.startswith("g++") else "-ferror-limit=0"
    options = (f"-DSUBJECT_HEADER={header}", f"-Dsubject={subject}", f"-I{ROOT}/include", limit)
    return run(platform.command(*options, "-fsyntax-only", source))


@pytest.mark.parametrize("subject", ["std", "tmk"])
def test_what_is_ill_formed_is_refused_with_the_reason(
    platform: Platform, tmp_path: Path, subject: str
) -> None:
    if subject == "std" and platform.compiler != "g++":
        pytest.skip("libc++ 19 diagnoses no results and has no is_clock")
    # Compiled apart, because clang leaves function bodies out after an error in a class.
    for cases in (RESULTS + (TASKS if subject == "tmk" else []), CLOCKS):
        told = compiled(platform, tmp_path, subject, cases).stderr
        named = {int(each) for each in re.findall(r"\b[A-Z]\w+<(\d+)>", told)}
        assert [case for number, case in enumerate(cases) if number not in named] == []
        assert told.count("static assertion failed") >= len(cases)


@pytest.mark.parametrize("subject", ["std", "tmk"])
def test_what_is_well_formed_beside_it_is_not_refused(
    platform: Platform, tmp_path: Path, subject: str
) -> None:
    done = compiled(platform, tmp_path, subject, WELL_FORMED)
    assert done.returncode == 0, done.stderr

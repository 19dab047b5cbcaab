"""The library of SAT files as its users get it: installed beside tmk, moved, found by CMake."""

from __future__ import annotations

import os
from pathlib import Path

from compilers import ROOT, run, succeed

PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(tmk-sat 0.1 REQUIRED)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE sat::sat)
"""
PROGRAM = """\
#include <cstdio>

#include <sat/map.hpp>
#include <sat/verify.hpp>
#include <sat/write.hpp>

int main(int, char** arguments) try {
  sat::Team team(2);
  const sat::Model model = sat::map(sat::read(sat::load(arguments[1]), team), team);
  std::printf("%zu records, %zu points\\n", model.size(), model.all<sat::Point>().size());
  return sat::verify(model).empty() && !sat::write(model).empty() ? 0 : 1;
} catch (const sat::BadFile& error) {
  std::fprintf(stderr, "%s\\n", error.what());
  return 1;
}
"""
FILE = """\
400 2 1 0
1 a 1 b 1 c
1 1e-6 1e-10
vertex $-1 $-1 $1 #
point $-1 1 2 3 #
End-of-ACIS-data
"""


def test_the_library_is_found_by_cmake_where_it_was_moved_to(tmp_path: Path) -> None:
    first = tmp_path / "first"
    for folder in (ROOT / "include", ROOT / "apps/sat"):
        build = tmp_path / f"build {folder.name}"
        # Without optimisation, because the test only asks whether the program links.
        succeed(["cmake", "-S", folder, "-B", build, "-DCMAKE_BUILD_TYPE=Debug"])
        succeed(["cmake", "--build", build, "-j", str(len(os.sched_getaffinity(0)))])
        succeed(["cmake", "--install", build, "--prefix", first])
    prefix = first.rename(tmp_path / "moved here")
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(PROJECT)
    (user / "user.cpp").write_text(PROGRAM)
    succeed(["cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    succeed(["cmake", "--build", user / "build"])
    file = tmp_path / "file.sat"
    file.write_text(FILE)
    assert succeed([user / "build/user", file]) == "2 records, 1 points\n"
    file.write_text(FILE.replace("$-1 $1", "$-1 $2"))
    refused = run([user / "build/user", file])
    assert refused.returncode == 1
    assert refused.stderr == (
        "line 4, record 0 (vertex), field point: $2 names no record; the file has 2.\n"
    )

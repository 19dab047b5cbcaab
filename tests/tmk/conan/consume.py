#!/usr/bin/env python3
"""Makes the Conan package of tmk from the local recipe and builds a program with it, offline.

pip installs Conan from the lock file beside this program, into a temporary environment:
./threadmark check --only conan. The exit status is 1 if a step fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LOCK = Path(__file__).with_name("conan.lock")
RECIPE = """\
[requires]
tmk/[>=0.1]
[generators]
CMakeDeps
CMakeToolchain
"""
BUILD = """\
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(tmk REQUIRED)
add_executable(direct direct.cpp)
target_link_libraries(direct PRIVATE tmk::tmk)
add_executable(redirected redirected.cpp)
target_link_libraries(redirected PRIVATE tmk::redirect_std)
"""
PROGRAM = """\
#include INCLUDED
int main() { return NAMESPACE::async([] { return 42; }).get() - 42; }
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run([sys.executable, "-m", "venv", folder / "venv"], folder)
        pip = [folder / "venv/bin/pip", "install", "--quiet", "--require-hashes", "-r", LOCK]
        run(pip, folder)
        conan = folder / "venv/bin/conan"
        run([conan, "profile", "detect"], folder)
        run([conan, "remote", "disable", "*"], folder)  # from here on nothing is fetched
        run([conan, "create", ROOT / "include", "-s", "compiler.cppstd=20"], folder)
        (folder / "conanfile.txt").write_text(RECIPE, encoding="ascii")
        (folder / "CMakeLists.txt").write_text(BUILD, encoding="ascii")
        for name, header, space in (
            ("direct", '"tmk/async.hpp"', "tmk"),
            ("redirected", "<future>", "std"),
        ):
            text = PROGRAM.replace("INCLUDED", header).replace("NAMESPACE", space)
            (folder / f"{name}.cpp").write_text(text, encoding="ascii")
        run([conan, "install", ".", "-s", "compiler.cppstd=20", "-of", "conan"], folder)
        toolchain = f"-DCMAKE_TOOLCHAIN_FILE={folder / 'conan/conan_toolchain.cmake'}"
        run(["cmake", "-B", "build", "-DCMAKE_BUILD_TYPE=Release", toolchain], folder)
        run(["cmake", "--build", "build"], folder)
        for name in ("direct", "redirected"):
            run([folder / "build" / name], folder)
        symbols = run(["nm", "-C", folder / "build/redirected"], folder)
        if "tmk::" not in symbols:
            sys.exit("the redirected program does not use tmk")
    print("The Conan package of tmk is made and used.")


def run(line: list[str | Path], folder: Path) -> str:
    """The output of a command; ends this program if the command fails."""
    environment = {**os.environ, "CONAN_HOME": str(folder / "home")}
    done = subprocess.run(
        line, check=False, capture_output=True, text=True, cwd=folder, env=environment
    )
    if done.returncode != 0:
        print(f"{' '.join(map(str, line))} failed:\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
        sys.exit(1)
    return done.stdout


if __name__ == "__main__":
    main()

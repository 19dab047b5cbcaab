"""Instructions of an async and get, a fork and join, and a task of a scope, by callgrind.

    instructions.py [--against COMMIT] [--compiler "g++"] [--bar 3]

Runs the recursion of fib.cpp on one thread at two sizes; the difference, divided by the number of
tasks between them, is the cost of one task, with the recursion's own call. With --against, the
headers of that commit are counted too. Exit status 1 if an operation needs more instructions than
there by more than --bar per cent.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL, LARGE = 12, 20


def calls(n: int) -> int:
    """Calls of fib(n)."""
    return 1 if n < 2 else 1 + calls(n - 1) + calls(n - 2)


def instructions(executable: Path, operation: str, n: int) -> int:
    """The instructions of one process, on one processor."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    environment = {**os.environ, "TMK_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(executable), operation, str(n)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1])


def cost(include: Path, compiler: str, folder: Path) -> dict[str, float]:
    """Instructions of each operation with the headers in this folder."""
    executable = folder / "fib"
    source = Path(__file__).parent / "fib.cpp"
    flags = ["-std=c++20", "-O3", "-DNDEBUG", "-pthread", f"-I{include}"]
    line = [*shlex.split(compiler), *flags, str(source), "-o", str(executable)]
    subprocess.run(line, check=True)
    found = {}
    # A fork_join makes one task of two calls, and so does the function with a scope.
    for operation, share in (("async", 1), ("fork", 2), ("scope", 2)):
        more = [instructions(executable, operation, n) for n in (LARGE, SMALL)]
        found[operation] = (more[0] - more[1]) / ((calls(LARGE) - calls(SMALL)) / share)
    return found


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--bar", type=float, default=3.0)
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        now = cost(ROOT / "include", options.compiler, folder)
        before = {}
        if options.against:
            archive = ["git", "-C", str(ROOT), "archive", options.against, "include"]
            headers = subprocess.run(archive, check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", name], input=headers, check=True)
            before = cost(folder / "include", options.compiler, folder)
        for operation, count in now.items():
            line = f"{operation}: {count:.1f} instructions"
            if before:
                rise = 100 * (count / before[operation] - 1)
                good = good and rise <= options.bar
                line += f", {rise:+.1f} % against {before[operation]:.1f} (bar {options.bar:g} %)"
            print(line, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

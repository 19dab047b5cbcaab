#!/usr/bin/env python3
"""Runs the commands of docs/install.md and docs/json.md in a fresh clone of the last commit.

The commands take minutes and fetch packages: ./threadmark check --only pages. The exit status is
1 if a command fails or if its output differs from its page.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = "of thread time accounted for"
MEASURE = "./threadmark run --programs fib --backends tmk --platforms gcc-libstdc++ --profile smoke"


def blocks(page: str) -> list[str]:
    """The shell commands of a page, a text for each block."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(commands: str, folder: Path, environment: dict[str, str], said: str = "") -> None:
    """Runs the lines in one shell; ends this program if they fail or do not print `said`."""
    done = subprocess.run(
        ["sh", "-euc", commands],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment,
    )
    if done.returncode != 0 or said not in done.stdout:
        print(f"status {done.returncode}, expected '{said}':\n{commands}\n{done.stdout[-3000:]}")
        sys.exit(1)
    print(f"well: {'; '.join(commands.splitlines())}", flush=True)


def main() -> None:
    checkout, package, recorder = blocks("install.md")
    [check] = blocks("json.md")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        clone, venv = folder / "threadmark", folder / "venv"
        # The commands must find nothing of this checkout's environment.
        environment = {
            "PATH": f"{venv}/bin:{os.defpath}:/usr/sbin:/sbin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
        }
        source = shlex.quote(str(ROOT / "examples/tutorial/invoices.cpp"))
        run(f"g++ -O2 -g -std=c++20 -pthread {source} -o prog", folder, environment)
        fetch, *others = checkout.replace("REPOSITORY", shlex.quote(str(ROOT))).splitlines()
        run("\n".join([fetch, "cp ../prog .", *others]), folder, environment, EXPLAINED)
        run("tools/recorder_archive", clone, environment)
        run(recorder.replace(" args", " 2"), clone, environment)
        run("./threadmark explain prog.tmr", clone, environment, EXPLAINED)
        run(f"{shlex.quote(sys.executable)} -m venv venv", folder, environment)
        run(MEASURE, clone, environment)
        run(check, clone, environment, "ok -- validation done")
        run(package, folder, environment, EXPLAINED)
    print("The commands of the pages do what the pages say.")


if __name__ == "__main__":
    main()

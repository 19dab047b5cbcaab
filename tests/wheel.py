#!/usr/bin/env python3
"""Builds the wheel, installs it into an empty environment, and measures and explains with it.

The program takes minutes, because pip fetches the dependencies and the programs are built in a
new cache folder: ./threadmark check --only wheel. The exit status is 1 if a check fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
THREADED = """#include <mutex>
#include <thread>
std::mutex guard;
long sum = 0;
void work() { for (int i = 0; i < 2000000; ++i) { std::lock_guard hold(guard); ++sum; } }
int main() { std::thread other(work); work(); other.join(); }
"""


def run(*words: str | Path, folder: Path, cache: Path) -> str:
    """The output of a command; ends this program if the command fails."""
    # The command must find nothing of the checkout: neither its lab nor its tools.
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    environment = {**kept, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "XDG_CACHE_HOME": str(cache)}
    line = list(map(str, words))
    done = subprocess.run(
        line, check=False, capture_output=True, text=True, cwd=folder, env=environment
    )
    if done.returncode != 0:
        print(f"{' '.join(line)} failed with exit status {done.returncode}:\n{done.stderr[-3000:]}")
        sys.exit(1)
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cache, environment = folder / "cache", folder / "environment"
        python = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        subprocess.run([*python, "--wheel-dir", str(folder), str(ROOT)], check=True)
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        wheel = next(folder.glob("threadmark-*.whl"))
        run(environment / "bin/pip", "install", "--quiet", wheel, folder=folder, cache=cache)
        command = environment / "bin/threadmark"

        def say(*words: str) -> str:
            return run(command, *words, folder=folder, cache=cache)

        print(say("--version").strip())
        assert "check" not in say("--help").split()
        platforms = json.loads(say("list", "platforms", "--json"))["platforms"]
        assert platforms, "the wheel has no platforms"
        (folder / "slow.cpp").write_text(THREADED, encoding="ascii")
        line = ["g++", "-O1", "-g", "-pthread", "slow.cpp", "-o", "slow"]
        run(*line, folder=folder, cache=cache)
        said = json.loads(say("explain", "--json", "--", "./slow"))
        # Other tests check the findings of explain; this one checks that it recorded and analysed.
        assert said["schema"] == "threadmark.explain"
        assert said["threads"] == 2, said
        print(f"explain: {said['causes'][0]['words']}")
        how = ("--programs", "fib", "--backends", "tmk", "--platforms", "gcc-libstdc++")
        found = json.loads(say("run", *how, "--profile", "smoke", "--no-install", "--json"))
        assert {row["status"] for row in found["rows"]} <= {"ok", "unavailable"}
        assert any(row["backend"] == "tmk" and row["status"] == "ok" for row in found["rows"])
        assert (folder / "results/threadmark.db").exists()
        assert len(list((cache / "threadmark").glob("*/build"))) == 1
    print("The wheel measures and explains.")


if __name__ == "__main__":
    main()

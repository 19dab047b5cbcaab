"""Shared fixtures of the recorder's tests: the executable, targets that they compile, records."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from recorder_support import ROOT, Recorder

# A process in the background of a shell ignores Ctrl-C, and so would the targets.
signal.signal(signal.SIGINT, signal.default_int_handler)


def compile_recorder(folder: Path) -> Path:
    sources = sorted((ROOT / "probe/recorder").glob("*.cpp"))
    words = ["g++", "-std=c++20", "-O1", "-fno-exceptions", "-fno-rtti", f"-I{ROOT}"]
    objects = [folder / f"{source.stem}.o" for source in sources]
    lines = [
        [*words, "-c", source, "-o", made] for source, made in zip(sources, objects, strict=True)
    ]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as compilers:
        list(compilers.map(partial(subprocess.run, check=True), lines))
    recorder = folder / "threadmark-record"
    subprocess.run(["g++", "-static", *map(str, objects), "-o", str(recorder)], check=True)
    return recorder


@pytest.fixture(scope="session")
def executable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorder without an agent beside it.

    THREADMARK_RECORD names it; else the fixture compiles it from the present sources.
    """
    folder = tmp_path_factory.mktemp("recorder")
    named = os.environ.get("THREADMARK_RECORD")
    return Path(shutil.copy(named, folder)) if named else compile_recorder(folder)


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The agent. THREADMARK_AGENT names it; else the fixture compiles it from the present
    sources."""
    if named := os.environ.get("THREADMARK_AGENT"):
        return named
    made = tmp_path_factory.mktemp("agent") / "libthreadmark-agent.so"
    words = "g++ -std=c++20 -O2 -fPIC -shared -fno-exceptions -fno-rtti -ftls-model=initial-exec"
    words += " -fasynchronous-unwind-tables -fno-threadsafe-statics -fvisibility=hidden"
    folder = ROOT / "probe/agent"
    sources = map(str, sorted(folder.glob("*.cpp")))
    link = ["-nodefaultlibs", f"-Wl,--version-script={folder}/agent.map", "-lc", "-lgcc"]
    subprocess.run(
        [*words.split(), f"-I{ROOT}", *sources, "-o", str(made), *link], check=True, timeout=300
    )
    return str(made)


@pytest.fixture
def recorder(executable: Path, tmp_path: Path) -> Recorder:
    return Recorder(executable, tmp_path)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compile a target of targets/ once; `flags` are the compiler's."""
    folder = tmp_path_factory.mktemp("targets")

    def compile_target(name: str, *flags: str) -> Path:
        made = folder / "".join(c for c in " ".join([name, *flags]) if c.isalnum() or c in ".-")
        if not made.exists():
            source = Path(__file__).parent / "targets" / name
            words = ["g++", "-std=c++20", "-O1", "-g", f"-I{ROOT}", str(source), "-o", str(made)]
            subprocess.run([*words, "-pthread", *flags], check=True)
        return made

    return compile_target

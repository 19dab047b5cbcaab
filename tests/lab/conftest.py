"""Shared fixtures of the lab's tests: the command line as a child process, and single processes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import fakes
import pytest
from lab_support import LAB, Attempt, lab_environment
from threadmark.kinds.tasks.kind import runner
from threadmark.kinds.tasks.selection import select
from threadmark.machine.limits import Limits, default_limits
from threadmark.measure.cage import Cage
from threadmark.measure.schedule import Task
from threadmark.model.cell import Row
from threadmark.model.request import Request
from threadmark.setup.discovery import find


@pytest.fixture(params=["groups", "polling"])
def attempt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attempt]:
    """Run one process of a fake program: once with control groups, if the machine allows them, and
    once without."""
    groups = request.param == "groups"

    def run(body: str, *, limit_s: float = 60, threads: int = 1, **limits: int) -> Row:
        fakes.write(tmp_path, "fake.tbb", body)
        asked = Request(threads=(threads,))
        cells = select(asked, find(["fake"], tmp_path), ()).cells
        found = default_limits()
        chosen = Limits(
            limits.get("memory_bytes", found.memory_bytes),
            limits.get("threads_cap", found.threads),
            "a test",
        )
        with Cage(chosen, use_groups=groups) as cage:
            if groups and not (cage.memory and cage.pids):
                pytest.skip("control groups cannot be written here")
            return runner(asked, cells, cage)(Task(next(iter(cells)), 0, 1, limit_s))

    yield run


@pytest.fixture
def lab(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line to its end. The test has a store of its own."""

    def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
        environment = {**lab_environment(), **dict(options.pop("env", {}))}  # type: ignore[call-overload]
        return subprocess.run(
            [*LAB, *words],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=300,
            cwd=tmp_path,
            env=environment,
            **options,  # type: ignore[call-overload]
        )

    return run

"""The settings of all tests: Hypothesis, Ctrl-C, and the tests that may run again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# If other programs have the processors, an example may take any time. A test's own list of
# suppressed checks replaces the list here.
settings.register_profile("threadmark", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("threadmark")

# A shell starts background commands with Ctrl-C ignored, and the programs of the tests inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# These tests record or measure programs while they run. If other machines take this one's
# processors for a moment, a test sees too little of its program, so a failed test runs again; a
# real fault fails each time.
_LIVE = (
    "tests/probe/",
    "tests/explain/test_carried.py",
    "tests/explain/test_cells.py",
    "tests/explain/test_differential.py",
    "tests/explain/test_ordinary_user.py",
    "tests/explain/test_part_of_program.py",
    "tests/explain/test_tutorial.py",
    "tests/explain/test_wakes_as_root.py",
    "tests/try/test_gate_explains.py",
    "tests/try/test_try.py",
    "tests/try/test_gate_command.py",
)
_TRIES_MORE = 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parents[1]
    for item in items:
        if item.path.relative_to(root).as_posix().startswith(_LIVE):
            item.add_marker(pytest.mark.flaky(reruns=_TRIES_MORE))

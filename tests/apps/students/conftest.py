"""Runs tmk-students."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest


@pytest.fixture
def students(
    application: Callable[..., subprocess.CompletedProcess[str]],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    return application

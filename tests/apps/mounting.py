"""Commands that mount a file system without root, in a namespace of their own."""

from __future__ import annotations

import shutil
import subprocess

import pytest

REFUSED = 77  # the status of a script that could not mount


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount; returns the process that ended. A script that cannot mount
    exits with REFUSED, and the test is skipped."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not installed")
    done = subprocess.run(
        [unshare, "--user", "--map-root-user", "--mount", "sh", "-c", script],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == REFUSED or "unshare" in done.stderr:
        pytest.skip("no file system can be mounted here")
    return done

"""The number of passed tests, from the output of a check: a summary of pytest or ctest is read,
else the check counts as one test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """Tests by their endings."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )


def count(lines: Sequence[str], status: int) -> Count:
    """Tests in the output of pytest or ctest; one for anything else. `status` decides: a tool that
    failed without naming a failed test counts as one failure."""
    found = _pytest(lines) or _ctest_count(lines)
    if found is None:
        return Count(passed=1) if status == 0 else Count(failed=1)
    if status != 0 and not found.failed:
        return found + Count(failed=1)
    return found


_PYTEST = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected)")


def _pytest(lines: Sequence[str]) -> Count | None:
    """From the last line, such as '3 failed, 10 passed, 1 skipped in 2.31s'."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    if not re.search(r" in [\d.]+s", last):
        return None
    seen = {name.rstrip("s"): int(number) for number, name in _PYTEST.findall(last)}
    return Count(
        seen.get("passed", 0) + seen.get("xpassed", 0) + seen.get("xfailed", 0),
        seen.get("failed", 0) + seen.get("error", 0),
        seen.get("skipped", 0),
    )


def _ctest_count(lines: Sequence[str]) -> Count | None:
    """From '100% tests passed, 0 tests failed out of 42' and the lines of skipped tests."""
    for line in lines:
        match = re.search(r"(\d+) tests failed out of (\d+)", line)
        if match:
            failed, total = int(match[1]), int(match[2])
            skipped = sum("***Skipped" in each or "(Disabled)" in each for each in lines)
            return Count(total - failed - skipped, failed, skipped)
    return None

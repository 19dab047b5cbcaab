"""The platforms of the tests in this folder: each compiler that is there."""

from __future__ import annotations

import shutil

import pytest
from compilers import PLATFORMS, Platform, run


@pytest.fixture(scope="session", params=PLATFORMS, ids=lambda each: each.compiler)
def platform(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Platform:
    each: Platform = request.param
    if shutil.which(each.compiler) is None:
        pytest.skip(f"{each.compiler} is missing")
    source = tmp_path_factory.mktemp("probe") / "probe.cpp"
    source.write_text("#include <version>\nint main() {}\n")
    if run(each.command(source, "-o", source.with_suffix(""))).returncode != 0:
        pytest.skip(f"{each.compiler} {' '.join(each.flags)} compiles nothing")
    return each

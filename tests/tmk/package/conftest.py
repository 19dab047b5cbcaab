"""The platforms of the tests in this folder: each installed compiler."""

from __future__ import annotations

import shutil

import pytest
from compilers import PLATFORMS, Platform, run


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in this hook too
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests of one compiler together, because they share their builds."""
    for item in items:
        compiler = getattr(getattr(item, "callspec", None), "params", {}).get("platform")
        if compiler is not None:
            item.add_marker(pytest.mark.xdist_group(compiler.compiler))


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

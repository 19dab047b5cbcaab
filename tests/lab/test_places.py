"""The sources of an installed wheel: a copy in the cache, made once and whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from threadmark.model.errors import LabError
from threadmark.model.places import DEFAULT_STORE, INSTALLED, ROOT, cached, hint


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    folder = tmp_path / "wheel/checkout"
    (folder / "bench").mkdir(parents=True)
    (folder / "bench/fib.cpp").write_text("one")
    return folder


def test_a_checkout_is_its_own_place() -> None:
    assert not INSTALLED
    assert (ROOT / "CMakePresets.json").exists()


def test_a_hint_names_the_store_unless_it_is_the_usual_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert hint(DEFAULT_STORE, "show", 2) == "./threadmark show 2"
    assert hint(Path("a b.db"), "report", 2) == "./threadmark report 2 --store 'a b.db'"
    monkeypatch.chdir(ROOT)
    assert hint(Path("results/threadmark.db"), "show", 2) == "./threadmark show 2"


def test_the_sources_are_copied_once_with_the_environment_beside_them(
    packaged: Path, tmp_path: Path
) -> None:
    folder = cached(packaged, tmp_path / "cache", tmp_path)
    assert (folder / "bench/fib.cpp").read_text() == "one"
    assert (folder / ".venv").resolve() == tmp_path
    (folder / "build").mkdir()
    assert cached(packaged, tmp_path / "cache", tmp_path) == folder
    assert (folder / "build").exists()
    assert list((tmp_path / "cache").iterdir()) == [folder]


def test_another_version_and_another_environment_have_copies_of_their_own(
    packaged: Path, tmp_path: Path
) -> None:
    first = cached(packaged, tmp_path / "cache", tmp_path)
    other = cached(packaged, tmp_path / "cache", tmp_path / "other")
    (packaged / "bench/fib.cpp").write_text("two")
    newer = cached(packaged, tmp_path / "cache", tmp_path)
    assert len({first, other, newer}) == 3
    assert (newer / "bench/fib.cpp").read_text() == "two"


def test_a_cache_that_cannot_be_written_is_one_sentence(packaged: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="set XDG_CACHE_HOME"):
        cached(packaged, tmp_path / "file", tmp_path)

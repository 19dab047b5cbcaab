"""Stores with made-up runs for the tests of judgement and display."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import synthetic
from threadmark.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store.open(tmp_path / "store.db", create=True) as opened:
        yield opened


@pytest.fixture
def filled(store: Store) -> Store:
    """A store whose run 1 is the synthetic one."""
    synthetic.fill(store)
    return store

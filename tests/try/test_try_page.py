"""The page of a try in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import browsing
import pytest
from browsing import DESKTOP, PHONE, complaints, outside, requests, visit
from test_table import GAINS, stored
from threadmark.kinds.trials import page
from threadmark.kinds.trials.kind import KIND

browser = browsing.browser  # a fixture


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_page_shows_gains_and_bounds_in_every_width(
    browser: Any, tmp_path: Path, size: tuple[int, int]
) -> None:
    run = stored(gains=GAINS)
    file = tmp_path / "page.html"
    file.write_text(page.page(run, KIND.judge(run)), encoding="utf-8")
    visit(browser, file, size)
    assert complaints(browser) == []
    assert requests(browser) == []
    assert outside(browser) == []
    rows = [each.text for each in browser.find_elements("css selector", "#gaps tbody tr")]
    assert "x1.07 is left" in rows[0]
    assert len(rows) == 6
    assert "Too few pairs" not in browser.find_element("id", "fixes").text
    # A visible interval is a rectangle with a height.
    pictures = browser.find_elements("css selector", "#fixes svg rect")
    assert all(each.size["height"] > 2 for each in pictures)
    assert len(pictures) >= len(GAINS) - 1

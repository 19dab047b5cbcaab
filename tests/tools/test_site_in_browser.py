"""The built site in Chromium: no page is wider than a phone, nothing is fetched, and the search
finds a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import browsing
import pytest
from browsing import DESKTOP, PHONE, outside, requests, visit
from threadmark.model.places import BUILD

browser = browsing.browser  # a fixture
SITE = BUILD / "docs"
PAGES = sorted(SITE.rglob("*.html"))
pytestmark = pytest.mark.skipif(not PAGES, reason="the site is not built: ./threadmark docs")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_a_page_fits_a_phone_and_fetches_nothing(browser: Any, page: Path) -> None:
    visit(browser, page, PHONE)
    assert not outside(browser)
    assert not requests(browser)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_search_finds_a_page(browser: Any, size: tuple[int, int]) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    visit(browser, SITE / "index.html", size)
    browser.execute_script(
        "const toggle = document.querySelector('#__search'); toggle.checked = true;"
        "toggle.dispatchEvent(new Event('change'));"
        "const query = document.querySelector('.md-search__input'); query.focus();"
        "query.value = 'false sharing';"
        "query.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));"
    )
    found = "return [...document.querySelectorAll('.md-search-result__link')].map(e => e.href)"
    links = WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(found))
    assert any("explain" in link or "catalogue" in link for link in links)

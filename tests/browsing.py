"""Pages in Chromium, with the messages of its console and its network."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DESKTOP, PHONE = (1280, 900), (390, 844)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium with its console and its network recorded."""
    if not CHROMIUM or not DRIVER:
        pytest.skip("Chromium is absent: apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def visit(browser: Any, page: Path, size: tuple[int, int], *, dark: bool = False) -> None:
    """Open a page, scroll through it, and wait until every chart is drawn."""
    width, height = size
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"},  # a click waits for no scrolling
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())
    settle(browser)


def settle(browser: Any) -> None:
    """Scroll until nothing is left to draw."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        todo = browser.execute_script(
            "const next = [...document.querySelectorAll('[data-chart]')]"
            ".filter(e => !['true', 'empty'].includes(e.dataset.drawn));"
            "next[0]?.scrollIntoView({behavior: 'instant'}); return next.length"
        )
        if not todo:
            return
        time.sleep(0.05)
    pytest.fail("charts were not drawn within a minute")


def complaints(browser: Any) -> list[str]:
    """The messages of the console."""
    return [entry["message"] for entry in browser.get_log("browser")]


def requests(browser: Any) -> list[str]:
    """Addresses that the page asked for, other than itself and data within it."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in sent if not url.startswith(("file:", "data:", "chrome:"))]


def outside(browser: Any) -> list[str]:
    """The elements wider than the window, except those in a box with its own scrolling."""
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('section, header, nav, h1, h2, h3, h4, p, .tiles')]"
        ".filter(e => !e.closest('.scroll'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML)"
        ".concat(document.documentElement.scrollWidth > innerWidth ? ['the page'] : [])"
    )
    return found

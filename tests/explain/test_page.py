"""The page of an explanation: its text, and in a browser its script, width and size."""

from __future__ import annotations

import html.parser
import os
import random
import re
import time
from pathlib import Path
from typing import Any

import browsing
import pytest
import shown
from browsing import DESKTOP, PHONE, complaints, outside, requests, visit
from threadmark.kinds.explain import bands
from threadmark.kinds.explain.analysis import over_time
from threadmark.kinds.explain.analysis.accounting import STATES
from threadmark.kinds.explain.kind import KIND
from threadmark.model.cell import Stored

browser = browsing.browser  # a fixture
GOLDEN = Path(__file__).parent / "golden/page.txt"
THREADS, ROWS = 200, 240


def written(stored: Stored) -> str:
    """The page as a file."""
    return KIND.page(stored, KIND.judge(stored))


class Text(html.parser.HTMLParser):
    """The text that a person reads: a line for each part that stands on a line of its own."""

    BLOCKS = ("p", "li", "tr", "h1", "h2", "h3", "summary", "div", "section")

    def __init__(self) -> None:
        super().__init__()
        self.lines = [""]
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("style", "script", "title"):
            self.hidden += 1
        if tag in self.BLOCKS and self.lines[-1]:
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "script", "title"):
            self.hidden -= 1
        if tag in self.BLOCKS and self.lines[-1]:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.lines[-1] += ("  " if self.lines[-1] else "") + " ".join(data.split())


def text_of(page: str) -> str:
    """The lines of a page."""
    text = Text()
    text.feed(page)
    return "\n".join(text.lines).strip() + "\n"


def test_the_page_of_a_small_run_reads_as_expected() -> None:
    text = text_of(written(shown.complete()))
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_the_page_and_the_analysis_divide_the_time_alike() -> None:
    assert bands.SLICES == over_time._SLICES
    assert set(bands.HEIGHTS) == set(STATES)
    style = (Path(bands.__file__).parent / "page.css").read_text(encoding="utf-8")
    assert set(re.findall(r"\.s-(\w+) \{ --c", style)) == set(STATES)


def test_parts_that_a_run_lacks_leave_no_trace() -> None:
    bare = shown.run()
    del bare.documents["details"]["wakeups"], bare.documents["details"]["critical_path"]
    for cause in bare.documents["answer"]["causes"]:
        cause["remedy"] = ""
    page = written(bare)
    for part in ("Who woke whom", "Critical path", "Instead:", "Functions that grow"):
        assert part not in page
    empty = shown.run(running=[], waiting=[], locks=[], groups=[], threads=[])
    text = text_of(written(empty))
    assert "The record has no stack." in text
    assert "No wait for an object was seen." in text


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of a run with all parts, and the page of a run with many threads."""
    folder = tmp_path_factory.mktemp("pages")
    began = time.process_time()
    (folder / "large.html").write_text(written(large()), encoding="utf-8")
    assert time.process_time() - began < 10
    (folder / "complete.html").write_text(written(shown.complete()), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in ("complete", "large")}


def large() -> Stored:
    """The page of 200 threads that change their state in each slice, with the most stacks and locks
    that a record of a million events leaves."""
    chance = random.Random(1)
    states = ("useful", "waiting", "condition", "io", "runnable", "sleep")
    slices = [[at, states[chance.randrange(6)]] for at in range(ROWS)]
    names = [f"library::part_{n % 9}::function_number_{n}" for n in range(400)]
    stacks = [chance.choices(names, k=chance.randrange(4, 16)) for _ in range(2000)]
    threads = [
        {"tid": n, "name": f"worker-{n}", "from_s": 0.0, "until_s": 0.4, "states": {"useful": 1.0},
         "slices": slices[n % 50 :]}
        for n in range(THREADS)
    ]  # fmt: skip
    band = {state: [chance.randrange(9) + 0.25 for _ in range(ROWS)] for state in states}
    groups = [
        {"name": f"Pool::start_{n}", "where": "pool.cpp:1", "threads": 20, "states": {"io": 1.0},
         "tids": list(range(n * 20, n * 20 + 20)), "bands": band}
        for n in range(THREADS // 20)
    ]  # fmt: skip
    lock = shown.run().documents["details"]["locks"][0]
    six = {"waiters": stacks[:6], "holders": stacks[6:12], "held": [[5, 9]] * 6}
    matrix = [[a, b, 7, 1000 * a + b] for a in range(-1, 6) for b in range(-1, 6)]
    return shown.run(
        threads=threads,
        groups=groups,
        running=[[stack, 1 + 2000 // (1 + n)] for n, stack in enumerate(stacks)],
        waiting=[[stack, 9000 + n, "mutex", 3] for n, stack in enumerate(stacks)],
        locks=[{**lock, **six, "matrix": matrix, "name": f"lock_{n}"} for n in range(100)],
        differential={"stacks": [[stack, 10.0, 20.0] for stack in stacks]},
    )


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", ["complete", "large"])
def test_a_page_is_quiet_off_line_and_fits(
    browser: Any, pages: dict[str, Path], name: str, size: tuple[int, int]
) -> None:
    assert pages[name].stat().st_size < 5_000_000
    visit(browser, pages[name], size, dark=size == PHONE)
    browser.execute_script("for (const e of document.querySelectorAll('details')) e.open = true")
    assert complaints(browser) == []
    assert requests(browser) == []
    assert outside(browser) == []
    assert browser.execute_script("return document.images.length") == 0
    opened_ms = browser.execute_script(
        "return performance.getEntriesByType('navigation')[0].loadEventEnd"
    )
    assert opened_ms < 20_000  # it is 700 if nothing else runs


def test_words_stay_apart_on_a_phone(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["complete"], PHONE)
    text = browser.execute_script("return document.querySelector('#threads .who').innerText")
    assert text.startswith("All threads at most ")


def test_a_group_of_threads_folds_and_unfolds(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["large"], PHONE)
    rows = "return [...document.querySelectorAll('.group > .thread')].filter(e => e.checkVisibility()).length"  # noqa: E501
    assert browser.execute_script(rows) == 0  # the page folds many threads at first
    summary = browser.find_element("css selector", ".group summary")
    for expected in (20, 0):
        summary.click()
        assert browser.execute_script(rows) == expected


def test_a_flame_graph_widens_a_function_and_finds_names(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["complete"], DESKTOP)
    found = browser.execute_script("""
      const graph = document.getElementById('flame-off'), flame = graph.querySelector('.flame');
      const box = (name) => [...flame.children].find((e) => e.textContent === name);
      const share = (name) => box(name).getBoundingClientRect().width / flame.clientWidth;
      const before = share('worker');
      box('worker').click();
      const after = share('worker'), other = box('[join]').getBoundingClientRect();
      const beside = other.right <= flame.getBoundingClientRect().left + 1
        || other.left >= flame.getBoundingClientRect().right - 1;
      graph.querySelector('button').click();
      const search = graph.querySelector('input');
      search.value = 'cache::GET';
      search.dispatchEvent(new Event('input'));
      return {before, after, beside, again: share('worker'),
        hits: [...flame.querySelectorAll('.hit')].map((e) => e.textContent),
        said: graph.querySelector('.said').textContent};""")
    assert found["before"] < 0.9
    assert found["after"] > 0.99
    assert found["beside"]
    assert found["again"] == found["before"]
    assert found["hits"] == ["Cache::get"]
    assert found["said"] == "1 box, 16.7 % of the whole"  # 40 of 240 ms


def test_a_function_is_found_and_shows_its_callers_and_callees(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["complete"], DESKTOP)
    search = browser.find_element("css selector", "#find")
    search.send_keys("cache::get")
    shown_rows = "return [...document.querySelectorAll('.functions tbody tr')].filter(e => !e.hidden).map(e => e.cells[0].textContent)"  # noqa: E501
    assert browser.execute_script(shown_rows) == ["Cache::get"]
    browser.find_element("css selector", ".functions tbody tr:not([hidden]) button").click()
    sides = "return [...document.querySelectorAll('.sides > div')].map(e => e.innerText.split('\\n').filter(Boolean))"  # noqa: E501
    callers, callees = browser.execute_script(sides)
    assert callers == ["Called by", "worker", "waits 40 ms"]
    assert callees == ["Calls", "[mutex]", "waits 40 ms"]


def test_the_page_says_what_it_says_without_its_script(
    browser: Any, pages: dict[str, Path]
) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(pages["complete"].as_uri())
        seen = browser.find_element("tag name", "body").text
        boxes = browser.find_elements("css selector", "#flame-on .flame i")
        assert [each.text for each in boxes] == ["all", "worker", "Cache::put"]
        assert "--function NAME" in seen
        assert "search" not in seen
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

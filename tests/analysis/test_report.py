"""The report in a real browser: whole, quiet, off-line, safe, on a desktop and on a phone."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import browsing
import pytest
import synthetic
from browsing import DESKTOP, PHONE, complaints, outside, requests, settle, visit
from threadmark.kinds.tasks import table
from threadmark.kinds.tasks.kind import KIND
from threadmark.kinds.tasks.page import figure
from threadmark.model.cell import Row, Status
from threadmark.store.store import Store

browser = browsing.browser  # a fixture


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a usual, a large, a hostile and an empty run."""
    folder = tmp_path_factory.mktemp("reports")
    labs = {
        "usual": synthetic.Lab(),
        "large": synthetic.Lab(threads=(1, 2, 4, 8, 16, 32, 64), rounds=8),
        "hostile": synthetic.Lab(hostile=True, programs=("fib", "sort", "qap")),
        "empty": synthetic.Lab(programs=()),
        "lacking": synthetic.Lab(platforms=("gcc-libstdc++",), programs=("fib", "qap")),
    }
    with Store.open(folder / "store.db", create=True) as store:
        for name, lab in labs.items():
            stored = store.load(synthetic.fill(store, lab))
            if name == "lacking":
                stored = replace(stored, rows=tuple(map(_unserial, stored.rows)))
            text = KIND.page(stored, KIND.judge(stored))
            (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in labs}


def _unserial(row: Row) -> Row:
    """The row; if it is of the serial form of qap, it has failed."""
    if (row.cell.program, row.cell.backend) != ("qap", "serial"):
        return row
    return replace(row, status=Status.CRASHED, reason="ended by signal 11", sample_ns=None)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", ["usual", "large", "hostile", "empty"])
def test_a_page_is_quiet_off_line_and_fits(
    browser: Any, pages: dict[str, Path], name: str, size: tuple[int, int]
) -> None:
    visit(browser, pages[name], size, dark=size == PHONE)
    assert complaints(browser) == []
    assert requests(browser) == []
    assert outside(browser) == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_every_chart_has_marks_and_lies_within_its_box(
    browser: Any, pages: dict[str, Path], size: tuple[int, int]
) -> None:
    visit(browser, pages["usual"], size)
    charts = browser.execute_script(
        "return [...document.querySelectorAll('[data-chart]')].map(e => ({"
        "kind: e.dataset.chart, program: e.dataset.program, drawn: e.dataset.drawn,"
        "marks: e.querySelectorAll('.mark-symbol path, .mark-rect path').length,"
        "over: (e.querySelector('svg')?.getBoundingClientRect().width ?? 0) - e.clientWidth}))"
    )
    assert len([c for c in charts if c["kind"] == "speedup"]) == 14
    assert {c["kind"] for c in charts} == {"speedup", "efficiency", "overhead", "samples"}
    for chart in charts:
        assert chart["drawn"] == "true", chart
        assert chart["marks"] > 0, chart
        assert chart["kind"] == "efficiency" or chart["over"] <= 1, (
            chart
        )  # it scrolls in its own box


def test_the_chart_of_samples_marks_the_median_of_those_that_count_alone(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["usual"], DESKTOP)
    browser.execute_script(
        "const choice = document.getElementById('samples-program'); choice.value = 'round';"
        "choice.dispatchEvent(new Event('change'))"
    )
    settle(browser)
    samples, medians, lines = browser.execute_script(
        "const chart = document.querySelector('[data-chart=samples]');"
        "const texts = chart.querySelectorAll('.role-axis-label text');"
        "return [chart.querySelectorAll('.mark-symbol path').length,"
        "chart.querySelectorAll('.mark-rect path').length, [...texts].map(e => e.textContent)]"
    )
    disturbed = [number for number, line in enumerate(lines) if re.match("openmp:.*2", line)]
    assert len(disturbed) == 1
    assert samples - medians == 6  # the rounds of the cell
    assert lines[disturbed[0] - 1] == f"{lines[disturbed[0]][:-1]}1"


def test_a_program_without_a_speed_up_is_named_and_has_no_panel(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["lacking"], DESKTOP)
    said = "return document.getElementById('speedup-note').textContent"
    panels = (
        "return [...document.querySelectorAll('#speedup-grid figcaption')].map(e => e.innerText)"
    )
    assert browser.execute_script(said) == "No speed-up was measured for qap."
    assert browser.execute_script(panels) == ["fib"]
    visit(browser, pages["usual"], DESKTOP)
    assert browser.execute_script(said) == ""


def test_a_chart_is_not_drawn_before_it_is_near(browser: Any, pages: dict[str, Path]) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 600, "deviceScaleFactor": 1, "mobile": True},
    )
    browser.get(pages["usual"].as_uri())
    browser.execute_script("window.scrollTo(0, 0)")
    time.sleep(0.5)
    far = browser.execute_script(
        "return document.querySelector('[data-chart=samples]').dataset.drawn ?? 'untouched'"
    )
    assert far == "untouched"


def test_tables_scroll_in_their_own_box_on_a_phone(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["usual"], PHONE)
    box = browser.execute_script(
        "const e = document.querySelector('.block:not([hidden])');"
        "return [e.scrollWidth, e.clientWidth, getComputedStyle(e).overflowX]"
    )
    assert box[0] > box[1]
    assert box[2] == "auto"


def test_what_is_cut_off_at_the_right_fades_until_one_scrolls_there(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["usual"], PHONE)
    fades = browser.execute_async_script("""
      const done = arguments[0], box = document.querySelector('.block:not([hidden])');
      const fade = (e) => getComputedStyle(e).getPropertyValue('--cut');
      const narrow = document.querySelector('#machine .scroll');
      const frames = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
      box.scrollTo({left: 0, behavior: 'instant'});
      frames(() => {
        const before = fade(box);
        box.scrollTo({left: box.scrollWidth, behavior: 'instant'});
        frames(() => done([before, fade(box), fade(narrow)]));
      })""")
    assert fades == ["48px", "0px", "0px"]


def test_failures_and_facts_are_read_on_a_phone_without_scrolling(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["usual"], PHONE)
    cut = browser.execute_script(
        "return [...document.querySelectorAll('#failures td, #machine th, #machine td')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)"
    )
    assert cut == []
    reason = "document.querySelector('#failures td:last-child')"
    label = browser.execute_script(f"return getComputedStyle({reason}, '::before').content")
    assert "reason" in label


def test_the_hashes_of_executables_are_shown_on_request_alone(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["usual"], DESKTOP)
    hashes = "return document.getElementById('machine').innerText.includes('aaaaaaaa')"
    assert not browser.execute_script(hashes)
    browser.execute_script("document.querySelector('#machine details').open = true")
    assert browser.execute_script(hashes)


def test_a_field_opens_its_figures_and_its_command_can_be_copied(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["usual"], DESKTOP)
    label = browser.execute_script(
        "const b = document.querySelector('.block:not([hidden]) td.k-scales button');"
        "b.click(); return b.querySelector('span').textContent"
    )
    body = browser.execute_script("return document.getElementById('dialog').innerText")
    assert label in body
    assert "--variant" in body
    browser.find_element("css selector", "#dialog .copy").click()  # a real click: copying needs one
    deadline = time.monotonic() + 60
    said = ""
    while said != "copied ✓" and time.monotonic() < deadline:
        said = browser.execute_script("return document.querySelector('#dialog .copy').textContent")
    assert said == "copied ✓"


def test_the_field_and_the_dialog_speak_of_the_same_cell(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["usual"], DESKTOP)
    wrong = browser.execute_script("""
      const data = JSON.parse(document.getElementById('data').textContent), wrong = [];
      for (const field of document.querySelectorAll('[data-cell]')) {
        const cell = data.cells[Number(field.dataset.cell)], row = field.closest('tr');
        const heads = field.closest('table').tHead.rows[1].cells;
        const variant = heads[field.closest('td').cellIndex - 2].textContent;
        const figure = field.querySelector('b').textContent;
        const same = cell.program === row.cells[0].textContent && cell.variant === variant;
        if (!same || cell.figure !== figure) wrong.push([cell.program, variant, figure]);
      }
      return wrong""")
    assert wrong == []


def test_a_heading_sorts_its_column_both_ways(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["usual"], DESKTOP)
    order = []
    for _ in range(2):
        order.append(
            browser.execute_script(
                "const t = document.querySelector('.block:not([hidden]) table');"
                "t.querySelector('[data-sort=\"1\"]').click();"
                "return [...t.tBodies[0].rows].map(r => Number(r.cells[1].dataset.value))"
            )
        )
    assert order[0] == sorted(order[0], reverse=True)
    assert order[1] == sorted(order[0])


def test_the_other_platform_is_one_choice_away(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["usual"], PHONE)
    browser.execute_script("document.querySelectorAll('.tab')[1].click()")
    settle(browser)
    assert complaints(browser) == []
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.block:not([hidden])')].map(e => e.dataset.block)"
    )
    assert shown == ["1"]


def test_names_that_want_to_be_markup_stay_text(browser: Any, pages: dict[str, Path]) -> None:
    source = pages["hostile"].read_text(encoding="utf-8")
    for name in synthetic.HOSTILE.values():
        assert name not in source
    visit(browser, pages["hostile"], DESKTOP)
    browser.execute_script("document.querySelector('[data-cell]').click()")
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert (
        browser.execute_script("return document.scripts.length") == 4
    )  # data, vega, page, vega run
    text = browser.execute_script("return document.body.innerText")
    for name in synthetic.HOSTILE.values():
        assert name in text
    assert complaints(browser) == []


def test_every_pair_of_ink_and_ground_has_enough_contrast(
    browser: Any, pages: dict[str, Path]
) -> None:
    for dark in (False, True):
        visit(browser, pages["usual"], DESKTOP, dark=dark)
        weak = browser.execute_script("""
          const parts = (c) => c.match(/[\\d.]+/g).map(Number);
          const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
          const light = (c) => parts(c).slice(0, 3).map((v) => linear(v / 255))
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const ground = (e) => {
            for (; e; e = e.parentElement) {
              const colour = getComputedStyle(e).backgroundColor;
              if ((parts(colour)[3] ?? 1) > 0) return colour;
            }
            return 'rgb(255, 255, 255)';
          };
          const contrast = (e) => {
            const [a, b] = [light(getComputedStyle(e).color), light(ground(e))];
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          };
          const texts = '.matrix td span, .tile span, .hint, .tab, .legend dd, .matrix th';
          return [...document.querySelectorAll(texts)].filter((e) => e.offsetParent)
            .filter((e) => contrast(e) < 4.5).map((e) => e.outerHTML)""")
        assert weak == []


def test_a_report_is_smaller_than_five_megabytes(pages: dict[str, Path]) -> None:
    for page in pages.values():
        assert page.stat().st_size < 5_000_000


def test_a_report_names_no_address_that_a_browser_would_load(pages: dict[str, Path]) -> None:
    source = pages["usual"].read_text(encoding="utf-8")
    body = source[: source.index('<script type="text/plain" id="vega">')]
    links = re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)|url\(|@import""", body)
    assert [link for link in links if not link.startswith("data:")] == []


def test_a_report_carries_the_licences_of_what_it_contains(pages: dict[str, Path]) -> None:
    for path in pages.values():
        text = path.read_text(encoding="utf-8")
        assert "University of Washington Interactive Data Lab" in text
        assert "Mike Bostock. ISC License" in text


def test_the_page_counts_the_processes_that_ran(filled: Store) -> None:
    stored = filled.load(1)
    ran = [row for row in stored.rows if row.status not in (Status.UNAVAILABLE, Status.DROPPED)]
    assert len(ran) < len(stored.rows)
    assert f": {len(ran)} processes on up to 2 threads" in KIND.page(stored, KIND.judge(stored))


def test_the_page_says_why_a_variant_is_missing(filled: Store) -> None:
    stored = filled.load(1)
    text = KIND.page(stored, KIND.judge(stored))
    assert "Boost.Fiber is built for libstdc++; measure it on gcc-libstdc++" in text
    assert "The time budget of 300 s was used up" in text


def test_a_field_of_the_page_shows_how_far_its_interval_reaches(filled: Store) -> None:
    stored = filled.load(1)
    judged = KIND.judge(stored)
    text = KIND.page(stored, judged)
    reaches = [(figure(each), table.reach(each, utf8=True)) for each in judged]
    shown = [(said, reach) for said, reach in reaches if reach]
    assert len(shown) > 20
    for said, reach in shown:
        assert said.endswith(f" {reach}")
        assert f"<b>{said}</b>" in text
    assert "Medians with 95 % confidence intervals" not in text

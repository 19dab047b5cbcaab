"""tools/tidy compares the memory orders of the code with those that comments and notes name."""

from __future__ import annotations

import pytest
import tool

tidy = tool.load("tidy")

HEADER = """\
// The steps are in a.md.
#pragma once
void give() {
  // ORDER fill: relaxed, ordered by give.
  slot.store(1, std::memory_order_relaxed);
  // ORDER give: release, pairs with take and with retake; a failure is relaxed, rechecked by
  // give.
  while (!word.compare_exchange_weak(seen, 1, std::memory_order_release,
                                     std::memory_order_relaxed)) {
  }
}
void take() {
  // ORDER take: acquire, pairs with give.
  // ORDER look: relaxed, rechecked by take. Says nothing of a release.
  if (word.load(std::memory_order_acquire) > hint.load(std::memory_order_relaxed)) return;
  word.load(std::memory_order_acquire);  // ORDER retake: acquire, pairs with give.
  // ORDER announce: seq_cst, pairs with announce.
  word.fetch_add(1);
}
"""
NOTE = """\
# a
* `give` fills the slot: **fill** (relaxed), and stores the word: **give** (release; relaxed when it
  fails).
* `take` reads: **take** (acquire) and
  **look** (relaxed), then **retake** (acquire) and **announce** (seq_cst).
* **A bold word** (which names no access).
"""


def findings(header: str, note: str = NOTE) -> list[str]:
    files = [tidy.File("include/tmk/a.hpp", header), tidy.File("include/tmk/a.md", note)]
    return [str(each) for each in tidy.check(files)]


GOOD = HEADER.replace(" Says nothing of a release.", "")


def test_a_header_whose_comments_and_note_are_true_passes() -> None:
    assert findings(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        # The comment names another order than that of the code.
        ("fill: relaxed", "fill: release", 4, "the comment names release, the code relaxed"),
        (
            "slot.store(1, std::memory_order_relaxed)",
            "slot.store(1, std::memory_order_release)",
            4,
            "the comment names relaxed, the code release",
        ),
        (
            "a failure is relaxed, rechecked",
            "a failure is rechecked",
            6,
            "the comment names release, the code relaxed and release",
        ),
        (
            "hint.load(std::memory_order_relaxed)",
            "hint.load(std::memory_order_acquire)",
            13,
            "the comment names acquire and relaxed, the code acquire",
        ),
        (
            "fetch_add(1)",
            "fetch_add(1, std::memory_order_relaxed)",
            17,
            "the comment names seq_cst, the code relaxed",
        ),
        ("word.fetch_add(1)", "call()", 17, "the comment names seq_cst, the code no order"),
        (
            "  word.fetch_add(1);\n",
            "  word.fetch_add(1);\n\n\n  word.load(std::memory_order_acquire);\n",
            21,
            "say why: // ORDER",
        ),
        # Partners.
        ("ordered by give", "ordered by nobody", 4, "the partner nobody does not exist"),
        ("and with retake", "and with nobody", 6, "the partner nobody does not exist"),
        ("rechecked by\n  // give.", "rechecked by\n  // nobody.", 6, "nobody does not exist"),
        ("rechecked by take.", "hopes.", 14, "name the partner, or say owner-only or statistic"),
        (
            "acquire, pairs with give.\n  // ORDER look",
            "acquire, pairs with retake.\n  // ORDER look",
            13,
            "neither take nor retake makes the other see anything",
        ),
        ("ORDER retake:", "ORDER take:", 16, "include/tmk/a.hpp:13 has the tag take too"),
    ],
)
def test_a_comment_that_is_not_true_is_found_where_it_is(
    old: str, new: str, line: int, message: str
) -> None:
    assert GOOD.count(old) == 1
    found = findings(GOOD.replace(old, new))
    start = f"include/tmk/a.hpp:{line}: memory-order: "
    assert [each for each in found if each.startswith(start) and message in each]


def test_orders_that_the_prose_of_a_comment_mentions_count_as_named() -> None:
    message = "the comment names acquire and relaxed and release, the code acquire and relaxed"
    assert f"include/tmk/a.hpp:13: memory-order: {message}" in findings(HEADER)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("**retake**", "**again**", "include/tmk/a.hpp:16: note: write **retake** (acquire)"),
        ("**retake**", "**again**", "include/tmk/a.md:5: note: again has no order"),
        ("**take** (acquire)", "**take** (relaxed)", "include/tmk/a.md:4: note: take has acquire"),
        ("; relaxed when it\n", "; when it\n", "include/tmk/a.md:2: note: give has relaxed and"),
    ],
)
def test_a_note_that_does_not_fit_the_header_is_found(old: str, new: str, found: str) -> None:
    assert NOTE.count(old) == 1
    assert any(each.startswith(found) for each in findings(GOOD, NOTE.replace(old, new)))


def test_a_note_is_of_the_headers_that_name_it_and_in_detail_of_all_beside_it() -> None:
    unnamed = GOOD.replace("in a.md", "told nowhere")
    assert any("note: write **fill** (relaxed)" in each for each in findings(unnamed))
    detail = [
        tidy.File("include/tmk/detail/a.hpp", unnamed),
        tidy.File("include/tmk/detail/a.md", NOTE),
    ]
    assert tidy.check(detail) == []


def test_the_fence_through_the_kernel_counts_as_the_order_that_its_comment_names() -> None:
    header = (
        "// a.md\n#pragma once\n// ORDER heavy: seq_cst, pairs with heavy.\n"
        "syscall(SYS_membarrier, 0, 0, 0);\n"
    )
    note = "**heavy** (seq_cst)\n"
    assert findings(header, note) == []
    assert findings(header.replace("SYS_membarrier", "SYS_gettid"), note)

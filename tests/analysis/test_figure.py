"""The picture of the matrix: whole, well-formed, and with its colours in words."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from threadmark.commands.report import report
from threadmark.kinds.tasks import judgement, table
from threadmark.kinds.tasks.kind import KIND
from threadmark.model.errors import LabError
from threadmark.store.store import Store

SVG = "{http://www.w3.org/2000/svg}"


def words(path: Path) -> Counter[str]:
    """The texts of an SVG file, each with its number."""
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    return Counter(each.text or "" for each in root.iter(f"{SVG}text"))


def draw(store: Store, path: Path) -> None:
    """Write the picture of the first run."""
    stored = store.load(1)
    path.write_text(KIND.picture(stored, KIND.judge(stored)), encoding="utf-8")


def test_every_verdict_stands_in_the_picture_as_text(filled: Store, tmp_path: Path) -> None:
    path = tmp_path / "matrix.svg"
    draw(filled, path)
    assert path.stat().st_size < 1_000_000
    judged = KIND.judge(filled.load(1))
    shown = [each for each in judged if each.cell.backend != "serial"]
    said = words(path)
    for text, number in Counter(table.figure(each, utf8=True) for each in shown).items():
        assert said[text] >= number
    assert {each.cell.program for each in shown} <= set(said)
    reaches = Counter(table.reach(each, utf8=True) for each in shown)
    del reaches[""]
    assert reaches.total() > 20
    for text, number in reaches.items():
        assert said[f"{text} %"] >= number


def test_a_second_picture_of_a_process_is_the_first_again(filled: Store, tmp_path: Path) -> None:
    texts = []
    for name in ("first.svg", "second.svg"):
        draw(filled, tmp_path / name)
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert "gradient_0" in texts[0]
    assert texts[0] == texts[1]


def place(name: ElementTree.Element | None) -> tuple[float, float]:
    """The point to which the transformation moves an element."""
    assert name is not None
    found = re.findall(r"[-\d.]+", name.get("transform", ""))
    return float(found[0]), float(found[1])


def test_the_name_of_a_program_stands_beside_its_first_field(filled: Store, tmp_path: Path) -> None:
    path = tmp_path / "matrix.svg"
    draw(filled, path)
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    above = {child: parent for parent in root.iter() for child in parent}

    def at(text: ElementTree.Element) -> tuple[float, float]:
        x = y = 0.0
        each: ElementTree.Element | None = text
        while each is not None:
            if "translate" in each.get("transform", ""):
                dx, dy = place(each)
                x, y = x + dx, y + dy
            each = above.get(each)
        return x, y

    texts = [each for each in root.iter(f"{SVG}text") if each.text]
    tiles = [each for each in root.iter(f"{SVG}path") if each.get("fill") == "#e4e4e4"]
    programs = {each.cell.program for each in judgement.judge(filled.rows(1))}
    ends = {at(each)[0] for each in texts if each.text in programs}
    left = min(float(each.get("d", "").split(",")[0].strip("M")) + at(each)[0] for each in tiles)
    assert ends
    assert all(left - 12 < end <= left for end in ends)


def test_a_picture_never_replaces_a_file_unasked(filled: Store, tmp_path: Path) -> None:
    path = tmp_path / "mine.svg"
    path.write_text("mine")
    with pytest.raises(LabError, match="--force"):
        report("1", output=path, store=tmp_path / "store.db")
    assert path.read_text() == "mine"
    report("1", output=path, force=True, store=tmp_path / "store.db")
    assert words(path)


def test_a_run_of_serial_programs_has_no_picture(store: Store, tmp_path: Path) -> None:
    run = store.start_run("quick", 1, {}, {})
    with pytest.raises(LabError, match="nothing but serial"):
        KIND.picture(store.load(run), [])

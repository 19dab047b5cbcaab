"""tmk-sat reads one solid in the forms of all versions, writes it again, and gives its volume."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import bored_box
import pytest
import versions
from bored_box import Form

Sat = Callable[..., subprocess.CompletedProcess[str]]


def dense(place: int) -> int:
    return place


def sparse(place: int) -> int:
    return 7 * place + 5


def backward(place: int) -> int:
    return 1000 - place


FORMS = {
    "105": Form(105, dollars=False, words=False),
    "106 with a count and no mark": Form(106, dollars=False, words=False, counted=True),
    "107 with wires": Form(107, dollars=False, words=False),
    "200 with plain references": Form(200, dollars=False, words=False),
    "300 with words": Form(300),
    "400 with numbers for words": Form(400, words=False),
    "400 in metres": Form(400, unit=1000.0),
    "500 of inches": Form(500, unit=25.4),
    "600 numbered, with line ends of Windows": Form(600, number=dense, end="\r\n"),
    "700": Form(700),
    "700 with a history": Form(700, history=True),
    "700 with a count and a history": Form(700, history=True, counted=True),
    "700 with @ in the header": Form(700, at_signs=True),
    "712 with sparse numbers": Form(712, number=sparse),
    "1000": Form(1000),
    "1600 numbered backward": Form(1600, number=backward),
    "2100 with the date below": Form(2100, date="\nSat May 26 10:11:12 2012 "),
    "2400": Form(2400, loop_kind="periphery $-1 F"),
    "2600": Form(2600, number=dense),
    "2800": Form(2800),
    "3100 in feet": Form(3100, unit=304.8),
    "ASM 20800 with a count and no date": Form(20800, asm=True, counted=True, date=""),
    "ASM 21800": Form(21800, asm=True),
    "ASM 22600": Form(22600, asm=True, history=True),
    "ASM 22700 in centimetres": Form(22700, asm=True, unit=10.0),
    "ASM 23100": Form(23100, asm=True, number=sparse),
}


@pytest.fixture(params=FORMS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "solid.sat"
    path.write_bytes(versions.written(FORMS[request.param]).encode("ascii"))
    return path


def test_a_solid_is_read_and_written_again_in_each_form(sat: Sat, written: Path) -> None:
    done = sat("check", written)
    assert (done.returncode, done.stderr) == (0, "")
    assert "all as the schema wants them" in done.stdout
    assert re.search(r"^unknown +none", done.stdout, re.MULTILINE)
    assert re.search(r"^round trip +equal", done.stdout, re.MULTILINE)


def test_a_solid_has_its_volume_in_each_form(sat: Sat, written: Path) -> None:
    done = sat("convert", written, "solid.brep", "--bodies")
    if "has no shapes" in done.stderr:
        pytest.skip("this build has no Open CASCADE")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^faces +7, made 7, valid 7$", done.stdout, re.MULTILINE)
    found = re.search(r"volume (\S+) area (\S+) solids 1 sheets 0 free edges 0", done.stdout)
    assert found
    assert float(found[1]) == pytest.approx(bored_box.VOLUME, rel=1e-9)
    assert float(found[2]) == pytest.approx(bored_box.AREA, rel=1e-9)

"""Prints as JSON the volume and area of each body of a SAT file, in the file's unit, that ezdxf
reads.

ezdxf knows polygons with straight edges and without holes. A body that it does not read has the
reason instead.
Usage: read_ezdxf.py FILE, with ezdxf on the path of modules.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ezdxf.acis import api as acis
from ezdxf.acis.mesh import flat_polygon_faces_from_lump
from version_700 import rewritten

Point = Sequence[float]


def following(first: Any, name: str) -> Iterator[Any]:
    while not first.is_none:
        yield first
        first = getattr(first, name)


def cross(a: Point, b: Point) -> tuple[float, float, float]:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def measured(body: Any) -> dict[str, Any]:
    matrix = None if body.transform.is_none else body.transform.matrix
    volume = area = 0.0
    for lump in following(body.lump, "next_lump"):
        faces = list(following(lump.shell.face, "next_face"))
        if not lump.shell.next_shell.is_none or not lump.shell.subshell.is_none:
            return {"why": "it has several shells, of which ezdxf reads one"}
        for face in faces:
            if face.loop.is_none or not face.loop.next_loop.is_none:
                return {"why": "a face has no loop or several, of which ezdxf reads one"}
        polygons = list(flat_polygon_faces_from_lump(lump, matrix))
        if len(polygons) != len(faces):
            return {"why": f"{len(faces) - len(polygons)} of its faces are no polygons"}
        for polygon in polygons:
            normal = [0.0, 0.0, 0.0]
            for i, point in enumerate(polygon):
                across = cross(point, polygon[(i + 1) % len(polygon)])
                normal = [a + b for a, b in zip(normal, across, strict=True)]
            area += math.hypot(*normal) / 2
            volume += sum(a * b for a, b in zip(normal, polygon[0], strict=True)) / 6
    return {"volume": volume, "area": area}


def main() -> None:
    lines = rewritten(Path(sys.argv[1]).read_text("latin-1")).splitlines()
    print(json.dumps([measured(body) for body in acis.load(lines)]))


if __name__ == "__main__":
    main()

"""The records of one solid, linked, which versions.py writes: a box with a hole through it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Point = tuple[float, float, float]

SIZE = (40.0, 30.0, 20.0)
RADIUS = 5.0
_DISC = math.pi * RADIUS**2
VOLUME = SIZE[0] * SIZE[1] * SIZE[2] - _DISC * SIZE[2]
AREA = (
    2 * (SIZE[0] * SIZE[1] + SIZE[1] * SIZE[2] + SIZE[2] * SIZE[0])
    - 2 * _DISC
    + 2 * math.pi * RADIUS * SIZE[2]
)


@dataclass(frozen=True)
class Form:
    """The form in which a file is written."""

    version: int
    number: Callable[[int], int] | None = None  # of the n-th record; None: records have no numbers
    asm: bool = False
    dollars: bool = True  # references have dollars; before version 400 only some files have them
    words: bool = True  # logicals are words; else 0 and 1
    at_signs: bool = False  # strings of the header have at signs
    counted: bool = False  # the header has the number of records, and no mark ends the records
    date: str = " Sat May 26 10:11:12 2012 "  # the date in the header, with the blanks around it
    history: bool = False
    loop_kind: str = "unknown"
    end: str = "\n"
    unit: float = 1.0

    @property
    def has_ids(self) -> bool:
        return self.version >= 700

    @property
    def spatial(self) -> bool:
        """Whether records have the fields that Spatial added from version 1600 on."""
        return self.version >= 1600 and not self.asm


class Record:
    """A record's class and its parts; versions.py has the order in which the parts are written."""

    def __init__(self, name: str, **parts: Any) -> None:
        self.name = name
        self.parts = parts

    def __getattr__(self, part: str) -> Any:
        return self.parts[part]


class Text(str):
    """A string written with its length before it."""

    __slots__ = ()


class Logical:
    def __init__(self, value: bool, first: str, second: str) -> None:
        self.value = value
        self.word = second if value else first


class Subtype:
    """A subtype: a file defines it once and then refers to it by its number."""

    def __init__(self, name: str, modern: str, *tokens: Any) -> None:
        self.name = name
        self.modern = modern  # the name in files of Autodesk
        self.tokens = tokens


def sense(value: bool) -> Logical:
    return Logical(value, "forward", "reversed")


def infinite(form: Form, count: int) -> list[str]:
    return ["I"] * count if form.version >= 200 else []


class Solid:
    """The records of the solid, linked."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.unit = form.unit
        self.open = "open" if form.words else "0"
        self.records: list[Record] = []
        self.vertices: dict[Point, Record] = {}
        self.edges: dict[frozenset[Point], Record] = {}
        body = self.add("body")
        name = self.add("name-tmk-attrib", owner=body)
        body.parts["attribute"] = name
        lump, shell = self.add("lump", body=body), self.add("shell")
        body.parts |= {"lump": lump, "transform": self.transform()}
        lump.parts["shell"] = shell
        faces = self.faces(shell)
        shell.parts |= {"face": faces[0], "lump": lump}
        for i, face in enumerate(faces):
            face.parts["next"] = faces[i + 1] if i + 1 < len(faces) else None

    def add(self, name: str, **parts: Any) -> Record:
        self.records.append(Record(name, **parts))
        return self.records[-1]

    def placed(self, *vectors: Iterable[float], lengths: int) -> list[float]:
        """The numbers of the vectors; the first `lengths` vectors are in the file's unit."""
        return [
            each / (self.unit if i < lengths else 1)
            for i, vector in enumerate(vectors)
            for each in vector
        ]

    def transform(self) -> Record:
        words = [
            Logical(i == 0, f"no_{each}", each)
            for i, each in enumerate(("rotate", "reflect", "shear"))
        ]
        turn = [0, 1, 0, -1, 0, 0, 0, 0, 1]
        moved = self.placed((7.0, 8.0, 9.0), lengths=1)
        return self.add("transform", numbers=[*turn, *moved, 1, *words])

    def vertex(self, at: Point) -> Record:
        if at not in self.vertices:
            point = self.add("point", numbers=self.placed(at, lengths=1))
            self.vertices[at] = self.add("vertex", point=point)
        return self.vertices[at]

    def edge(
        self, start: Point, end: Point, curve: Record, length: float, *, backward: bool = False
    ) -> Record:
        ends = self.vertex(start), self.vertex(end)
        made = self.add("edge", start=ends[0], end=ends[1], curve=curve, length=length)
        made.parts["backward"] = backward
        for each in ends:
            each.parts.setdefault("edge", made)
        return made

    def side(self, start: Point, end: Point) -> tuple[Record, bool]:
        """The edge between two corners, and whether it runs from `end` to `start`."""
        both = frozenset((start, end))
        if both not in self.edges:
            curve = self.straight(start, end)
            backward = curve.name == "intcurve-curve"
            length = math.dist(start, end) / self.unit
            self.edges[both] = self.edge(start, end, curve, length, backward=backward)
        edge = self.edges[both]
        return edge, edge.start is not self.vertex(start)

    def straight(self, start: Point, end: Point) -> Record:
        length = math.dist(start, end)
        way = [(b - a) / length for a, b in zip(start, end, strict=True)]
        if start != (SIZE[0], 0.0, 0.0) or end[2] != SIZE[2]:
            return self.add("straight-curve", numbers=self.placed(start, way, lengths=1))
        # One edge runs backward and has a B-spline curve, which another record has defined.
        poles = self.placed(start, end, lengths=2)
        subtype = self.line("exactcur", "exact_int_cur", length / self.unit, poles, 0)
        self.add("intcurve-curve", subtype=subtype, backward=False)
        return self.add("intcurve-curve", subtype=subtype, backward=True)

    def line(self, name: str, modern: str, last: float, poles: list[float], *more: Any) -> Subtype:
        full = ["full"] * (self.form.version >= 200 and name != "exppc")
        return Subtype(name, modern, *full, "nubs", 1, self.open, 2, 0, 1, last, 1, *poles, *more)

    def circle(self, z: float) -> Record:
        centre = (SIZE[0] / 2, SIZE[1] / 2, z)
        numbers = [
            *self.placed(centre, lengths=1),
            *(0, 0, 1),
            *self.placed((RADIUS, 0, 0), lengths=1),
        ]
        at = (centre[0] + RADIUS, centre[1], z)
        return self.edge(at, at, self.add("ellipse-curve", numbers=numbers), 2 * math.pi)

    def loop(self, face: Record, uses: list[tuple[Record, bool]]) -> Record:
        loop = self.add("loop", face=face, next=None)
        coedges = [
            self.add("coedge", edge=edge, reversed=way, loop=loop, partner=None)
            for edge, way in uses
        ]
        for i, each in enumerate(coedges):
            each.parts |= {"next": coedges[(i + 1) % len(coedges)], "previous": coedges[i - 1]}
            other = each.edge.parts.setdefault("coedge", each)
            if other is not each:
                each.parts["partner"], other.parts["partner"] = other, each
        loop.parts["coedge"] = coedges[0]
        return loop

    def face(self, shell: Record, surface: Record, *, inward: bool = False) -> Record:
        return self.add("face", shell=shell, surface=surface, reversed=inward)

    def polygon(self, shell: Record, points: list[Point]) -> Record:
        a, b, c = points[:3]
        u = [q - p for p, q in zip(a, b, strict=True)]
        v = [q - p for p, q in zip(b, c, strict=True)]
        across = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
        normal, along = ([each / math.hypot(*vector) for each in vector] for vector in (across, u))
        plane = self.add("plane-surface", numbers=self.placed(a, normal, along, lengths=1))
        face = self.face(shell, plane)
        uses = [self.side(p, q) for p, q in zip(points, [*points[1:], a], strict=True)]
        face.parts["loop"] = self.loop(face, uses)
        return face

    def patch(self, shell: Record, points: list[Point]) -> Record:
        """A polygon on a B-spline surface, on which each coedge has a curve of its own."""
        a, b, c, d = points
        width, height = math.dist(a, b), math.dist(b, c)
        knots = [2, 2, 0, 1, width, 1, 0, 1, height, 1]
        ends = ["none" if self.form.words else "0"] * 2
        full = ["full"] * (self.form.version >= 200)
        poles = self.placed(a, b, d, c, lengths=4)
        tokens = [*full, "nubs", 1, 1, self.open, self.open, *ends, *knots, *poles, 0]
        surface = Subtype("exactsur", "exact_spl_sur", *tokens)
        face = self.polygon(shell, points)
        face.surface.name = "spline-surface"
        face.surface.parts["subtype"] = surface
        corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
        coedge = face.loop.coedge
        for i in range(4):
            both = [corners[i], corners[(i + 1) % 4]]
            ends_of = both[::-1] if coedge.reversed else both
            poles = [each for point in ends_of for each in point]
            of_face = ["spline", sense(False), surface, *infinite(self.form, 4)]
            curve = self.line("exppc", "exp_par_cur", coedge.edge.length, poles, 0, *of_face)
            coedge.parts["pcurve"] = self.add("pcurve", subtype=curve)
            coedge = coedge.next
        return face

    def faces(self, shell: Record) -> list[Record]:
        x, y, z = SIZE
        low: list[Point] = [(0.0, 0.0, 0.0), (x, 0.0, 0.0), (x, y, 0.0), (0.0, y, 0.0)]
        high: list[Point] = [(*each[:2], z) for each in low]
        faces = [self.polygon(shell, low[::-1]), self.polygon(shell, high)]
        for i in range(4):
            k = (i + 1) % 4
            make = self.patch if i == 0 else self.polygon
            faces.append(make(shell, [low[i], low[k], high[k], high[i]]))
        circles = [self.circle(0.0), self.circle(z)]
        centre = [SIZE[0] / 2, SIZE[1] / 2, 0.0]
        axes = [
            *self.placed(centre, lengths=1),
            *(0, 0, 1),
            *self.placed((RADIUS, 0, 0), lengths=1),
        ]
        hole = self.face(shell, self.add("cone-surface", numbers=axes), inward=True)
        # A hole's loop runs opposite to the outline, both below and above the cylinder.
        for i, way in enumerate((False, True)):
            faces[i].loop.parts["next"] = self.loop(faces[i], [(circles[i], way)])
        loops = [self.loop(hole, [(circles[i], way)]) for i, way in enumerate((True, False))]
        loops[0].parts["next"] = loops[1]
        hole.parts["loop"] = loops[0]
        return [*faces, hole]

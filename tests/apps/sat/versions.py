"""Writes the solid of bored_box.py in the form of each version of SAT. The module shares no code
with the reader, so the tests can compare the two on each version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bored_box import SIZE, Form, Logical, Record, Solid, Subtype, Text, infinite, sense


def _box(form: Form) -> list[Any]:
    return ["T", 0.0, 0.0, 0.0, *(each / form.unit for each in SIZE)] if form.spatial else []


def _body(form: Form, r: Record) -> list[Any]:
    extra = [0] * (form.version >= 2800 and not form.asm)
    return [*extra, r.lump, None, r.transform, *_box(form)]


def _face(form: Form, r: Record) -> list[Any]:
    links = [r.next, r.loop, r.shell, None, r.surface, sense(r.reversed)]
    return [*links, Logical(False, "single", "double"), *_box(form), *["F"] * form.spatial]


def _coedge(form: Form, r: Record) -> list[Any]:
    links = [r.next, r.previous, r.partner, r.edge, sense(r.reversed), r.loop]
    return [*links, *[0] * form.asm, r.parts.get("pcurve")]


def _edge(form: Form, r: Record) -> list[Any]:
    late = form.version >= 500
    ends = [r.start, 0.0, r.end, r.length] if late else [r.start, r.end]
    return [*ends, r.coedge, r.curve, sense(r.backward), *[Text("unknown")] * late, *_box(form)]


def _plane(form: Form, r: Record) -> list[Any]:
    if form.version < 200:
        return list(r.numbers[:6])
    return [*r.numbers, Logical(False, "forward_v", "reverse_v"), *infinite(form, 4)]


def _cone(form: Form, r: Record) -> list[Any]:
    scale = [r.numbers[6]] * (form.version >= 500)
    return [*r.numbers, 1, *infinite(form, 2), 0, 1, *scale, sense(False), *infinite(form, 4)]


# The fields after those that all classes have.
_LAYOUTS: dict[str, Callable[[Form, Record], list[Any]]] = {
    "body": _body,
    "lump": lambda form, r: [None, r.shell, r.body, *_box(form)],
    "shell": lambda form, r: [
        *(None, None, r.face),
        *[None] * (form.version >= 107),
        *(r.lump, *_box(form)),
    ],
    "face": _face,
    "loop": lambda form, r: [
        *(r.next, r.coedge, r.face, *_box(form)),
        *[form.loop_kind] * form.spatial,
    ],
    "coedge": _coedge,
    "edge": _edge,
    "vertex": lambda form, r: [r.edge, *[0] * form.asm, r.point],
    "point": lambda _, r: list(r.numbers),
    "transform": lambda _, r: list(r.numbers),
    "name-tmk-attrib": lambda form, r: [
        *(None, None, r.owner),
        *[Text("part # 1 { $9 @3")] * form.has_ids,
    ],
    "straight-curve": lambda form, r: [*r.numbers, *infinite(form, 2)],
    "ellipse-curve": lambda form, r: [*r.numbers, 1, *infinite(form, 2)],
    "intcurve-curve": lambda form, r: [sense(r.backward), r.subtype, *infinite(form, 2)],
    "pcurve": lambda _, r: [0, sense(False), r.subtype, 0, 0],
    "plane-surface": _plane,
    "cone-surface": _cone,
    "spline-surface": lambda form, r: [sense(False), r.subtype, *infinite(form, 4)],
}


class _Writer:
    def __init__(self, form: Form, records: list[Record]) -> None:
        self.form = form
        of_record = form.number or (lambda place: place)
        self.numbers = {id(each): of_record(place) for place, each in enumerate(records)}
        self.subtypes: dict[int, int] = {}

    def token(self, part: Any) -> str:
        form = self.form
        mark = "$" if form.dollars else ""
        match part:
            case Text():
                return f"{'@' * form.has_ids}{len(part)} {part}"
            case Logical():
                return part.word if form.words else str(int(part.value))
            case Subtype():
                return self.subtype(part)
            case None:
                return f"{mark}-1"
            case Record():
                return f"{mark}{self.numbers[id(part)]}"
            case float():
                return f"{part:.17g}"
        return str(part)

    def subtype(self, part: Subtype) -> str:
        if id(part) in self.subtypes:
            return f"{{ ref {self.subtypes[id(part)]} }}"
        number = self.subtypes[id(part)] = len(self.subtypes)
        name = part.modern if self.form.asm and self.form.version >= 22600 else part.name
        numbered = [str(number)] * (self.form.version >= 2500 and self.form.spatial)
        return " ".join(["{", name, *numbered, *map(self.token, part.tokens), "}"])

    def record(self, record: Record) -> str:
        form = self.form
        shaped = record.name != "transform" and not record.name.endswith("-attrib")
        head: list[Any] = [record.parts.get("attribute")]
        head += [-1] * form.has_ids
        head += [-1] * (form.spatial and shaped)
        head += [None] * (form.has_ids and shaped)
        number = [] if form.number is None else [f"-{self.numbers[id(record)]}"]
        fields = map(self.token, [*head, *_LAYOUTS[record.name](form, record)])
        return " ".join([*number, record.name, *fields, "#"])


def _header(form: Form, records: int) -> list[str]:
    lines = [f"{form.version} {records if form.counted else 0} 1 {int(form.history)}"]
    if form.version < 200:
        return lines
    mark = "@" * form.at_signs
    kernel = "ASM 223.0.1.1720 NT" if form.asm else "ACIS 9.9 NT"
    names = [f"{mark}{len(each)} {each}" for each in ("tests of tmk", kernel)]
    lines.append(f"{' '.join(names)} {mark}{len(form.date.strip())}{form.date}")
    lines.append(f"{form.unit:.17g} 9.9999999999999995e-007 1e-010")
    if form.version >= 2600 and form.spatial:
        lines.append("T @12 QWERTZUIOPAS")
    return lines


def written(form: Form) -> str:
    records = Solid(form).records
    writer = _Writer(form, records)
    lines = [*_header(form, len(records)), *map(writer.record, records)]
    if form.history:
        lines.append("Begin-of-ACIS-History-Data")
        lines.append("history_stream 7 7 0 1 $0 $0 $0 $-1 #")
        lines.append("delta_state 7 1 0 $-1 $-1 $-1 $-1 $-1 #")
        lines.append("End-of-ACIS-History-Section")
        lines.append("face $-1 $-1 $77 $-1 forward single #")
    if not form.counted or form.history:
        lines.append(f"End-of-{'ASM' if form.asm else 'ACIS'}-data")
    return form.end.join([*lines, ""])

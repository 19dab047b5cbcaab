"""The comparison of two runs of explain: the changes of states and causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from threadmark.kinds.explain.analysis.recording import Part
from threadmark.present.wording import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

_SHOWN = 0.005


@dataclass(frozen=True)
class Change:
    """States and causes before and after, as shares of thread time; None if a run has no such
    cause."""

    wall_s: tuple[float, float]
    states: Mapping[str, tuple[float, float]]
    causes: tuple[tuple[str, str, float | None, float | None], ...]  # category, name, shares
    parts: tuple[str, str] = ("", "")  # the parts of the records; empty: the whole

    def record(self) -> dict[str, Any]:
        """The change for JSON."""
        return {
            "wall_s": list(self.wall_s),
            "parts": list(self.parts),
            "states": {name: list(pair) for name, pair in self.states.items()},
            "causes": [
                {"category": category, "name": name, "before": before, "after": after}
                for category, name, before, after in self.causes
            ],
        }

    def lines(self) -> list[RenderableType]:
        """The change for a terminal."""
        before, after = self.wall_s
        lines: list[RenderableType] = [Text(f"Time: {before:.3g} s before, {after:.3g} s after.")]
        for when, part in zip(("Before", "After"), self.parts, strict=True):
            if part:
                lines.append(Text(f"{when} is a part of a record: {printable(part)}."))
        for name, (first, second) in self.states.items():
            if max(first, second) >= _SHOWN:
                lines.append(Text(f"{_share(first)} {_share(second)}  {name.replace('_', ' ')}"))
        lines.append(Text("Causes:"))
        for category, name, one, other in self.causes:
            named = f"{category.replace('_', ' ')} {printable(name)}".rstrip()
            lines.append(Text(f"{_share(one)} {_share(other)}  {named}"))
        return lines

    @property
    def failed(self) -> bool:
        """Always false, because a share shows nothing about speed."""
        return False


def _share(value: float | None) -> str:
    return "     -" if value is None else f"{100 * value:4.1f} %"


def change(before: Mapping[str, Any], after: Mapping[str, Any]) -> Change:
    """The change between the documents of two runs."""
    shares = [
        {(c["category"], c["name"]): c["share"] for c in each["causes"]} for each in (before, after)
    ]
    keys = sorted(
        {**shares[0], **shares[1]},
        key=lambda key: (-max(shares[0].get(key, 0), shares[1].get(key, 0)), key),
    )
    return Change(
        (before["wall_s"], after["wall_s"]),
        {n: (before["states"].get(n, 0.0), share) for n, share in after["states"].items()},
        tuple((*key, shares[0].get(key), shares[1].get(key)) for key in keys),
        (_part(before), _part(after)),
    )


def _part(found: Mapping[str, Any]) -> str:
    part = found.get("part")  # runs of before have none
    return Part(tuple(part["threads"]), part["from_s"], part["to_s"]).words if part else ""

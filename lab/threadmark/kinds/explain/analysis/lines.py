"""One JSON line of a record, with strict reading of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from threadmark.model.errors import LabError

_LOWEST, _BEYOND = -(1 << 63), 1 << 64  # the range of a machine word


class Line:
    """One line. LabError with one sentence for a field of the wrong type."""

    def __init__(self, number: int, fields: Mapping[str, Any]) -> None:
        self.number = number
        self.fields = fields

    def wrong(self, key: str, wanted: str) -> NoReturn:
        raise LabError(
            f"This is not a record that explain can read: line {self.number}, '{key}' is not "
            f"{wanted}; record the program again."
        )

    def whole(self, key: str, default: int | None = None) -> int:
        value = self.fields.get(key, default)
        return self.as_whole(key, value)

    def as_whole(self, key: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not _LOWEST <= value < _BEYOND:
            self.wrong(key, "a whole number")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self.fields.get(key, default)
        if not isinstance(value, str):
            self.wrong(key, "a text")
        return value

    def table(self, key: str) -> Mapping[str, Any]:
        value = self.fields.get(key, {})
        if not isinstance(value, dict):
            self.wrong(key, "an object")
        return value

    def items(self, key: str) -> list[Any]:
        value = self.fields.get(key, [])
        if not isinstance(value, list):
            self.wrong(key, "a list")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        found = self.items(key)
        if not all(isinstance(each, str) for each in found):
            self.wrong(key, "a list of texts")
        return tuple(found)

    def wholes(self, key: str) -> tuple[int, ...]:
        return tuple(self.as_whole(key, each) for each in self.items(key))

    def when(self, key: str) -> int:
        """A time or count, never negative."""
        return max(0, self.whole(key, 0))

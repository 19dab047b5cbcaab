"""The place of a variable while the program is at an address, as far as debug information shows it
without a run: a root such as a register, and a distance from the root's value."""

from __future__ import annotations

from dataclasses import dataclass

from threadmark.kinds.explain.dwarf import Entry, Unit
from threadmark.kinds.explain.dwarf_numbers import At
from threadmark.kinds.explain.dwarf_ranges import expression
from threadmark.kinds.explain.dwarf_shapes import leb, signed_leb

_DEEPEST = 6
_REGISTER, _BASED, _FRAME = 0x50, 0x70, 0x9C  # the first operations of their groups
_CONSTANTS = {0x08: 1, 0x0A: 2, 0x0C: 4, 0x0E: 8}  # operation -> bytes; the next one is signed


@dataclass(frozen=True)
class Value:
    """The value of a root plus an offset. Roots: ('register', n), ('entry', n) for a register when
    the function began, ('frame',), ('address',), ('variable', offset of its entry), and ('word',
    value) for a word in memory."""

    root: tuple[object, ...]
    offset: int = 0

    def plus(self, more: int) -> Value:
        """The value plus an offset."""
        return Value(self.root, self.offset + more)


@dataclass(frozen=True)
class Place:
    """The place of a variable: its `value` is known, or else its address."""

    value: Value | None = None
    address: Value | None = None


_ABSOLUTE = ("address",)
_NUMBER = ("number",)


def place_of(entry: Entry, function: Entry, address: int) -> Place | None:
    """The place of a variable or parameter of a function that is not inlined itself."""
    what = expression(entry, At.LOCATION, address)
    return _Evaluation(entry.unit, function, address).of(what) if what else None


def value_of(entry: Entry, name: int, function: Entry, address: int) -> Value | None:
    """The value of an attribute with an expression."""
    what = expression(entry, name, address)
    found = _Evaluation(entry.unit, function, address).of(what) if what else None
    return _result(found)


def register_of(entry: Entry) -> int | None:
    """The register that a parameter of a call is passed in."""
    found = entry.value(At.LOCATION)
    data = found[1] if found else None
    if isinstance(data, bytes) and len(data) == 1 and _REGISTER <= data[0] < _BASED:
        return data[0] - _REGISTER
    return None


def _result(place: Place | None) -> Value | None:
    """The result of an expression that is no location."""
    return (place.value or place.address) if place is not None else None


class _UnknownError(ValueError):
    """The expression needs a value that is not known before the program runs, or not known to this
    module."""


class _Evaluation:
    """One expression of DWARF, at an address of a function."""

    def __init__(self, unit: Unit, function: Entry, address: int, depth: int = 0) -> None:
        self._unit = unit
        self._function = function
        self._address = address
        self._depth = depth
        self._stack: list[Value] = []
        self._data = b""
        self._at = 0

    def of(self, data: bytes) -> Place | None:
        """The place that an expression gives; None if it is not known."""
        if len(data) == 1 and _REGISTER <= data[0] < _BASED:
            return Place(value=Value(("register", data[0] - _REGISTER)))
        self._data, self._at = data, 0
        try:
            while self._at < len(data):
                code = data[self._at]
                self._at += 1
                if code == 0x9F and self._stack and self._at == len(data):
                    return Place(value=self._stack[-1])  # the value itself, not its address
                if code in (0xA0, 0xF2):
                    return Place(value=self._optimised_away())
                self._step(code)
        except _UnknownError:
            return None
        return Place(address=self._stack[-1]) if self._stack else None

    def _leb(self) -> int:
        number, self._at = leb(self._data, self._at)
        return number

    def _signed_leb(self) -> int:
        number, self._at = signed_leb(self._data, self._at)
        return number

    def _bytes(self, size: int, *, signed: bool = False) -> int:
        self._at += size
        taken = self._data[self._at - size : self._at]
        return int.from_bytes(taken, "little", signed=signed)

    def _step(self, code: int) -> None:
        push = self._stack.append
        if _BASED <= code < _BASED + 0x20:
            push(Value(("register", code - _BASED), self._signed_leb()))
        elif code == 0x91:
            push(self._frame().plus(self._signed_leb()))
        elif code == _FRAME:
            push(Value(("frame",)))
        elif code == 0x03:
            push(Value(_ABSOLUTE, self._bytes(self._unit.address_size)))
        elif code in (0xA1, 0xFB):  # an address by its number
            push(Value(_ABSOLUTE, self._unit.address(self._leb())))
        elif code in (0xA3, 0xF3):
            push(self._at_entry())
        elif code != 0x96:  # a no-operation
            self._compute(code)

    def _compute(self, code: int) -> None:
        stack = self._stack
        if 0x30 <= code < _REGISTER:
            stack.append(Value(_NUMBER, code - 0x30))
        elif code & 0xFE in _CONSTANTS:
            number = self._bytes(_CONSTANTS[code & 0xFE], signed=bool(code & 1))
            stack.append(Value(_NUMBER, number))
        elif code in (0x10, 0x11):
            number = self._leb() if code == 0x10 else self._signed_leb()
            stack.append(Value(_NUMBER, number))
        elif code == 0x23:
            stack.append(stack.pop().plus(self._leb()))
        elif code in (0x22, 0x1C):
            right, left = stack.pop(), stack.pop()
            if left.root == _NUMBER and code == 0x22:
                left, right = right, left
            if right.root != _NUMBER:
                raise _UnknownError
            stack.append(left.plus(right.offset if code == 0x22 else -right.offset))
        elif code == 0x06 and _nested(stack[-1]) < _DEEPEST:
            stack.append(Value(("word", stack.pop())))
        else:
            raise _UnknownError

    def _at_entry(self) -> Value:
        """The value of a register when the function began."""
        length = self._leb()
        code = self._bytes(1)
        if length != 1 or not _REGISTER <= code < _BASED:
            raise _UnknownError
        return Value(("entry", code - _REGISTER))

    def _optimised_away(self) -> Value:
        """A pointer without a place, to a known variable."""
        unit = self._unit
        target = self._bytes(unit.offset_size if unit.version > 2 else unit.address_size)
        offset = self._signed_leb()
        if self._at != len(self._data):
            raise _UnknownError
        return Value(("variable", target), offset)

    def _frame(self) -> Value:
        what = expression(self._function, At.FRAME_BASE, self._address)
        if not what or self._depth >= _DEEPEST:
            raise _UnknownError
        if what == bytes([_FRAME]):
            return Value(("frame",))
        inner = _Evaluation(self._unit, self._function, self._address, self._depth + 1)
        found = _result(inner.of(what))
        if found is None:
            raise _UnknownError
        return found


def _nested(value: Value) -> int:
    depth = 0
    while value.root[0] == "word" and isinstance(value.root[1], Value) and depth < _DEEPEST:
        value, depth = value.root[1], depth + 1
    return depth

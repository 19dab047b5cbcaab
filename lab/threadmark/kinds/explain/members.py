"""Where a global variable is declared, and which of its members lies at an offset."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.die import DIE

from threadmark.kinds.explain.elf import Elf

_MOST_BYTES = 16 << 20  # of debug information; more takes longer than a name is worth
_SMALL_BYTES = 1 << 20
_ADDRESS = 0x03  # DW_OP_addr
_ADDRESS_BY_NUMBER = 0xA1  # DW_OP_addrx
_DEEPEST = 12


@dataclass(frozen=True)
class Datum:
    """The declaration of a variable, and a path such as '.mutex' or '[3].lock' within it."""

    members: str
    where: str


def of(elf: Elf, address: int, offset: int) -> Datum | None:
    """The variable at an address of the file; None without debug information of it."""
    try:
        found = _variable(elf, address)
        if found is None:
            return None
        die, where = found
        return Datum(_path(_type(die), offset), where)
    except (DWARFError, ELFError, KeyError, IndexError, ValueError, AttributeError, TypeError):
        return None


@lru_cache(maxsize=4096)
def _variable(elf: Elf, address: int) -> tuple[DIE, str] | None:
    """The variable with its place. Only the units that hold its address are read: a big program
    has thousands."""
    file = elf.dwarf
    if not file.has_dwarf_info():
        return None
    info = file.get_dwarf_info()
    section = info.debug_info_sec
    if section is None or section.size > _MOST_BYTES:
        return None
    section.stream.seek(0)
    whole = section.stream.read()
    wanted = bytes([_ADDRESS]) + address.to_bytes(8, "little")
    offsets = []
    at = whole.find(wanted)
    while at >= 0:
        offsets.append(at)
        at = whole.find(wanted, at + 1)
    if not offsets and section.size <= _SMALL_BYTES:
        return _all_variables(elf).get(address)
    for unit in info.iter_CUs():
        end = unit.cu_offset + unit.size
        if not any(unit.cu_offset <= offset < end for offset in offsets):
            continue
        for die in unit.iter_DIEs():
            if die.tag == "DW_TAG_variable" and _located(die, info) == address:
                return die, _place(die, info.line_program_for_CU(unit))
    return None


@lru_cache(maxsize=16)
def _all_variables(elf: Elf) -> dict[int, tuple[DIE, str]]:
    """Those of a small file whose addresses are numbers of a table: clang's DWARF 5."""
    info = elf.dwarf.get_dwarf_info()
    found: dict[int, tuple[DIE, str]] = {}
    if info.debug_addr_sec is None:
        return found
    for unit in info.iter_CUs():
        for die in unit.iter_DIEs():
            address = _located(die, info) if die.tag == "DW_TAG_variable" else None
            if address is not None:
                found.setdefault(address, (die, _place(die, info.line_program_for_CU(unit))))
    return found


def _located(die: DIE, info: Any) -> int | None:
    """The fixed address of a variable."""
    attribute = die.attributes.get("DW_AT_location")
    location = attribute.value if attribute else None
    if not isinstance(location, list) or not location:
        return None
    if location[0] == _ADDRESS:
        return int.from_bytes(bytes(location[1:9]), "little")
    if location[0] == _ADDRESS_BY_NUMBER:
        number = shift = 0
        for byte in location[1:]:  # ULEB128
            number |= (byte & 0x7F) << shift
            shift += 7
        return int(info.get_addr(die.cu, number))
    return None


def _place(die: DIE, files: Any) -> str:
    """file:line of a declaration."""
    for name in ("DW_AT_specification", "DW_AT_abstract_origin"):
        if "DW_AT_decl_line" not in die.attributes and name in die.attributes:
            die = die.get_DIE_from_attribute(name)
    line = die.attributes.get("DW_AT_decl_line")
    number = die.attributes.get("DW_AT_decl_file")
    if line is None or number is None or files is None:
        return ""
    version = files["version"]
    entry = files["file_entry"][number.value - (0 if version >= 5 else 1)]
    return f"{entry.name.decode('utf-8', 'replace').rpartition('/')[2]}:{line.value}"


def _type(die: DIE) -> DIE | None:
    while "DW_AT_type" not in die.attributes:
        for name in ("DW_AT_specification", "DW_AT_abstract_origin"):
            if name in die.attributes:
                die = die.get_DIE_from_attribute(name)
                break
        else:
            return None
    kind = die.get_DIE_from_attribute("DW_AT_type")
    while kind.tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
        if "DW_AT_type" not in kind.attributes:
            return None
        kind = kind.get_DIE_from_attribute("DW_AT_type")
    return kind


_STOP = ("std::", "pthread_", "__pthread", "atomic")


def _path(kind: DIE | None, offset: int, depth: int = 0) -> str:
    """Members from a type down to the lock itself, which is not taken apart."""
    if kind is None or depth > _DEEPEST:
        return ""
    if kind.tag == "DW_TAG_array_type":
        element = _type(kind)
        size = _size(element)
        if not size:
            return ""
        return f"[{offset // size}]" + _path(element, offset % size, depth + 1)
    if kind.tag not in ("DW_TAG_structure_type", "DW_TAG_class_type") or _is_library(kind):
        return ""
    for child in kind.iter_children():
        if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance"):
            continue
        at = child.attributes.get("DW_AT_data_member_location")
        if at is None or not isinstance(at.value, int):
            continue
        inner = _type(child)
        if at.value <= offset < at.value + max(1, _size(inner)):
            rest = _path(inner, offset - at.value, depth + 1)
            if child.tag == "DW_TAG_inheritance":
                return rest
            name = child.attributes.get("DW_AT_name")
            return (f".{name.value.decode('utf-8', 'replace')}" if name else "") + rest
    return ""


def _is_library(kind: DIE) -> bool:
    """Whether it is a type of the library: its own members say nothing to a person."""
    parent = kind.get_parent()
    while parent is not None:
        name = parent.attributes.get("DW_AT_name")
        if parent.tag == "DW_TAG_namespace" and name and name.value in (b"std", b"__gnu_cxx"):
            return True
        parent = parent.get_parent()
    name = kind.attributes.get("DW_AT_name")
    return bool(name and name.value.decode("utf-8", "replace").startswith(_STOP))


def _size(kind: DIE | None) -> int:
    if kind is None:
        return 0
    size = kind.attributes.get("DW_AT_byte_size")
    if size is not None:
        return int(size.value)
    if kind.tag == "DW_TAG_array_type":
        count = 1
        for child in kind.iter_children():
            if child.tag == "DW_TAG_subrange_type":
                bound = child.attributes.get("DW_AT_upper_bound")
                number = child.attributes.get("DW_AT_count")
                count *= int(number.value if number else bound.value + 1 if bound else 1)
        return count * _size(_type(kind))
    return 0

"""The output format of `--describe`, as types: ARCHITECTURE.md, "What an executable says".

This module is imported only for a query of an executable, because msgspec would make each start of
the lab slower.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, MsgspecError, Struct, convert, json

from threadmark.model.executable import CONTENTION

_CONTRACT = 1


class _Head(Struct):
    contract: int
    program: str
    backend: str
    kind: str = ""


class _Body(Struct):
    summary: str
    origin: str
    backend_version: str
    platform: dict[str, str]


class _Variant(Struct):
    name: str
    parallel: bool


class _Way(_Variant):
    meaning: str
    use: Literal["threads", "alone", "whole"]
    lacks: str
    remedy: bool


class _Sizes(Struct):
    smoke: int
    quick: int
    full: int


class _Parameter(Struct):
    name: str
    meaning: str
    min: int
    max: int
    sizes: _Sizes

    def __post_init__(self) -> None:
        sizes = (self.sizes.smoke, self.sizes.quick, self.sizes.full)
        if not all(self.min <= size <= self.max for size in sizes):
            raise ValueError(f"Size outside the range of its parameter {self.name:.40}")


class _Form(Struct):
    name: str
    meaning: str
    quick: bool
    lacks: str


class _Tasks(_Body):
    structure: str
    granularity: str
    synchronisation: str
    input: str
    parameters: list[_Parameter]
    variants: Annotated[list[_Variant], Meta(min_length=1)]
    forms: list[_Form] = []


class _Contention(_Body):
    operation: str
    allocates: bool
    variants: Annotated[list[_Way], Meta(min_length=1)]

    def __post_init__(self) -> None:
        if self.variants[0].remedy:
            raise ValueError("A remedy stands before its usual way")


def read(printed: bytes, program: str, backend: str) -> tuple[dict[str, Any], str]:
    """The description that PROGRAM.BACKEND printed, or the reason for which it is unusable."""
    try:
        said = json.decode(printed, type=dict[str, Any])
        fault = _fault(said, program, backend)
    except (MsgspecError, UnicodeError, RecursionError) as error:
        fault = f"--describe does not print the agreed JSON ({error!s:.200})"
    return ({}, f"{fault}; build it again") if fault else (said, "")


def _fault(said: dict[str, Any], program: str, backend: str) -> str:
    """The fault of a description; raises MsgspecError for a violation of its types."""
    head = convert(said, _Head)
    if head.contract != _CONTRACT:
        return f"speaks contract {head.contract!s:.40}, the lab speaks {_CONTRACT}"
    if (head.program, head.backend) != (program, backend):
        return f"is {head.program:.40}.{head.backend:.40} by its own account"
    if (head.kind == "contention") != (backend == CONTENTION):
        return f"is of kind {head.kind!r:.40}, which its name denies"
    convert(said, _Contention if backend == CONTENTION else _Tasks)
    return ""
